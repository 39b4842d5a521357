"""Where a search stood: what is written, what is read again, and with what it may go on."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roadworthy.cases import BaseMethod, Requirement
from roadworthy.errors import InputError
from roadworthy.runs.changed_images import _original, _place
from roadworthy.runs.checkpoints import Checkpoint, Checkpoints, check_beginning, read_checkpoint

SEARCH = Requirement("R1", "It is bright", "search")
STOOD = Checkpoint(7, {"requirement": "R1", "seed": 3}, {"at": [1, 2]})


class Search(BaseMethod):
    """A search that tells where it stands."""

    name = "search"

    def __init__(self) -> None:
        self.restored: list[Any] = []
        self.now: dict[str, Any] = {"at": 1}

    def cases(self, *_: Any) -> Any:
        raise AssertionError

    def judge(self, *_: Any) -> Any:
        raise AssertionError

    def state(self) -> dict[str, Any]:
        return self.now

    def restore(self, requirement: Requirement, state: Any, /) -> None:
        self.restored.append((requirement.id, state))


class Store:
    def __init__(self, count: int) -> None:
        self.count = count
        self.cuts: list[int] = []
        self.saved: list[tuple[str, bytes]] = []

    def cut(self, rows: int) -> None:
        self.cuts.append(rows)

    def save(self, name: str, content: bytes) -> None:
        self.saved.append((name, content))


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    assert read_checkpoint(tmp_path) is None
    (tmp_path / "checkpoint.json").write_bytes(STOOD.encoded())
    assert read_checkpoint(tmp_path) == STOOD
    assert json.loads(STOOD.encoded()) == {
        "rows": 7, "run": {"requirement": "R1", "seed": 3},
        "state": {"at": [1, 2]},
    }  # fmt: skip
    assert STOOD.encoded().endswith(b"}\n")
    for text in ("[]", "{}", '{"rows": "odd", "run": {}, "state": {}}', '{"rows": 1e999}'):
        (tmp_path / "checkpoint.json").write_text(text)
        with pytest.raises(
            InputError, match=r"checkpoint.json is no checkpoint of a run: .* run without --resume"
        ):
            read_checkpoint(tmp_path)


def test_a_run_goes_on_with_the_same_only() -> None:
    STOOD.check({"seed": 3}, Path("run"))
    STOOD.check({}, Path("run"))
    with pytest.raises(
        InputError, match="run holds a run with seed 3, and it cannot go on with seed 4: resume"
    ):
        STOOD.check({"requirement": "R1", "seed": 4}, Path("run"))
    with pytest.raises(InputError, match="holds a run with data None, and it cannot go on with data 'town'"):
        STOOD.check({"data": "town"}, Path("run"))


@pytest.mark.parametrize(
    ("record", "refused"),
    [
        ({"id": "R1", "method": "search"}, False),
        ({"id": "R1", "method": "search", "outcome": None}, False),
        ({"id": "R1", "method": "search", "outcome": {"status": "passed"}}, True),
        ({"id": "R2", "method": "search"}, True),
        ({"id": "R1", "method": "rules"}, True),
        ([], True),
    ],
)
def test_rows_of_something_else_are_not_lost(tmp_path: Path, record: Any, refused: bool) -> None:
    check_beginning(tmp_path, SEARCH)
    (tmp_path / "requirements.jsonl").write_text(json.dumps(record))
    if refused:
        with pytest.raises(InputError, match="holds a run that is not the beginning of this search, and its"):
            check_beginning(tmp_path, SEARCH)
    else:
        check_beginning(tmp_path, SEARCH)


def test_a_search_goes_on_where_it_stood(tmp_path: Path) -> None:
    method, store = Search(), Store(9)
    (tmp_path / "checkpoint.json").write_bytes(STOOD.encoded())
    found = Checkpoints(method, SEARCH, tmp_path, {"seed": 3}, resume=True)
    assert method.restored == [("R1", {"at": [1, 2]})]
    assert not found.begin(store), "its cases do not come again"  # type: ignore[arg-type]
    assert store.cuts == [7]
    with pytest.raises(InputError, match="seed"):
        Checkpoints(Search(), SEARCH, tmp_path, {"seed": 4}, resume=True)
    anew = Checkpoints(method, SEARCH, tmp_path, {"seed": 4}, resume=False)
    assert anew.begin(store)  # type: ignore[arg-type]
    assert store.cuts == [7]
    fresh = Checkpoints(Search(), SEARCH, tmp_path / "none", {"seed": 4}, resume=True)
    assert not fresh.begin(store)  # type: ignore[arg-type]
    assert store.cuts == [7, 0], "what there is without a checkpoint is made again"


def test_a_checkpoint_is_left_after_enough_rows(tmp_path: Path) -> None:
    method = Search()
    found = Checkpoints(method, SEARCH, tmp_path, {"seed": 3}, resume=False)
    few, enough = Store(99), Store(100)
    found.leave(few)  # type: ignore[arg-type]
    assert few.saved == []
    method.now = {}
    found.leave(enough)  # type: ignore[arg-type]
    assert enough.saved == [], "where a search cannot tell, nothing is left"
    method.now = {"at": 2}
    found.leave(enough)  # type: ignore[arg-type]
    ((name, content),) = enough.saved
    assert name == "checkpoint.json"
    assert json.loads(content) == {
        "rows": 100, "run": {"requirement": "R1", "seed": 3}, "state": {"at": 2},
    }  # fmt: skip
    found.leave(Store(199))  # type: ignore[arg-type]
    soon = Store(101)
    found.leave(soon, least=1)  # type: ignore[arg-type]
    assert len(soon.saved) == 1
    plain: Any = SimpleNamespace(name="plain")
    Checkpoints(plain, SEARCH, tmp_path, {}, resume=True).leave(soon, least=0)  # type: ignore[arg-type]
    assert len(soon.saved) == 1, "what does not search needs none"


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("world:town", f"world:{Path('town').resolve()}"),
        ("5 frames of folder:a/../b", f"folder:{Path('b').resolve()}"),
        ("folder:b[0:5][::2]", f"folder:{Path('b').resolve()}"),
        ("mine", "mine"),
    ],
)
def test_data_are_called_by_what_they_are_taken_from(name: str, place: str) -> None:
    assert _place(name) == place


def test_the_frame_that_was_changed_is_known_by_the_row() -> None:
    assert _original({"case": "c~rain", "param.frame": None}) == "c"
    assert _original({"case": "c", "param.frame": "f~x~y", "param.original": "o"}) == "f"
    assert _original({"case": "c", "param.seed": 7, "param.seed_frame": "s"}) == "s", "a number is no frame"
