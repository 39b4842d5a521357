"""``roadworthy rules parse`` and ``roadworthy rules explain``: how a rule is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json, print_note
from roadworthy.cli.options import AsJson
from roadworthy.cli.rules._group import app
from roadworthy.errors import InputError, RuleError

if TYPE_CHECKING:
    from roadworthy.rules import Block, Rule
    from roadworthy.rules.language.nouns import Words


_RULE = '"If a pedestrian appears on the roadside, the ego-vehicle should slow down at least 30%."'

Sentence = Annotated[str, typer.Argument(metavar="RULE", help="The rule, one sentence or several.")]


@app.command(
    cls=Command,
    epilog=examples(
        f"roadworthy rules parse {_RULE}",
        'roadworthy rules parse "Drive more slowly at night." --json',
    ),
)
def parse(rule: Sentence, as_json: AsJson = False) -> None:
    """Say in plain words how a rule is read, or what in it is not understood and what would be."""
    from roadworthy.rules import parse as read

    if Path(rule).suffix and Path(rule).is_file():
        raise InputError(
            f"{rule} is a file, and one rule is expected here: rules run --rules {rule} tries a file"
        )
    try:
        found = read(rule)
    except RuleError as error:
        if as_json:
            print_json(
                {
                    "rule": rule,
                    "refused": {
                        "reason": error.reason,
                        "span": list(error.span),
                        "words": rule[slice(*error.span)],
                        "suggestions": list(error.suggestions),
                    },
                }
            )
            raise typer.Exit(2) from error
        raise
    if as_json:
        print_json(_document(found))
        return
    out = console()
    for number, block in enumerate(found.blocks, 1):
        if len(found.blocks) > 1:
            out.print(f"[bold]Block {number}[/bold]")
        for label, lines in _described(block, number).items():
            for index, line in enumerate(lines):
                out.print(
                    f"  {label if index == 0 else '':<13} {line}",
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
    for note in found.notes:
        print_note(note)


def _described(block: Block, number: int) -> dict[str, list[str]]:
    """Return what is shown about a block, each part with its name."""
    before = "the original image" if number == 1 else "the image of the block before"
    return {
        "changes": [str(change) for change in block.changes],
        "expects": [f"{block.expectation}, compared with {before}"],
        "formula": [block.expectation.formula],
        "found": [str(one) for one in block.propositions],
        "inferred by": list(block.inference),
    }


def _document(rule: Rule) -> dict[str, object]:
    return {
        "rule": rule.text,
        "reading": str(rule),
        "notes": list(rule.notes),
        "blocks": [
            {
                "text": block.text,
                "changes": [
                    {
                        "op": change.op,
                        "target": change.target,
                        "properties": dict(change.properties),
                        "position": change.position,
                        "reference": change.reference,
                        "replacement": change.replacement,
                        "comparative": change.comparative,
                        "target_properties": dict(change.target_properties),
                        "reference_properties": dict(change.reference_properties),
                        "in_words": str(change),
                    }
                    for change in block.changes
                ],
                "expectation": {
                    "output": block.expectation.output,
                    "formula": block.expectation.formula,
                    "in_words": str(block.expectation),
                },
                "propositions": [
                    {"predicate": one.predicate, "arguments": list(one.arguments)}
                    for one in block.propositions
                ],
                "inference": list(block.inference),
            }
            for block in rule.blocks
        ],
    }


@app.command(cls=Command, epilog=examples(f"roadworthy rules explain {_RULE}"))
def explain(rule: Sentence, as_json: AsJson = False) -> None:
    """Show the grammar of a rule: which word depends on which, and how."""
    from roadworthy.rules.language.nouns import analysed

    words = analysed(rule)
    if as_json:
        told = [{"text": word.text, "dep": word.dep, "tag": word.tag, "head": word.head} for word in words]
        print_json({"rule": rule, "words": told})
        return
    out = console()
    for root in (word.index for word in words if word.head == word.index):
        for line in _tree(words, root):
            out.print(line, markup=False, highlight=False, soft_wrap=True)


def _tree(words: Words, number: int, stem: str = "", branch: str = "") -> list[str]:
    """Return the lines of the tree below a word."""
    word = words[number]
    lines = [f"{stem}{branch}{word.text}  ({word.dep}, {word.tag})"]
    below = [one.index for one in words if one.head == number and one.index != number]
    inner = stem + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
    for place, child in enumerate(below):
        lines += _tree(words, child, inner, "└─ " if place == len(below) - 1 else "├─ ")
    return lines
