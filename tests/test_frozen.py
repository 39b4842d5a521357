import copy
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy import _files
from roadworthy._frozen import FrozenDict, content_of, described, frozen, read_npz, read_only
from roadworthy.frames import Frame, LabelMap, Signals

WEATHER = FrozenDict({"kind": "rainy", "level": 0.5})


@pytest.mark.parametrize(
    "change",
    [
        lambda mapping: mapping.__setitem__("kind", "sunny"),
        lambda mapping: mapping.__delitem__("kind"),
        lambda mapping: mapping.__ior__({"kind": "sunny"}),
        lambda mapping: mapping.update(kind="sunny"),
        lambda mapping: mapping.setdefault("time", "night"),
        lambda mapping: mapping.pop("kind"),
        lambda mapping: mapping.popitem(),
        lambda mapping: mapping.clear(),
    ],
)
def test_every_way_to_change_it_is_refused(change: Callable[[Any], None]) -> None:
    with pytest.raises(TypeError, match="this mapping cannot be changed: make a changed copy with"):
        change(WEATHER)
    assert WEATHER == {"kind": "rainy", "level": 0.5}


@pytest.mark.parametrize(
    "same", [pickle.loads(pickle.dumps(WEATHER)), copy.copy(WEATHER), copy.deepcopy(WEATHER)]
)
def test_it_stays_frozen_on_its_travels(same: FrozenDict[str, object]) -> None:
    assert same == WEATHER
    assert hash(same) == hash(WEATHER)
    with pytest.raises(TypeError, match="cannot be changed"):
        same["kind"] = "sunny"


def test_it_goes_into_json_and_a_changed_copy_is_a_plain_dict() -> None:
    assert json.loads(json.dumps(WEATHER)) == WEATHER
    assert {**WEATHER, "kind": "sunny"} == {"kind": "sunny", "level": 0.5}


def test_freezing_copies_what_could_still_change_and_nothing_else() -> None:
    mine = {"kind": "rainy"}
    kept = frozen(mine)
    mine["kind"] = "sunny"
    assert kept == {"kind": "rainy"}
    assert frozen(WEATHER) is WEATHER


def test_arrays_of_a_file_come_back_and_what_is_none_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", numbers=np.arange(3), words=np.array(["ab", "é"]))
    found = read_npz(tmp_path / "a.npz")
    assert found["numbers"].tolist() == [0, 1, 2]
    assert found["words"].tolist() == ["ab", "é"]
    odd = io.BytesIO()
    np.save(odd, np.array(["ab"]))
    beyond = odd.getvalue().replace("ab".encode("utf-32-le"), b"\xff" * 8)
    for name, content in (("text.npy", beyond), ("plain", b"no array"), ("cut.npy", odd.getvalue()[:20])):
        with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
            archive.writestr(name, content)
        with pytest.raises(ValueError, match=r"is no text|is no array|\w+Error: "):
            read_npz(tmp_path / "b.npz")
    with pytest.raises(ValueError, match="FileNotFoundError"):
        read_npz(tmp_path / "none.npz")
    assert described(np.zeros((2, 3), np.uint8)) == "shape (2, 3) and dtype uint8"
    assert described([1]) == "a list"


def test_a_header_of_python_2_is_read_without_a_warning_and_a_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2L,), }"
    header += b" " * (117 - len(header)) + b"\n"
    old = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + np.array([1.5, 2]).tobytes()
    path = tmp_path / "old.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("values.npy", old)
    assert read_npz(path)["values"].tolist() == [1.5, 2]
    monkeypatch.setattr(_files, "_MOST_MEMBERS", 0)
    with pytest.raises(ValueError, match=r"old.npz is refused, because it has 1 members, more than 0"):
        read_npz(path)


def test_arrays_stay_read_only_and_the_givers_own_does_not() -> None:
    mine = np.zeros(3)
    view = read_only(mine)
    mine[0] = 1
    assert view.tolist() == [1, 0, 0]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 2


def said(value: object) -> bytes:
    return b"".join(content_of(value))


def test_what_a_frame_says_is_all_that_tells_it_from_another() -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    frame = Frame("a", pixels, signals=Signals(speed=1.0), metadata={"b": 1, "a": (1, "x")})
    whole = said(frame)
    assert whole == said(pickle.loads(pickle.dumps(frame)))
    assert whole.startswith(b"Frame(id=3:'a';image=array |u1 (2, 2, 3);")
    assert whole.endswith(b")")
    assert b"{3:'a';[1:1;3:'x';]3:'b';1:1;}" in whole, "names in their order, whoever wrote them"
    others = [
        frame.replace(id="b"), frame.replace(image=pixels + 1), frame.replace(signals=Signals(speed=1.5)),
        frame.replace(metadata={"b": 1}), frame.replace(labels=LabelMap(np.zeros((2, 2), np.uint8))),
        frame.replace(previous=(frame,)),
    ]  # fmt: skip
    assert len({whole, *map(said, others)}) == 7
    assert said(frame.replace(estimator=print)) == whole, "who would estimate something says nothing of it"
    assert said(frame.replace(siblings=[frame])) == whole
    assert said(Frame) != said("Frame"), "a class is no record"


def test_arrays_are_told_apart_by_shape_kind_and_content_in_any_layout() -> None:
    row = np.arange(6, dtype=np.int16)
    assert said(row) == b"array <i2 (6,);" + row.tobytes()
    assert said(row) != said(row.reshape(2, 3)) != said(row.reshape(3, 2))
    assert said(row) != said(row.view(np.uint16))
    assert said(row.reshape(2, 3).T) == said(np.ascontiguousarray(row.reshape(2, 3).T))
    assert said(["ab", "c"]) != said(["a", "bc"])
    assert said([["a"], "b"]) != said([["a", "b"]])
    assert said("\udcff") == b"8:'\\udcff';"
    assert copy.copy(WEATHER) is WEATHER
