"""What is known after things came, went or gave way: labels, boxes, single things, depth and notes."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.transforms.test_looks import THINGS, real, street

from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.transforms import parse_transform
from roadworthy.transforms.objects.remove import (
    Classes,
    _fill_columns,
    _leaves_half_a_thing,
    _nearest,
    _plant_poles,
    _run_lengths,
    _sides,
    _sink,
    _smoothed,
    completed,
)
from roadworthy.transforms.objects.selection import select
from roadworthy.transforms.perspective import Perspective
from roadworthy.transforms.wording import described

KEPT = Path(__file__).with_name("truth.txt")
NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w.])")
NAMES = ("void", "sky", "road", "sidewalk", "building", "tree", "vehicle", "pole", "line", "terrain")


@cache
def changed(text: str, known: str) -> Frame | str:
    try:
        frame = street() if known == "drawn" else real(known)
        return parse_transform(text)(frame, 7, measure=False)
    except (InputError, NotApplicable) as error:
        return str(getattr(error, "reason", error))


def told(frame: Frame) -> list[str]:
    """All that is known about a frame, in numbers that other processors compute alike."""
    labels = ", ".join(f"{name} {count}" for name, count in frame.label_map.present().items())
    lines = [f"    {labels}"]
    if frame.boxes is not None:
        hidden = frame.boxes.occlusion
        shares = np.zeros(len(frame.boxes)) if hidden is None else hidden
        lines += [
            f"    {name} {np.rint(box).astype(int).tolist()} {share:.1f} {dict(facts)}"
            for name, box, share, facts in zip(
                frame.boxes.classes, frame.boxes.xyxy, shares, frame.boxes.attributes, strict=True
            )
        ]
    if frame.instances is not None:
        lines.append(f"    {len(np.unique(frame.instances))} numbers")
    if frame.depth is not None:
        near = np.isfinite(frame.depth)
        unknown = int(np.count_nonzero(np.isnan(frame.depth)))
        lines.append(f"    {np.median(frame.depth[near]):.1f} m, {unknown} unknown")
    for note in frame.metadata.get("added", ()):  # type: ignore[attr-defined]
        places = {key: round(one, 1) if isinstance(one, float) else one for key, one in note.items()}
        lines.append(f"    {places}")
    return lines


def test_what_is_known_afterwards_is_what_it_was() -> None:
    lines = []
    for known in ("all", "drawn"):
        for text in THINGS:
            found = changed(text, known)
            lines += [f"{text} with {known}", *([found] if isinstance(found, str) else told(found))]
    if os.environ.get("KEEP"):
        KEPT.write_text("\n".join(lines) + "\n", "utf-8")
    for now, then in zip(lines, KEPT.read_text("utf-8").splitlines(), strict=True):
        assert NUMBER.sub("#", now) == NUMBER.sub("#", then)
        numbers, wanted = (np.array(NUMBER.findall(line), float) for line in (now, then))
        # Other processors round single pixels otherwise.
        np.testing.assert_allclose(numbers, wanted, rtol=0.01, atol=1.01, err_msg=now)


@pytest.mark.parametrize("text", [one for one in THINGS if one.startswith(("remove", "replace"))])
def test_nothing_is_known_of_what_went_and_the_image_changes_where_labels_do(text: str) -> None:
    found = changed(text, "all")
    assert isinstance(found, Frame)
    before = real("all")
    assert found.boxes is not None
    assert found.instances is not None
    assert found.depth is not None
    if text.startswith("remove"):
        gone = described(parse_transform(text).settings["element"]).element  # type: ignore[arg-type]
        assert not found.label_map.mask(gone).any()
        assert not [name for name in found.boxes.classes if described(name).is_a(gone)]
    moved = found.label_map.ids != before.label_map.remapped(classes=found.label_map.classes).ids
    shown = (found.image != before.image).any(axis=2)
    assert shown.any()
    assert np.count_nonzero(shown & moved) >= 0.5 * np.count_nonzero(moved)


def view(horizon: float = 10.0) -> Perspective:
    return Perspective(horizon, 1.45, 40.0)


class TestBehind:
    def test_what_is_painted_shows_the_ground_beside_it(self) -> None:
        ids = np.full((6, 12), 2, np.uint8)
        ids[:, 8:] = 3
        ids[:, 4:6], ids[:, 7:9] = 8, 8
        gone = ids == 8
        found = completed(ids, NAMES, gone, view(), "paint")
        assert found[0].tolist() == [2] * 8 + [3] * 4, "half way between two grounds"
        bare = np.full((4, 4), 8, np.uint8)
        assert (completed(bare, NAMES, bare == 8, view(), "paint") == 2).all(), "paint lies on a road"

    def test_behind_a_thing_the_ground_ends_where_it_ends_beside_it(self) -> None:
        ids = np.full((40, 60), 2, np.uint8)
        ids[:10], ids[10:20] = 1, 4
        gone = np.zeros((40, 60), np.bool_)
        gone[8:30, 20:40] = True
        found = completed(ids, NAMES, gone, view(12.0), "thing")
        assert (found == ids).all()
        ids[gone] = 6
        assert (completed(ids, NAMES, gone, view(12.0), "thing") == np.where(gone, found, ids)).all()

    def test_a_pole_goes_on_down_to_the_ground(self) -> None:
        ids = np.full((30, 9), 4, np.uint8)
        ids[20:] = 2
        ids[:10, 4] = 7
        gone = np.zeros((30, 9), np.bool_)
        gone[10:26, 2:7] = True
        result = np.where(gone, 4, ids).astype(np.uint8)
        _plant_poles(result, ids, Classes(NAMES), gone, np.full(9, 20.0))
        assert np.flatnonzero(result[:, 4] == 7).tolist() == list(range(22))
        assert np.count_nonzero(result == 7) == 22

    def test_the_nearest_of_both_sides_counts_and_a_tie_is_the_left_ones(self) -> None:
        known = np.array([[2, -1, -1, -1, 3, -1]], np.int32)
        (left, near), (right, far) = _sides(known)
        assert left.tolist() == [[2, 2, 2, 2, 3, 3]]
        assert right[0, :5].tolist() == [2, 3, 3, 3, 3]
        assert (near[0, :5].tolist(), far[0, :5].tolist()) == ([0, 1, 2, 3, 0], [0, 3, 2, 1, 0])
        assert (right[0, 5], far[0, 5] > 1e8) == (-1, True)
        assert _nearest(_sides(known)).tolist() == [[2, 2, 2, 3, 3, 3]]

    def test_runs_of_one_class(self) -> None:
        labels = np.array([[1, 1, 2, 2, 2, 1], [3, 3, 3, 3, 3, 3]], np.int32)
        assert _run_lengths(labels).tolist() == [[2, 2, 3, 3, 3, 1], [6] * 6]

    def test_no_sky_lies_below_hills(self) -> None:
        found = np.array([[1], [5], [1], [1], [2]], np.int32)
        gap = np.array([[True]] * 4 + [[False]])
        _sink(found, gap, Classes(NAMES))
        assert found.ravel().tolist() == [1, 5, 5, 5, 2]
        apart = np.array([[5], [2], [1]], np.int32)
        _sink(apart, np.array([[True], [False], [True]]), Classes(NAMES))
        assert apart.ravel().tolist() == [5, 2, 1], "something else lies between"

    def test_what_has_nothing_beside_it_is_filled_from_its_column(self) -> None:
        known = np.full((5, 3), -1, np.int32)
        known[4, 0], known[0, 2] = 3, 1
        found, ground = known.copy(), np.zeros((5, 3), np.bool_)
        ground[3:] = True
        _fill_columns(found, known, Classes(NAMES), ground)
        assert found.tolist() == [[1, 1, 1]] * 3 + [[3, 3, 3]] * 2
        empty = np.full((2, 2), -1, np.int32)
        _fill_columns(empty, empty.copy(), Classes(("vehicle", "void")), np.zeros((2, 2), np.bool_))
        assert (empty == 1).all()

    def test_outlines_are_voted_on(self) -> None:
        found = np.full((5, 5), 2, np.int32)
        found[2, 2] = 3
        assert (_smoothed(found, np.ones((5, 5), np.bool_), (3, 3)) == 2).all()
        assert _smoothed(found, np.ones((5, 5), np.bool_), (1, 1))[2, 2] == 3

    @pytest.mark.parametrize(("hidden", "half"), [(5, False), (6, True)])
    def test_half_a_thing_does_not_stay(self, hidden: int, half: bool) -> None:
        names = ("road", "vehicle", "pedestrian")
        ids = np.zeros((60, 60), np.uint8)
        ids[10:30, 20:30] = 2
        ids[30:40, 30 - hidden : 50] = 1
        ids[30:40, 20 : 30 - hidden] = 0
        frame = Frame("f", np.zeros((60, 60, 3), np.uint8), labels=LabelMap(ids, names))
        assert _leaves_half_a_thing(frame, select(frame, described("vehicle"), 0.0)) is half

    def test_what_was_hidden_is_less_hidden_now(self) -> None:
        names = ("road", "vehicle", "pedestrian")
        ids = np.zeros((40, 60), np.uint8)
        ids[10:30, 10:30], ids[10:30, 30:40] = 1, 2
        boxes = Boxes([[10, 10, 40, 30], [30, 10, 40, 30]], ["car", "pedestrian"], occlusion=[0.5, 0.0])
        frame = Frame("f", np.full((40, 60, 3), 90, np.uint8), labels=LabelMap(ids, names), boxes=boxes)
        found = parse_transform("remove(element=pedestrian, realism=any)")(frame, 1, measure=False)
        assert found.boxes is not None
        assert found.boxes.occlusion is not None
        assert found.boxes.classes == ("vehicle",)
        # A third of what covered the box is gone.
        assert found.boxes.occlusion.tolist() == [pytest.approx(0.5 * 2 / 3)]
