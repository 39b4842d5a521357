"""What is known about a learned engine: what it does, what it takes, how it came about and how good it is.

An engine is a folder with two files, ``card.json`` and ``engine.onnx``. Here the card is read and written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from roadworthy._files import read_json, write_text
from roadworthy._yaml import check_form
from roadworthy.errors import InputError
from roadworthy.ontology import ontology
from roadworthy.result_tables import ResultTable
from roadworthy.transforms.engines.backend import Support
from roadworthy.transforms.engines.files import EngineForm, SupportForm

CARD = "card.json"
NETWORK = "engine.onnx"
APART = "look distance, learned minus classical"
"""How the names of metrics begin that say how much nearer to the truth it comes than what is built in."""
WORLD = "world"
"""The domain of engines that learned from the built-in world alone."""
FORMAT = 1
"""Of the card. A later one that an older program cannot use gets another number."""

Size = tuple[Annotated[int, Field(ge=1, le=4096)], Annotated[int, Field(ge=1, le=4096)]]
Kind = Literal["synthesis", "translation"]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Number = float | None


class EngineData(EngineForm):
    """Data that an engine was trained or measured with.

    Attributes:
        role: "training", "validation" or "evaluation".
        name: The data, as `roadworthy.datasets.load` takes it where that is possible.
        frames: The number of samples.
        license: Under which terms they may be used.
        source: Where they come from.
        sha256: The hash of what the network saw; empty where it was not taken.
    """

    role: Literal["training", "validation", "evaluation"]
    name: str
    frames: int = Field(ge=0)
    license: str = ""
    source: str = ""
    sha256: str = ""


class EngineMetric(EngineForm):
    """A number about an engine, with its interval, and the same number for what it is compared with.

    Attributes:
        name: What was measured, such as "L1 inside the region".
        value: The number; nothing where it could not be had.
        low: Lower end of the interval.
        high: Upper end of the interval.
        unit: Its unit.
        frames: From how many frames.
        confidence: Of the interval.
        better: Whether a lower or a higher number is better.
        classical: The number of the built-in transform that does the same, where it was measured.
        classical_low: Lower end of its interval.
        classical_high: Upper end of its interval.
    """

    name: str
    value: Number
    low: Number = None
    high: Number = None
    unit: str = ""
    frames: int = Field(default=0, ge=0)
    confidence: float = Field(default=0.95, gt=0, lt=1)
    better: Literal["lower", "higher"] = "lower"
    classical: Number = None
    classical_low: Number = None
    classical_high: Number = None

    def text(self, value: float | None, low: float | None, high: float | None) -> str:
        """Return such a number with its unit and interval, as people read it."""
        if value is None:
            return "not known"
        number = f"{value:.4g}{' ' + self.unit if self.unit else ''}"
        return number if low is None or high is None else f"{number} ({low:.4g} to {high:.4g})"


class TrainingNote(EngineForm):
    """How an engine was trained.

    Attributes:
        method: Such as "pix2pixhd", "unit", "ugatit", "distilled"; "imported" for a public checkpoint.
        seed: Of all that was random.
        steps: Of the optimiser.
        seconds: That it took.
        device: Where.
        date: When it ended, as YYYY-MM-DD.
        teacher: What a student learned from; empty for none.
        settings: Of the training: batch size, rates, weights of losses.
        losses: Name of a loss → {"first": …, "last": …, …}, a summary of its curve.
        versions: Of the packages that took part.
        command: That makes it again.
    """

    method: str = ""
    seed: int | None = None
    steps: int = Field(default=0, ge=0)
    seconds: float = Field(default=0.0, ge=0)
    device: str = ""
    date: str = ""
    teacher: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    losses: dict[str, dict[str, float]] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    command: str = ""


class EngineCard(EngineForm):
    """What is known about a learned engine.

    Sizes are (height, width) in pixels.

    Attributes:
        format: Version of this form.
        name: What it is called: letters, digits, dots, hyphens and underscores.
        kind: "synthesis" makes an image from an edited label map, "translation" from an image.
        architecture: The network, such as "pix2pixhd-global" or "small-translation".
        settings: Of the network.
        supports: The operations that it does.
        classes: For synthesis: the ontology's names of the channels of ``labels``, in order. One more channel
            follows, for void and all other classes.
        context: For synthesis: whether it also takes ``context``, the image around the hole and the hole.
        prefilled: Whether the hole of ``context`` holds what the built-in transform makes of it instead of
            zeros.
        edges: For synthesis: whether it also takes ``edges``, the boundaries between instances.
        noise: Channels of the input ``noise``, standard normal numbers drawn anew for each seed; 0 for none.
        multiple: Height and width must be multiples of this; images are padded.
        trained_at: The size of the images that it was trained with; nothing where it is not known. Smaller
            images are made larger for it.
        least: The smallest size that it takes.
        most: The largest size that it is run at; nothing for any. Larger images are made smaller for it. If
            it equals `least`, the network takes this size alone, and images are stretched to it.
        domain: What it was trained for: "world", "camvid", or other words.
        license: Of the weights.
        source: Where the weights come from.
        data: What it was trained and measured with.
        training: How.
        metrics: How good it is.
        notes: What else its user should know, one sentence each.
        sha256: Of the ONNX file; empty while that is not written.

    Example:
        >>> card = EngineCard(
        ...     name="day-to-night", kind="translation", architecture="small-translation",
        ...     supports=[{"operation": "replace", "element": "time", "by": "night"}], trained_at=(160, 320),
        ... )
        >>> [str(one) for one in card.operations()], EngineCard.of_dict(card.to_dict()) == card
        (['replace time by night'], True)
    """

    format: int = FORMAT
    name: Name
    kind: Kind
    architecture: str
    settings: dict[str, Any] = Field(default_factory=dict)
    supports: tuple[SupportForm, ...] = Field(min_length=1)
    classes: tuple[str, ...] = ()
    context: bool = False
    prefilled: bool = False
    edges: bool = False
    noise: int = Field(default=0, ge=0, le=64)
    multiple: int = Field(default=1, ge=1, le=1024)
    trained_at: Size | None = None
    least: Size = (1, 1)
    most: Size | None = None
    domain: str = ""
    license: str = ""
    source: str = ""
    data: tuple[EngineData, ...] = ()
    training: TrainingNote = TrainingNote()
    metrics: tuple[EngineMetric, ...] = ()
    notes: tuple[str, ...] = ()
    sha256: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")

    @model_validator(mode="after")
    def _fits_together(self) -> EngineCard:
        if self.format != FORMAT:
            raise ValueError(f"this version of roadworthy reads cards of format {FORMAT}")
        if self.kind == "translation" and (self.classes or self.context or self.edges):
            raise ValueError("classes, context and edges go with the kind synthesis")
        if self.kind == "synthesis":
            if not self.classes:
                raise ValueError("an engine of the kind synthesis needs classes")
            known = ontology().label_classes[1:]
            if unknown := ", ".join(repr(one) for one in self.classes if one not in known):
                raise ValueError(f"classes that no label map shows: {unknown}; there are {', '.join(known)}")
            if len(set(self.classes)) != len(self.classes):
                raise ValueError("a class is written twice")
        try:
            json.dumps(self.model_dump(mode="json"), allow_nan=False, ensure_ascii=False).encode()
            json.dumps((self.settings, self.training.settings), allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"settings must be plain data: {error}") from None
        if self.prefilled and not self.context:
            raise ValueError("what is prefilled is the context: it needs context")
        if self.least == self.most and any(side % self.multiple for side in self.least):
            raise ValueError("the one size that it takes must be a multiple of `multiple`")
        if self.most is not None and any(m < k for m, k in zip(self.most, self.least, strict=True)):
            raise ValueError("most must not be smaller than least")
        return self

    @property
    def channels(self) -> int:
        """Of the input ``labels``: one for each class, and one for all else. 0 for translation."""
        return len(self.classes) + 1 if self.kind == "synthesis" else 0

    @property
    def inputs(self) -> dict[str, int]:
        """The names of the network's inputs with their numbers of channels, in their order."""
        every = {
            "image": 3 if self.kind == "translation" else 0,
            "labels": self.channels,
            "edges": int(self.edges),
            "context": 4 if self.context else 0,
            "noise": self.noise,
        }
        return {name: channels for name, channels in every.items() if channels}

    @property
    def is_nearer(self) -> bool | None:
        """Whether it was measured to be nearer to the truth than what is built in, at the sizes on its card.

        Beyond chance: all of each interval must say so. None where it was not measured.

        Example:
            >>> card = EngineCard(
            ...     name="night", kind="translation", architecture="small-translation",
            ...     supports=[{"operation": "replace", "element": "time", "by": "night"}],
            ...     metrics=[{"name": f"{APART}, 320x160", "value": -0.1, "low": -0.2, "high": -0.05}],
            ... )
            >>> card.is_nearer, card.replace(metrics=[]).is_nearer
            (True, None)
        """
        found = [one for one in self.metrics if one.name.startswith(APART)]
        return all(one.high is not None and one.high < 0 for one in found) if found else None

    def operations(self, where: str = CARD) -> tuple[Support, ...]:
        """Return the operations that it does.

        Raises:
            InputError: One of them means nothing; begins with `where`.
        """
        return tuple(
            one.support(lambda *place, number=number: f"{where}: supports > {number} > {' > '.join(place)}")
            for number, one in enumerate(self.supports)
        )

    def facts(self, size: int) -> dict[str, str]:
        """Return what people read about the engine.

        Args:
            size: Of the network's file, in bytes.
        """
        sizes = [f"trained at {_size_text(self.trained_at)}"] if self.trained_at else []
        if self.least == self.most:
            sizes.append(f"stretched to {_size_text(self.least)}")
        else:
            sizes.append(f"from {_size_text(self.least)} up")
            sizes += [f"made smaller above {_size_text(self.most)}"] if self.most else []
        data: dict[str, list[str]] = {}
        for one in self.data:
            data.setdefault(one.role, []).append(f"{one.name}, {one.frames} frames")
        note = self.training
        parts = [note.method, f"{note.steps} steps" if note.steps else "", note.device, note.date]
        facts = {
            "network": f"{self.architecture}, {self.kind}, {size / 2**20:.1f} MiB",
            "takes": ", ".join(f"{name} ({channels})" for name, channels in self.inputs.items()),
            "knows": ", ".join(self.classes),
            "sizes": ", ".join(sizes),
            "for": self.domain,
            "license": self.license,
            "source": self.source,
            **{role: "; ".join(lines) for role, lines in data.items()},
            "trained": ", ".join(part for part in parts if part) if note.method else "",
            "made by": note.command if note.method else "",
        }
        return {**{title: line for title, line in facts.items() if line}, "sha256": self.sha256}

    def table(self) -> ResultTable:
        """Return what was measured, beside what is built in."""
        rows = tuple(
            (
                one.name,
                one.text(one.value, one.low, one.high),
                ""
                if one.classical is None
                else one.text(one.classical, one.classical_low, one.classical_high),
                str(one.frames),
            )
            for one in self.metrics
        )
        return ResultTable("", ("measured", "learned", "built in", "frames"), rows)

    def replace(self, **changes: object) -> EngineCard:
        """Return the card with some facts changed.

        Raises:
            InputError: They do not fit together.
        """
        return EngineCard.of_dict({**self.to_dict(), **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain data."""
        return self.model_dump(mode="json")

    @classmethod
    def of_dict(cls, document: object, where: str = CARD) -> EngineCard:
        """Return the card that plain data describe.

        Raises:
            InputError: They describe none; begins with `where`.
        """
        if not isinstance(document, dict):
            raise InputError(f"{where}: expected a card, a mapping, got {type(document).__name__}")
        card = check_form(cls, document, lambda *_: where)
        card.operations(where)
        return card

    def write(self, folder: Path) -> None:
        """Write the card into the folder of its engine."""
        write_text(folder / CARD, json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, folder: Path) -> EngineCard:
        """Read the card in the folder of an engine.

        Raises:
            InputError: There is none, or it cannot be used; names the file.
        """
        path = folder / CARD
        if not path.is_file():
            raise InputError(f"{folder} is not a learned engine: it needs the files {CARD} and {NETWORK}")
        return cls.of_dict(read_json(path), str(path))


def _size_text(size: Size | None) -> str:
    return "any size" if size is None else f"{size[1]}x{size[0]}"
