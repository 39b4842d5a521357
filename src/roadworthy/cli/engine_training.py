"""``roadworthy engines train``: learned engines, from data with label maps or from two kinds of images.

Options:
    out (--out FOLDER): The folder of the engine.
    supports (WORDS): What the engine does: "remove line", "replace building by tree", "replace time by
        night", "replace season by winter"; repeatable.
    name (NAME): Its name; as its folder if left out.
    network_option (-m KEY=VALUE): A setting of the network; repeatable.
    size (WIDTHxHEIGHT): The size to train at; 320 pixels wide if left out.
    steps (N): Batches to learn from, at most.
    minutes (MINUTES): The most time; no limit if left out.
    loss (LOSS): Of the adversary: lsgan or hinge.
    half: Store weights with 16 bits, which halves the file.
    domain (WORDS): What the engine is for, such as camvid.
    license (WORDS): The terms of use of the data or weights.
    source (WORDS): Where the data or weights come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import typer

from roadworthy.cases import Dataset
from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import Bars, bars, parse_options
from roadworthy.cli.options import opened, processes, training_folder, two_numbers
from roadworthy.errors import InputError
from roadworthy.training import CHECKPOINT
from roadworthy.training.engines.settings import EngineSettings
from roadworthy.training.settings import StepResult, Watcher
from roadworthy.transforms.engines.files import parse_supports
from roadworthy.transforms.learned import EngineCard

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Train an engine of your own; a GPU makes it bearable."
)


_STATE = "the state of the last checkpoint"
_WIDTH = 320
_ROUND = 32  # what sizes are rounded to when none is given; all networks take multiples of it
_NARROW: dict[str, dict[str, Any]] = {
    "pix2pixhd-global": {"ngf": 16, "n_blocks": 4},
    "pix2pixhd-local": {"ngf": 16, "n_blocks_global": 4},
    "small-synthesis": {"width": 16},
    "unit": {"dim": 16, "n_res": 2},
    "ugatit": {"ngf": 16, "n_blocks": 2, "light": True},
}
"""What --small makes of each network."""


@command(app)
def synthesis(
    out: Path,
    data: str = "world",
    option: list[str] | None = None,
    supports: list[str] | None = None,
    name: str | None = None,
    architecture: str = "pix2pixhd-global",
    network_option: list[str] | None = None,
    small: bool = False,
    size: str | None = None,
    context: bool = True,
    edges: bool = False,
    perceptual: str = "detector",
    val_share: float = 0.1,
    steps: int = 40_000,
    minutes: float | None = None,
    batch: int = 4,
    lr: float = 2e-4,
    loss: str = "lsgan",
    seed: int = 0,
    device: str = "auto",
    precision: str = "auto",
    workers: int | None = None,
    resume: bool = False,
    half: bool = False,
    domain: str = "",
    license: str = "",
    source: str = "",
) -> Answer:
    """Train an engine that paints what a label map says, in the manner of Pix2pixHD.

    Options:
        architecture (NAME): pix2pixhd-global, pix2pixhd-local or small-synthesis.
        context: Whether it sees the image around what it paints, or labels alone.
        edges: Show it the edges between things.
        perceptual (FILE): What the perceptual loss sees with: detector for the one that comes with the
            package, or a file with the weights of VGG19.

    Examples:
        roadworthy engines train synthesis --data camvid:CamVid --out engines/camvid
        roadworthy engines train synthesis --data world -o count=2000 --small --out mine --minutes 30
        roadworthy engines train synthesis --data camvid:CamVid --out engines/camvid --resume
    """
    from roadworthy.training.engines.train import Folder, train_synthesis
    from roadworthy.training.engines.writing import Purpose

    frames = opened(data, option)
    settings = _settings(
        steps=steps,
        batch=batch,
        learning_rate=lr,
        loss=loss,
        minutes=minutes,
        seed=seed,
        device=device,
        precision=precision,
    )
    done = parse_supports(supports or ("remove line", "replace building by tree"))
    with training_folder(out, CHECKPOINT, _STATE) as folder, bars() as shown:
        card = train_synthesis(
            frames,
            Purpose(name or folder.name, done, domain or data, license, source),
            Folder(folder, resume, workers=processes(workers)),
            size=_size(size, frames),
            architecture=architecture,
            network=_network(network_option, architecture, small),
            context=context,
            edges=edges,
            validation_share=val_share,
            settings=settings,
            perceptual=perceptual,
            ndf=16 if small else 64,
            half=half,
            watcher=_Shown(shown),
        )
    return _trained(folder, card)


@command(app)
def translation(
    out: Path,
    source_data: str,
    target_data: str,
    supports: list[str] | None = None,
    option: list[str] | None = None,
    to_option: list[str] | None = None,
    name: str | None = None,
    method: Literal["unit", "ugatit"] = "unit",
    network_option: list[str] | None = None,
    small: bool = False,
    size: str | None = None,
    val_share: float = 0.1,
    steps: int = 100_000,
    minutes: float | None = None,
    batch: int = 1,
    lr: float = 1e-4,
    loss: str = "lsgan",
    seed: int = 0,
    device: str = "auto",
    precision: str = "auto",
    workers: int | None = None,
    resume: bool = False,
    half: bool = False,
    domain: str = "",
    license: str = "",
    source: str = "",
) -> Answer:
    r"""Train an engine that turns one kind of images into another, from images that are no pairs.

    Options:
        to_option (KEY=VALUE): An option of --to; repeatable.
        method: The method.
        source_data (--from DATA): What is translated: a data set's name, or name:path.
        target_data (--to DATA): What it should look like.

    Examples:
        roadworthy engines train translation --from folder:day --to folder:night --out engines/night \
              --supports "replace time by night"
        roadworthy engines train translation --from world -o count=800 --to world \
              --to-option time=night --to-option count=800 --method ugatit --out night \
              --supports "replace time by night"
    """
    from roadworthy.training.engines.train import Folder, train_translation
    from roadworthy.training.engines.writing import Purpose

    if not supports:
        raise InputError('say what the engine does, such as --supports "replace time by night"')
    done = parse_supports(supports)
    before, after = opened(source_data, option), opened(target_data, to_option)
    settings = _settings(
        steps=steps,
        batch=batch,
        learning_rate=lr,
        weight_decay=1e-4,
        loss=loss,
        minutes=minutes,
        seed=seed,
        device=device,
        precision=precision,
    )
    with training_folder(out, CHECKPOINT, _STATE) as folder, bars() as shown:
        card = train_translation(
            before,
            after,
            Purpose(name or folder.name, done, domain or f"{source_data} to {target_data}", license, source),
            Folder(folder, resume, workers=processes(workers)),
            size=_size(size, before),
            method=method,
            network=_network(network_option, method, small),
            validation_share=val_share,
            settings=settings,
            ndf=16 if small else 64,
            half=half,
            watcher=_Shown(shown),
        )
    return _trained(folder, card)


def network_settings(given: Iterable[str] | None) -> dict[str, Any]:
    """Return settings by name: whole numbers, true and false, sizes as (height, width), and other words.

    Raises:
        InputError: One is not written KEY=VALUE.

    Example:
        >>> network_settings(["n_res=3", "light=true", "img_size=512x256", "activ=lrelu"])
        {'n_res': 3, 'light': True, 'img_size': (256, 512), 'activ': 'lrelu'}
    """
    return {key: _value(str(value)) for key, value in parse_options(given or (), "-m n_res=3").items()}


def _value(text: str) -> object:
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if size := re.fullmatch(r"(\d+)x(\d+)", text):
        return int(size[2]), int(size[1])
    return {"true": True, "false": False}.get(text.lower(), text)


def _settings(**given: Any) -> EngineSettings:
    # Short trainings must leave a checkpoint and a sheet as well.
    often = max(1, min(500, given["steps"] // 10))
    return EngineSettings(**given, save_every=often, sheet_every=4 * often)


def _network(given: list[str] | None, architecture: str, small: bool) -> dict[str, Any]:
    return {**(_NARROW.get(architecture, {}) if small else {}), **network_settings(given)}


def _size(given: str | None, data: Dataset) -> tuple[int, int]:
    """Return height and width to train at."""
    if given is not None:
        width, height = two_numbers(given, "--size must be WIDTHxHEIGHT, such as 320x160")
        return height, width
    height, width = data[0].image.shape[:2]
    wide = min(_WIDTH, max(_ROUND, width // _ROUND * _ROUND))
    return max(_ROUND, round(height * wide / width / _ROUND) * _ROUND), wide


class _Shown(Watcher):
    """Shows a training: by bars on a terminal, and by a line each time that it is measured."""

    def __init__(self, shown: Bars) -> None:
        self._bars = shown

    def reading(self, done: int, total: int) -> None:
        self._bars.show("Reading frames", done, total)

    def step(self, step: int, progress: float) -> None:  # noqa: ARG002
        self._bars.show("Training", progress, 1.0)

    def measured(self, result: StepResult) -> None:
        values = {**{f"loss {key}": one for key, one in result.losses.items()}, **result.measures}
        numbers = ", ".join(f"{key} {value:.4g}" for key, value in values.items())
        # In a pipe too: it goes on for hours, and whoever reads a log wants to know how.
        self._bars.tell(f"step {result.step}, {result.seconds:.0f} s: {numbers}", in_pipes=True)


def _trained(folder: Path, card: EngineCard) -> Answer:
    note = card.training
    rows = {
        "does": ", ".join(str(one) for one in card.operations()),
        "trained": f"{note.steps} steps on {note.device} in {note.seconds:.0f} s; "
        f"{note.settings.get('stopped', '')}",
        **{one.name: "unknown" if one.value is None else f"{one.value:.4g}" for one in card.metrics},
    }
    done = [f"Wrote {folder}", f"Use it: roadworthy engines use {folder}"]
    return Answer(
        {"folder": str(folder), **card.to_dict()}, [f"{card.name}, {card.architecture}", rows, *done]
    )
