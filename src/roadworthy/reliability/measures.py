"""How good an answer is, and how like another: a measure for each kind of answer.

A requirement of correctness asks for performance against the truth, one of prediction for the similarity of
two answers (Definitions 2 and 3 of Hu et al.). Both are asked image by image, and what is kept of an image,
its *record*, is enough to work out the measure for any batch of images: so a model is asked once, and batches
are drawn from the records.

=================  ======================================  ==============================================
answers            performance of a batch                  similarity of two answers
=================  ======================================  ==============================================
classes            accuracy                                1 if they name the same class, else 0
boxes              mean over classes of AP at an IoU       F1 of the one's boxes against the other's
label maps         mean over classes of IoU                mean over classes of IoU
speed, steering    share of frames within a tolerance      1 if they differ by at most the tolerance
=================  ======================================  ==============================================

The last row is ours; the paper has no measure for regression.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from roadworthy._options import parse_call
from roadworthy._tables import as_float
from roadworthy.cases import ClassScores, Prediction
from roadworthy.errors import InputError, NotApplicable, SystemUnderTestError, check_known, suggest
from roadworthy.frames import Frame, Signals
from roadworthy.models import Task, task_of
from roadworthy.models.scorers import true_class
from roadworthy.ontology import normalized

Record: TypeAlias = float | str
"""What is kept of one answer: a number, or text where that is not enough."""
Indices: TypeAlias = NDArray[np.intp]
Values: TypeAlias = NDArray[np.float64]
P = TypeVar("P", bound=Prediction)
Batches: TypeAlias = Callable[[Indices], Values]
"""From batches of records, n × k of their numbers, to the value of each batch."""

_KINDS: dict[str, type[TaskMeasure]] = {}


def registered(kind: type[TaskMeasure]) -> type[TaskMeasure]:
    """Let a measure be read from text."""
    _KINDS[kind.word] = kind
    return kind


class TaskMeasure(ABC):
    """How the answers to one task are measured; a frozen dataclass of its settings.

    Class attributes:
        word: What its text begins with.
        task: What a model must answer for.
        slack: How much one image may lose before its case counts as failing. The outcome does not depend on
            it.
    """

    word: ClassVar[str]
    task: ClassVar[Task]
    slack: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in tables."""

    @property
    def label(self) -> str:
        """What tells it from another measure of the same task; empty where there is none."""
        return ""

    @abstractmethod
    def record(self, frame: Frame, answer: Prediction) -> Record:
        """Return what is kept of an answer, measured against the truth.

        Raises:
            NotApplicable: The frame does not tell what is true.
            SystemUnderTestError: This is not the kind of answer that is measured.
        """

    def value(self, record: Record) -> float:
        """Return the performance on one image alone."""
        return float(self.batches([record])(np.zeros((1, 1), np.intp))[0])

    def batches(self, records: Sequence[Record]) -> Batches:
        """Return what gives the performance of batches of these records; NaN where a batch has none."""
        return means(np.array(records, np.float64))

    def counted(self, answer: Prediction) -> Prediction:
        """Return what of an answer counts for the similarity."""
        return answer

    def lost(self, record: Record) -> Record:  # noqa: ARG002
        """Return what would be kept of an answer to the same image that is all wrong."""
        return 0.0

    @abstractmethod
    def similarity(self, before: Prediction, after: Prediction) -> float:
        """Return how like two answers are, from 0 to 1.

        Raises:
            SystemUnderTestError: This is not the kind of answer that is measured.
        """

    def __str__(self) -> str:
        inside = ", ".join(
            f"{one.name}={_text(getattr(self, one.name))}"
            for one in fields(self)  # type: ignore[arg-type]  # every measure is a dataclass
            if getattr(self, one.name) not in (None, ())
        )
        return f"{self.word}({inside})" if inside else self.word


def means(values: Values) -> Batches:
    """Return what gives the means of batches."""
    return lambda indices: values[indices].mean(axis=1)


def answered(answer: Prediction, kind: type[P]) -> P:
    """Return an answer, which must be of a kind.

    Raises:
        SystemUnderTestError: It is of another.
    """
    if not isinstance(answer, kind):
        raise SystemUnderTestError(f"expected {kind.__name__}, got {type(answer).__name__}")
    return answer


@registered
@dataclass(frozen=True)
class Accuracy(TaskMeasure):
    """The share of images whose class is right; similarity is whether the class stays.

    Attributes:
        of: Where one class is to be recognised among all others, this class: the paper asks for cars. An
            answer is right when it says of an image whether it is one.
        score: The score from which on the answer says that it is one; when left out, it does so where that
            class is the best. A class that stands for many of the model's own adds up their scores, and is
            the best too easily.

    Example:
        >>> frame = Frame("a", np.zeros((8, 8, 3), np.uint8), metadata={"class": "truck"})
        >>> answer = ClassScores(("car", "truck", "tree"), np.array([0.1, 0.3, 0.6]))
        >>> Accuracy().record(frame, answer), Accuracy(of="car").record(frame, answer)
        (0.0, 1.0)
        >>> Accuracy(of="truck", score=0.25).record(frame, answer)
        1.0
    """

    of: str | None = None
    score: float | None = None

    word = "accuracy"
    task = "classification"

    def __post_init__(self) -> None:
        if self.score is not None and self.of is None:
            raise InputError("accuracy needs the class whose score is meant: accuracy(of=car, score=0.3)")

    @property
    def name(self) -> str:
        """Accuracy, and of which class."""
        return "accuracy" if self.of is None else f"accuracy on {self.of}"

    def record(self, frame: Frame, answer: Prediction) -> float:
        """Return whether the class is right."""
        truth = true_class(frame)
        if truth is None:
            raise NotApplicable("the frame has no class")
        wanted = normalized(truth)
        return float((wanted if self.of is None else wanted == normalized(self.of)) == self._answered(answer))

    def similarity(self, before: Prediction, after: Prediction) -> float:
        """Return whether the class stays."""
        return float(self._answered(before) == self._answered(after))

    def _answered(self, answer: Prediction) -> str | bool:
        """Return the class, or whether it is the one that is asked for."""
        scores = answered(answer, ClassScores)
        if self.of is None:
            return normalized(scores.best)
        names = [normalized(one) for one in scores.names]
        if normalized(self.of) not in names:
            raise SystemUnderTestError(f"the model does not know the class {self.of!r}")
        if self.score is None:
            return normalized(scores.best) == normalized(self.of)
        return bool(scores.scores[names.index(normalized(self.of))] >= self.score)


@registered
@dataclass(frozen=True)
class SignalWithin(TaskMeasure):
    """The share of frames whose speed or steering is within a tolerance: of the truth, or the other answer.

    An error has no natural scale on which 1 is perfect and 0 is worst, and its mean would let one wild answer
    outweigh a hundred good ones. A tolerance makes regression what the two definitions are about: an answer
    is right or it is not.

    Attributes:
        output: "steering" or "speed".
        tolerance: In degrees at the wheels or in m/s; of steering 1.39 degrees, which is δ of the RMT paper,
            and of speed 1 m/s when left out.

    Example:
        >>> steering = SignalWithin("steering")
        >>> steering.name
        'steering within 1.39°'
        >>> steering.similarity(Signals(steering=2.0), Signals(steering=3.0))
        1.0
    """

    output: str = "steering"
    tolerance: float | None = None

    word = "signal"
    task = "regression"

    def __post_init__(self) -> None:
        check_known("unknown output", self.output, _TOLERANCES)
        if self.tolerance is None:
            object.__setattr__(self, "tolerance", _TOLERANCES[self.output][0])
        if not (isinstance(self.tolerance, int | float) and 0 < self.tolerance < np.inf):
            raise InputError(f"the tolerance of {self.output} must be above 0, got {self.tolerance!r}")

    @property
    def name(self) -> str:
        """The signal, and its tolerance."""
        return f"{self.output} within {self.tolerance:g}{_TOLERANCES[self.output][1]}"

    @property
    def label(self) -> str:
        """The signal."""
        return self.output

    def record(self, frame: Frame, answer: Prediction) -> float:
        """Return whether the answer is near the truth."""
        truth = frame.signals.as_dict().get(self.output) if frame.signals is not None else None
        if truth is None:
            raise NotApplicable(f"the frame has no {self.output}")
        return self._near(truth, self._answered(answer))

    def similarity(self, before: Prediction, after: Prediction) -> float:
        """Return whether the answers are near each other."""
        return self._near(self._answered(before), self._answered(after))

    def _near(self, one: float, other: float) -> float:
        assert self.tolerance is not None
        return float(abs(one - other) <= self.tolerance)

    def _answered(self, answer: Prediction) -> float:
        known = answered(answer, Signals).as_dict()
        if self.output not in known:
            raise SystemUnderTestError(
                f"expected a prediction of {self.output}, got {', '.join(known) or 'no signal'}"
            )
        return known[self.output]


_TOLERANCES: Mapping[str, tuple[float, str]] = {"steering": (1.39, "°"), "speed": (1.0, " m/s")}


def measures_for(answer: Prediction) -> list[TaskMeasure]:
    """Return the measures that suit a model, seen from one of its answers: one for each signal.

    Raises:
        InputError: It answers with signals that are neither speed nor steering.

    Example:
        >>> [one.name for one in measures_for(Signals(speed=8.0))]
        ['speed within 1 m/s']
    """
    if not isinstance(answer, Signals):
        task = task_of(answer)
        return [kind() for kind in _KINDS.values() if kind.task == task]
    known = [one for one in _TOLERANCES if one in answer.as_dict()]
    if not known:
        answered = ", ".join(answer.as_dict()) or "no signal"
        raise InputError(f"the model answers with {answered}: expected steering or speed")
    return [SignalWithin(one) for one in known]


def usual_number(task: Task) -> int:
    """Return how many measures suit the models of a task at most: a driving network may have two signals."""
    return len(_TOLERANCES) if task == SignalWithin.task else 1


def read_measure(text: str, **usual: object) -> TaskMeasure:
    """Return the measure that a text spells.

    Args:
        text: Its name, and in brackets its settings.
        usual: Settings that hold where the text has none, for measures that have them.

    Raises:
        InputError: It is none, or a setting cannot be used.

    Example:
        >>> str(read_measure("accuracy(of=car)")), read_measure("steering(tolerance=2)").name
        ('accuracy(of=car)', 'steering within 2°')
        >>> str(read_measure("ap(iou=0.7, classes=vehicle + pedestrian)"))
        'ap(iou=0.7, score=0.5, classes=vehicle + pedestrian, min_height=8, max_occlusion=0.8)'
    """
    name, given = parse_call(text, "measure")
    word = name.lower()
    if word in _TOLERANCES:
        word, given = SignalWithin.word, {"output": word, **given}
    if word not in _KINDS:
        raise InputError(f"unknown measure {word!r}; {suggest(word, [*_KINDS, *_TOLERANCES])}")
    known = {one.name: str(one.type) for one in fields(_KINDS[word])}  # type: ignore[arg-type]
    settings = {key: value for key, value in usual.items() if key in known}
    for key, value in given.items():
        check_known(f"{word} has no setting", key, known)
        settings[key] = _value(key, str(value), known[key])
    return _KINDS[word](**settings)


def _value(key: str, text: str, kind: str) -> object:
    """Return a setting as the annotation of its field wants it.

    Raises:
        InputError: It must be a number, and is none.
    """
    if kind.startswith("tuple"):
        return tuple(one.strip() for one in text.split("+"))
    if not kind.startswith("float"):
        return text
    number = as_float(text)
    if not math.isfinite(number):
        raise InputError(f"{key} must be a number, got {text!r}")
    return number


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return " + ".join(value)
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    # Who reads the words must get this measure, not one that is nearly it.
    return short if float(short) == value else repr(value)
