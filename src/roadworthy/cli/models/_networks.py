"""What commands share that build a network of the zoo: the options that say which, and their reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._console import parse_options

if TYPE_CHECKING:
    from roadworthy.models.zoo import Variant


Outputs = Annotated[
    str | None,
    typer.Option(
        "--output",
        metavar="WORDS",
        help="What it shall answer, joined by commas: speed, steering or both; classes for the detector and "
        "the classifier.",
    ),
]
NetworkOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--network-option",
        "-m",
        metavar="KEY=VALUE",
        help="A size of the network such as hidden=128; repeatable.",
    ),
]
Small = Annotated[bool, typer.Option("--small", help="Its small form, where it has one.")]


def chosen_variant(name: str, output: str | None, options: list[str] | None, small: bool) -> Variant:
    """Return the network that the command line asks for."""
    from roadworthy.models.zoo import architecture

    words = None if output is None else [word.strip() for word in output.split(",") if word.strip()]
    return architecture(name).variant(words, parse_options(options or [], "-m hidden=128"), small=small)
