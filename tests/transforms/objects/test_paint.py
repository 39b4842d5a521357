"""Paint, lamps and colours: what is told of them, and what becomes of them, at their borders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Image, Mask
from roadworthy.transforms.objects.paint import (
    _commonest,
    _disc,
    _like,
    _lit,
    _middle,
    _strokes,
    cut_into_dashes,
    exposure,
    hidden_lines,
    joined_dashes,
    lights_like,
    lines_like,
    repainted,
    repainted_lines,
    switched_lights,
)
from roadworthy.transforms.perspective import Perspective

RED, YELLOW, GREEN = (250, 40, 30), (250, 200, 30), (30, 230, 90)


def light(color: tuple[int, int, int] | None, row: int = 5) -> tuple[Image, Mask]:
    """A traffic light of 30 rows whose lamp shines in some rows."""
    image = np.full((40, 20, 3), 150, np.uint8)
    part = np.zeros((40, 20), np.bool_)
    part[5:35, 5:15] = True
    image[part] = 30
    if color is not None:
        image[row + 2 : row + 8, 7:13] = color
    return image, part


class TestLights:
    @pytest.mark.parametrize(
        ("color", "name"), [(RED, "red"), (YELLOW, "yellow"), (GREEN, "green"), ((40, 40, 250), None)]
    )
    def test_the_colour_of_a_lamp(self, color: tuple[int, int, int], name: str | None) -> None:
        image, part = light(color)
        lit, shown = _lit(image, part)
        assert shown == name
        assert np.count_nonzero(lit) == 36
        assert lights_like(image, part, "red").any() == (name == "red")
        assert np.array_equal(lights_like(image, part, name or "red"), part if name else np.zeros_like(part))

    def test_a_lamp_that_is_out_has_none(self) -> None:
        image, part = light(None)
        assert _lit(image, part)[1] is None
        assert not _lit(image, part)[0].any()
        image[20, 10] = (0, 250, 0)
        part[20, 10] = False
        assert _lit(image, part)[1] is None, "what is beside it does not count"

    @pytest.mark.parametrize(
        ("before", "row", "color", "after"),
        [(RED, 5, "green", 25), (GREEN, 25, "red", 5), (RED, 5, "yellow", 15)],
    )
    def test_another_lamp_shines_where_it_is(
        self, before: tuple[int, int, int], row: int, color: str, after: int
    ) -> None:
        image, part = light(before, row)
        changed, done = switched_lights(image, part, color)
        assert np.array_equal(done, part)
        assert (changed[~part] == 150).all()
        assert _lit(changed, part)[1] == color
        rows = np.flatnonzero(_lit(changed, part)[0].any(axis=1))
        assert (rows[0], rows[-1]) == (pytest.approx(after + 2, abs=1), pytest.approx(after + 7, abs=1))
        assert changed[row + 4, 10].max() < 80, "the other is out"
        same, nothing = switched_lights(*light(before, row), _lit(image, part)[1] or "")
        assert not nothing.any()
        assert np.array_equal(same, image)

    def test_an_arrow_is_a_part_of_its_lamp(self) -> None:
        lit = np.zeros((12, 12), np.bool_)
        lit[3:9, 6] = lit[6, 3:9] = True
        disc = _disc(lit)
        assert disc[lit].all()
        assert 20 < np.count_nonzero(disc) < 50
        assert not disc[0].any()


def road(*strokes: tuple[int, int, int, int], color: tuple[int, int, int] = (230, 230, 230)) -> Frame:
    """A road with the horizon in row 40 and strokes (top, bottom, left, right) on it."""
    ids = np.ones((120, 160), np.uint8)
    ids[:40] = 0
    image = np.full((120, 160, 3), 90, np.uint8)
    for top, bottom, left, right in strokes:
        ids[top:bottom, left:right] = 2
        image[top:bottom, left:right] = color
    rows = np.arange(120)[:, None] + 0.5 + np.zeros((1, 160))
    depth = np.where(rows > 40, 160 / np.maximum(rows - 40, 1e-3), np.inf).astype(np.float32)
    return Frame("f", image, labels=LabelMap(ids, ("sky", "road", "line")), depth=depth)


def lines_of(frame: Frame) -> Mask:
    return frame.label_map.mask("line")


class TestLines:
    def test_strokes_say_where_they_are(self) -> None:
        frame = road((50, 110, 80, 84), (100, 103, 20, 26), color=(230, 200, 90))
        long, short = _strokes(frame, lines_of(frame))
        assert (long.top, long.bottom, long.widths) == ((82.0, 51.5), (82.0, 108.5), (4, 4))
        assert (long.solid, long.clear, long.color) == (True, True, "yellow")
        assert (short.solid, short.clear) == (False, False)
        (white,) = _strokes(road((60, 64, 80, 84)), lines_of(road((60, 64, 80, 84))))
        assert (white.color, white.clear) == ("white", True)

    @pytest.mark.parametrize(
        ("properties", "count"),
        [
            ({"type": "solid"}, 240),
            ({"type": "dash"}, 40),
            ({"color": "white"}, 280),
            ({"color": "yellow"}, 0),
            ({}, 280),
        ],
    )
    def test_lines_by_their_looks(self, properties: dict[str, str], count: int) -> None:
        frame = road((50, 110, 80, 84), (100, 110, 20, 24))
        assert np.count_nonzero(lines_like(frame, lines_of(frame), properties)) == count

    def test_what_is_too_far_away_to_tell_is_like_what_is_nearest(self) -> None:
        frame = road((45, 48, 80, 82), (50, 110, 80, 84), (100, 110, 20, 24))
        solid = lines_like(frame, lines_of(frame), {"type": "solid"})
        assert solid[45:48, 80:82].all()
        assert not solid[100:110, 20:24].any()

    def test_dashes_are_three_metres_of_nine(self) -> None:
        frame = road((44, 118, 80, 84))
        gone = cut_into_dashes(frame, lines_of(frame), np.random.default_rng(2))[:, 81]
        view = Perspective.of(frame)
        phase = np.random.default_rng(2).uniform(0, 9)
        for row in range(60, 118):
            wanted = (view.distance(row + 0.5) + phase) % 9 >= 3
            assert gone[row] == wanted, row
        assert not gone[:44].any()

    def test_gaps_between_dashes_are_joined(self) -> None:
        frame = road((60, 66, 80, 84), (75, 90, 80, 84))
        ((between, dashes),) = joined_dashes(frame, lines_of(frame))
        assert between[66:75, 81:83].all()
        assert not (between & lines_of(frame)).any()
        assert np.array_equal(dashes, lines_of(frame))
        assert between[92, 82], "and on to us, as far as a gap is long"
        assert not between[50].any()
        assert list(joined_dashes(road((60, 66, 80, 84)), lines_of(road((60, 66, 80, 84))))) == []
        apart = road((60, 66, 20, 24), (75, 90, 80, 84))
        assert list(joined_dashes(apart, lines_of(apart))) == [], "another line"

    def test_a_line_goes_on_behind_what_is_gone(self) -> None:
        frame = road((60, 70, 80, 84), (85, 110, 80, 84))
        gone = np.zeros((120, 160), np.bool_)
        gone[70:85, 60:110] = True
        behind = hidden_lines(frame, lines_of(frame), gone)
        assert behind[72:83, 81:83].all()
        assert not (behind & ~gone).any()
        assert not hidden_lines(frame, lines_of(frame), np.roll(gone, 70, axis=1)).any()
        nothing = np.zeros_like(gone)
        assert not hidden_lines(frame, lines_of(frame), nothing).any()

    def test_lines_get_another_colour_and_keep_their_wear(self) -> None:
        frame = road((50, 110, 80, 84))
        image = frame.image.copy()
        image[80:90, 80:84] = 160  # worn
        mask = lines_of(frame)
        opacity = mask.astype(np.float32)
        found = repainted_lines(image, mask, frame.label_map.mask("road"), opacity, "yellow")
        assert found[60, 82].tolist() == pytest.approx([230, 184, 58], abs=2)
        assert found[85, 82, 0] == 160
        assert found[85, 82, 2] < 110
        assert np.array_equal(found[~mask], image[~mask])
        white = repainted_lines(found, mask, frame.label_map.mask("road"), opacity, "white")
        assert np.abs(white[60, 82].astype(int) - 230).max() <= 2


class TestPaint:
    def test_how_bright_things_are(self) -> None:
        assert exposure(np.full((90, 120, 3), 250, np.uint8)) == 1.0
        dark, darker = (exposure(np.full((90, 120, 3), level, np.uint8)) for level in (40, 20))
        assert dark == pytest.approx(2 * darker)
        assert dark < 1

    def test_paint_changes_and_glass_stays(self) -> None:
        image = np.full((40, 60, 3), 128, np.uint8)
        part = np.zeros((40, 60), np.bool_)
        part[5:35, 5:55] = True
        image[part] = (190, 30, 30)
        image[5:12, 15:45] = (40, 45, 50)  # glass
        found = repainted(image, part, "blue", 1.0)
        assert np.array_equal(found[~part], image[~part])
        assert np.abs(found[8, 30].astype(int) - image[8, 30]).max() < 12
        red, _, blue = (float(found[25, 30, channel]) for channel in range(3))
        assert blue > red + 30
        dim = repainted(image, part, "white", 0.4)
        assert dim[25, 30].mean() < repainted(image, part, "white", 1.0)[25, 30].mean() * 0.6

    def test_the_commonest_colour_is_not_that_of_the_glass(self) -> None:
        lab = np.concatenate([np.tile([20.0, 0, 0], (60, 1)), np.tile([50.0, 60, 40], (50, 1))]).astype(
            np.float32
        )
        assert _commonest(lab).tolist() == [50, 60, 40]
        assert _commonest(lab[:60]).tolist() == [20, 0, 0]

    @pytest.mark.parametrize(
        ("paint", "pixel", "like"),
        [
            ((50, 60, 0), (50, 60, 0), 1),
            ((50, 60, 0), (20, 60, 0), 1),
            ((50, 60, 0), (50, 15, 0), 0),
            ((50, 60, 0), (50, 0, 60), 0),
            ((50, 60, 0), (50, 22.5, 0), 0.5),
            ((50, 0, 0), (50, 0, 0), 1),
            ((50, 0, 0), (83, 0, 0), 0.5),
            ((50, 0, 0), (94, 0, 0), 0),
            ((50, 0, 0), (50, 15, 0), 0.5),
            ((50, 0, 0), (50, 20, 0), 0),
            ((50, 18, 0), (72, 18, 0), 1),
        ],
    )
    def test_how_like_a_paint_a_pixel_is(self, paint: Any, pixel: Any, like: float) -> None:
        found = _like(np.array([[pixel]], np.float32), np.array(paint, np.float32))
        assert found.dtype == np.float32
        assert found[0, 0] == pytest.approx(like, abs=1e-5)

    def test_the_inside_of_a_thing(self) -> None:
        part = np.zeros((40, 60), np.bool_)
        part[5:35, 5:55] = True
        assert np.count_nonzero(_middle(part)) == 24 * 44
        thin = np.zeros((40, 60), np.bool_)
        thin[20:23, 5:55] = True
        assert np.count_nonzero(_middle(thin)) == 48
        line = np.zeros((40, 60), np.bool_)
        line[20, 5:55] = True
        assert np.array_equal(_middle(line), line)
