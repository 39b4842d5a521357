"""A run opened again: what is trusted, what is compared, and what differs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roadworthy.cases import (
    Acceptance,
    Case,
    Outcome,
    OutcomeStatus,
    RecordDrive,
    Requirement,
    Status,
    Verdict,
)
from roadworthy.errors import InputError
from roadworthy.runs.evidence import reopening
from roadworthy.runs.evidence.reopening import (
    _as_before,
    _as_stored,
    _check_harmless,
    _compare,
    _compare_pairs,
    _gate_of,
    _is_harmless,
    _is_harmless_gate,
    _said,
    data_of,
    functional_of,
)
from roadworthy.runs.store.digests import Digest
from roadworthy.runs.suites.planning import SuitePlan, Trial


class Noted:
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.findings: list[tuple[str, str, str]] = []

    def add(self, kind: str, where: str, detail: str) -> None:
        self.findings.append((kind, where, detail))


def compared(record: dict[str, Any], here: Digest | None) -> Noted:
    found: Any = Noted()
    _compare("model net", record, here, found)
    return found  # type: ignore[no-any-return]


def test_digests_are_compared_and_what_cannot_be_is_noted() -> None:
    same = Digest("a" * 64, "files", settings={"input": {"width": 3}})
    record = {"sha256": "a" * 64, "settings": {"input": {"width": 3}}}
    assert vars(compared(record, same)) == {"notes": [], "findings": []}
    assert compared({"sha256": None}, same).notes == [
        "model net was not hashed when the run was made, so it cannot be compared"
    ]
    for here in (None, Digest(None, "nothing")):
        assert compared(record, here).notes == ["model net cannot be reached, so it was not compared"]
    assert compared({"sha256": "b" * 64}, same).findings == [
        ("manifest", "model net", f"the run was made with sha256 {'b' * 16}…, here it is {'a' * 16}…")
    ]
    other = {"sha256": "a" * 64, "settings": {"input": {"width": 4}}}
    assert compared(other, same).findings == [
        ("manifest", "model net settings input width", "the run was made with 4, here it is 3")
    ]
    assert compared({"sha256": "a" * 64}, Digest("a" * 64, "files")).findings == []


@pytest.mark.parametrize(
    ("reference", "harmless"),
    [("dave2", True), ("onnx:net.onnx", True), ("python:mine.py:drive", False), ("http://h/", False),
     ("model.yaml", False), ("onnx:a.yaml", False), ("net.onnx", True), ("net.pt", False),
     ("of_hub", False)],
)  # fmt: skip
def test_what_came_with_a_run_may_not_run_code(tmp_path: Path, reference: str, harmless: bool) -> None:
    (tmp_path / "model.yaml").write_text("name: x\n")
    (tmp_path / "onnx:a.yaml").write_text("name: x\n")
    (tmp_path / "of_hub").mkdir()
    (tmp_path / "of_hub/config.json").write_text("{}")
    assert _is_harmless(reference, tmp_path) is harmless
    assert _is_harmless_gate(reference, tmp_path) is harmless
    assert _is_harmless_gate("street", tmp_path)
    assert _is_harmless_gate("off", tmp_path)
    models = {"m": SimpleNamespace(model=reference)}
    suite: Any = SimpleNamespace(
        form=SimpleNamespace(models=models, data={}, requirements={}),
        folder=tmp_path,
        path=Path("suite.yaml"),
    )
    if harmless:
        _check_harmless(suite, "street")
    else:
        with pytest.raises(
            InputError, match=r"suite\.yaml came with the run and names .*, which may run code or"
        ):
            _check_harmless(suite, "street")
        with pytest.raises(InputError, match=r"manifest\.json came with the run and names "):
            _check_harmless(suite, reference)


def test_simulators_other_than_the_world_are_not_started_for_a_stranger(tmp_path: Path) -> None:
    def suite(*simulators: str) -> Any:
        entry = SimpleNamespace(simulator=list(simulators))
        form = SimpleNamespace(models={}, data={}, requirements={"D": entry, "N": SimpleNamespace()})
        return SimpleNamespace(form=form, folder=tmp_path, path=Path("s.yaml"))

    _check_harmless(suite("world:town", "world"), "off")
    with pytest.raises(InputError, match=r"s\.yaml came with the run and names udacity:4567, which"):
        _check_harmless(suite("world:town", "udacity:4567"), "off")


def test_a_run_of_before_there_was_a_gate_had_none() -> None:
    assert _gate_of({}, Path("m")) == "off"
    assert _gate_of({"gate": "street"}, Path("m")) == "street"
    for gate in ("", 3, None):
        with pytest.raises(InputError, match=f"m must name the gate in its settings as text, got {gate!r}"):
            _gate_of({"gate": gate}, Path("m"))


def outcome(summary: str, status: OutcomeStatus = OutcomeStatus.PASSED) -> Outcome:
    return Outcome("R", status, {Status.PASSED: 2}, 0.0, summary)


def test_an_outcome_comes_to_its_numbers_whatever_the_words() -> None:
    assert _said(outcome("2 of 10 (3.5%)")) == _said(outcome("3.5% is 2 among 10"))
    assert _said(outcome("2 of 10")) != _said(outcome("2 of 11"))
    assert _said(outcome("2")) != _said(outcome("2", OutcomeStatus.VIOLATED))


def test_runs_of_before_are_concluded_by_the_bound_of_single_cases() -> None:
    requirement = Requirement("R", "t", "rules", acceptance=Acceptance(0.5, 0.9))

    def verdict(number: int, margin: float) -> Verdict:
        return Verdict.from_margin(Case(str(number), "R", (RecordDrive("o"),)), margin)

    found = _as_before(requirement, [verdict(n, -1.0 if n < 2 else 1.0) for n in range(20)])
    assert found.summary == "2 of 20 applicable cases failed (10.0%, at most 24.5% with 90% confidence)"
    nothing = _as_before(requirement, [Verdict("a", "R", Status.NOT_APPLICABLE, reason="x")])
    assert nothing.rate is None


def trial(id: str, text: str = "t", *models: str, data: str = "town") -> Any:
    requirement = Requirement(id, text, "rules")
    return Trial(requirement, id, None, None, data, models)  # type: ignore[arg-type]


def test_what_a_suite_asks_for_must_be_in_the_run() -> None:
    def stored(id: str, text: str, system: str) -> Any:
        return SimpleNamespace(requirement=Requirement(id, text, "rules"), system=system)

    run: Any = SimpleNamespace(pairs=[stored("A", "t", "x"), stored("B", "old", "x")], manifest={"format": 3})
    plan: Any = SimpleNamespace(pairs=[(trial("A"), "x"), (trial("A"), "y"), (trial("B", "new"), "x")])
    found: Any = Noted()
    _compare_pairs(run, plan, found)
    assert found.findings == [
        ("requirement", "A on y", "suite.yaml asks for it, and there are no rows of it"),
        ("requirement", "B on x", "suite.yaml says 'new', the run says 'old'"),
    ]


def test_the_plan_of_a_command_has_the_names_of_its_run() -> None:
    nothing: Any = None
    models: Any = {"net-x": 1, "other": 2}
    data: Any = {"folder-y": 3}
    plan = SuitePlan(nothing, nothing, [trial("a-b", "t", "net-x", data="folder-y")], models, data)
    pairs: Any = [SimpleNamespace(requirement=SimpleNamespace(id="a/b"))]
    found = _as_stored(plan, {"models": {"net/x": {}}, "data": {"folder/y": {}}}, pairs)
    (one,) = found.trials
    assert (one.requirement.id, one.models, one.data) == ("a/b", ("net/x",), "folder/y")
    assert (list(found.models), list(found.data)) == (["net/x", "other"], ["folder/y"])


def test_a_run_that_has_no_suite_or_no_data_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare: Any = SimpleNamespace(manifest=None, folder=tmp_path, pairs=[])
    assert data_of(bare) == functional_of(bare) == "because the run was not made from a suite"
    empty: Any = SimpleNamespace(manifest={}, folder=tmp_path, pairs=[])
    assert data_of(empty) == "because the run was not made from a suite"
    (tmp_path / "suite.yaml").write_text("broken: [")
    assert str(data_of(empty)).startswith("because the data cannot be opened again: ")
    assert "\n" not in str(data_of(empty))
    monkeypatch.setattr(reopening, "data_of", lambda *_: {})
    assert functional_of(empty) == "because the run used no data"
