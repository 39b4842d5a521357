from __future__ import annotations

import numpy as np
import pytest

from roadworthy.cases import ClassScores, InverseDepth
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.report import Image, Tile, prediction_sheet, sheets


def frame(**known: object) -> Frame:
    return Frame("a", np.full((80, 160, 3), 90, np.uint8)).replace(**known)


def test_signals_are_drawn_above_the_recorded_ones() -> None:
    alone = prediction_sheet([frame()], [Signals(steering=5.0, speed=9.0)])
    beside = prediction_sheet([frame(signals=Signals(steering=5.0))], [Signals(steering=5.0, speed=9.0)])
    assert beside.shape[0] == alone.shape[0] + 34
    assert beside.shape[1] == alone.shape[1]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Signals(speed=20.0, steering=3.0), "36 km/h faster"),
        (Signals(speed=9.0, steering=3.0), "4 km/h slower"),
        (Signals(speed=10.0, steering=5.5), "2.5° more right"),
        (Signals(speed=10.1, steering=3.0), "as recorded"),
    ],
)
def test_how_far_an_answer_is_off_is_told_in_the_units_of_drivers(
    monkeypatch: pytest.MonkeyPatch, answer: Signals, words: str
) -> None:
    tiles: list[Tile] = []
    monkeypatch.setattr(sheets, "contact_sheet", lambda shown, *_, **__: tiles.extend(shown))
    prediction_sheet([frame(signals=Signals(speed=10.0, steering=3.0))], [answer])
    assert [tile.note for tile in tiles] == [words]


@pytest.mark.parametrize(
    ("known", "answer"),
    [
        ({"boxes": Boxes([[9, 9, 50, 50]], ["car"])}, Boxes([[60, 10, 170, 60]], ["car"], scores=[0.5])),
        ({"labels": LabelMap(np.ones((80, 160), np.uint8))}, LabelMap(np.full((80, 160), 2, np.uint8))),
    ],
)
def test_boxes_and_labels_are_drawn_beside_the_known_ones(
    known: dict[str, object], answer: Boxes | LabelMap
) -> None:
    alone, beside = prediction_sheet([frame()], [answer]), prediction_sheet([frame(**known)], [answer])
    assert beside.shape[1] == alone.shape[1] + 480 + 22

    def tile(sheet: Image, number: int) -> Image:
        left = 36 + number * 502
        return sheet[36 : 36 + 240, left : left + 480]

    assert (tile(beside, 0) != tile(beside, 1)).any()
    np.testing.assert_array_equal(tile(beside, 0), tile(alone, 0))


def test_class_scores_are_written_below_the_image() -> None:
    one, other = (
        prediction_sheet([frame()], [ClassScores(("car", "truck"), np.array(scores))])
        for scores in ([0.2, 0.7], [0.7, 0.2])
    )
    np.testing.assert_array_equal(one[:276], other[:276])
    assert (one[276:] != other[276:]).any()


def test_depth_is_drawn_beside_the_known_one_and_without_a_scale_of_its_own() -> None:
    slope = np.repeat(np.linspace(0.1, 1, 80, dtype=np.float32)[:, None], 160, axis=1)
    alone = prediction_sheet([frame()], [InverseDepth(slope)])
    np.testing.assert_array_equal(prediction_sheet([frame()], [InverseDepth(7 * slope + 3)]), alone)
    assert (prediction_sheet([frame()], [InverseDepth(slope[::-1])]) != alone).any()
    beside = prediction_sheet([frame(depth=1 / slope)], [InverseDepth(slope, metric=True)])
    assert beside.shape[1] > 1.5 * alone.shape[1]


def test_a_prediction_is_needed_for_each_frame() -> None:
    with pytest.raises(InputError, match="expected a prediction per frame, got 2 and 1"):
        prediction_sheet([frame(), frame()], [Signals(speed=1.0)])
