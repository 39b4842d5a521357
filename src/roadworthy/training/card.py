"""What is known about a trained network: how it came about and how good it is."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roadworthy._files import write_text
from roadworthy._version import __version__
from roadworthy.models.description import sections
from roadworthy.models.scorers import Measure
from roadworthy.models.zoo import Variant
from roadworthy.models.zoo.catalogue import size_text
from roadworthy.result_tables import markdown_text
from roadworthy.runs.store.manifest import libraries
from roadworthy.training.evaluation import Lap, measures_table
from roadworthy.training.settings import EpochResult, Settings

_PACKAGES = ("numpy", "opencv-python-headless", "torch", "onnx")


@dataclass(frozen=True)
class DataNote:
    """What a network was trained, validated or evaluated with.

    Attributes:
        role: "training", "validation" or "evaluation".
        name: The data, with its options where they are known.
        frames: The number of samples.
        sha256: The hash of what the network saw and learned; empty where it was not taken.
    """

    role: str
    name: str
    frames: int
    sha256: str = ""


@dataclass(frozen=True)
class Card:
    """What is known about a trained network.

    Attributes:
        variant: Which network it is.
        parameters: The numbers that were learned.
        data: What it was trained and measured with.
        settings: How it was trained.
        curve: The results of the epochs.
        best_epoch: The epoch whose weights it has.
        stopped: Why the training ended.
        measures: How near its answers are to the truth, on the last of the data.
        start: The weights that it was trained on from, with their hash; empty where they were fresh.
        laps: How it drives.
        device: Where it was trained.
        seconds: How long that took.
        versions: Of what it was trained with.
    """

    variant: Variant
    parameters: int
    data: tuple[DataNote, ...]
    settings: Settings
    curve: tuple[EpochResult, ...]
    best_epoch: int
    stopped: str
    measures: tuple[Measure, ...]
    start: str = ""
    laps: tuple[Lap, ...] = ()
    device: str = "cpu"
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain data. Its input and output are written as in a ``model.yaml``."""
        return {
            "architecture": self.variant.name,
            "summary": self.variant.architecture.summary,
            "paper": self.variant.architecture.paper,
            "outputs": list(self.variant.outputs),
            "options": dict(self.variant.options),
            "parameters": self.parameters,
            **sections(self.variant.spec),
            "measures": [dataclasses.asdict(one) for one in self.measures],
            "laps": [dataclasses.asdict(one) for one in self.laps],
            "data": [dataclasses.asdict(one) for one in self.data],
            "start": self.start,
            "settings": dataclasses.asdict(self.settings),
            "best_epoch": self.best_epoch,
            "stopped": self.stopped,
            "device": self.device,
            "seconds": round(self.seconds, 1),
            "versions": dict(self.versions),
            "curve": [
                {
                    "epoch": one.epoch,
                    "loss": one.loss,
                    "validation_loss": one.validation_loss,
                    "learning_rate": one.learning_rate,
                    "measures": {measure.name: measure.value for measure in one.measures},
                }
                for one in self.curve
            ],
        }

    def to_json(self) -> str:
        """Return the card as a JSON document."""
        return json_text(self.to_dict())

    def to_markdown(self) -> str:
        """Return the card as a page for people."""
        variant, taken = self.variant, self.variant.spec.input
        facts = {
            "network": f"{variant.architecture.summary} ({variant.architecture.paper})",
            "answers": ", ".join(variant.outputs),
            "input": f"{taken.width}x{taken.height}, {taken.color}"
            + (f", {taken.history} earlier frames" if taken.history else ""),
            "options": " ".join(f"{key}={size_text(value)}" for key, value in variant.options.items()),
            "parameters": f"{self.parameters:,}",
            "started from": self.start or "fresh weights",
            "trained": f"{len(self.curve)} epochs on {self.device} in {self.seconds:.0f} s; {self.stopped}; "
            f"weights of epoch {self.best_epoch}",
            "versions": ", ".join(f"{name} {version}" for name, version in self.versions.items()),
        }
        facts |= {
            one.role: f"{one.name}; {one.frames} samples" + (f"; SHA-256 {one.sha256}" if one.sha256 else "")
            for one in self.data
        }
        measured = measures_table(self.measures)
        lines = [f"# {markdown_text(variant.name)}", "", *_table(("", ""), list(facts.items()))]
        lines += ["", "## How good it is", "", *_table(measured.columns, measured.rows)]
        lines += ["", *(f"- {markdown_text(str(lap))}" for lap in self.laps)] if self.laps else []
        lines += ["", "## How it was trained", ""]
        lines += _table(("setting", "value"), list(dataclasses.asdict(self.settings).items()))
        curve = [(str(one.epoch), f"{one.loss:.5f}", f"{one.validation_loss:.5f}") for one in self.curve]
        lines += ["", "## How it went", "", *_table(("epoch", "loss", "validation loss"), curve)]
        return "\n".join(lines) + "\n"


def json_text(document: Mapping[str, Any]) -> str:
    r"""Return a card's plain data as it is written to a file.

    Example:
        >>> json_text({"architecture": "dave2"})
        '{\n "architecture": "dave2"\n}\n'
    """
    # NaN is no JSON, and other programs refuse it.
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return lines + [f"| {' | '.join(markdown_text(_text(one)) for one in row)} |" for row in rows]


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def versions_in_use() -> dict[str, str]:
    """Return the versions of what networks are trained with.

    Example:
        >>> versions_in_use()["roadworthy"] == __version__
        True
    """
    return {"roadworthy": __version__, **libraries(_PACKAGES)}


def write_description(path: Path, variant: Variant, model: str, *, name: str | None = None) -> None:
    """Write a ``model.yaml`` for a network of the zoo.

    Args:
        path: The file to write.
        variant: The network.
        model: The adapter and the file that it opens, beside the description: ``"onnx:dave2.onnx"``.
        name: What it is called in rows and reports; the network's name when left out.

    Raises:
        InputError: It cannot be written.
    """
    import yaml

    described = {"model": model, "name": name or variant.name, **sections(variant.spec)}
    write_text(path, yaml.safe_dump(described, sort_keys=False))
