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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer

from roadworthy.cases import Dataset
from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import bars, parse_options
from roadworthy.cli.options import opened, processes, training_folder, training_shown, two_numbers
from roadworthy.errors import InputError
from roadworthy.training import CHECKPOINT
from roadworthy.training.engines.settings import EngineSettings
from roadworthy.transforms.engines.files import parse_supports
from roadworthy.transforms.learned import EngineCard

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Train an engine of your own; a GPU makes it bearable."
)


_STATE = "the state of the last checkpoint"
_WIDTH = 320
_ROUND = 32  # what sizes are rounded to when none is given; all networks take multiples of it
# What --small makes of each network.
_NARROW: dict[str, dict[str, Any]] = {
    "pix2pixhd-global": {"ngf": 16, "n_blocks": 4},
    "pix2pixhd-local": {"ngf": 16, "n_blocks_global": 4},
    "small-synthesis": {"width": 16},
    "unit": {"dim": 16, "n_res": 2},
    "ugatit": {"ngf": 16, "n_blocks": 2, "light": True},
}


@dataclass(frozen=True)
class EngineOptions:
    """What every training of an engine takes."""

    out: Path
    supports: list[str] | None = None
    name: str | None = None
    network_option: list[str] | None = None
    small: bool = False
    size: str | None = None
    val_share: float = 0.1
    steps: int = 40_000
    minutes: float | None = None
    batch: int = 4
    lr: float = 2e-4
    loss: str = "lsgan"
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    workers: int | None = None
    resume: bool = False
    half: bool = False
    domain: str = ""
    license: str = ""
    source: str = ""

    def train(
        self,
        train: Callable[..., EngineCard],
        *data: Dataset,
        does: Sequence[str],
        domain: str,
        network: str,
        decay: float = 0.0,
        **others: Any,
    ) -> Answer:
        """Train an engine.

        Args:
            train: Trains it.
            data: What it learns from.
            does: What it does, where no --supports says so.
            domain: What it is for, where no --domain says so.
            network: The network, or the method that has one.
            decay: That of the weights.
            others: What else this kind of training takes.
        """
        from roadworthy.training.engines.train import Folder
        from roadworthy.training.engines.writing import Purpose

        done = parse_supports(self.supports or does)
        # Short trainings must leave a checkpoint and a sheet as well.
        often = max(1, min(500, self.steps // 10))
        settings = EngineSettings(
            steps=self.steps,
            batch=self.batch,
            learning_rate=self.lr,
            weight_decay=decay,
            loss=self.loss,  # type: ignore[arg-type]  # checked there
            minutes=self.minutes,
            seed=self.seed,
            device=self.device,
            precision=self.precision,  # type: ignore[arg-type]  # checked there
            save_every=often,
            sheet_every=4 * often,
        )
        narrow = _NARROW.get(network, {}) if self.small else {}
        with training_folder(self.out, CHECKPOINT, _STATE) as folder, bars() as shown:
            card = train(
                *data,
                Purpose(self.name or folder.name, done, self.domain or domain, self.license, self.source),
                Folder(folder, self.resume, workers=processes(self.workers)),
                size=_size(self.size, data[0]),
                network={**narrow, **network_settings(self.network_option)},
                validation_share=self.val_share,
                settings=settings,
                ndf=16 if self.small else 64,
                half=self.half,
                watcher=training_shown(shown),
                **others,
            )
        return _trained(folder, card)


@command(app)
def synthesis(
    given: EngineOptions,
    data: str = "world",
    option: list[str] | None = None,
    architecture: str = "pix2pixhd-global",
    context: bool = True,
    edges: bool = False,
    perceptual: str = "detector",
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
    from roadworthy.training.engines.train import train_synthesis

    return given.train(
        train_synthesis,
        opened(data, option),
        does=("remove line", "replace building by tree"),
        domain=data,
        network=architecture,
        architecture=architecture,
        context=context,
        edges=edges,
        perceptual=perceptual,
    )


@dataclass(frozen=True)
class TranslationOptions(EngineOptions):
    """The same, as it suits translations."""

    steps: int = 100_000
    batch: int = 1
    lr: float = 1e-4


@command(app)
def translation(
    given: TranslationOptions,
    source_data: str,
    target_data: str,
    option: list[str] | None = None,
    to_option: list[str] | None = None,
    method: Literal["unit", "ugatit"] = "unit",
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
    from roadworthy.training.engines.train import train_translation

    if not given.supports:
        raise InputError('say what the engine does, such as --supports "replace time by night"')
    parse_supports(given.supports)
    return given.train(
        train_translation,
        opened(source_data, option),
        opened(target_data, to_option),
        does=(),
        domain=f"{source_data} to {target_data}",
        network=method,
        method=method,
        decay=1e-4,
    )


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


def _size(given: str | None, data: Dataset) -> tuple[int, int]:
    """Return height and width to train at."""
    if given is not None:
        width, height = two_numbers(given, "--size must be WIDTHxHEIGHT, such as 320x160")
        return height, width
    height, width = data[0].image.shape[:2]
    wide = min(_WIDTH, max(_ROUND, width // _ROUND * _ROUND))
    return max(_ROUND, round(height * wide / width / _ROUND) * _ROUND), wide


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
