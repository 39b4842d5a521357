"""Measuring what a set of images covers, by several criteria at once.

::

    measuring = Measuring.of(["neuron", "functional"], "dave2")
    measured = measuring.measure(load("world"), sample=200)
    measured.values
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Dataset
from roadworthy.coverage.activations import Activations, Layer, Uncounted, not_counted_text
from roadworthy.coverage.criteria.named import CriterionChoice, Training, parse_criterion
from roadworthy.coverage.criteria.neurons import Cells, Counted
from roadworthy.coverage.functional import FunctionalCoverage, OperatingDomain
from roadworthy.coverage.observed import Observed, observable
from roadworthy.datasets import spread
from roadworthy.errors import InputError, check_number
from roadworthy.frames import Frame
from roadworthy.frames.frame import with_history
from roadworthy.models import history_of, load_model
from roadworthy.result_tables import ResultTable

FUNCTIONAL = "functional"
"""What the coverage of the operating domain is called among the criteria."""
_MOST_POINTS = 256  # of a growth curve; of more, every second is left out
_LEAST_POINTS = 24  # of it
_BATCH = 32
_SHOWN = 5  # holes of each dimension or cross, and untried neurons of each layer, that people read

Progress: TypeAlias = Callable[[Sequence[int]], Iterator[int]]
"""Gives the numbers of frames again, and shows how far it is."""


@dataclass(frozen=True)
class LayerRow:
    """What a criterion found in one layer.

    Attributes:
        layer: The layer.
        covered: How many of its cells were visited.
        total: How many there are.
        untried: Its neurons of which no cell was visited, by their numbers.
    """

    layer: Layer
    covered: int
    total: int
    untried: tuple[int, ...]

    def cells(self) -> tuple[str, ...]:
        """Return it as a row of a table."""
        layer, share = self.layer, f"{self.covered / self.total:.1%}"
        numbers = (layer.neurons, self.covered, self.total)
        return layer.name, layer.kind, *map(str, numbers), share, str(len(self.untried))


@dataclass(eq=False)
class Covered(Counted):
    """What one criterion has seen, without the criterion itself.

    Attributes:
        criterion: Which, with its options.
        layers: Those of the network.
        seen: Which cells were visited.
        per_neuron: Whether as many cells belong to each neuron.
    """

    criterion: str
    layers: tuple[Layer, ...]
    seen: NDArray[np.bool_]
    per_neuron: bool

    def rows(self) -> list[LayerRow]:
        """Return what was found in each layer; nothing for a criterion whose cells belong to no neurons."""
        if not self.per_neuron:
            return []
        cells = self.seen.reshape(sum(one.neurons for one in self.layers), -1)
        found, start = [], 0
        for layer in self.layers:
            own = cells[start : start + layer.neurons]
            untried = tuple(np.flatnonzero(~own.any(axis=1)).tolist())
            found.append(LayerRow(layer, int(np.count_nonzero(own)), own.size, untried))
            start += layer.neurons
        return found


@dataclass(eq=False)
class CoverageMeasurement:
    """What some images cover, ready to be shown.

    Attributes:
        model: The network's name; empty where none was asked.
        counting: How its neurons were counted.
        images: How many images that was.
        criteria: By each criterion.
        functional: Of the operating domain; None where it was not measured.
        growth: After how many images each value was what.
        not_counted: What the network computes and none of its neurons is; None where that is not known.
    """

    model: str = ""
    counting: str = ""
    images: int = 0
    criteria: dict[str, Covered] = field(default_factory=dict)
    functional: FunctionalCoverage | None = None
    growth: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    not_counted: tuple[Uncounted, ...] | None = None

    @property
    def values(self) -> dict[str, float]:
        """The share that is covered by each criterion."""
        found = {name: one.value for name, one in self.criteria.items()}
        return found if self.functional is None else {**found, FUNCTIONAL: self.functional.value}

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        document: dict[str, Any] = {
            "model": self.model or None,
            "counting": self.counting or None,
            "images": self.images,
            "not_counted": None if self.not_counted is None else [one.as_dict() for one in self.not_counted],
            "criteria": [
                {
                    "criterion": one.criterion,
                    "covered": one.covered,
                    "total": one.total,
                    "value": one.value,
                    "layers": [
                        {
                            "layer": row.layer.name,
                            "kind": row.layer.kind,
                            "neurons": row.layer.neurons,
                            "covered": row.covered,
                            "total": row.total,
                            "untried_neurons": list(row.untried),
                        }
                        for row in one.rows()
                    ],
                }
                for one in self.criteria.values()
            ],
            "growth": [{"images": count, **values} for count, values in self.growth],
        }
        if (whole := self.functional) is not None:
            document[FUNCTIONAL] = {
                "operating_domain": whole.domain.path.name,
                "covered": whole.covered,
                "total": whole.total,
                "value": whole.value,
                "dimensions": [row._asdict() for row in whole.rows()],
                "holes": whole.holes(),
            }
        return document

    def lines(self) -> list[str | ResultTable]:
        """Return what people read: what is covered, layer by layer, and some of what was never tried."""
        images = "1 image" if self.images == 1 else f"{self.images} images"
        lines: list[str | ResultTable] = [
            f"{self.model}, counting {self.counting}, {images}" if self.model else images
        ]
        if told := not_counted_text(self.not_counted or ()):
            lines.append(told)
        for one in self.criteria.values():
            lines.append(f"{one.criterion}: {one.covered} of {one.total}, {one.value:.1%}")
            if rows := tuple(row.cells() for row in one.rows()):
                columns = ("layer", "kind", "neurons", "covered", "of", "share", "untried neurons")
                lines.append(ResultTable("", columns, rows))
        if (whole := self.functional) is not None:
            lines += [f"functional: {whole.covered} of {whole.total}, {whole.value:.1%}", whole.table()]
        if holes := self.holes(_SHOWN):
            lines += ["What was never tried:", *(f"  {line}" for line in holes)]
        return lines

    def holes(self, most: int | None = None) -> list[str]:
        """Return what was never tried, in words; of each layer, dimension or cross at most so many."""
        lines = []
        for one in self.criteria.values():
            for row in one.rows():
                if row.untried:
                    numbers = ", ".join(map(str, row.untried[:most]))
                    cut = "" if most is None or len(row.untried) <= most else ", …"
                    lines.append(
                        f"{one.criterion}: {row.layer.name}: {len(row.untried)} of {row.layer.neurons} "
                        f"neurons never tried: {numbers}{cut}"
                    )
        groups: dict[str, list[str]] = {}
        for hole in [] if self.functional is None else self.functional.holes():
            groups.setdefault(hole.partition(":")[0], []).append(hole)
        for name, holes in groups.items():
            lines += holes[:most]
            if most is not None and len(holes) > most:
                lines.append(f"{name}: and {len(holes) - most} more")
        return lines


def chosen_criteria(names: Sequence[str], threshold: float) -> tuple[list[CriterionChoice], bool]:
    """Return the criteria of the network, and whether the operating domain is measured.

    Args:
        names: Criteria with their options, and "functional".
        threshold: Above which a neuron is activated, where the criterion does not say.

    Raises:
        InputError: There is no such criterion or option.
    """
    choices = [parse_criterion(name) for name in names if name != FUNCTIONAL]
    return [
        one.with_default("threshold", threshold) if one.name == "neuron" else one for one in choices
    ], FUNCTIONAL in names


def read_batches(
    data: Dataset, sample: int | None = None, *, history: int = 0, progress: Progress = iter
) -> Iterator[list[Frame]]:
    """Yield frames of a data set with as many earlier ones as a network wants, in batches.

    Frames that cannot be read are left out where the data set says so.

    Args:
        data: The data set.
        sample: How many frames, spread over it; all if left out or 0.
        history: How many earlier frames each has.
        progress: Wraps the numbers of the frames.

    Raises:
        InputError: There are no frames, the sample is below 0, or a frame cannot be read.
    """
    numbers = _numbers(data, sample)

    def readable() -> Iterator[Frame]:
        lenient = getattr(data, "on_error", "raise") != "raise"
        for number in progress(numbers):
            try:
                yield data[number]
            except InputError:
                if not lenient:
                    raise

    size = max(1, min(_BATCH, len(numbers) // _LEAST_POINTS))
    frames = with_history(readable(), history)
    while batch := list(islice(frames, size)):
        yield batch


def _numbers(data: Dataset, sample: int | None) -> Sequence[int]:
    check_number("a sample", sample, least=0)
    if not len(data):
        raise InputError(f"{data.name} has no frames")
    return spread(len(data), sample) if sample else range(len(data))


class Measuring:
    """Adds images to a measurement, batch by batch; its memory does not grow with their number.

    Args:
        observed: The network with its neurons in sight; None to measure the operating domain alone.
        criteria: What to measure of it.
        functional: The operating domain; None to leave it out.
        counting: What the counting is called in results.

    Attributes:
        history: How many earlier frames the network wants.

    Raises:
        InputError: There is nothing to measure, or a criterion is asked for twice.

    Example:
        >>> from roadworthy.coverage.criteria.named import parse_criterion
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models import load_model
        >>> measuring = Measuring(Observed(load_model("dave2")), [parse_criterion("neuron")])
        >>> measuring.add(list(load("world:town", count=2, size="64x32")))
        >>> measuring.result.images, measuring.result.criteria["neuron"].total
        (2, 398)
    """

    def __init__(
        self,
        observed: Observed[Any] | None,
        criteria: Sequence[CriterionChoice],
        functional: FunctionalCoverage | None = None,
        *,
        counting: str = "distinct",
    ) -> None:
        if not criteria and functional is None:
            raise InputError("expected at least one criterion or an operating domain to measure, got none")
        if criteria and observed is None:
            raise InputError("criteria of structural coverage need a network to observe")
        names = [str(one) for one in criteria]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"the criterion {name} is asked for twice; leave one out")
        self._observed = observed
        self.history = 0 if observed is None else history_of(observed.network)
        self._choices = tuple(criteria)
        self._training = Training()
        self._made: dict[str, Cells] = {}
        model = observed.name if observed and criteria else ""
        told = counting if criteria else ""
        self._result = CoverageMeasurement(model, told, functional=functional)
        self._stride = 1
        self._steps = 0

    @classmethod
    def of(
        cls,
        criteria: Sequence[str],
        model: str,
        *,
        counting: str = "distinct",
        threshold: float = 0.2,
        domain: OperatingDomain | None = None,
    ) -> Measuring:
        """Open a network to measure criteria of it, the operating domain, or both.

        Args:
            criteria: Criteria with their options, and "functional" for the operating domain.
            model: The network; it is not opened where only the operating domain is measured.
            counting: What counts as a neuron.
            threshold: Above which a neuron is activated, where the criterion does not say.
            domain: The operating domain; Roadworthy's if left out.
        """
        choices, functional = chosen_criteria(criteria, threshold)
        observed = observable(load_model(model), counting) if choices else None
        whole = FunctionalCoverage(domain or OperatingDomain.load()) if functional else None
        return cls(observed, choices, whole, counting=counting)

    def measure(
        self,
        data: Dataset,
        sample: int | None = None,
        *,
        training: Dataset | None = None,
        training_sample: int | None = None,
        progress: Callable[[Sequence[int], str], Iterator[int]] | None = None,
    ) -> CoverageMeasurement:
        """Add the frames of a data set, after learning from training data what criteria compare with.

        Args:
            data: The data set.
            sample: How many of its frames, spread over it; all if left out or 0.
            training: The training data of the network, for criteria that compare with it.
            training_sample: How many of its frames.
            progress: Shows how far it is, by the numbers of the frames and what is done.

        Raises:
            InputError: A criterion lacks training data, or none needs it; or there are no frames.
        """
        _numbers(data, sample)
        if training is None and self.needs_training_data:
            raise InputError(
                "multisection, boundary, strong-activation and the surprises compare with what the "
                "network did on its training data: give it by --training DATA"
            )
        if training is not None and not self.needs_training_data:
            raise InputError(
                "--training is for multisection, boundary, strong-activation and the surprises: name one of "
                "them with -c, or leave it out"
            )

        def batches(data: Dataset, sample: int | None, what: str) -> Iterator[list[Frame]]:
            shown: Progress = iter if progress is None else lambda numbers: progress(numbers, what)
            return read_batches(data, sample, history=self.history, progress=shown)

        if training is not None:
            self.learn(lambda: batches(training, training_sample, "Reading training data"))
        for batch in batches(data, sample, "Measuring"):
            self.add(batch)
        return self.result

    def learn(self, batches: Callable[[], Iterable[Sequence[Frame]]]) -> None:
        """Learn what the network does on training data, for the criteria that compare with it.

        Args:
            batches: Gives the frames; called once for each of the two things that criteria need.
        """
        needs = {one.needs for one in self._choices}
        self._training = Training().completed(needs, lambda: self._activations(batches()))

    @property
    def needs_training_data(self) -> bool:
        """Whether a criterion compares with training data."""
        return any(one.needs != "layers" for one in self._choices)

    def _activations(self, batches: Iterable[Sequence[Frame]]) -> Iterable[Activations]:
        assert self._observed is not None
        for frames in batches:
            yield self._observed.observe(frames)[1]

    def add(self, frames: Sequence[Frame]) -> None:
        """Add a batch.

        Raises:
            InputError: A criterion needs training data, and `learn` was not called.
            SystemUnderTestError: The network failed, or a neuron answered with NaN or infinity.
        """
        if self._observed is not None and self._choices:
            _, activations = self._observed.observe(frames)
            if not self._made:
                self._make(activations.layers)
                self._result.not_counted = activations.not_counted
            for one in self._made.values():
                one.update(activations)
        if self._result.functional is not None:
            self._result.functional.update(frames)
        self._result.images += len(frames)
        self._steps += 1
        if self._steps % self._stride == 0:
            self._result.growth.append((self._result.images, self._result.values))
            if len(self._result.growth) >= _MOST_POINTS:
                self._result.growth = self._result.growth[1::2]
                self._stride *= 2

    def _make(self, layers: tuple[Layer, ...]) -> None:
        for choice in self._choices:
            one = choice.make(layers, self._training)
            self._made[str(choice)] = one
            # The criterion marks its cells in the same array.
            self._result.criteria[str(choice)] = Covered(str(choice), one.layers, one.seen, choice.per_neuron)

    @property
    def result(self) -> CoverageMeasurement:
        """What was measured so far.

        Raises:
            InputError: There were no images.
        """
        if not self._result.images:
            raise InputError("there were no images to measure the coverage of")
        growth = self._result.growth
        if not growth or growth[-1][0] != self._result.images:
            growth.append((self._result.images, self._result.values))
        return self._result
