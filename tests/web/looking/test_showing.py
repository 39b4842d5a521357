"""A row as the page shows it, of every kind of requirement."""

from __future__ import annotations

from typing import Any

import pytest

from roadworthy.web.showing import shown


def row(**more: Any) -> dict[str, Any]:
    known = {"requirement": "R1", "system": "dave2", "case": "a", "status": "violated", "margin": -1.0}
    return {**known, "reason": "", "visual_change": None, "images": "", **more}


def two_outputs(speed: float, steering: float) -> dict[str, Any]:
    return row(
        **{
            "param.output.1": "speed",
            "measure.before.1": 8.0,
            "measure.after.1": 7.0,
            "measure.margin.1": speed,
            "param.output.2": "steering",
            "measure.before.2": 1.0,
            "measure.after.2": 5.0,
            "measure.margin.2": steering,
        }
    )


@pytest.mark.parametrize(
    ("margins", "first", "unit"), [((0.5, -2.0), "steering", "°"), ((-0.5, 2.0), "speed", " m/s")]
)
def test_the_answer_that_decides_comes_first_and_names_the_unit(
    margins: tuple[float, float], first: str, unit: str
) -> None:
    one = shown(two_outputs(*margins))
    assert one["answers"][0]["output"] == first
    assert one["answers"][0]["part"] == ["speed", "steering"].index(first) + 1
    assert len(one["answers"]) == 2
    assert one["unit"] == unit


def test_a_try_of_a_search_is_held_against_the_truth() -> None:
    measures = {"measure.label": 0.05, "measure.prediction": 17.5, "param.output": "steering"}
    one = shown(row(**measures, **{"param.transform": "shear(x=-0.9)"}))
    assert one["answers"] == [
        {
            "output": "steering",
            "unit": "°",
            "before": 0.05,
            "after": 17.5,
            "words": ["true", "answered"],
            "part": 1,
        }
    ]
    assert one["unit"] == "°²"
    assert one["lines"] == ["shear(x=-0.9)"]


def test_a_case_of_reliability_says_how_right_the_model_is_and_what_was_done() -> None:
    measures = {"measure.before": 1.0, "measure.after": 0.0, "param.measure": "accuracy"}
    one = shown(row(**measures, **{"measure.transform": "fog(amount=0.1)", "param.transform": "less exact"}))
    assert [(a["output"], a["before"], a["after"], a["unit"]) for a in one["answers"]] == [
        ("accuracy", 1.0, 0.0, "")
    ]
    assert one["lines"] == ["fog(amount=0.1)"]
    assert one["unit"] == ""


def test_an_object_has_its_boxes_and_a_margin_in_pixels() -> None:
    corners = {f"measure.truth.{side}": float(number) for number, side in enumerate(("x1", "y1", "x2", "y2"))}
    one = shown(row(**corners, **{"measure.expected": "stop", "measure.found": None}))
    assert one["boxes"] == {"truth": [0.0, 1.0, 2.0, 3.0]}
    assert one["unit"] == " px"
    assert one["lines"] == ["expected stop, found nothing"]
    assert shown(row(**{**corners, "measure.truth.x1": None}))["boxes"] == {}
    found = shown(row(**{"measure.expected": "stop", "measure.found": "go"}))
    assert found["lines"] == ["expected stop, found go"]


def test_a_sector_names_the_metric_that_is_nearest_to_its_threshold() -> None:
    one = shown(row(**{"measure.nearest": "Max(SA)", "measure.Max(SA)": 1.9356, "measure.SD(LP)": 0.02}))
    assert one["lines"] == ["nearest to its threshold: Max(SA) 1.94"]
    assert (one["unit"], one["answers"], one["boxes"]) == ("", [], {})


def test_what_is_not_known_is_left_out() -> None:
    one = shown(row(**{"param.frame": "a", "measure.iou": None, "measure.odd": float("inf"), "other": 3}))
    assert one["parameters"] == {"frame": "a"}
    assert one["measures"] == {"odd": "inf"}
    assert (one["margin"], one["visual_change"], one["tolerated"]) == (-1.0, None, None)
    assert shown(row(margin=None))["margin"] is None
    assert shown(row(images="ab cd", **{"measure.tolerated": False}))["pictures"] == ["ab", "cd"]
    assert shown(row(**{"measure.tolerated": False}))["tolerated"] is False


def test_numbers_that_a_browser_would_round_are_text() -> None:
    exact, beyond = 2**53, 2**53 + 1
    one = shown(row(**{"param.seed": beyond, "param.count": -exact, "measure.offset": -beyond}))
    assert one["parameters"] == {"seed": str(beyond), "count": -exact}
    assert one["measures"] == {"offset": str(-beyond)}
