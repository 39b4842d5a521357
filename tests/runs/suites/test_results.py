"""What came of a suite: counts, exit codes, conclusion and notes; and how passes are cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roadworthy.cases import Outcome, OutcomeStatus, Requirement, Status
from roadworthy.errors import InputError
from roadworthy.runs.store.manifest import add_notes, begin_manifest
from roadworthy.runs.suites.passes import Pass, passes_of
from roadworthy.runs.suites.running import RunWatcher, SuiteResult, _note, _place_for, _taken, _unfit

P, V, I = OutcomeStatus.PASSED, OutcomeStatus.VIOLATED, OutcomeStatus.INCONCLUSIVE


def outcome(id: str, status: OutcomeStatus, *notes: str, **counts: int) -> Outcome:
    known = {Status[name.upper()]: number for name, number in counts.items()}
    return Outcome(id, status, known, None, "", notes=notes)


def result(pairs: dict[tuple[str, str], Outcome], failures: Any = (), **others: Any) -> SuiteResult:
    plan: Any = SimpleNamespace(notes=["of the suite"], pairs=[], of_suite=["of the suite"])
    return SuiteResult(Path("out"), plan, pairs, dict(failures), **others)


@pytest.mark.parametrize(
    ("statuses", "failures", "engines", "code", "accepted", "told"),
    [
        ([P], [], 0, 0, 0, "1 requirement on 1 model: 1 passed"),
        ([P, V], [], 0, 1, 1, "2 requirements on 1 model: 1 passed, 1 violated"),
        ([P, I], [], 0, 3, 0, "2 requirements on 1 model: 1 passed, 1 inconclusive"),
        ([V, I], [], 0, 1, 1, "2 requirements on 1 model: 1 violated, 1 inconclusive"),
        ([V], ["x"], 0, 2, 2, "2 requirements on 1 model: 1 violated, 1 could not be tried"),
        ([I], [], 1, 2, 2, "1 requirement on 1 model: 1 inconclusive, an image engine failed in 1 case"),
        ([V], [], 2, 1, 1, "1 requirement on 1 model: 1 violated, an image engine failed in 2 cases"),
        ([], [], 0, 0, 0, "0 requirements on 0 models: nothing"),
    ],
)
def test_how_a_program_ends_that_ran_a_suite(
    statuses: list[OutcomeStatus], failures: list[str], engines: int, code: int, accepted: int, told: str
) -> None:
    pairs = {(f"R{n}", "net"): outcome(f"R{n}", one, engine_error=engines) for n, one in enumerate(statuses)}
    found = result(pairs, [((id, "net"), "broken") for id in failures])
    assert found.exit_code() == code
    assert found.exit_code(accept_inconclusive=True) == accepted
    assert found.conclusion == told
    assert [found.count(one) for one in OutcomeStatus] == [statuses.count(one) for one in OutcomeStatus]


def test_what_passed_because_nothing_failed_tells_on_how_little_it_rests() -> None:
    def passed(cases: int, clusters: int, max_rate: float = 0.0) -> Outcome:
        measures = {"max_rate": max_rate, "clusters": clusters}
        return replace(outcome("R", P, passed=cases, not_applicable=9), measures=measures)

    for outcomes, told in (
        ([passed(1, 1)], "1 passed on 1 case"),
        ([passed(6, 6)], "1 passed on 6 cases"),
        ([passed(6, 1)], "1 passed on 6 cases of 1 drive or scene"),
        ([passed(6, 2), passed(6, 2)], "2 passed on 6 cases of 2 drives or scenes"),
        ([passed(50, 50), passed(2, 1)], "2 passed on at least 2 cases of 1 drive or scene"),
        ([passed(50, 5, 0.05)], "1 passed"),
    ):
        pairs = {(f"R{n}", "net"): one for n, one in enumerate(outcomes)}
        assert result(pairs).conclusion.partition(": ")[2] == told


def test_results_of_several_models_are_counted_as_such() -> None:
    both = {("R", model): outcome("R", P) for model in "ab"}
    assert result(both).conclusion == "1 requirement on 2 models, 2 results: 2 passed"
    assert result(both, before=frozenset(both)).complete_before
    assert not result(both).complete_before
    assert not result(both, [(("Q", "a"), "x")], before=frozenset(both)).complete_before
    assert result(both).folder_of("R", "a") == Path("out/runs/r/a")


def trial(id: str, *models: str, data: str = "town", alone: bool = False, notes: tuple[str, ...] = ()) -> Any:
    kind = SimpleNamespace(
        name="search" if alone else "rules", one_at_a_time=alone, signals=lambda part: ("speed", id),
        observed=lambda *_: [],
    )  # fmt: skip
    requirement = Requirement(id, "t", kind.name)
    part = SimpleNamespace(notes=notes)
    return Trial(requirement, kind, part, data, models)


class Trial(SimpleNamespace):
    def __init__(self, requirement: Any, kind: Any, part: Any, data: str, models: Any) -> None:
        super().__init__(requirement=requirement, kind=kind, part=part, data=data, models=models)

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


def planned(*trials: Any) -> Any:
    models = dict.fromkeys(model for one in trials for model in one.models)
    pairs = [(one, model) for one in trials for model in one.models]
    return SimpleNamespace(
        trials=list(trials),
        models=models,
        pairs=pairs,
        notes=["suite"],
        of_suite=["suite"],
        cases=lambda one: 5,
    )


def test_passes_share_kind_and_data_and_searches_are_alone() -> None:
    plan = planned(
        trial("A", "x", "y"), trial("B", "y"), trial("C", "x", data="road"), trial("S", "x", "y", alone=True)
    )
    found = passes_of(plan)
    assert [(one.name, sorted(one.pairs), one.cases) for one in found] == [
        ("rules: 2 requirements on town", [("A", "x"), ("A", "y"), ("B", "y")], 10),
        ("rules: C on road", [("C", "x")], 5),
        ("search: S on town", [("S", "x")], 5),
        ("search: S on town", [("S", "y")], 5),
    ]
    assert list(found[0].in_order()) == [("A", "x"), ("A", "y"), ("B", "y")]
    assert found[0].models == ["x", "y"]
    assert [sorted(one.pairs) for one in found[0].halves()] == [[("A", "x"), ("A", "y")], [("B", "y")]]
    first, *_ = found[0].halves()
    assert [sorted(one.pairs) for one in first.halves()] == [[("A", "x")], [("A", "y")]]
    done = {("A", "x"), ("A", "y"), ("S", "x")}
    assert [sorted(one.pairs) for one in passes_of(plan, done)] == [[("B", "y")], [("C", "x")], [("S", "y")]]
    bare = Pass(planned(trial("D", "x", data="")), (trial("D", "x", data=""),), frozenset([("D", "x")]))
    assert bare.name == "rules: D"
    assert len(bare.data) == 0


def test_notes_are_of_the_suite_the_models_and_the_outcomes(tmp_path: Path) -> None:
    begin_manifest(tmp_path, models={}, data={})
    add_notes(
        tmp_path,
        models={"x": {"town": ["x: slow"], "road": ["x: dark"]}, "y": {"town": ["y: odd", "x: slow"]}},
    )
    plan = planned(trial("A", "x", "y", notes=("known",)), trial("D", "y", data=""))
    pairs = {("A", "x"): outcome("A", P, "known", "few frames"), ("D", "y"): outcome("D", P, "short")}
    found = SuiteResult(tmp_path, plan, pairs)
    assert found.notes == ["suite", "x: slow", "y: odd", "A on x: few frames", "D on y: short"]


def test_models_are_looked_at_that_gave_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_manifest(tmp_path, models={}, data={})
    plan = planned(trial("A", "x", "y", "z"), trial("B", "x"), trial("D", "x", data=""))
    plan.models = {name: SimpleNamespace(system=name) for name in "xyz"}
    plan.data = {"town": SimpleNamespace(frames="frames")}
    pairs = {
        ("A", "x"): outcome("A", V, violated=1, error=5),
        ("A", "y"): outcome("A", V, error=5),
        ("A", "z"): outcome("A", I, not_applicable=5),
    }
    asked: list[Any] = []
    monkeypatch.setattr(
        "roadworthy.runs.suites.running.note_models",
        lambda out, systems, data, signals, executor: asked.append((systems, data, sorted(signals))),
    )
    told: list[Any] = []

    class Watcher(RunWatcher):
        def begins(self, what: str, cases: int) -> None:
            told.append((what, cases))

        def counts(self, cases: int) -> None:
            told.append(cases)

    _note(SuiteResult(tmp_path, plan, pairs), Watcher(), None)
    assert asked == [(["x"], "frames", ["A", "B", "speed"]), (["z"], "frames", ["A", "speed"])]
    assert told == [("Looking at the models", 2), 1, 2]


def test_a_run_begins_in_the_first_folder_that_is_free_or_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    plan: Any = SimpleNamespace(suite=None)
    tested: Any = {"models": {}, "data": {}, "suite": {}, "seed": 0}
    monkeypatch.setattr("roadworthy.runs.suites.running._but_budgets", lambda folder, plan, tested: tested)
    told: list[Any] = []

    class Watcher(RunWatcher):
        def writes_to(self, folder: Path, reason: str) -> None:
            told.append((folder, reason))

    def place(resume: bool = True) -> Path:
        return _place_for(plan, tested, out, Watcher(), resume=resume)

    assert place() == out
    out.mkdir()
    (out / "other.txt").touch()
    assert place() == tmp_path / "run-2"
    assert told == [(tmp_path / "run-2", f"{out} is not from a run")]
    begin_manifest(tmp_path / "run-2", models={}, data={}, seed=0)
    assert place() == tmp_path / "run-2", "it goes on"
    assert place(resume=False) == tmp_path / "run-3"
    begin_manifest(tmp_path / "run-3", models={}, data={}, seed=9)
    assert "seed 9" in _unfit(tmp_path / "run-3", plan, tested, resume=True)
    assert _unfit(tmp_path / "run-2", plan, tested, resume=False) == _taken(tmp_path / "run-2")
    assert _taken(Path("a")) == "a holds a run: choose another folder with --out, or go on with it"
    with pytest.raises(InputError):
        begin_manifest(tmp_path / "run-3", models={}, data={}, seed=0)
