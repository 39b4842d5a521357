"""What pages and later commands read out of the folders that earlier ones wrote."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.fuzz.files import seed_of
from tests.fuzz.harness import Target
from tests.fuzz.mutating import mutated_json, mutated_yaml

__all__ = ["TARGETS"]


_CASE = {
    "requirement": "R1",
    "system": "dave2",
    "case": "lap 0",
    "status": "violated",
    "margin": -0.25,
    "parameters": {"rule": "If it rains, slow down.", "frame": "town-000001"},
}


def _marks(folder: Path) -> None:
    from roadworthy.web.wall import mark_agreement, read_marks

    for mark in read_marks(folder).values():
        assert mark.mark or mark.note
    mark_agreement(folder)


def _kinds(folder: Path) -> None:
    from roadworthy.report.kinds import failures_of, recorded_kinds, told_kinds
    from roadworthy.runs.store import StoredRun

    run = StoredRun.open(folder)
    found = recorded_kinds(run, failures_of(run)[1])
    assert found is None or max(found["kinds"], default=0) < 9
    told_kinds(run)


def _job(folder: Path) -> None:
    from roadworthy.web.jobs.queue import read_job

    job = read_job(folder)
    json.dumps(asdict(job.state))
    assert not (job.state.stage.can_continue and not job.state.stage.is_over)
    f"{job.state.done:d} of {job.state.total:d}, {job.state.seconds:.1f} s, {job.state.message.strip()}"
    assert all(isinstance(one, dict) for one in job.state.outcomes)


def _copied(folder: Path) -> None:
    from roadworthy.web.copying import copied_test

    copied_test(folder, [_CASE])


def _searched(folder: Path) -> None:
    from roadworthy.runs.changed_images import check_searched
    from roadworthy.web.coverage import functional_of

    functional_of(folder)
    data: Any = SimpleNamespace(name="world:town", ids=())
    check_searched(folder, data)


def _measured(folder: Path) -> None:
    from roadworthy.web.coverage import functional_of, measured_of

    measured_of(folder)
    functional_of(folder)


def _study(folder: Path) -> None:
    from roadworthy.studies import open_study

    study = open_study(folder)
    study.parts()
    study.begin("ann")
    study.begin("bob")


def _remade(folder: Path) -> None:
    from roadworthy._files import naming, read_json
    from roadworthy.coverage.search.trials import Remade

    file = folder / "image.json"
    document = read_json(file)
    with naming(file):
        made = Remade.of(document)
        assert Remade.of(made.as_data()) == made, "what is written reads back"


_ASK = b'{"kind": "rules", "text": "If it rains, slow down.", "models": ["dave2"], "data": "world"}'
_RUN = {"requirements.jsonl": seed_of("run-requirements"), "cases/part-00000000.parquet": seed_of("run-rows")}

_OF_COMMAND = _RUN | {"manifest.json": b'{"format": 1, "settings": {"command": "rules run"}}'}

TARGETS = (
    Target("marks", "marks.jsonl", _marks, mutated_json),
    Target("kinds", "kinds.json", _kinds, mutated_json, _RUN),
    Target("job", "job.json", _job, mutated_json),
    Target("job-state", "state.json", _job, mutated_json, {"job.json": _ASK}),
    Target("copied", "suite.yaml", _copied, mutated_yaml, _OF_COMMAND, names=""),
    Target("searched", "search.json", _searched, mutated_json, _RUN),
    Target("covered", "coverage.json", _measured, mutated_json),
    Target("study-plan", "plan.json", _study, mutated_json, names=""),
    Target("remade", "image.json", _remade, mutated_json),
)
