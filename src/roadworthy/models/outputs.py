"""What a network answers: the declared outputs, and how arrays become predictions.

Each of the outputs is data that says what the numbers of a network mean, and decodes them. What comes back is
checked for shape, kind and finiteness, and a complaint names the frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import naming
from roadworthy._frozen import FrozenDict, frozen
from roadworthy.cases import ClassScores, InverseDepth, Prediction
from roadworthy.class_lists import known_meaning
from roadworthy.errors import InputError, SystemUnderTestError, check_choice, suggest
from roadworthy.frames import LabelMap, PlannedPath, Signals, SignalUnits
from roadworthy.models.images import View
from roadworthy.models.protocols import Task
from roadworthy.ontology import VOID, normalized, ontology

Arrays: TypeAlias = Mapping[str, NDArray[Any] | Sequence[NDArray[Any]]]
"""What a network gave for a batch: arrays by name, one row per image; a list where images differ."""

Scores: TypeAlias = NDArray[np.float64]
Names: TypeAlias = Mapping[str, str | None]
P_co = TypeVar("P_co", bound=Prediction, covariant=True)


class Output(Protocol[P_co]):
    """Says what the numbers of a network mean."""

    @property
    def task(self) -> Task:
        """What the network is for."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the network's outputs that are used, in order; empty for all."""

    def decode(self, arrays: Arrays, views: Sequence[View]) -> Sequence[P_co]:
        """Return the predictions for a batch.

        Raises:
            SystemUnderTestError: The arrays cannot be what was declared; names the frame.
        """


_SIGNALS = tuple(one.name for one in fields(Signals) if one.name != "extra")


@dataclass(frozen=True)
class RegressionOutput:
    """Speed, steering and other signals, one number each.

    The outputs are joined into one row per image, in order, and each column is a signal.

    Attributes:
        signals: What the columns are: "speed", "steering", "acceleration", "throttle", "brake", or another
            name for a number that is kept as it is.
        units: Units and sign of speed and steering.
        outputs: The names of the network's outputs to use, in order; all when left out.

    Example:
        >>> RegressionOutput(("steering",), SignalUnits(steering="rad", steering_positive="left")).task
        'regression'
    """

    task: ClassVar[Task] = "regression"

    signals: tuple[str, ...]
    units: SignalUnits = field(default_factory=SignalUnits)
    outputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.signals or len(set(self.signals)) != len(self.signals):
            raise InputError(f"signals must name at least one signal and each only once, got {self.signals}")

    def decode(self, arrays: Arrays, views: Sequence[View]) -> list[Signals]:
        """Return the signals for a batch."""
        found, told = dense(arrays, views, self.outputs), f" ({', '.join(self.signals)})"
        table = _numbers(found, arrays, len(self.signals), told, "signals")
        return [self.signals_of(row) for row in table.tolist()]

    def signals_of(self, values: Sequence[float]) -> Signals:
        """Return the signals for one row of numbers, in units and sign of the package."""
        given = dict(zip(self.signals, values, strict=True))
        known = {name: given.pop(name) for name in _SIGNALS if name in given}
        return Signals.from_units(self.units, **known, extra=given)


@dataclass(frozen=True)
class ClassificationOutput:
    """A score for each class.

    Attributes:
        classes: The network's own names of its classes, in the order of the numbers; any words. A name that
            several classes have gets their numbers: ImageNet's are "crane (134)" and "crane (517)".
        activation: What to apply to the numbers: "softmax" or "sigmoid" for logits, or "none".
        class_names: What classes are called in the answers, where it shall differ; any words. The scores of
            classes that get the same word are added up; with "sigmoid" the highest counts. None leaves a
            class out.
        outputs: The name of the network's output to use; the only one when left out.

    Example:
        >>> output = ClassificationOutput(("cab", "jeep", "crane"), class_names={"cab": "car", "jeep": "car"})
        >>> output.words
        ('car', 'crane')
    """

    task: ClassVar[Task] = "classification"

    classes: tuple[str, ...]
    activation: Literal["none", "softmax", "sigmoid"] = "none"
    class_names: Names = field(default_factory=FrozenDict)
    outputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.classes or isinstance(self.classes, str):
            raise InputError(f"classes must be the names of the network's classes, got {self.classes!r}")
        check_choice("activation", self.activation, ("none", "softmax", "sigmoid"))
        counts = Counter(self.classes)
        numbered = tuple(
            f"{name} ({number})" if counts[name] > 1 else name for number, name in enumerate(self.classes)
        )
        object.__setattr__(self, "classes", numbered)
        object.__setattr__(self, "class_names", frozen(self.class_names))
        _check_names(self.class_names, self.classes)
        if not self.words:
            raise InputError("class_names leaves out all classes: keep at least one")

    @property
    def words(self) -> tuple[str, ...]:
        """What the answers name, each once."""
        return tuple(dict.fromkeys(word for word in self._word_of if word is not None))

    @property
    def _word_of(self) -> list[str | None]:
        return [self.class_names.get(name, name) for name in self.classes]

    def decode(self, arrays: Arrays, views: Sequence[View]) -> list[ClassScores]:
        """Return the class scores for a batch."""
        found = [only(arrays, views, self.outputs)]
        scores = _numbers(found, arrays, len(self.classes), ", one per class", "classes")
        if self.activation == "softmax":
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            scores /= scores.sum(axis=1, keepdims=True)
        elif self.activation == "sigmoid":
            scores = 0.5 * (1 + np.tanh(scores / 2))
        words = self.words
        return [ClassScores(words, row) for row in self._named(scores, words, views)]

    def _named(self, scores: Scores, words: tuple[str, ...], views: Sequence[View]) -> Scores:
        """Return a column per word for a column per class."""
        if words == self.classes:
            return scores
        kept = np.array([word is not None for word in self._word_of], np.bool_)
        place = {word: number for number, word in enumerate(words)}
        target = [place[word] for word in self._word_of if word is not None]
        scores = scores[:, kept]
        if self.activation == "none" and len(target) > len(words) and scores.min() < 0:
            view = views[int(scores.min(axis=1).argmin())]
            raise SystemUnderTestError(
                f"scores for frame {view.frame.id!r} must not be negative where class_names gives several "
                f"classes one word and adds them up, got {scores.min():g}; are these logits? Then say "
                "activation=softmax"
            )
        found = np.zeros((len(words), len(scores)))
        (np.maximum if self.activation == "sigmoid" else np.add).at(found, target, scores.T)
        return found.T


@dataclass(frozen=True)
class SegmentationOutput:
    """The class of every pixel: numbers of classes, or a score per class, of which the highest counts.

    The map may be smaller than the image; it is enlarged to the frame without mixing classes. Rows that
    were cropped are void.

    Attributes:
        classes: The network's own names of its classes, in the order of their numbers.
        class_names: The word of the ontology for those of its names that the ontology does not know; None
            for void, as what nothing explains is.
        layers: Whether the network has an output for each class but the first, with a score for no and one
            for yes per pixel; where several say yes, the last counts. TwinLiteNet answers like that.
        outputs: The name of the network's output to use, the only one when left out; with layers, all names.
    """

    task: ClassVar[Task] = "segmentation"

    classes: tuple[str, ...]
    class_names: Names = field(default_factory=FrozenDict)
    layers: bool = False
    outputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "class_names", frozen(self.class_names))
        words_for(self.classes, self.class_names)

    def decode(self, arrays: Arrays, views: Sequence[View]) -> list[LabelMap]:
        """Return the label maps for a batch, in the label classes of the ontology."""
        if self.layers:
            ids = self._layered(dense(arrays, views, self.outputs), arrays)
        else:
            ids = self._ids(only(arrays, views, self.outputs), views)
        words = words_for(self.classes, self.class_names)
        names = [VOID if word is None else ontology().resolve(word).name for word in words]
        classes = tuple(dict.fromkeys((*ontology().label_classes, *names)))
        table = np.array([classes.index(name) for name in names], np.min_scalar_type(len(classes)))
        void = classes.index(VOID)
        return [
            LabelMap(view.map_to_frame(table[own], void), classes)
            for view, own in zip(views, ids, strict=True)
        ]

    def _layered(self, found: Sequence[NDArray[Any]], arrays: Arrays) -> NDArray[np.intp]:
        count = len(self.classes) - 1
        if len(found) != count or any(one.ndim != 4 or one.shape[1] != 2 for one in found):
            raise SystemUnderTestError(
                f"expected {count} outputs (n, 2, height, width), one for each class but the first, got "
                f"{shapes(arrays)}; correct classes, layers or outputs"
            )
        ids = np.zeros((len(found[0]), *found[0].shape[2:]), np.intp)
        for number, one in enumerate(found, 1):
            ids[one[:, 1] > one[:, 0]] = number
        return ids

    def _ids(self, array: NDArray[Any], views: Sequence[View]) -> NDArray[np.intp]:
        count = len(self.classes)
        if array.ndim == 4 and array.shape[1] == count:
            return np.asarray(array.argmax(axis=1))
        if array.ndim == 4 and array.shape[3] == count:
            return np.asarray(array.argmax(axis=3))
        if array.ndim == 4 and 1 in (array.shape[1], array.shape[3]):
            array = array[:, 0] if array.shape[1] == 1 else array[..., 0]
        if array.ndim != 3:
            raise SystemUnderTestError(
                f"expected class numbers (n, height, width) or {count} scores per pixel, (n, {count}, "
                f"height, width), got shape {array.shape}; correct classes or outputs"
            )
        for view, own in zip(views, array, strict=True):
            if own.min() < 0 or own.max() >= count or (own != np.floor(own)).any():
                raise SystemUnderTestError(
                    f"the label map for frame {view.frame.id!r} must hold whole numbers from 0 to "
                    f"{count - 1}, one per class, got {own.min():g} to {own.max():g}"
                )
        return array.astype(np.intp)


@dataclass(frozen=True)
class DepthOutput:
    """How near every pixel is.

    Attributes:
        values: What the numbers are: "inverse", higher is nearer, on a scale of the network's own, as MiDaS
            and Depth Anything have it; or "metres".
        outputs: The name of the network's output to use; the only one when left out.
    """

    task: ClassVar[Task] = "depth"

    values: Literal["inverse", "metres"] = "inverse"
    outputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("values", self.values, ("inverse", "metres"))

    def decode(self, arrays: Arrays, views: Sequence[View]) -> list[InverseDepth]:
        """Return the depth for a batch, of the size of each frame."""
        array = only(arrays, views, self.outputs)
        if array.ndim == 4 and 1 in (array.shape[1], array.shape[3]):
            array = array[:, 0] if array.shape[1] == 1 else array[..., 0]
        if array.ndim != 3:
            raise SystemUnderTestError(
                f"expected a number per pixel, (n, height, width), got shape {array.shape}; correct outputs"
            )
        if metric := self.values == "metres":
            array = 1 / np.maximum(array, _NEAREST)
        pairs = zip(views, array, strict=True)
        return [InverseDepth(view.values_to_frame(own), metric) for view, own in pairs]


@dataclass(frozen=True)
class PathOutput:
    """Where the vehicle plans to be: points on the road, in metres from the one below the camera.

    The outputs are joined into one row per image: ahead and aside of the first point, of the second, ….

    Attributes:
        times: Seconds from now of the points, rising.
        order: What the numbers of a point are: "ahead,right", "ahead,left", "right,ahead" or "left,ahead".
        behind: Metres from the camera back to the point whose path it is, such as the rear axle.
        outputs: The names of the network's outputs to use, in order; all when left out.

    Example:
        >>> PathOutput((0.5, 1.0)).task
        'path'
    """

    task: ClassVar[Task] = "path"

    times: tuple[float, ...]
    order: Literal["ahead,right", "ahead,left", "right,ahead", "left,ahead"] = "ahead,right"
    behind: float = 0.0
    outputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("order", self.order, ("ahead,right", "ahead,left", "right,ahead", "left,ahead"))
        if list(self.times) != sorted(set(self.times)) or not min(self.times, default=0.0) > 0:
            raise InputError(f"times must be seconds above 0 that rise, one for each point, got {self.times}")

    def decode(self, arrays: Arrays, views: Sequence[View]) -> list[PlannedPath]:
        """Return the paths for a batch."""
        found = dense(arrays, views, self.outputs)
        table = _numbers(found, arrays, 2 * len(self.times), ", two for each of its points", "times")
        return [self.path_of(row) for row in table]

    def path_of(self, values: Scores) -> PlannedPath:
        """Return the path for one row of numbers, ahead and right of the camera."""
        points = values.reshape(-1, 2)
        points = points[:, ::-1] if self.order.endswith("ahead") else points
        if "left" in self.order:
            points = points * [1.0, -1.0]
        path = PlannedPath(points, np.array(self.times))
        if not self.behind:
            return path
        turned = path.headings()
        shift = self.behind * np.stack([np.cos(turned) - 1, np.sin(turned)], axis=1)
        return PlannedPath(points + shift, path.times)


OUTPUTS = (RegressionOutput, ClassificationOutput, SegmentationOutput, DepthOutput, PathOutput)
"""What networks may answer with, beside boxes."""

_NEAREST = 1e-3  # metres, so that a network that answers 0 does not divide by it


def _numbers(found: Sequence[NDArray[Any]], arrays: Arrays, count: int, told: str, wrong: str) -> Scores:
    """Return so many numbers for each image, out of one output or several."""
    table = np.concatenate([one.reshape(len(one), -1) for one in found], axis=1).astype(np.float64)
    if table.shape[1] != count:
        raise SystemUnderTestError(
            f"expected {count} numbers per image{told}, got {table.shape[1]} from {shapes(arrays)}; correct "
            f"{wrong} or outputs"
        )
    return table


def words_for(classes: Sequence[str], class_names: Names) -> list[str | None]:
    """Return the word of the ontology for each class of a network; None for those that are left out.

    A class that nothing explains is left out, and `unknown_classes` tells of it.

    Raises:
        InputError: A name that is given a word is none of the classes, or its word is unknown.

    Example:
        >>> words_for(["person", "bicycle", "toastr"], {"person": "pedestrian"})
        ['pedestrian', 'bicyclist', None]
    """
    if not classes or isinstance(classes, str):
        raise InputError(f"classes must be the names of the network's classes, got {classes!r}")
    _check_names(class_names, classes)
    for name, word in class_names.items():
        if word is not None and normalized(word) != VOID:
            with naming(f"class_names[{name!r}]"):
                ontology().resolve(word)
    found = [
        class_names[name] if name in class_names else (known_meaning(name) or (None,))[0] for name in classes
    ]
    return [None if word is None or normalized(word) == VOID else word for word in found]


def _check_names(class_names: Names, classes: Sequence[str]) -> None:
    for name in class_names:
        if name not in classes:
            raise InputError(f"class_names has {name!r}, which is no class: {suggest(name, classes)}")


def dense(arrays: Arrays, views: Sequence[View], wanted: Sequence[str] = ()) -> list[NDArray[Any]]:
    """Return the outputs that are used, each with one row of finite numbers per image.

    Raises:
        SystemUnderTestError: An output is missing, has another number of rows than images, or holds
            something else than finite numbers.
    """
    found = []
    for name in wanted or arrays:
        if name not in arrays:
            raise SystemUnderTestError(f"expected an output {name!r}, got {shapes(arrays)}")
        array = arrays[name]
        if not isinstance(array, np.ndarray):
            raise SystemUnderTestError(
                f"output {name!r} must have one shape for all images, got "
                f"{', '.join(str(np.shape(one)) for one in array)}"
            )
        if array.ndim == 0 or len(array) != len(views):
            raise SystemUnderTestError(
                f"output {name!r} must have one row for each of {len(views)} images, got shape {array.shape}"
                + ("; if the network takes one image at a time, give batch=1" if len(views) > 1 else "")
            )
        check_finite(name, array, views)
        found.append(array)
    if not found:
        raise SystemUnderTestError("expected at least one output, got none")
    return found


def only(arrays: Arrays, views: Sequence[View], wanted: Sequence[str]) -> NDArray[Any]:
    """Return the one output that is used."""
    found = dense(arrays, views, wanted)
    if len(found) > 1:
        raise SystemUnderTestError(f"expected one output, got {shapes(arrays)}; say which with outputs")
    return found[0]


def check_finite(name: str, rows: Sequence[NDArray[Any]] | NDArray[Any], views: Sequence[View]) -> None:
    """Complain about numbers that are none, with the first frame that has them.

    Raises:
        SystemUnderTestError: There are some.
    """
    for view, row in zip(views, map(np.asarray, rows), strict=True):
        if row.dtype.kind not in "biuf":
            raise SystemUnderTestError(
                f"output {name!r} for frame {view.frame.id!r} must be numbers, got {row.dtype}"
            )
        if row.dtype.kind == "f" and not np.isfinite(row).all():
            wrong = row[~np.isfinite(row)]
            raise SystemUnderTestError(
                f"output {name!r} for frame {view.frame.id!r} must be finite, got {wrong.flat[0]} "
                f"({wrong.size} of {row.size} numbers): are input.range, mean and std right?"
            )


def shapes(arrays: Arrays) -> str:
    """Return names and shapes of outputs, for messages."""
    parts = [
        f"{name!r} {array.shape if isinstance(array, np.ndarray) else f'({len(array)} arrays)'}"
        for name, array in arrays.items()
    ]
    return ", ".join(parts) or "no output"
