"""The models and the data of a suite, opened, with what is known about them before anything is run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from roadworthy.cases import Dataset, Prediction
from roadworthy.datasets import ChosenFrames, WorldDataset, load_fitting, spread
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Frame
from roadworthy.labelling import misfits, with_estimates
from roadworthy.models import Network, Recorded, SystemUnderTest, load_model, task_of
from roadworthy.runs.executors import Executor
from roadworthy.runs.model_notes import ModelProbe
from roadworthy.runs.store.digests import Digest, digest_of_dataset
from roadworthy.runs.suites.forms import DataForm, ModelForm

# Frames whose label maps are looked at before a run: whether they fit their images.
_LOOKED_AT = 5


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
    frames: ChosenFrames
    first: Frame
    _digests: list[Digest] = field(default_factory=list)

    def estimated(self, needs: Collection[str]) -> list[str]:
        """Return which of the things that a requirement needs are estimated here, as frames have none."""
        if self.frames.estimator is None:
            return []
        return [name for name in sorted(needs) if getattr(self.first, name) is None]

    def misfits(self) -> list[str]:
        """Return a sentence about label maps that do not fit their images, of a few frames."""
        if self.first.labels is None or isinstance(self.frames.data, WorldDataset):
            return []
        some = [self.frames[number] for number in spread(len(self.frames), _LOOKED_AT)]
        if not (found := misfits(some)):
            return []
        return [
            f"{len(found)} of {len(some)} label maps of {self.name} looked at do not fit their image "
            f"({found[0]}): `roadworthy data check` looks at all."
        ]

    def digest(self, progress: Callable[[int, int], None] | None = None) -> Digest:
        """Return the SHA-256 of the frames, which are read once for it."""
        if not self._digests:
            self._digests.append(digest_of_dataset(self.frames.hashed, progress))
        return self._digests[0]


@dataclass(frozen=True)
class Facts:
    """What is known about a model on some data, from its answer to the first frame.

    Attributes:
        model: The model.
        data: The data; None for what needs none.
        answer: The answer; None where it failed.
        failure: Why it failed.
        elsewhere: Its answer to a frame of other data, where it has one.
        shrinks: How many rows of a frame become one in what the model sees of this data; where several get
            the same images, of the one that sees least.
    """

    model: OpenedModel
    data: OpenedData | None
    answer: Prediction | None
    failure: str = ""
    elsewhere: Prediction | None = None
    shrinks: float = 1.0

    @property
    def known(self) -> Prediction | None:
        """What the model answers with, as far as that was seen, here or elsewhere."""
        return self.answer if self.answer is not None else self.elsewhere

    def unrecorded(self, *, changed: bool) -> str:
        """Return why a model that is no more than its recorded answers cannot be asked; empty if it can.

        Args:
            changed: Whether it is asked about changed frames.
        """
        system = getattr(self.model.system, "network", self.model.system)
        if not isinstance(system, Recorded):
            return ""
        if changed:
            return f"{self.model.name} has recorded answers, and these are to frames as they are"
        ids = getattr(self.data.frames, "ids", ()) if self.data is not None else ()
        if ids and len(system.unmatched(ids)) == len(system):
            return f"{self.model.name} has recorded answers, and none is to a frame of {self.data_name}"
        return ""

    @property
    def data_name(self) -> str:
        """What the data is called; empty where there is none."""
        return self.data.name if self.data is not None else ""

    @property
    def task(self) -> str | None:
        """What the model is for; None where that is not known."""
        if self.known is not None:
            return task_of(self.known)
        system = getattr(self.model.system, "network", self.model.system)
        return system.task if isinstance(system, Network | Recorded) else None


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
    system = load_model(form.model, folder, **form.options)
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
        InputError: It cannot be opened, has no frames, not those that are named, or none that can be read.
    """
    most = min((one for one in (form.sample, sample) if one is not None), default=None)
    # Of named frames the data must be as large as it is, wherever in it they are.
    wished = {"history": history or None, "count": most if form.frames is None else None}
    data = load_fitting(form.data, folder, options=form.options, **wished)
    if form.labels is not None:
        data = _labels_only(data, form.labels)
    if not len(data):
        raise InputError(f"{name} has no frames")
    frames = with_estimates(ChosenFrames(name, data, range(len(data)), history, form.clusters or ""))
    if form.frames is not None:
        frames = replace(frames, indices=ChosenFrames.named(name, data, form.frames).indices)
    if most is not None:
        frames = frames.sampled(most)
    if form.clusters:
        # At once, so that a word for it that nobody knows is told before anything runs.
        _ = frames.clusters
    try:
        return OpenedData(name, form, frames, _first_of(frames))
    except FrameError as error:
        hint = "; labels: 1242x375, or --size, tests labels without images" if hasattr(data, "boxes") else ""
        raise InputError(f"{error}{hint}") from error


def _labels_only(data: Dataset, size: str) -> Dataset:
    from roadworthy.bbsl.comparing import LabelledFrames

    if not hasattr(data, "boxes"):
        raise InputError(f"{data.name} cannot be read without its images: leave out 'labels', or --size")
    width, height = (int(part) for part in size.lower().split("x"))
    return LabelledFrames(data, width, height)


def _first_of(frames: ChosenFrames) -> Frame:
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
    models: Mapping[str, OpenedModel], data: Mapping[str, OpenedData], executor: Executor | None = None
) -> dict[tuple[str, str], Facts]:
    """Ask every model about the first frame of all data; return what came, by the names of both.

    Args:
        models: The models.
        data: The data.
        executor: Where they are asked, as for any case: a model may crash, hang or end its process.
    """
    found: dict[tuple[str, str], Facts] = {}
    for model in models.values():
        for one in data.values():
            look = ModelProbe({0: one.first})
            answer = look.answers(one.frames, model.system, executor, batch_size=1).get(0)
            shrinks = 1.0 if answer is None else _shrinks(model.system, one.first)
            found[model.name, one.name] = Facts(model, one, answer, look.failures.get(0, ""), shrinks=shrinks)
    seen = {model: one.answer for (model, _), one in found.items() if one.answer is not None}
    return {pair: replace(one, elsewhere=seen.get(pair[0])) for pair, one in found.items()}


def _shrinks(system: SystemUnderTest, frame: Frame) -> float:
    """Return how many rows of a frame become one in what a model sees."""
    network = getattr(system, "network", system)
    if not isinstance(network, Network):
        return 1.0
    view = network.input.view(frame)
    return view.rows / view.height
