"""RQ1 of DeepTest: does coverage change with the output? The shape of its Table 5.

The coverage of every single image is compared with the steering angle by Spearman's correlation, and the
coverage of images that are steered to the left with that of images steered to the right by Wilcoxon's rank
sum test and Cohen's d.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.activations import Layer
from roadworthy.errors import InputError, check_choice, check_number
from roadworthy.frames import Frame
from roadworthy.models import SystemUnderTest
from roadworthy.papers.deeptest import activity
from roadworthy.papers.deeptest.deviation import percent
from roadworthy.papers.deeptest.statistics import Statistic, cohens_d, magnitude, p_text, rank_sum, spearman
from roadworthy.result_tables import ResultTable

Angle = Literal["predicted", "recorded"]
"""Whose steering angle is compared: the model's answer, as in the paper, or that of the driver."""

_KINDS = {"conv": "convolutions", "dense": "dense layers", "recurrent": "recurrent layers", "input": "input"}


@dataclass(frozen=True)
class DirectionRow:
    """How the coverage of one model, or of a part of it, goes with the steering.

    Attributes:
        model: Its name.
        part: Which of its layers: all, or those of a kind.
        neurons: How many neurons these have.
        images: How many images it saw.
        left: How many of them are steered to the left.
        right: How many to the right.
        mean: The mean coverage of single images.
        correlation: Spearman's, of coverage with the angle, which is positive to the right.
        bend: Spearman's, of coverage with the size of the angle, whatever its side; not in the paper.
        direction: The rank sum test; its value is the probability that an image steered left covers more.
        effect: Cohen's d, left minus right; None where it cannot be computed.
    """

    model: str
    part: str
    neurons: int
    images: int
    left: int
    right: int
    mean: float
    correlation: Statistic
    bend: Statistic
    direction: Statistic
    effect: float | None

    def direction_text(self) -> str:
        """Return what the test says about left and right, as the paper writes it."""
        if self.direction.value is None:
            return f"not computable: {self.direction.reason}"
        if not self.direction.significant:
            return f"not significant (p {p_text(self.direction.p)})"
        return f"left {'>' if self.direction.value > 0.5 else '<'} right (p {p_text(self.direction.p)})"


@dataclass(frozen=True, eq=False)
class DirectionStudy:
    """What RQ1 found.

    Attributes:
        rows: One for each model and part of it.
        angle: Whose angle was taken.
        how: When a neuron counts as activated.
        coverage: For each model, the coverage of each image, for figures.
        angles: For each model, the angle of each image in degrees, positive to the right.
    """

    rows: tuple[DirectionRow, ...]
    angle: Angle
    how: activity.HowCounted
    coverage: dict[str, NDArray[np.float64]] = field(repr=False)
    angles: dict[str, NDArray[np.float64]] = field(repr=False)

    def table(self) -> ResultTable:
        """Return the shape of the paper's Table 5."""
        return ResultTable.of(
            f"Coverage of single images and the {self.angle} angle, positive to the right; {self.how}",
            map(_cells, self.rows),
            "Frames of a drive follow each other, so they are not independent and p values are smaller than "
            "they should be: read the correlations and the effects.",
            name="directions",
        )


def _cells(row: DirectionRow) -> dict[str, str]:
    effect = magnitude(row.effect) if row.effect is None else f"{row.effect:+.2f} {magnitude(row.effect)}"
    return {
        "model": row.model,
        "part": row.part,
        "neurons": str(row.neurons),
        "images": f"{row.images} ({row.left} left, {row.right} right)",
        "coverage of an image": percent(row.mean),
        "Spearman with the angle": _shown(row.correlation),
        "with its size": _shown(row.bend),
        "left against right (Wilcoxon rank sum)": row.direction_text(),
        "Cohen's d": effect,
    }


def _shown(correlation: Statistic) -> str:
    if correlation.value is None:
        return f"not computable: {correlation.reason}"
    return f"{correlation.value:+.2f} (p {p_text(correlation.p)})"


def study_directions(
    models: Sequence[SystemUnderTest],
    frames: Iterable[Frame],
    *,
    how: activity.HowCounted | None = None,
    angle: Angle = "predicted",
    batch: int = 64,
    progress: activity.Progress = activity.silent,
) -> DirectionStudy:
    """Study how the coverage of single images goes with the steering angle.

    Frames are read once, in batches, whatever the number of models, and are not kept.

    Args:
        models: The networks.
        frames: What they see.
        how: When a neuron counts as activated; DeepTest's threshold of 0.2 when left out.
        angle: Whose steering: the model's, or the recorded one.
        batch: Images that a model sees at a time.
        progress: Told how many images are done.

    Raises:
        InputError: There are no models or frames, fewer than three frames, a model whose layers cannot be
            watched, one that gives no steering, or a frame without a recorded angle where that is taken.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models import load_model
        >>> study = study_directions([load_model("epoch")], load("world:mountain", count=8))
        >>> study.rows[0].part, study.rows[0].images, study.rows[0].neurons
        ('all', 8, 186)
    """
    check_choice("angle", angle, get_args(Angle))
    activity.check_names([one.name for one in models])
    check_number("batch", batch, least=1)
    how = how or activity.HowCounted()
    watched = [activity.Watched(one, how) for one in models]
    counts: list[list[NDArray[np.int64]]] = [[] for _ in watched]
    angles: list[list[NDArray[np.float64]]] = [[] for _ in watched]
    done = 0
    for some in activity.batches(frames, batch):
        recorded = _recorded(some) if angle == "recorded" else None
        for one, count, found in zip(watched, counts, angles, strict=True):
            predictions, activated = one.watch(some)
            starts = np.cumsum([0, *(layer.neurons for layer in one.layers)])[:-1]
            count.append(np.add.reduceat(activated, starts, axis=1, dtype=np.int64))
            if recorded is None:
                given = zip(predictions, some, strict=True)
                found.append(np.array([activity.steering_of(one.name, *pair) for pair in given], np.float64))
            else:
                found.append(recorded)
        done += len(some)
        progress(done)
    check_number("frames to correlate", done, least=3)
    rows: list[DirectionRow] = []
    coverage, taken = {}, {}
    for one, count, found in zip(watched, counts, angles, strict=True):
        by_layer, degrees = np.concatenate(count), np.concatenate(found)
        for part, places in _parts(one.layers).items():
            neurons = sum(one.layers[place].neurons for place in places)
            values = by_layer[:, places].sum(axis=1) / neurons
            rows.append(_row(one.name, part, neurons, values, degrees))
            if part == "all":
                coverage[one.name], taken[one.name] = values, degrees
    return DirectionStudy(tuple(rows), angle, how, coverage, taken)


def _row(
    model: str, part: str, neurons: int, values: NDArray[np.float64], degrees: NDArray[np.float64]
) -> DirectionRow:
    left, right = values[degrees < 0], values[degrees > 0]
    return DirectionRow(
        model=model,
        part=part,
        neurons=neurons,
        images=values.size,
        left=left.size,
        right=right.size,
        mean=float(values.mean()),
        correlation=spearman(values, degrees),
        bend=spearman(values, np.abs(degrees)),
        direction=rank_sum(left, right),
        effect=cohens_d(left, right),
    )


def _parts(layers: Sequence[Layer]) -> dict[str, list[int]]:
    """Return the places of all layers, and of those of each kind where there are several kinds."""
    kinds: dict[str, list[int]] = {}
    for place, layer in enumerate(layers):
        kinds.setdefault(_KINDS.get(layer.kind, layer.kind), []).append(place)
    return {"all": list(range(len(layers))), **(kinds if len(kinds) > 1 else {})}


def _recorded(frames: Sequence[Frame]) -> NDArray[np.float64]:
    for frame in frames:
        if frame.signals.steering is None:
            raise InputError(
                f"frame {frame.id!r} has no recorded steering: take the predicted angle, or data that has it"
            )
    return np.array([frame.signals.steering for frame in frames], np.float64)
