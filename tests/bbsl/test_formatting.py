"""The canonical form: it says the same, it stays the same, and no comment is lost."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bbsl.strategies import SPECS
from tests.kept import as_kept

from roadworthy.bbsl import load, parse
from roadworthy.bbsl.specification import Spec

LISTINGS = sorted((Path(__file__).parent / "listings").glob("*.bbsl"))


@settings(max_examples=100, deadline=None)
@given(spec=SPECS, ascii=st.booleans())
def test_what_is_printed_is_read_as_the_same(spec: Spec, ascii: bool) -> None:
    text = spec.format(ascii=ascii)
    again = parse(text)
    assert again == spec
    assert again.format(ascii=ascii) == text


@settings(max_examples=60, deadline=None)
@given(spec=SPECS, seed=st.integers(0, 10**6))
def test_comments_are_kept_and_the_form_is_stable(spec: Spec, seed: int) -> None:
    text = _with_comments(spec.format(), random.Random(seed))
    commented = parse(text)
    assert commented == spec
    once = commented.format()
    assert sorted(re.findall(r"c\d+c", once)) == sorted(re.findall(r"c\d+c", text))
    assert parse(once) == spec
    assert parse(once).format() == once


def _with_comments(text: str, rng: random.Random) -> str:
    """Put comments at random places where white space may stand: but not in a label."""
    lines = text.split("\n")
    count = 0
    for index, line in enumerate(lines):
        if rng.random() < 0.3:
            count += 1
            lines[index] = f"{line} // c{count}c" if '"' not in line else line
        elif line.startswith("  ") and not line.startswith("case") and '"' not in line and rng.random() < 0.4:
            count += 1
            # Bounds in time are one word of the language, and none of its words has a comment inside.
            inside = [found.span() for found in re.finditer(r"\[\d+, (\d+|inf)\]", line)]
            spaces = [found.start() for found in re.finditer(" ", line)]
            at = rng.choice([at for at in spaces if not any(low < at < high for low, high in inside)])
            lines[index] = f"{line[:at]} (* c{count}c *) {line[at:]}"
        elif rng.random() < 0.2:
            count += 1
            lines[index] = f"// c{count}c\n{line}"
    return "\n".join(lines)


@pytest.mark.parametrize("path", LISTINGS, ids=lambda path: path.stem)
def test_the_papers_listings_keep_their_meaning(path: Path) -> None:
    spec = load(path)
    plain = spec.format(ascii=True)
    assert plain.isascii()
    assert parse(plain) == spec
    assert parse(plain).format() == spec.format()


@pytest.mark.parametrize(
    "text",
    [
        "a ∪ (b ∪ c)",
        "a ∩ (b ∩ c)",
        "(a ∪ b) ∩ c",
        "a and (b and c)",
        "(a or b) and c",
        "(a until b) until c",
        "(a = b) = c",
        "always ([0, 1] ≈ a)",
        "a until ([0, 1] ≈ b)",
        "not (a and b)",
    ],
)
def test_brackets_that_are_needed_stay(text: str) -> None:
    spec = parse(f"case go\n{text}\nendcase")
    assert f"  {text}\n" in spec.format()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("((a) and (b)) or (c)", "a and b or c"),
        ("(a ∪ b) ∪ c", "a ∪ b ∪ c"),
        ("a until (b until c)", "a until b until c"),
        ("not not (a)", "not not a"),
        ("not (∃x ∈ a. (b))", "not ∃x ∈ a. (b)"),
    ],
)
def test_brackets_that_are_not_needed_go(text: str, form: str) -> None:
    assert f"  {form}\n" in parse(f"case go\n{text}\nendcase").format()


def test_a_comment_of_several_lines_does_not_follow_one_that_ends_with_its_line() -> None:
    spec = parse("case go not ( // first\n a ~ b (* second\n   third *) ) endcase")
    once = spec.format()
    assert "  not (a ≈ b)  // first\n  (* second\n   third *)\nendcase" in once
    assert parse(once) == spec
    assert parse(once).format() == once


def test_the_form() -> None:
    text = """
// what this is
exfunction f(bb,real):setBB v() : bb  // the vehicle
endexfunction
case shift   within lane let lane:setBB=f(v(),1), near : interval=[0,100] in // bound
(* whole *) not(PROJ_yL(v())~near)and(exists x in lane, forall y in lane.x~y)or PROJ_x.upper(v())<=3
endcase
// the end
"""
    assert (
        parse(text).format()
        == """// what this is
exfunction
  f(bb, real): setBB
  v(): bb  // the vehicle
endexfunction

precondition
  [none]
endprecondition

case shift within lane
  let lane: setBB = f(v(), 1),
      near: interval = [0, 100] in  // bound
  (* whole *)
  not (PROJ_y.lower(v()) ≈ near) and ∃x ∈ lane, ∀y ∈ lane. (x ≈ y)
  or PROJ_x.upper(v()) ≤ 3
endcase
// the end
"""
    )


@pytest.mark.parametrize("ascii", [False, True])
def test_a_page_with_all_there_is_stays_as_it_is(ascii: bool) -> None:
    kept = Path(__file__).parent / "kept"
    page = parse((kept / "unformatted.bbsl").read_text("utf-8")).format(ascii=ascii)
    as_kept(kept / f"formatted{'-ascii' if ascii else ''}.bbsl", page)
    assert parse(page).format(ascii=ascii) == page


@pytest.mark.parametrize(
    ("source", "whole", "broken"),
    [
        ("case go: {a} and b endcase", "  {a} and b\n", "  {a}\n  and b\n"),
        ("case go: not ({a} and b) endcase", "  not ({a} and b)\n", "  not (\n    {a} and b\n  )\n"),
        (
            "precondition [{a} and b] endprecondition case go: c endcase",
            "  [{a} and b]\n",
            "  [{a}\n   and b]\n",
        ),
        ("case go: c and ({a} or b) endcase", "  and ({a} or b)\n", "  and (\n    {a}\n    or b\n  )\n"),
    ],
)
def test_lines_are_as_long_as_they_may_be(source: str, whole: str, broken: str) -> None:
    """A line of the page has 88 characters."""
    most = 88 - len(whole.format(a="").rstrip("\n"))
    for count, form in ((most, whole), (most + 1, broken)):
        assert form.format(a="a" * count) in parse(source.format(a="a" * count)).format()
