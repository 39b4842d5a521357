"""The colours of all pages, pair by pair: WCAG 2.1 asks 4.5 to 1 of text, 3 to 1 of borders and drawings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import roadworthy.report.html
import roadworthy.web

TOKENS = Path(roadworthy.report.html.__file__).with_name("static") / "tokens.css"
PAGES = Path(roadworthy.web.__file__).with_name("static") / "web.css"
GROUNDS = ("page", "surface", "surface-2")
TEXTS = [
    *[(text, ground) for text in ("text", "text-dim", "accent") for ground in GROUNDS],
    *[(text, ground) for text in ("good", "bad", "warn") for ground in ("page", "surface", f"{text}-soft")],
    ("on-accent", "accent"),
    ("accent", "accent-soft"),
    ("text", "accent-soft"),
    ("text", "bad-soft"),
    ("text-dim", "quiet-soft"),
    *[(f"role-{one}", "surface") for one in ("condition", "object", "place", "outcome", "quantity")],
    # What is not understood is coloured by its role and underlaid.
    *[(f"role-{one}", "bad-soft") for one in ("condition", "object", "place", "outcome", "quantity")],
]
DRAWINGS = [
    ("line-strong", "surface"),
    ("line-strong", "surface-2"),
    *[(f"series-{number}", "surface") for number in range(1, 7)],
    ("series-2", "surface-2"),
]


def tokens(theme: str) -> dict[str, str]:
    """Return the colours by their names, as a browser has them in a theme."""
    found: dict[str, str] = {}
    for file in (TOKENS, PAGES):
        text = re.sub(r"/\*.*?\*/", "", file.read_text("utf-8"), flags=re.DOTALL)
        wanted = [r":root \{"] + ([r':root\[data-theme="dark"\] \{'] if theme == "dark" else [])
        for selector in wanted:
            (body,) = re.findall(rf"^{selector}(.*?)^\}}", text, re.DOTALL | re.MULTILINE)
            found |= dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6});", body))
    return found


def luminance(colour: str) -> float:
    """WCAG 2.1: relative luminance."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG 2.1: contrast ratio."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_formula_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == 21
    # The darkest grey that WebAIM's checker refuses on white, and the lightest that it takes.
    assert contrast("#777777", "#ffffff") < 4.5 < contrast("#767676", "#ffffff")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("pairs", "least"), [(TEXTS, 4.5), (DRAWINGS, 3.0)], ids=["texts", "drawings"])
def test_what_stands_on_another_is_seen(theme: str, pairs: list[tuple[str, str]], least: float) -> None:
    known = tokens(theme)
    faint = {
        f"{one} on {ground}": round(contrast(known[one], known[ground]), 2)
        for one, ground in pairs
        if contrast(known[one], known[ground]) < least
    }
    assert faint == {}


def test_the_switch_and_the_system_have_the_same_dark_colours() -> None:
    for file in (TOKENS, PAGES):
        text = file.read_text("utf-8")
        (chosen,) = re.findall(r'^:root\[data-theme="dark"\] \{(.*?)^\}', text, re.DOTALL | re.MULTILINE)
        (system,) = re.findall(r':root:not\(\[data-theme="light"\]\) \{(.*?)\}', text, re.DOTALL)
        assert chosen.split() == system.split()
