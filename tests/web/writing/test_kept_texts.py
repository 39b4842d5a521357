"""What the page shows of texts that are typed and of what they would do, kept whole."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.kept import as_kept

from roadworthy.bbsl import Box, Interval, parse
from roadworthy.bbsl.checking import Witness
from roadworthy.bbsl.checking.models import FunctionValue
from roadworthy.errors import InputError
from roadworthy.web import spec_text
from roadworthy.web.jobs.asks import BbslAsk, Binding, RulesAsk, SuiteAsk
from roadworthy.web.pages import PictureCache
from roadworthy.web.previews import preview
from roadworthy.web.rule_text import nearest_word, read_rule
from roadworthy.web.showing import shown, shrunk
from roadworthy.web.spec_text import drawn, read_spec
from roadworthy.web.working import Progress

KEPT = Path(__file__).parents[1] / "kept"

RULES = (
    "If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%.",
    "If a pedestrian appears on the roadside, the ego-vehicle should slow down. If he gets closer, the speed "
    "should decrease more.",
    "The car must slow down by 10 km/h when it rains.",
    "Drive more slowly at night.",
    "If it rains 🌧, slow down.",
    "If the trees beside the building are removed, the car should slow down.",
    "If there is fog in front of the car, the steering angle should stay the same.",
    "If the driving time changes into night and it rains, then the speed should decrease and the steering "
    "angle should stay the same.",
    "If a pedestrain apears on the roadside, the car should slow down.",
    "If a unicorn appears, the car should slow down.",
    "🚗 If a pedestrain appears, slow down.",
    "If it rains, honk.",
    "If there are two pedestrians, slow down.",
    "If a pedestrian appears on the roadside",
    "If a pedestrian appears on the roadside; ",
    "If a pedestrian or a car appears, slow down.",
    "Slow down",
    "If it",
)
SPECS = (
    "exfunction v(): bb endexfunction case far PROJ_y(v()) > [0, 100] endcase",
    """// a comment
exfunction seen(): bool v(): bb all(): setBB near(bb): interval speed(): real endexfunction
precondition [seen() = true] endprecondition
case stop let a: bb = v() in PROJ_y.lower(a) <= 1.5e2 and exists b in all(). RAT({a}, {b}) >= .5 endcase
case NOT stop not (PROJ_x(v()) ~ near(v())) or speed() < -3 endcase""",
    "// 🚗\nexfunction vehicle(): bb endexfunction case x PROJ_y(vehicel()) > [0, 9] and\n"
    "PROJ_x(vehicle()) > 3 endcase",
    "exfunction seen(): bool endexfunction case lost previous seen() and not seen() endcase",
    "exfunction a(): bb b(): bb endexfunction case x PROJ_y(a()) > PROJ_y(b()) endcase",
    "case stop (true endcase",
    "(* open",
)


def test_what_is_read_of_texts_is_as_kept() -> None:
    answers = [(text, read_rule(text)) for text in RULES] + [(text, read_spec(text)) for text in SPECS]
    lines = [f"=== {text}\n{json.dumps(found, indent=1, ensure_ascii=False)}" for text, found in answers]
    as_kept(KEPT / "texts.txt", "\n".join(lines) + "\n")
    assert read_rule(" \n") == read_spec("\t") == {"state": "empty"}


@pytest.mark.parametrize(
    ("start", "stop", "wanted", "found"),
    [
        (0, 22, "cart", (2, 5)),  # "cra" is less like it than "car"
        (6, 22, "CAR", (13, 16)),  # of two that are alike, the first
        (0, 22, "bus", None),
        (0, 0, "car", None),
    ],
)
def test_the_word_that_is_most_like_another(
    start: int, stop: int, wanted: str, found: tuple[int, int] | None
) -> None:
    assert nearest_word("a car cra by car Car, x", start, stop, wanted) == found


def test_a_witness_is_drawn_with_y_down() -> None:
    box = Box(Interval(10, 40), Interval(20, 60))
    calls = (
        FunctionValue("v", (), box),
        FunctionValue("w", (3.0,), box),
        FunctionValue("near", (), Interval(5, 30)),
        FunctionValue("wide", (), Interval(5, 30)),
        FunctionValue("odd", (), Interval(5, 30)),
        FunctionValue("all", (), (box, box)),
        FunctionValue("none", (), ()),
        FunctionValue("seen", (), True),
        FunctionValue("speed", (), 2.5),
    )
    found = drawn(Witness(calls, 200, 100, ("stop",)), {"near": "y", "wide": "x", "odd": "none"})
    sides = {"x1": 10, "y1": 40, "x2": 40, "y2": 80}
    assert found["boxes"] == [{"name": name, **sides} for name in ("v", "w(3)", "all[1]", "all[2]")]
    assert found["bands"] == [
        {"name": "near", "axis": "y", "from": 70, "to": 95},
        {"name": "wide", "axis": "x", "from": 5, "to": 30},
    ]
    assert found["notes"] == ["odd = [5, 30]", "none = {}", "seen = true", "speed = 2.5"]
    assert (found["width"], found["height"], found["cases"]) == (200, 100, ["stop"])
    assert found["text"] == str(Witness(calls, 200, 100, ("stop",)))


def test_what_checks_find_has_each_property_and_each_finding() -> None:
    spec = parse(SPECS[0])
    result = spec.check(seconds=5)
    found = spec_text.checked(spec, result)
    assert (found["ok"], found["vacuous"]) == (False, False)
    assert [(one["name"], one["status"], one["ok"]) for one in found["properties"]] == [
        ("exhaustive", "refuted", False),
        ("exclusionary", "proved", True),
        ("non-redundant", "proved", True),
    ]
    assert [(one["property"], one["sentence"], one["ok"], one["status"]) for one in found["findings"]] == [
        (one.concerns, str(one), one.ok, one.status.value) for one in result.findings
    ]
    assert [one["witness"] is None for one in found["findings"]] == [
        one.witness is None for one in result.findings
    ]


def test_what_static_checks_find() -> None:
    checked, unchecked = (spec_text.statically_checked(one, 5) for one in (SPECS[0], "case"))
    assert (checked["state"], checked["properties"][0]["status"]) == ("checked", "refuted")
    assert unchecked["state"] == "unchecked"
    assert "expected" in unchecked["reason"]


def rounded(value: Any) -> Any:
    """Return what is kept of an answer: numbers by three digits, pictures by their number."""
    if isinstance(value, dict):
        return {key: len(one) if key == "pictures" else rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.3g}") if isinstance(value, float) else value


def test_previews_are_as_kept() -> None:
    rule = RulesAsk(text=RULES[1], models=("dave2", "epoch"), data="world:town", frames=9, seed=7, allow=0.1)
    spec = """exfunction v(): bb near(): interval endexfunction
    case stop PROJ_y(v()) ~ near() or PROJ_y(v()) < near() endcase
    case NOT stop PROJ_y(v()) > near() endcase"""
    bindings = {"v": Binding(source="object"), "near": Binding(source="value", value="100, 160")}
    boxes = BbslAsk(text=spec, models=("detector",), data="world:town", frames=9, bindings=bindings)
    lights = "If the traffic lights are removed, the steering angle should stay the same."
    none = RulesAsk(text=lights, models=("dave2",), data="world:meadow", frames=4)
    found = [
        rounded(preview(ask, count, PictureCache())) for ask, count in ((rule, 3), (boxes, 3), (none, 1))
    ]
    as_kept(KEPT / "previews.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    with pytest.raises(InputError, match=r"^the rule is not understood: 'unicorn'"):
        preview(none.model_copy(update={"text": "If a unicorn appears, slow down."}), 1, PictureCache())


def test_a_case_is_shrunk_as_kept() -> None:
    ask = RulesAsk(text="If it rains, then the speed should decrease at least 60%.", models=("dave2",),
                   data="world:town", frames=2)  # fmt: skip
    case: dict[str, Any] = {"status": "violated", "system": "dave2"}
    case["parameters"] = {"frame": preview(ask, 1, PictureCache())["frames"][0]["frame"], "seed": "3"}
    suite, progress = SuiteAsk(document=ask.suite()), Progress()
    found = shrunk(suite, case, PictureCache(), progress)
    film = found.pop("film")
    as_kept(KEPT / "shrunk.json", json.dumps(rounded(found), indent=1) + "\n")
    # The least that fails is the first of its film that does, with the same picture.
    least = next(one for one in film if one["status"] == "violated")
    assert (least["amount"], least["pictures"]) == (found["amount"], found["pictures"])
    assert re.fullmatch(r"Trying \d+% of the change\.", progress.said)
    with pytest.raises(InputError, match=r"^only a violation can be shrunk$"):
        shrunk(suite, {**case, "status": "passed"}, PictureCache(), Progress())
    faster = ask.model_copy(update={"text": "If it rains, speed up by at most 99 m/s."})
    suite_of_faster = SuiteAsk(document=faster.suite())
    with pytest.raises(InputError, match="does not fail any more: the model answers differently"):
        shrunk(suite_of_faster, case, PictureCache(), Progress())
    boxes = ask.suite() | {"models": ["detector"], "requirements": {"near": {"coverage": "neuron"}}}
    suite_of_boxes = SuiteAsk(document=boxes)
    with pytest.raises(InputError, match=r"^only a case of a rule can be shrunk$"):
        shrunk(suite_of_boxes, case, PictureCache(), Progress())
    progress.cancel()
    with pytest.raises(InputError, match="cancelled"):
        shrunk(suite, case, PictureCache(), progress)


def test_infinite_margins_of_a_row_are_very_large_and_unknown_ones_none() -> None:
    known = {"requirement": "R1", "system": "m", "case": "a", "status": "violated", "reason": None}
    margins = {float("-inf"): -1e308, float("inf"): 1e308, float("nan"): None, None: None, 2: 2.0}
    for margin, told in margins.items():
        one = shown({**known, "margin": margin, "images": None})
        assert (one["margin"], one["pictures"], one["reason"], one["mark"]) == (told, [], "", "")
    marked = shown(
        {**known, "margin": 0.0, "images": "", "measure.before.1": 1, "measure.nearest": "SD(LP)"},
        type("Mark", (), {"mark": "wrong", "note": "look"})(),
    )
    assert (marked["mark"], marked["note"], marked["unit"]) == ("wrong", "look", "")
    assert marked["answers"][0] == {
        "output": "answer", "unit": "", "before": 1.0, "after": None, "words": ["before", "after"], "part": 1,
    }  # fmt: skip
    assert marked["lines"] == ["nearest to its threshold: SD(LP)"]
