from __future__ import annotations

import numpy as np
import pytest

from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.models.scorers import compare

IMAGE = np.zeros((4, 6, 3), np.uint8)


def test_signals_are_compared_where_both_are_known() -> None:
    frames = [
        Frame("a", IMAGE, signals=Signals(steering=1.0, speed=5.0)),
        Frame("b", IMAGE, signals=Signals(steering=-1.0)),
    ]
    steering, speed = compare(frames, [Signals(steering=2.0, speed=8.0), Signals(steering=-4.0, speed=1.0)])
    assert (steering.value, steering.frames, str(steering)) == (2.0, 2, "steering MAE 2°")
    assert (speed.value, speed.frames, str(speed)) == (3.0, 1, "speed MAE 3 m/s")


def test_a_thing_is_found_once_by_a_box_of_its_class() -> None:
    truth = Boxes([[0, 0, 2, 2], [3, 0, 5, 2]], ["car", "pedestrian"])
    answer = Boxes([[0, 0, 2, 2], [0, 0, 2, 1], [3, 0, 5, 2]], ["car", "car", "car"], scores=[0.9, 0.8, 0.7])
    found, right = compare([Frame("a", IMAGE, boxes=truth)], [answer])
    assert (str(found), str(right)) == ("things found 50%", "boxes right 33%")
    assert compare([Frame("a", IMAGE)], [answer]) == []
    assert compare([Frame("a", IMAGE, boxes=Boxes.empty())], [Boxes.empty()]) == []


def test_pixels_are_compared_by_the_name_of_their_class() -> None:
    truth = LabelMap(np.array([[0, 1], [1, 2]], np.uint8), ("void", "road", "car"))
    answer = LabelMap(np.array([[1, 1], [0, 0]], np.uint8), ("car", "road"))
    frame = Frame("a", np.zeros((2, 2, 3), np.uint8), labels=truth)
    (right,) = compare([frame], [answer])
    assert right.value == pytest.approx(2 / 3)
