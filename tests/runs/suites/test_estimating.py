"""Estimates: from what a short trial took to what everything will."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Status
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.runs.suites import estimating
from roadworthy.runs.suites.estimating import _Probe, _scaled, estimate_passes


def planned(
    requirements: int = 2, models: int = 3, *, data: str = "town", alone: bool = False, drives: bool = False
) -> Any:
    kind = SimpleNamespace(name="rules", needs_data=not drives, one_at_a_time=alone)
    trials = tuple(
        SimpleNamespace(requirement=SimpleNamespace(id=f"R{n}"), kind=kind, data=data)
        for n in range(requirements)
    )
    first = Frame("a", np.zeros((20, 30, 3), np.uint8))
    names = [f"m{n}" for n in range(models)]
    return SimpleNamespace(
        name="rules: all", trials=trials, kind=kind, models=names, cases=50, data=[None] * 500,
        pairs=frozenset((f"R{n}", name) for n in range(requirements) for name in names),
        plan=SimpleNamespace(data={"town": SimpleNamespace(first=first)}),
    )  # fmt: skip


def test_a_trial_is_scaled_by_its_share_and_requirements() -> None:
    probe = _Probe(2.0, 0.1, 1, cases=6, failing=3)
    found = _scaled(planned(), probe, "none")
    assert (found.name, found.requirements, found.models) == ("rules: all", 2, 3)
    assert (found.seconds, found.cases, found.probed) == (40.0, 120, 6)
    assert (found.image_bytes, found.most_bytes, found.problem) == (0, 0, "")
    for known in (planned(alone=True), planned(drives=True)):
        assert _scaled(known, probe, "none").cases == 150, "of searches and drives it is known"
    assert _scaled(planned(), _Probe(2.0, 0.1, 1), "none").cases == 150
    broken = _scaled(planned(), _Probe(0.0, 1.0, 2, problem="no model"), "none")
    assert (broken.seconds, broken.problem) == (None, "no model")


def test_room_for_images_follows_how_many_fail() -> None:
    def room(failing: int, images: Any = "failures", **known: Any) -> tuple[int, int]:
        found = _scaled(planned(**known), _Probe(2.0, 0.1, 1, cases=6, failing=failing), images)
        return found.image_bytes, found.most_bytes

    assert room(0)[0] == 0
    assert 0 < room(3)[0] < room(6)[0] <= room(6)[1]
    assert room(3, "all")[0] == room(6, "all")[0] > room(3)[0]
    assert room(6, data="") == (0, 0), "drives have no frames"
    assert room(6, models=1)[0] == pytest.approx(room(6)[0] * 3, rel=0.1), (
        "models share the frames of a requirement"
    )


def test_each_kind_on_each_data_is_tried_once_and_each_search(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []

    def probe(one: Any, executor: Any) -> _Probe:
        tried.append((one, executor))
        return _Probe(1.0, 1.0, len(one.trials), cases=1)

    monkeypatch.setattr(estimating, "_probe", probe)
    same, road, search, other = (
        planned(),
        planned(data=""),
        planned(1, 1, alone=True),
        planned(1, 1, alone=True),
    )
    other.trials[0].requirement.id = "S2"
    found = list(estimate_passes([same, planned(), road, search, search, other], "none", "here"))  # type: ignore[arg-type]
    assert len(found) == 6
    assert [one for one, _ in tried] == [same, road, search, other]
    assert {where for _, where in tried} == {"here"}


def test_a_trial_that_is_over_at_once_is_made_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    def counts(*seconds: float, frames: int = 500) -> list[int]:
        made: list[int] = []

        def tried(small: Any, systems: Any, folder: Any, count: int, executor: Any) -> _Probe:
            made.append(count)
            return _Probe(seconds[len(made) - 1], 1.0, 1)

        monkeypatch.setattr(estimating, "_tried", tried)
        monkeypatch.setattr(estimating, "Pass", lambda *_: SimpleNamespace(systems=list))
        one = planned(9)
        one.data = [None] * frames
        found = estimating._probe(one, None)
        assert found.seconds == seconds[len(made) - 1]
        return made

    few = estimating._FRAMES
    assert counts(9.0, 60.0) == [2, few], "the first fills caches, and is not counted"
    assert counts(9.0, 0.0, 1.0) == [2, few, 5 * few]
    assert counts(9.0, 0.0, frames=few) == [2, few]


def failing(_: Any) -> Any:
    raise InputError("no road")


def test_what_cannot_be_tried_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def small(plan: Any, trials: Any, pairs: Any) -> Any:
        seen.append((len(trials), len(pairs)))
        return SimpleNamespace(systems=lambda: failing(None))

    monkeypatch.setattr(estimating, "Pass", small)
    found = estimating._probe(planned(9), None)
    assert (found.problem, found.seconds, found.share) == ("no road", 0.0, 1.0)
    most = estimating._REQUIREMENTS
    assert seen == [(most, 3 * most)], "a few requirements speak for all"
    assert found.requirements == most


def test_a_trial_passes_everything_on(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def run_several(*given: Any, **named: Any) -> Any:
        asked.update(named, given=given)
        counts = {Status.PASSED: 4, Status.VIOLATED: 2, Status.ERROR: 1, Status.NOT_APPLICABLE: 3}
        return SimpleNamespace(results={"a": SimpleNamespace(counts=counts)})

    monkeypatch.setattr(estimating, "run_several", run_several)
    monkeypatch.setattr(estimating, "replace", lambda one, **how: (one.id, how))
    kind = SimpleNamespace(probed=lambda part, frames, of: ({"tries": frames}, frames / of))
    trial = SimpleNamespace(kind=kind, part=None, requirement=SimpleNamespace(id="R0"))
    method: Callable[[Any], Any] = lambda systems: ("method", systems)  # noqa: E731
    small: Any = SimpleNamespace(
        data=[1, 2, 3, 4], trials=[trial], method=method, simulator=lambda: "simulator",
        pairs=frozenset([("R0", "m0")]), plan=SimpleNamespace(context=SimpleNamespace(seed=8), gate="gate"),
    )  # fmt: skip
    found = estimating._tried(small, ["system"], tmp_path, 2, "executor")  # type: ignore[list-item,arg-type]
    assert (found.share, found.requirements, found.cases, found.failing) == (1.0, 1, 10, 3)
    assert asked.pop("given") == (
        ("method", ["system"]),
        [("R0", {"parameters": {"tries": 4}})],
        [1, 2, 3, 4],
        ["system"],
    )
    tested = asked.pop("tested")
    assert tested(SimpleNamespace(id="R0"), SimpleNamespace(name="m0"))
    assert not tested(SimpleNamespace(id="R0"), SimpleNamespace(name="m1"))
    assert asked == {
        "out": tmp_path, "seed": 8, "images": "none", "executor": "executor", "simulator": "simulator",
        "gate": "gate",
    }  # fmt: skip
