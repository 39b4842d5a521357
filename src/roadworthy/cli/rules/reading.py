"""``roadworthy rules parse``, ``explain`` and ``truth``: how rules are read, and whether they judge right."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._answer import FAILED, PASSED, VIOLATED, Answer
from roadworthy.cli._commands import command, flag, opt
from roadworthy.cli._console import tracked
from roadworthy.cli.rules._group import app
from roadworthy.errors import InputError, RuleError

if TYPE_CHECKING:
    from roadworthy.cli._answer import Shown
    from roadworthy.rules import Block
    from roadworthy.rules.language.nouns import Words

_RULE = '"If a pedestrian appears on the roadside, the ego-vehicle should slow down at least 30%."'

Sentence = Annotated[str, typer.Argument(metavar="RULE", help="The rule, one sentence or several.")]


@command(
    app, f"roadworthy rules parse {_RULE}", 'roadworthy rules parse "Drive more slowly at night." --json'
)
def parse(rule: Sentence, as_json: bool = False) -> Answer:
    """Say in plain words how a rule is read, or what in it is not understood and what would be."""
    from roadworthy.rules import parse as read

    if Path(rule).suffix and Path(rule).is_file():
        raise InputError(
            f"{rule} is a file, and one rule is expected here: rules run --rules {rule} tries a file"
        )
    try:
        found = read(rule)
    except RuleError as error:
        if not as_json:
            raise
        refused = {
            "reason": error.reason,
            "span": list(error.span),
            "words": rule[slice(*error.span)],
            "suggestions": list(error.suggestions),
        }
        return Answer({"rule": rule, "refused": refused}, exit_code=FAILED)
    document = {
        "rule": found.text,
        "reading": str(found),
        "notes": list(found.notes),
        "blocks": [_block(one) for one in found.blocks],
    }
    shown: list[str] = []
    for number, block in enumerate(found.blocks, 1):
        if len(found.blocks) > 1:
            shown.append(f"Block {number}")
        before = "the original image" if number == 1 else "the image of the block before"
        for label, lines in {
            "changes": block.changes,
            "expects": [f"{block.expectation}, compared with {before}"],
            "formula": [block.expectation.formula],
            "found": block.propositions,
            "inferred by": block.inference,
        }.items():
            shown += [f"  {'' if index else label:<13} {line}" for index, line in enumerate(lines)]
    return Answer(document, shown, found.notes)


def _block(block: Block) -> dict[str, Any]:
    expected = block.expectation
    return {
        "text": block.text,
        "changes": [
            {
                **{
                    name: dict(value) if isinstance(value, Mapping) else value
                    for name, value in vars(change).items()
                },
                "in_words": str(change),
            }
            for change in block.changes
        ],
        "expectation": {"output": expected.output, "formula": expected.formula, "in_words": str(expected)},
        "propositions": [
            {"predicate": one.predicate, "arguments": list(one.arguments)} for one in block.propositions
        ],
        "inference": list(block.inference),
    }


@command(app, f"roadworthy rules explain {_RULE}")
def explain(rule: Sentence) -> Answer:
    """Show the grammar of a rule: which word depends on which, and how."""
    from roadworthy.rules.language.nouns import analysed

    words = analysed(rule)
    rows = [{"text": word.text, "dep": word.dep, "tag": word.tag, "head": word.head} for word in words]
    roots = [word.index for word in words if word.head == word.index]
    return Answer({"rule": rule, "words": rows}, [line for root in roots for line in _tree(words, root)])


def _tree(words: Words, number: int, stem: str = "", branch: str = "") -> list[str]:
    """Return the lines of the tree below a word."""
    word = words[number]
    lines = [f"{stem}{branch}{word.text}  ({word.dep}, {word.tag})"]
    below = [one.index for one in words if one.head == number and one.index != number]
    inner = stem + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
    for place, child in enumerate(below):
        lines += _tree(words, child, inner, "└─ " if place == len(below) - 1 else "├─ ")
    return lines


@command(app, "roadworthy rules truth", "roadworthy rules truth --sample 200 --json")
def truth(
    sample: Annotated[int, opt("N", "How many frames of the built-in world.", "--sample", "-n")] = 1000,
    seed: Annotated[int, opt("N", "The seed of all random numbers.")] = 0,
    reasons: Annotated[bool, flag("--reasons", "Also say why frames do not qualify for a rule.")] = False,
) -> Answer:
    """Try rules on drivers of whom it is known what they do right and wrong.

    The careful driver of the built-in world must violate none of the rules. Each faulty driver lacks one
    ability: the rules that depend on it must catch the driver in at least 99% of the frames that qualify, and
    no other rule may. A frame qualifies if the change can be made and is seen in it. Ends with exit code 1
    where a driver is judged wrongly.
    """
    from roadworthy.papers.truth_matrix import truth_matrix

    matrix = truth_matrix(sample, seed=seed, progress=lambda numbers: tracked(numbers, "Driving"))
    document = {"frames": matrix.frames, "seed": seed, **matrix.as_dict()}
    shown: list[Shown] = [matrix.table(), {one["name"]: one["summary"] for one in document["drivers"]}]
    if reasons:
        shown.append("\nFrames that do not qualify")
        for rule in document["rules"]:
            shown += [f"  {rule['id']}: {times} {reason}" for reason, times in rule["reasons"].items()]
    shortfalls = document["shortfalls"]
    conclusion = "\n".join(shortfalls) or "All verdicts are true."
    return Answer(document, shown, exit_code=VIOLATED if shortfalls else PASSED, conclusion=conclusion)
