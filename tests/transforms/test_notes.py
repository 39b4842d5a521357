"""What a frame says about things that were added to it stays true under later changes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from roadworthy.frames import Frame
from roadworthy.registry import transforms
from roadworthy.transforms import Keeps, Transform, compose, kind_of, make_transform

PLACE = {"box", "foot", "side", "mirrored"}


@pytest.fixture(scope="module")
def walked(town: Frame) -> Frame:
    """The town with one more pedestrian."""
    return make_transform("add", element="pedestrian")(town, 3, measure=False)


def notes_of(frame: Frame) -> Any:
    return frame.metadata.get("added", ())


def strong(name: str) -> Transform:
    kind = kind_of(name)
    return kind.at(1) if kind.has_amount() else kind()


@pytest.mark.parametrize("name", [one for one in transforms.names() if kind_of(one).keeps is Keeps.MOVED])
def test_where_the_image_moves_the_place_is_left_out(name: str, walked: Frame) -> None:
    (before,) = notes_of(walked)
    assert before.keys() >= PLACE
    for change in (strong(name), compose([make_transform("brightness"), strong(name)])):
        moved = change(walked.replace(previous=[walked]), 1, measure=False)
        for frame in (moved, *moved.previous):
            (note,) = notes_of(frame)
            assert dict(note) == {
                key: before[key] for key in ("element", "properties", "cut_out", "distance")
            }
        assert pickle.loads(pickle.dumps(moved.metadata)) == moved.metadata
        assert {**moved.metadata, "added": 0} == {**walked.metadata, "added": 0}


@pytest.mark.parametrize("name", ["brightness", "gaussian-noise", "fog"])
def test_where_nothing_moves_notes_stay(name: str, walked: Frame) -> None:
    assert notes_of(strong(name)(walked, 1, measure=False)) == notes_of(walked)


def test_what_is_added_after_a_move_has_its_place(town: Frame) -> None:
    both = compose([make_transform("mirror"), make_transform("add", element="tree")])
    (note,) = notes_of(both(town, 3, measure=False))
    assert note.keys() >= PLACE


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (make_transform("remove", element="pedestrian"), []),
        (make_transform("remove", element="vehicle"), ["pedestrian"]),
        (make_transform("replace", element="pedestrian", by="cyclist"), ["bicyclist"] * 3),
        (make_transform("replace", element="building", by="tree"), ["pedestrian"]),
    ],
)
def test_a_thing_that_goes_takes_its_note_along(walked: Frame, change: Transform, left: list[str]) -> None:
    assert [note["element"] for note in notes_of(change(walked, 1, measure=False))] == left


def test_a_thing_that_is_painted_is_no_longer_what_was_added(town: Frame) -> None:
    car = make_transform("add", element="red car")(town, 1, measure=False)
    black = make_transform("replace", element="red car", by="black car")(car, 1, measure=False)
    assert "added" not in black.metadata
    tree = make_transform("add", element="tree")(town, 1, measure=False)
    walled = make_transform("replace", element="tree", by="building")(tree, 1, measure=False)
    assert "added" not in walled.metadata


def test_what_others_call_added_is_left_alone() -> None:
    frame = Frame("a", np.zeros((16, 16, 3), np.uint8), metadata={"added": "by hand"})
    assert make_transform("mirror")(frame, 1, measure=False).metadata == {"added": "by hand"}
