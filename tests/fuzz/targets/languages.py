"""Languages that users write: rules, BBSL, transforms as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.fuzz.harness import Target
from tests.fuzz.mutating import mutated_csv, mutated_yaml, of_words

from roadworthy.errors import RuleError

__all__ = ["TARGETS"]

_ENGLISH = """
if when a an the no not it he they this another pedestrian car truck bicyclist building tree line
sign traffic light speed limit stop roadside sidewalk lane road rain rainy snow fog foggy night day
sunny weather time season winter summer spring autumn ego-vehicle appears removed replaced with
changes into becomes gets closer heavier slow down up turn left right keep same than at least most by
between and or % km/h mph degrees 10 30% half twice should must decelerate accelerate steering then
, . ; : ( ) - " ' in front of behind on beside near
"""
_BBSL = """
case endcase precondition endprecondition condition endcondition exfunction endexfunction let in and
or not forall exists bb interval real bool int BB RAT PROJ_x PROJ_y PROJ_xl PROJ_xu w ∀ ∃ ∈ ∧ ∨ ¬ ≈
⊆ ∩ = < > ≤ ≥ <= >= ( ) [ ] { } , . : ; + - * / true false 0 1 0.5 IMG always eventually until next
"""
_TRANSFORMS = """
rotation brightness contrast blur fog rain snow scale shear translation angle bias gain amount = ( )
+ , : deeptest-2 0 1 -1 0.5 nan inf 1e99 "a" seed compose
"""
_OPTIONS = """
criterion measure metric overlays supports tolerance neuron top-k multisection boundary k sections threshold
accuracy ap steering speed of iou score classes vehicle pedestrian Mean SD Std DevT SP HP ( ) = * + , % boxes
labels depth none add remove replace line building by tree time night 0 1 0.5 -1 nan inf 1e99
"""


def _rule(folder: Path) -> None:
    from roadworthy.rules import parse
    from roadworthy.rules.generation import plan_for

    text = (folder / "rule.txt").read_bytes().decode("utf-8", "replace")
    try:
        rule = parse(text)
    except RuleError as error:
        _check_underlined(error, text)
        raise
    for block in rule.blocks:
        assert block.changes
        str(block.expectation)
    plan_for(rule)


def _check_underlined(error: RuleError, text: str) -> None:
    start, stop = error.span
    assert 0 <= start <= stop <= len(error.text), "the words that are underlined are words of the rule"
    assert error.text == text, "the text of the error is the rule"


def _rules_file(folder: Path) -> None:
    from roadworthy.rules import read_rules

    for rule in read_rules(folder / "mine.rules"):
        assert rule.id
        assert rule.text.strip()


def _handbook(folder: Path) -> None:
    from roadworthy.rules import parse, read_rules
    from roadworthy.rules.drafting import draft, read_handbook, write_draft
    from roadworthy.rules.files import OPEN

    text = read_handbook(folder / "handbook.txt")
    duties, _ = draft(text, "handbook.txt")
    for duty in duties:
        assert 1 <= duty.line <= len(text.splitlines())
        assert bool(duty.rule) != bool(duty.reason)
    out = folder / "handbook.rules"
    added, before = write_draft(duties, out)
    assert write_draft(duties, out) == (0, added + before), "what is drafted again is known"
    out.write_text(out.read_text("utf-8").replace(f"\n{OPEN}", "\n"), "utf-8")
    accepted = read_rules(out) if added else ()
    assert {str(parse(one.text)) for one in accepted} == {one.reading for one in duties if one.rule}


def _bbsl(folder: Path) -> None:
    from roadworthy.bbsl import load, parse
    from roadworthy.bbsl.printing import format_spec

    spec = load(folder / "stop.bbsl")
    again = format_spec(spec)
    assert format_spec(parse(again)) == again, "what is printed reads back"
    spec.check_types()


_TABLE = b"""functions:
  limit: {table: limits.csv, columns: limit}
  area: {table: limits.csv, columns: [x1, y1, x2, y2]}
"""


def _bindings(folder: Path) -> None:
    from roadworthy.bbsl.bindings import load_bindings

    load_bindings(folder / "bindings.yaml")


def _bbsl_suite(folder: Path) -> None:
    from roadworthy.bbsl.comparing import load_suite

    load_suite(folder / "tests.yaml")


def _transform(folder: Path) -> None:
    from roadworthy.transforms.making import parse_transform

    made = parse_transform((folder / "transform.txt").read_bytes().decode("utf-8", "replace"))
    assert parse_transform(str(made)) == made, "what is printed reads back"


def _options(folder: Path) -> None:
    """Read what is written in one value of a command line or of a suite; the first word says which."""
    from roadworthy.coverage.criteria import parse_mixture
    from roadworthy.driving.metrics import parse_metric
    from roadworthy.reliability.measures import read_measure
    from roadworthy.report.drawing import parse_overlays
    from roadworthy.rules.expectation import read_tolerance
    from roadworthy.transforms.engines.files import parse_supports

    readers: dict[str, Callable[[str], object]] = {
        "criterion": parse_mixture,
        "measure": read_measure,
        "metric": parse_metric,
        "overlays": parse_overlays,
        "supports": lambda text: parse_supports([text]),
        "tolerance": read_tolerance,
    }
    which, _, text = (folder / "option.txt").read_bytes().decode("utf-8", "replace").partition(" ")
    made = readers.get(which, parse_mixture)(text)
    if which in ("criterion", "measure", "metric"):
        assert readers[which](str(made)) == made, "what is printed reads back"


TARGETS = (
    Target("rule-sentence", "rule.txt", _rule, of_words(_ENGLISH.split()), names="", examples=60),
    Target("handbook", "handbook.txt", _handbook, of_words(_ENGLISH.split())),
    Target("rules-file", "mine.rules", _rules_file, of_words(_ENGLISH.split())),
    Target("bbsl", "stop.bbsl", _bbsl, of_words(_BBSL.split()), examples=60),
    Target("bbsl-bindings", "bindings.yaml", _bindings, mutated_yaml, {"limits.csv": b"id,limit\na,3\n"}),
    Target("bbsl-table", "limits.csv", _bindings, mutated_csv, {"bindings.yaml": _TABLE}),
    Target("bbsl-suite", "tests.yaml", _bbsl_suite, mutated_yaml),
    Target("transform-text", "transform.txt", _transform, of_words(_TRANSFORMS.split()), names=""),
    Target("option-text", "option.txt", _options, of_words(_OPTIONS.split()), names="", examples=60),
)
