from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.ontology import ontology
from roadworthy.report import drawing
from roadworthy.report.drawing import (
    draw_difference,
    draw_frame,
    draw_legend,
    draw_text,
    fitted,
    parse_overlays,
    round_rectangle,
    text_width,
)

GREY = np.full((40, 80, 3), 120, np.uint8)


def changed(frame: Frame, overlays: str, scale: float = 4.0) -> NDArray[np.bool_]:
    """Return which pixels of the enlarged image an overlay changes."""
    plain = draw_frame(frame, "none", scale)
    drawn = draw_frame(frame, overlays, scale, legend=False)
    return np.asarray(np.any(drawn[: plain.shape[0]] != plain, axis=2))


def test_without_overlays_it_is_the_enlarged_image() -> None:
    frame = Frame("a", np.random.default_rng(0).integers(0, 256, (40, 80, 3), np.uint8))
    assert np.array_equal(draw_frame(frame, "none", 1), frame.image)
    assert draw_frame(frame, "none", 2.5).shape == (100, 200, 3)
    assert np.array_equal(draw_frame(frame, (), 3), draw_frame(frame, "none", 3))


@pytest.mark.parametrize(
    ("signals", "words"),
    [
        (Signals(speed=10.0, steering=-2.0), ["model", "2.0° left", "36 km/h"]),
        (Signals(speed=0.0, steering=2.04), ["model", "2.0° right", "0 km/h"]),
        (Signals(steering=0.04), ["model", "0.0°"]),
        (Signals(speed=50 / 3.6), ["model", "50 km/h"]),
    ],
)
def test_signals_are_written_in_the_units_of_drivers(
    monkeypatch: pytest.MonkeyPatch, signals: Signals, words: list[str]
) -> None:
    written: list[str] = []
    monkeypatch.setattr(drawing, "draw_text", lambda _image, text, *_: written.append(text))
    drawing.draw_signals(signals, 320, "model")
    assert written == words


def test_overlays_of_what_is_not_known_are_left_out() -> None:
    frame = Frame("a", GREY)
    assert np.array_equal(
        draw_frame(frame, "boxes,labels,depth,instances,signals"), draw_frame(frame, "none")
    )


def test_the_frame_itself_stays_as_it_is() -> None:
    frame = Frame("a", GREY.copy(), boxes=Boxes([[10, 10, 30, 30]], ["car"]), signals=Signals(speed=3))
    draw_frame(frame, "boxes,signals", 1)
    assert np.array_equal(frame.image, GREY)


def test_a_box_is_drawn_on_its_edges_and_nowhere_inside() -> None:
    frame = Frame("a", GREY, boxes=Boxes([[20, 10, 60, 30]], ["car"]))
    touched = changed(frame, "boxes")
    assert touched[60:100, 78:82].any(axis=1).all(), "left edge"
    assert touched[118:122, 100:200].any(axis=0).all(), "bottom edge"
    assert not touched[50:110, 90:230].any()
    assert not touched[130:].any()


def test_boxes_have_the_hue_of_their_class() -> None:
    frame = Frame("a", GREY, boxes=Boxes([[20, 10, 60, 30]], ["pedestrian"]))
    red, green, blue = draw_frame(frame, "boxes", 4)[80, 80].tolist()
    assert red > 1.5 * max(green, blue), "a pedestrian is crimson in the ontology"


def test_tiny_boxes_get_no_caption_and_captions_do_not_overlap() -> None:
    tiny = Frame("a", GREY, boxes=Boxes([[20, 20, 22, 22]], ["car"]))
    assert changed(tiny, "boxes").sum() < 200
    labelled = Frame("a", GREY, boxes=Boxes([[20, 20, 30, 30]], ["car"]))
    twice = Frame("a", GREY, boxes=Boxes([[20, 20, 30, 30], [20, 20, 30, 30]], ["car", "car"]))
    one, two = changed(labelled, "boxes").sum(), changed(twice, "boxes").sum()
    assert one > 800
    assert two > one + 400, "the second caption has a place of its own"


def test_a_crowd_of_boxes_only_loses_captions() -> None:
    corners = [[5 + i, 5, 15 + i, 35] for i in range(40)]
    crowd = Frame("a", GREY, boxes=Boxes(corners, ["pedestrian"] * 40, occlusion=[0.5] * 40))
    assert draw_frame(crowd, "boxes", 4).shape == (160, 320, 3)


def test_a_thing_that_fills_the_picture_is_named_inside_it() -> None:
    frame = Frame("a", GREY, boxes=Boxes([[0, 0, 80, 40]], ["truck"]))
    assert changed(frame, "boxes")[6:20, 6:40].all()


def test_labels_tint_every_pixel_but_void() -> None:
    ids = np.zeros((40, 80), np.uint8)
    ids[:, 40:] = ontology().label_id("sidewalk")
    frame = Frame("a", GREY, labels=LabelMap(ids))
    drawn = draw_frame(frame, "labels", 2, legend=False)
    assert drawn[40, 40].tolist() == [120, 120, 120]
    red, green, blue = drawn[40, 120].tolist()
    assert red > green < blue, "a sidewalk is pink"


def test_the_legend_names_each_class_once_and_grows_with_them() -> None:
    labels = LabelMap(np.array([[1, 2, 3, 4] * 20] * 40, np.uint8))
    frame = Frame("a", GREY, labels=labels)
    assert draw_frame(frame, "labels", 2).shape[0] > draw_frame(frame, "labels", 2, legend=False).shape[0]
    wide, narrow = draw_legend(labels.present(), 2000), draw_legend(labels.present(), 160)
    assert wide.shape[0] < narrow.shape[0]
    assert (wide.shape[1], narrow.shape[1]) == (2000, 160)


def test_depth_runs_from_red_near_to_blue_far_with_a_dark_sky() -> None:
    depth = np.full((40, 80), 3.5, np.float32)
    depth[:, 20:40], depth[:, 40:60], depth[:, 60:] = 120, np.inf, np.nan
    near, far, sky, unknown = (
        draw_frame(Frame("a", GREY, depth=depth), "depth", 1)[20, x].astype(int) for x in (10, 30, 50, 70)
    )
    assert near[0] > near[2]
    assert far[2] > far[0]
    assert sky.max() < 60
    assert unknown.min() > 100


def test_instances_differ_and_the_background_stays() -> None:
    ids = np.zeros((40, 80), np.uint16)
    ids[10:30, 10:30], ids[10:30, 50:70] = 1, 2
    drawn = draw_frame(Frame("a", GREY, instances=ids), "instances", 1)
    assert drawn[5, 5].tolist() == [120, 120, 120]
    assert drawn[20, 20].tolist() != drawn[20, 60].tolist()


def bar_length(speed: float) -> int:
    strip = draw_frame(
        Frame("a", np.zeros((4, 640, 3), np.uint8), signals=Signals(speed=speed)), "signals", 1
    )
    row = strip[4 + 17].astype(int)
    return int(((row[:, 2] > 240) & (row[:, 0] < 120)).sum())


def test_the_speed_bar_grows_with_speed_and_ends_at_its_full_length() -> None:
    lengths = [bar_length(speed) for speed in (0, 5, 10, 20, 100, 300)]
    assert lengths[0] == 0
    assert lengths[1] < lengths[2] < lengths[3] < lengths[4] == lengths[5]
    assert lengths[2] == pytest.approx(2 * lengths[1], abs=3)


def needle(steering: float) -> float:
    """Return how far right of its pivot the steering needle reaches, in pixels on average."""
    signals = Signals(steering=steering)
    strip = draw_frame(Frame("a", np.zeros((4, 640, 3), np.uint8), signals=signals), "signals", 1)[4:, :44]
    columns = np.nonzero((strip[:, :, 2] > 200) & (strip[:, :, 0] < 150))[1]
    return float(columns.mean()) - 26.5


def test_the_needle_points_to_the_side_of_the_steering() -> None:
    assert needle(-20) < -3 < needle(0) < 3 < needle(20)
    assert abs(needle(0)) < 1.5


def test_the_strip_fits_narrow_images() -> None:
    frame = Frame("a", np.zeros((20, 40, 3), np.uint8), signals=Signals(speed=12, steering=-3))
    assert draw_frame(frame, "signals", 1).shape == (54, 40, 3)


def test_a_difference_is_bright_only_where_something_changed() -> None:
    image = GREY.copy()
    image[10:20, 10:20] = 255
    drawn = draw_difference(Frame("a", GREY), Frame("b", image), 1)
    assert drawn[15, 15].max() > 150
    assert drawn[30, 60].max() < 60
    with pytest.raises(InputError, match=r"one size, got \(80, 40\) and \(4, 4\)"):
        draw_difference(Frame("a", GREY), Frame("b", np.zeros((4, 4, 3), np.uint8)))


def test_bad_overlays_and_scales() -> None:
    assert parse_overlays(["depth", "depth", "boxes"]) == ("depth", "boxes")
    with pytest.raises(InputError, match="did you mean 'labels'"):
        parse_overlays("boxes,lables")
    with pytest.raises(InputError, match="'none' cannot be joined"):
        parse_overlays("none,boxes")
    with pytest.raises(InputError, match=r"scale must be from 0.1 to 16, got 0"):
        draw_frame(Frame("a", GREY), "none", 0)


def test_text_is_cut_to_its_room_and_drawn_with_soft_edges() -> None:
    assert fitted("short", 11, 500) == "short"
    cut = fitted("a very long name of a frame", 11, 100)
    assert cut.endswith("...")
    assert text_width(cut, 11) <= 100
    canvas = np.zeros((30, 200, 3), np.uint8)
    draw_text(canvas, "3.5° → Köln · 東", 5, 15, 11, (255, 255, 255))
    assert len(np.unique(canvas)) > 20
    draw_text(canvas, "beyond every edge", -30, -2, 11, (255, 255, 255))


def test_a_rounded_rectangle_stays_within_its_corners_however_round_it_is() -> None:
    canvas = np.zeros((40, 60, 3), np.uint8)
    round_rectangle(canvas, (10, 10), (50, 20), 30, (255, 255, 255))
    rows, columns = np.nonzero(canvas.max(axis=2))
    assert (rows.min(), columns.min()) >= (9, 9)
    assert rows.max() <= 21
    assert columns.max() <= 51
    assert canvas[15, 30].all()


@pytest.mark.parametrize("text", ["", "Δv 0.5 · 20° → λ²", "naïve", "a\n東\ud800", "∫⎛Ǻgjy"])
def test_signs_of_any_kind_are_drawn(text: str) -> None:
    canvas = np.zeros((40, 300, 3), np.uint8)
    draw_text(canvas, text, 10, 20, 11, (255, 255, 255))
    inked = np.flatnonzero(canvas.any(axis=(0, 2)))
    assert len(inked) == 0 if not text else inked[0] >= 9 and inked[-1] <= 11 + text_width(text, 11)
