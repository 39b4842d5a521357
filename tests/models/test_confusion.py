from __future__ import annotations

import math

import pytest

from roadworthy.models.scorers import confusion


def test_confusions_are_counted_by_true_class_and_answer() -> None:
    table = confusion(
        ["car", "car", "car", "truck", "van"], ["car", "truck", "truck", "truck", "car"], ["van"]
    )
    assert table.classes == ("van", "car", "truck")
    assert table.counts.tolist() == [[0, 1, 0], [0, 1, 2], [0, 0, 1]]
    assert table.accuracy == pytest.approx(2 / 5)
    assert table.recall == pytest.approx({"van": 0, "car": 1 / 3, "truck": 1})
    assert table.worst() == [("car", "truck", 2), ("van", "car", 1)]
    assert math.isnan(confusion([], []).accuracy)


def test_words_are_compared_as_the_ontology_does() -> None:
    table = confusion(["traffic light", "Stop-Sign"], ["Traffic_Light", "stop sign"])
    assert table.classes == ("traffic light", "stop sign")
    assert table.accuracy == 1
    assert table.worst() == []
