"""The group of commands about driving quality, and the options that several of them take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Group

if TYPE_CHECKING:
    from roadworthy.driving.metrics import MetricSettings


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Let models drive in simulators, measure how well they drive, and learn oracles.",
)

SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        metavar="FILE",
        help="What metrics are told: targets, conditions, bins …; YAML with what differs from ours.",
    ),
]


def settings_of(path: Path | None) -> MetricSettings:
    """Return the settings of a file, or those that come with the package."""
    from roadworthy.driving.metrics import MetricSettings

    return MetricSettings.standard() if path is None else MetricSettings.load(path)
