"""The models and the data of a suite, opened, with what is known about them before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roadworthy.cases import Dataset, Prediction
from roadworthy.datasets import WorldCropsDataset, WorldDataset, load, options_of, reader_for
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Frame
from roadworthy.models import Network, SystemUnderTest, load_model, task_of
from roadworthy.runs.batches import ask
from roadworthy.runs.suites.forms import DataForm, ModelForm

__all__ = [
    "Facts",
    "Frames",
    "OpenedData",
    "OpenedModel",
    "history_of",
    "look_at",
    "open_data",
    "open_model",
    "spread",
]


def history_of(system: SystemUnderTest) -> int:
    """Return how many earlier frames a system wants to see."""
    return system.input.history if isinstance(system, Network) else 0


def spread(total: int, count: int) -> list[int]:
    """Return so many indices, or as many as there are, spread evenly.

    Example:
        >>> spread(100, 5), spread(2, 5)
        ([0, 20, 40, 60, 80], [0, 1])
    """
    shown = min(count, total)
    return [index * total // shown for index in range(shown)]


@dataclass(frozen=True, eq=False)
class Frames:
    """Some frames of a data set, under a name of one's own.

    Attributes:
        name: What they are called in rows and reports.
        data: The data set.
        indices: Which of its frames, in order.
    """

    name: str
    data: Dataset
    indices: Sequence[int]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the frames; a data set that has none beforehand has none here either."""
        known = self.data.ids  # type: ignore[attr-defined]
        return tuple(known[index] for index in self.indices)

    @property
    def on_error(self) -> str:
        """What becomes of frames that cannot be read."""
        return getattr(self.data, "on_error", "raise")

    @property
    def units(self) -> Any:
        """The native units of the data set; None where it declares none."""
        return getattr(self.data, "units", None)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int, /) -> Frame:
        return self.data[self.indices[index]]

    def __iter__(self) -> Iterator[Frame]:
        for index in self.indices:
            try:
                yield self.data[index]
            except InputError:
                if self.on_error != "skip":
                    raise

    @property
    def hashed(self) -> Dataset:
        """What tells them from others: of data that is made all of it, for its recipe; else these frames."""
        return self.data if isinstance(self.data, WorldDataset | WorldCropsDataset) else self

    def sampled(self, count: int) -> Frames:
        """Return so many of them, spread evenly."""
        return Frames(self.name, self.data, [self.indices[one] for one in spread(len(self), count)])


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """A model of a suite.

    Attributes:
        name: What the suite calls it.
        form: What the suite says of it.
        system: The model, which has that name.
    """

    name: str
    form: ModelForm
    system: SystemUnderTest


@dataclass(frozen=True, eq=False)
class OpenedData:
    """Data of a suite.

    Attributes:
        name: What the suite calls it.
        form: What the suite says of it.
        frames: The frames, or those of the sample.
        first: The first of them that can be read.
    """

    name: str
    form: DataForm
    frames: Frames
    first: Frame


@dataclass(frozen=True)
class Facts:
    """What is known about a model on some data, from its answer to the first frame.

    Attributes:
        model: The model.
        data: The data; None for what needs none.
        answer: The answer; None where it failed.
        failure: Why it failed.
    """

    model: OpenedModel
    data: OpenedData | None
    answer: Prediction | None
    failure: str = ""

    @property
    def task(self) -> str | None:
        """What the model is for; None where that is not known."""
        if self.answer is not None:
            return task_of(self.answer)
        system = self.model.system
        return system.task if isinstance(system, Network) else None


class _Renamed:
    """A system under another name."""

    def __init__(self, system: SystemUnderTest, name: str) -> None:
        self.network = system
        self.name = name

    def predict(self, frames: Sequence[Frame], /) -> Sequence[Prediction]:
        return self.network.predict(frames)


def open_model(name: str, form: ModelForm, folder: Path) -> OpenedModel:
    """Open a model of a suite under the name that the suite gives it.

    Raises:
        InputError: It cannot be opened.
    """
    system = load_model(form.model, relative_to=folder, **form.options)
    if system.name != name:
        try:
            system.name = name  # type: ignore[misc]  # most can be renamed
        except AttributeError:
            system = _Renamed(system, name)
    return OpenedModel(name, form, system)


def open_data(
    name: str, form: DataForm, folder: Path, *, history: int = 0, sample: int | None = None
) -> OpenedData:
    """Open data of a suite.

    Args:
        name: What the suite calls it.
        form: What the suite says of it.
        folder: What paths count from.
        history: How many earlier frames the models want, for readers that can give them.
        sample: How many frames at most, spread over the data; all if left out.

    Raises:
        InputError: It cannot be opened, has no frames, or none that can be read.
    """
    known = {one.name for one in options_of(reader_for(form.data))}
    most = min((one for one in (form.sample, sample) if one is not None), default=None)
    usual: dict[str, object] = {"history": history or None, "count": most}
    # Data that is made is made in the number that is used: conditions cycle from frame to frame.
    fitting = {key: value for key, value in usual.items() if key in known and value is not None}
    opened = load(form.data, relative_to=folder, **{**fitting, **form.options})
    data: Dataset = opened
    if form.labels is not None:
        data = _labels_only(opened, form.labels)
    if not len(data):
        raise InputError(f"{name} has no frames")
    frames = Frames(name, data, range(len(data)))
    if most is not None:
        frames = frames.sampled(most)
    return OpenedData(name, form, frames, _first_of(frames))


def _labels_only(data: Dataset, size: str) -> Dataset:
    from roadworthy.bbsl.testing import LabelledFrames

    if not hasattr(data, "boxes"):
        raise InputError(f"{data.name} cannot be read without its images: leave out 'labels'")
    width, height = (int(part) for part in size.lower().split("x"))
    return LabelledFrames(data, width, height)  # type: ignore[arg-type]  # it has boxes


def _first_of(frames: Frames) -> Frame:
    reason: InputError | None = None
    for number in range(len(frames)):
        try:
            return frames[number]
        except InputError as error:
            reason = error
            if frames.on_error != "skip":
                break
    assert reason is not None
    raise reason


def look_at(
    models: Mapping[str, OpenedModel], data: Mapping[str, OpenedData]
) -> dict[tuple[str, str], Facts]:
    """Ask every model about the first frame of all data; return what came, by the names of both."""
    found: dict[tuple[str, str], Facts] = {}
    for model in models.values():
        for one in data.values():
            (answer,) = ask(model.system, [one.first], batch_size=1)
            if isinstance(answer, SystemUnderTestError):
                found[model.name, one.name] = Facts(model, one, None, str(answer))
            else:
                found[model.name, one.name] = Facts(model, one, answer)
    return found
