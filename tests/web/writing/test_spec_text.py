"""How specifications are shown while they are typed, and checked."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from roadworthy.web.spec_text import ROLES, read_spec, statically_checked
from roadworthy.web.write import examples

LISTING = Path("examples/bbsl/listing1_distance.bbsl")
GAP = "exfunction v(): bb endexfunction case far PROJ_y(v()) > [0, 100] endcase"


def test_words_have_the_colour_of_their_kind() -> None:
    marks = read_spec(GAP)["marks"]
    assert {GAP[one["start"] : one["stop"]]: one["role"] for one in marks} == {
        "exfunction": "keyword",
        "bb": "type",
        "endexfunction": "keyword",
        "case": "keyword",
        "PROJ_y": "measure",
        ">": "relation",
        "0": "quantity",
        "100": "quantity",
        "endcase": "keyword",
    }
    assert {one["role"] for one in marks} <= set(ROLES)


def test_functions_and_the_object_under_test_are_told() -> None:
    found = read_spec(LISTING.read_text("utf-8"))
    assert [(one["name"], one["type"]) for one in found["functions"]] == [
        ("vehicleExists", "bool"),
        ("vehicle", "bb"),
        ("stoppingDistance", "interval"),
    ]
    assert found["object"] == {"function": "vehicle", "exists": ["vehicleExists"]}
    assert found["labels"] == ["stop", "NOT stop"]


def test_every_mistake_is_underlined_with_what_was_meant() -> None:
    text = LISTING.read_text("utf-8").replace("vehicle(),", "vehicel(),")
    troubles = read_spec(text)["troubles"]
    assert [one["line"] for one in troubles] == [17, 23]
    first = troubles[0]
    assert text[first["start"] : first["stop"]] == "vehicel()"
    (fix,) = first["fixes"]
    assert fix["label"] == "vehicle"
    assert fix["text"] == text.replace("vehicel", "vehicle", 1)
    assert "did you mean" not in first["reason"]


def test_a_text_that_ends_too_early_is_shown_where() -> None:
    (trouble,) = read_spec("case stop (true endcase")["troubles"]
    assert trouble["start"] == 10
    assert "never closed" in trouble["reason"]


@given(st.text(alphabet="case stop endcase () [0,1] PROJ_y v≈∈🚗\n", max_size=60))
def test_whatever_is_typed_gets_an_answer(text: str) -> None:
    assert read_spec(text)["state"] in ("empty", "read", "refused")


def test_a_gap_is_drawn() -> None:
    found = statically_checked(GAP, 5)
    assert [(one["name"], one["status"]) for one in found["properties"]] == [
        ("exhaustive", "refuted"),
        ("exclusionary", "proved"),
        ("non-redundant", "proved"),
    ]
    witness = found["findings"][0]["witness"]
    (box,) = witness["boxes"]
    # In no case: not wholly above row 100 from below, in image rows, y down.
    assert box["y2"] >= witness["height"] - 100
    assert witness["cases"] == []


def test_bands_are_drawn_along_their_axis() -> None:
    found = statically_checked(LISTING.read_text("utf-8"), 5)
    assert found["ok"]
    stop = next(one for one in found["findings"] if "'stop' holds" in one["sentence"])
    (band,) = stop["witness"]["bands"]
    (box,) = stop["witness"]["boxes"]
    assert (band["name"], band["axis"]) == ("stoppingDistance", "y")
    # Within the stopping distance or nearer, and nearer is lower in an image.
    assert box["y2"] >= band["from"]
    assert band["from"] < band["to"]


def test_specifications_over_time_are_not_checked() -> None:
    text = "exfunction seen(): bool endexfunction case lost previous seen() and not seen() endcase"
    assert read_spec(text)["over_time"]
    found = statically_checked(text, 5)
    assert (found["state"], "one frame" in found["reason"]) == ("unchecked", True)


def test_examples_of_the_page() -> None:
    verdicts = {
        one["title"]: statically_checked(one["text"], 5)["ok"] for one in examples() if one["kind"] == "bbsl"
    }
    assert verdicts == {"Stop for a vehicle": True, "With a gap: see what the checks find": False}
