"""What is known about the original frames of a search, and the groups of failures that it found."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Case, Scalar, Verdict
from roadworthy.coverage.activations import Activations, Layer, not_counted_text
from roadworthy.coverage.criteria import Cells
from roadworthy.coverage.criteria.named import Mixed, Training, parse_mixture
from roadworthy.coverage.oracle import BrokenRelation, ModelAnswers, cluster, usual_spread
from roadworthy.coverage.search.settings import SearchSettings
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Frame, SignalUnits
from roadworthy.seeding import rng_for

FINGERPRINT = "seen."
"""What the columns of a fingerprint begin with."""

_NUMBERS = 16  # of a fingerprint


class OriginalFrames:
    """What is known about the original frames, and what is computed from it.

    Args:
        settings: Of the search.
        units: Those of the data set.
        training: What the network did on training data; the originals are taken for what it lacks.
    """

    def __init__(self, settings: SearchSettings, units: SignalUnits, training: Training) -> None:
        self.settings = settings
        self.unit = output_unit(units, settings.output)
        self.bound = 0.0
        self.not_counted = ""
        self._mixture = parse_mixture(settings.criterion)
        self._training = training
        self._labels: dict[str, float] = {}
        self._frames: dict[str, str] = {}
        self._answers: dict[str, float] = {}
        self._errors: list[str] = []
        self._batches: list[Activations] = []
        self._hidden: list[NDArray[np.float64]] = []
        self._extremes: tuple[NDArray[Any], NDArray[Any]] | None = None
        self._criterion: Cells | Mixed | None = None
        self._spread: NDArray[np.float64] = np.ones(1)

    @property
    def criterion(self) -> Cells | Mixed:
        """What guides the search; it has seen the originals."""
        assert self._criterion is not None
        return self._criterion

    def expect(self, place: int, frame: Frame) -> str:
        """Return the id of the case of an original.

        Raises:
            InputError: It has no label.
        """
        if getattr(frame.signals, self.settings.output) is None:
            raise InputError(
                f"frame {frame.id!r} has no label for {self.settings.output} to compare with: use a data set "
                "that has them, or leave the frame out"
            )
        id = _case_id(place)
        self._frames[id] = frame.id
        return id

    def frame_id(self, place: int) -> str:
        """Return the id of an original."""
        return self._frames[_case_id(place)]

    def tell(self, case: Case, verdict: Verdict) -> Mapping[str, Scalar] | None:
        """Take note of the answer to an original; return its fingerprint."""
        clue = verdict.clue
        if not isinstance(clue, Activations):
            self._errors.append(verdict.reason)
            return None
        self._labels[case.id] = float(verdict.measures["label"])  # type: ignore[arg-type]
        self._answers[case.id] = float(verdict.measures["prediction"])  # type: ignore[arg-type]
        self.not_counted = not_counted_text(clue.not_counted or ())
        lows, highs = self._extremes or (clue.lows[0], clue.highs[0])
        self._extremes = np.minimum(lows, clue.lows[0]), np.maximum(highs, clue.highs[0])
        self._hidden.append(_hidden(clue))
        if self._training.lacks(self._mixture.needs):
            self._batches.append(clue)
        else:
            if self._criterion is None:
                self._criterion = self._mixture.make(clue.layers, self._training)
            self._criterion.update(clue)
        return self.fingerprint(clue)

    def conclude(self) -> float:
        """Return the bound of Equation 2, once all originals are told.

        Raises:
            SystemUnderTestError: None could be answered.
            InputError: Their mean squared error is 0, so that every change would fail.
        """
        if not self._answers:
            raise SystemUnderTestError(f"none of the originals was answered; the first: {self._errors[0]}")
        if self._criterion is None:
            training = self._training.completed(self._mixture.needs, lambda: self._batches)
            self._criterion = self._mixture.make(self._batches[0].layers, training)
            for batch in self._batches:
                self._criterion.update(batch)
            self._batches.clear()
        ids = list(self._answers)
        labels, given = ([told[id] for id in ids] for told in (self._labels, self._answers))
        frames = [self._frames[id] for id in ids]
        answers = ModelAnswers("originals", labels, given, {}, unit=self.unit, frames=frames)
        self.mse = answers.mse()
        self.bound = self.settings.lam * answers.reference(self.settings.reference)
        if self.bound <= 0:
            raise InputError(
                "the answers to the originals are exactly their labels: use frames that the network was not "
                "fitted to"
            )
        spread = usual_spread(np.stack(self._hidden))
        self._hidden.clear()
        # A neuron that is silent on all originals is measured by the others.
        self._spread = np.where(spread > 0, spread, max(float(spread.mean()), 1e-9))
        return self.bound

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Why some originals have no answer."""
        return tuple(self._errors)

    def constant_layers(self) -> tuple[Layer, ...]:
        """Return the layers that gave one and the same number for every original."""
        if self._extremes is None:
            return ()
        spans = zip(self.criterion.layers, *self._extremes, strict=True)
        return tuple(layer for layer, low, high in spans if low == high)

    def fingerprint(self, one: Activations) -> dict[str, Scalar]:
        """Return what the last hidden layer did for one image: a few numbers, by their columns' names."""
        return {f"{FINGERPRINT}{place}": float(value) for place, value in enumerate(_hidden(one))}

    def behaviour(self, fingerprint: Mapping[str, Scalar], error: float) -> tuple[float, ...]:
        """Return fingerprint and error, each in units of what is usual."""
        numbers = np.array([float(value) for value in fingerprint.values()])  # type: ignore[arg-type]
        return (*(numbers / self._spread).tolist(), error / self.bound**0.5)

    def covered(self) -> list[str]:
        """Return which cells were visited, as text."""
        return [base64.b64encode(np.packbits(one.seen).tobytes()).decode("ascii") for one in self._cells()]

    def restore(self, covered: Sequence[str]) -> None:
        """Set which cells were visited."""
        for cells, text in zip(self._cells(), covered, strict=True):
            packed = np.frombuffer(base64.b64decode(text), np.uint8)
            cells.seen = np.unpackbits(packed, count=cells.total).astype(np.bool_)

    def _cells(self) -> tuple[Cells, ...]:
        return self.criterion.parts if isinstance(self.criterion, Mixed) else (self.criterion,)


def _hidden(one: Activations) -> NDArray[np.float64]:
    """Return the last hidden layer of one image; of many neurons, as many mixtures of them as are kept."""
    numbers = np.asarray(one.values[0, one.slices[max(0, len(one.layers) - 2)]], np.float64)
    if numbers.size <= _NUMBERS:
        return numbers
    # Random directions keep distances, nearly (Johnson and Lindenstrauss).
    directions = rng_for(0, "coverage", "fingerprint", numbers.size).normal(size=(numbers.size, _NUMBERS))
    return np.asarray(numbers @ directions / _NUMBERS**0.5)


def _case_id(place: int) -> str:
    return f"original {place:06d}"


def output_unit(units: SignalUnits | None, output: str) -> str:
    """Return the unit of a signal: as the data set declares it, or ours."""
    unit = getattr(units or SignalUnits(), output)
    return unit if isinstance(unit, str) else "units of the recording"


Row = Mapping[str, Scalar]

GUIDED = "guided"
"""What the changes of a search are called among transformations: they are mixed, so none has the name."""

_NAME = re.compile(r"([\w-]+)\(")


@dataclass(frozen=True)
class FailureGroup:
    """Failures that are alike.

    Attributes:
        case: The try with the worst margin.
        simplest: The try with the fewest transformations; of these, the worst.
        failures: How many tries failed like it.
        error: How far the worst prediction is from the label, in the data set's unit.
        margin: The margin of the worst.
        originals: How many different originals fail like that.
        transformations: In which share of the failures each transformation was made last, the largest first.
        behaviour: What the network did, as numbers.
    """

    case: str
    simplest: str
    failures: int
    error: float
    margin: float
    originals: int
    transformations: tuple[tuple[str, float], ...]
    behaviour: tuple[float, ...]


@dataclass(frozen=True)
class CoverageGrowth:
    """How a search went.

    Attributes:
        coverage: After each try; the first is that of the originals.
        failures: How many tries had violated the requirement after each; as long.
    """

    coverage: Sequence[float]
    failures: Sequence[int]


def growth_of(rows: Iterable[Row], reached: float) -> CoverageGrowth:
    """Return how coverage and failures grew with the tries of a search.

    Args:
        rows: The stored rows; originals among them are passed over.
        reached: Coverage at the end: that of the originals, where no try was answered.

    Example:
        >>> row = {"param.transform": "blur", "status": "violated", "measure.coverage": 0.5}
        >>> growth_of([{**row, "measure.gain": 0.25}, {"param.transform": "rain", "status": "error"}], 0.5)
        CoverageGrowth(coverage=[0.25, 0.5, 0.5], failures=[0, 1, 1])
    """
    coverage: list[float] = []
    failures = [0]
    for row in rows:
        if not row.get("param.transform"):
            continue
        failures.append(failures[-1] + (row["status"] == "violated"))
        after, gain = row.get("measure.coverage"), row.get("measure.gain")
        if after is not None and gain is not None:
            # Tries before the first that was answered have changed nothing.
            missing = len(failures) - 1 - len(coverage)
            before = coverage[-1] if coverage else float(after) - float(gain)
            coverage += [before] * missing + [float(after)]
    last = coverage[-1] if coverage else reached
    return CoverageGrowth(coverage + [last] * (len(failures) - len(coverage)), failures)


def failures_of(rows: Iterable[Row]) -> list[tuple[Row, BrokenRelation]]:
    """Return the rows that violate the requirement, each as a failure to be clustered.

    They are told apart by what the network did, its error and its last hidden layer, and not by the names of
    transformations: two chains of changes that lead to the same fault are one finding.
    """
    found = []
    for row in rows:
        if row["status"] != "violated":
            continue
        features = sorted(
            (int(name.rpartition(".")[2]), float(str(value)))
            for name, value in row.items()
            if name.startswith(f"measure.{FINGERPRINT}") and value is not None
        )
        error, margin = float(str(row["measure.error"])), float(str(row["margin"]))
        if margin < 0:
            numbers = tuple(value for _, value in features)
            found.append((row, BrokenRelation(str(row["case"]), GUIDED, 0, error, margin, numbers)))
    return found


def findings_of(rows: Iterable[Row], *, radius: float = 1.0) -> list[FailureGroup]:
    """Return the distinct findings of a search, the one with the worst margin first.

    Args:
        rows: The stored rows.
        radius: How unlike failures of one finding may be; see :func:`~roadworthy.coverage.oracle.cluster`.

    Example:
        >>> row = {"case": "try 000001", "status": "violated", "margin": -2.0, "measure.error": 1.5,
        ...        "measure.seen.0": 0.3, "param.place": 4, "param.transform": "rotation(angle=6)"}
        >>> [(one.case, one.failures) for one in findings_of([row, {**row, "case": "try 000002"}])]
        [('try 000001', 2)]
    """
    failing = failures_of(rows)
    found = []
    for group in cluster([failure for _, failure in failing], radius=radius):
        members = [failing[place][0] for place in group.members]
        names = Counter(
            name for row in members for name in set(_NAME.findall(str(row.get("param.transform") or "")))
        )
        shares = sorted(((name, count / group.size) for name, count in names.items()), key=lambda x: -x[1])
        worst = group.representative
        # Members come worst first, and the first of equals is taken.
        shortest = str(min(members, key=lambda row: int(str(row.get("param.depth") or 0)))["case"])
        places = len({row.get("param.place") for row in members})
        facts = worst.error, worst.margin, places, tuple(shares), worst.features
        found.append(FailureGroup(worst.frame, shortest, group.size, *facts))
    return found


def most_different(findings: Sequence[FailureGroup], count: int) -> list[FailureGroup]:
    """Return so many findings that differ most: the worst, then always the one farthest from those chosen."""
    if len(findings) <= count:
        return list(findings)
    rows = np.array([(*one.behaviour, one.error) for one in findings], np.float64)
    spread = rows.std(axis=0)
    rows = rows / np.where(spread > 0, spread, 1.0)
    chosen = [0]
    nearest = np.linalg.norm(rows - rows[0], axis=1)
    while len(chosen) < count:
        chosen.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, np.linalg.norm(rows - rows[chosen[-1]], axis=1))
    return [findings[place] for place in chosen]
