"""Every option reaches the place where it counts, whichever door it comes in by."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.runs.executing import REQUIREMENT, Bright, Frames, Meter

from roadworthy.cases import Requirement
from roadworthy.errors import InputError
from roadworthy.runs import run, several, single
from roadworthy.runs.evidence import reopening, rerunning
from roadworthy.runs.executors.work import Retention
from roadworthy.runs.gate import Gate
from roadworthy.runs.loop import Work
from roadworthy.runs.several import _cases, _check_names, run_several
from roadworthy.runs.shards import Shard
from roadworthy.runs.store import StoredRun
from roadworthy.runs.store.digests import content_of_dataset
from roadworthy.runs.suites import running
from roadworthy.runs.suites.running import RunWatcher, SuiteResult


class Called:
    """Stands in for a function, and notes what it is given."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.given: list[Any] = []
        self.named: dict[str, Any] = {}

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.given, self.named = list(given), named
        return self.answer


DATA, SYSTEM, METHOD = Frames(2), Meter(), Bright()
EXECUTOR: Any = SimpleNamespace()
SIMULATOR: Any = SimpleNamespace()
GATE = Gate()
ORDER: Any = len
OPTIONS: dict[str, Any] = {
    "seed": 5, "batch_size": 7, "simulator": SIMULATOR, "executor": EXECUTOR, "resume": True, "gate": GATE,
}  # fmt: skip


def test_a_run_of_one_passes_everything_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = Called(({("R1", "meter"): "result"}, {}))
    monkeypatch.setattr(single, "carry_out_pairs", called)
    counts: list[Any] = []
    how: dict[str, Any] = {**OPTIONS, "images": "sample", "progress": counts.append}
    found: Any = run(METHOD, REQUIREMENT, DATA, SYSTEM, out=tmp_path, **how)
    assert found == "result"
    work, *given = called.given
    assert given == [[(REQUIREMENT, SYSTEM, tmp_path)], DATA, EXECUTOR]
    assert called.named == {
        "seed": 5, "images": tmp_path / "images", "resume": True, "content": content_of_dataset(DATA),
    }  # fmt: skip
    assert work == Work(METHOD, Retention("sample", seed=5), 7, work.progress, SIMULATOR, GATE)
    work.progress({("R1", "meter"): SimpleNamespace(counts={"passed": 3})})
    assert counts == [{"passed": 3}]
    with pytest.raises(InputError, match="give the folder of the run that is to be resumed"):
        run(METHOD, REQUIREMENT, DATA, SYSTEM, resume=True)


def test_a_run_of_several_passes_everything_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = Called(({("R1", "meter"): "result"}, {"R1": "cost"}))
    monkeypatch.setattr(several, "carry_out_pairs", called)
    other = Requirement("R2", "t", "bright")
    cases: list[int] = []
    found = run_several(
        METHOD, [REQUIREMENT, other], DATA, [SYSTEM], out=tmp_path, images="all", passes=0.25,
        progress=cases.append, tested=lambda one, system: (one.id, system.name) != ("R2", "meter"),
        shard=Shard(2, 3), until=8.0, order=ORDER, **OPTIONS,
    )  # fmt: skip
    results: Any = dict(found.results), dict(found.costs)
    assert results == ({("R1", "meter"): "result"}, {"R1": "cost"})
    assert found.images == tmp_path / "images"
    work, *given = called.given
    assert given == [[(REQUIREMENT, SYSTEM, tmp_path / "runs/r1/meter")], DATA, EXECUTOR]
    assert called.named == {
        "seed": 5, "images": tmp_path / "images", "resume": True, "content": content_of_dataset(DATA),
    }  # fmt: skip
    kept, shard = Retention("all", 0.25, 5), Shard(2, 3)
    assert work == Work(METHOD, kept, 7, work.progress, SIMULATOR, GATE, shard, 8.0, ORDER)
    work.progress({("R1", "a"): SimpleNamespace(count=3), ("R1", "b"): SimpleNamespace(count=5),
                   ("R2", "a"): SimpleNamespace(count=2)})  # fmt: skip
    assert cases == [7], "of several systems the one that is farthest"
    assert _cases({}) == 0
    (tmp_path / "manifest.json").write_text("{}")
    run_several(METHOD, [REQUIREMENT], DATA, [SYSTEM], out=tmp_path, executor=EXECUTOR, gate="off")
    work = called.given[0]
    assert (called.named["content"], work.gate) == ("", None), "a manifest says what the data are"
    assert (called.named["seed"], work.batch_size) == (0, 32)
    assert work.retention == Retention("failures", 0.0, 0)


def test_several_need_names_that_differ_and_something_to_do(tmp_path: Path) -> None:
    for requirements, systems, told in [
        ([], [SYSTEM], "a run needs at least one requirement and one system, got none"),
        ([REQUIREMENT], [], "a run needs at least one requirement and one system, got none"),
        ([REQUIREMENT] * 2, [SYSTEM], "requirements must have different names, got 'R1' more than once"),
        ([REQUIREMENT], [Meter("a"), Meter("A")], "systems must have names that differ in letters or digits"),
    ]:
        with pytest.raises(InputError, match=told):
            run_several(METHOD, requirements, DATA, systems, out=tmp_path)
    _check_names("systems", ["a", "b"])


def test_a_suite_passes_everything_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = Called(
        SimpleNamespace(
            costs={"R1": "cost"}, results={("R1", "meter"): SimpleNamespace(outcome="well", is_open=False)}
        )
    )
    monkeypatch.setattr(running, "run_several", called)
    plan: Any = SimpleNamespace(context=SimpleNamespace(seed=4), gate=GATE)
    simulator = Called(SIMULATOR)
    one: Any = SimpleNamespace(
        plan=plan, pairs=frozenset([("R1", "meter")]), requirements=[REQUIREMENT], data=DATA,
        systems=lambda: [SYSTEM], method=lambda systems: (METHOD, systems), simulator=simulator,
        is_whole=False,
    )  # fmt: skip
    told: list[Any] = []

    class Watcher(RunWatcher):
        def concluded(self, *pair: Any) -> None:
            told.append(pair)

    watch = Watcher()
    result = SuiteResult(tmp_path, plan, shard=Shard(1, 2))
    order: Any = SimpleNamespace(of_case=ORDER)
    running._run(one, result, ("sample", 0.5), EXECUTOR, watch, 8.0, order)
    assert called.given == [(METHOD, [SYSTEM]), [REQUIREMENT], DATA, [SYSTEM]]
    tested = called.named.pop("tested")
    assert (tested(REQUIREMENT, SYSTEM), tested(REQUIREMENT, Meter("other"))) == (True, False)
    assert called.named == {
        "out": tmp_path, "seed": 4, "batch_size": 64, "images": "sample", "passes": 0.5, "executor": EXECUTOR,
        "simulator": SIMULATOR, "progress": watch.counts, "resume": True, "gate": GATE,
        "shard": Shard(1, 2), "until": 8.0, "order": ORDER,
    }  # fmt: skip
    assert simulator.given == [tmp_path]
    came: Any = result.outcomes, result.costs
    assert came == ({("R1", "meter"): "well"}, {"R1": "cost"})
    assert told == [("R1", "meter", "well")]


def test_a_case_is_run_again_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    called = Called()
    monkeypatch.setattr(rerunning, "run", called)
    monkeypatch.setattr(rerunning, "read_verdicts", lambda folder: [SimpleNamespace(case_id="c", of=folder)])
    one = SimpleNamespace(
        systems=lambda: [SYSTEM], method=lambda systems: METHOD, data=DATA, simulator=lambda: SIMULATOR
    )
    monkeypatch.setattr(rerunning, "Pass", lambda *_: one)
    plan: Any = SimpleNamespace(context=SimpleNamespace(seed=4), gate=GATE)
    trial: Any = SimpleNamespace(requirement=REQUIREMENT, kind=SimpleNamespace(one_at_a_time=True))
    pair: Any = SimpleNamespace(system="meter")
    found = rerunning._again(plan, trial, pair, ["c"])
    assert list(found) == ["c"]
    only, *rest = called.given
    assert rest == [REQUIREMENT, DATA, SYSTEM]
    assert (only._search, only._wanted) == (True, {"c"})
    out = called.named.pop("out")
    assert (out.name, found["c"].of) == ("run", out)  # type: ignore[attr-defined]
    assert called.named == {"seed": 4, "simulator": SIMULATOR, "images": "none", "gate": GATE}


@pytest.mark.parametrize("format", [1, 3])
def test_a_run_is_planned_again_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: int
) -> None:
    (tmp_path / "suite.yaml").write_text("x")
    manifest = {"format": format, "seed": 6, "only": ["R1"], "settings": {"sample": 3, "gate": "off"}}
    monkeypatch.setattr(reopening, "read_manifest", lambda _: manifest)
    read = SimpleNamespace(
        form=SimpleNamespace(models={}, data={}, requirements={}, gate="street"), folder=tmp_path
    )
    reader = Called(read)
    monkeypatch.setattr(reopening, "read_suite", reader)
    pairs = [SimpleNamespace(requirement=SimpleNamespace(id=id)) for id in ("A", "B", "A")]
    monkeypatch.setattr(StoredRun, "open", lambda _: SimpleNamespace(pairs=pairs))
    called = Called("plan")
    monkeypatch.setattr(reopening, "plan_suite", called)
    made: Any = reopening.plan_of(tmp_path)
    assert made == "plan"
    assert (reader.given, reader.named) == ([tmp_path / "suite.yaml", None], {"of_run": True})
    assert called.given == [read]
    assert called.named == {
        "only": ("R1",) if format > 1 else ("A", "B"), "sample": 3, "seed": 6, "gate": "off",
        "allow_commands": False, "copies": tmp_path / "suite-files",
    }  # fmt: skip
    (tmp_path / "mine.yaml").write_text("x")
    reopening.plan_of(tmp_path, tmp_path / "mine.yaml", allow_commands=True)
    assert (called.named["copies"], called.named["allow_commands"]) == (None, True)
    (tmp_path / "mine.yaml").write_text("y")
    with pytest.raises(InputError, match=r"mine.yaml is not the suite of this run: it differs from"):
        reopening.plan_of(tmp_path, tmp_path / "mine.yaml")
    (tmp_path / "suite.yaml").unlink()
    with pytest.raises(
        InputError, match=r"does not say how models and data were opened: it has no suite.yaml"
    ):
        reopening.plan_of(tmp_path)
    monkeypatch.setattr(reopening, "read_manifest", lambda _: None)
    with pytest.raises(InputError, match=r"it has no manifest.json"):
        reopening.plan_of(tmp_path)
