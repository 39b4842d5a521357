"""Signs and lights that agree with what stands there."""

from __future__ import annotations

import numpy as np
import pytest

from roadworthy.errors import NotApplicable
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.transforms.objects.gallery import CutOut
from roadworthy.transforms.objects.placement import Things
from roadworthy.transforms.objects.traffic import agreeing


def signs(*properties: dict[str, str]) -> Things:
    return tuple(
        (CutOut(f"sign {number}", "traffic sign", 2.5, (90, 90, 90), properties=one),)
        for number, one in enumerate(properties)
    )


def street(sign: dict[str, str] | None = None, speed: float | None = None) -> Frame:
    labels = LabelMap(np.zeros((40, 60), np.uint8), ("road",))
    boxes = Boxes([[5, 5, 12, 12]], ["traffic sign"], attributes=[sign]) if sign else None
    image = np.full((40, 60, 3), 90, np.uint8)
    return Frame("a", image, labels, boxes=boxes, signals=Signals(speed=speed))


def kinds(things: Things) -> list[str]:
    return [views[0].properties.get("limit", views[0].properties["type"]) for views in things]


def test_of_any_sign_those_are_left_out_that_contradict() -> None:
    things = signs({"type": "stop"}, {"type": "turn"}, {"type": "yield"})
    assert kinds(agreeing(street({"type": "yield"}), things)) == ["turn", "yield"]
    with pytest.raises(NotApplicable, match="a yield sign stands there already"):
        agreeing(street({"type": "yield"}), signs({"type": "stop"}))


def test_a_sign_whose_number_is_not_known_may_stand_anywhere() -> None:
    things = signs({"type": "speed limit"}, {"type": "speed limit", "limit": "30"})
    assert kinds(agreeing(street(speed=5), things)) == ["speed limit"]
    assert kinds(agreeing(street(speed=15), things)) == ["speed limit", "30"]


def test_where_the_speed_is_not_known_a_limit_is_low_or_none() -> None:
    things = signs({"type": "speed limit", "limit": "30"}, {"type": "speed limit", "limit": "70"})
    assert kinds(agreeing(street(), things)) == ["30"]
    with pytest.raises(NotApplicable, match="at a speed that is not known"):
        agreeing(street(), signs(*({"type": "speed limit", "limit": one} for one in ("50", "70"))))
