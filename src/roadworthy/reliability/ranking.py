"""Models ranked by their reliability distance, beside a plain benchmark (Table 2, RQ3 of Hu et al.).

The benchmark is the performance on the five levels of ImageNet-C, of all images together, as the paper has
it; where ImageNet-C has no such change, it is the performance on the original images. A model that is further
down by its reliability distance than by the benchmark has a *gap* that the benchmark does not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from roadworthy.cases import Outcome
from roadworthy.reliability.checking import Pairs
from roadworthy.reliability.measures import Measure

__all__ = ["Standing", "benchmark_value", "ranked", "ranks"]

_SAME = 4  # digits: distances that differ by less share a rank, as in the paper's table


@dataclass(frozen=True)
class Standing:
    """One model in a ranking under one transformation.

    Attributes:
        model: Its name.
        benchmark: Its performance in the benchmark.
        place: Its place by that; 1 is the best.
        outcomes: What the two requirements came to, by what they preserve; only what was tested.
        places: Its place by reliability distance, likewise.
    """

    model: str
    benchmark: float | None
    place: int | None
    outcomes: Mapping[str, Outcome]
    places: Mapping[str, int]

    @property
    def gaps(self) -> tuple[str, ...]:
        """What it preserves less well than its place in the benchmark suggests."""
        if self.place is None:
            return ()
        return tuple(kind for kind, place in self.places.items() if place > self.place)


def ranks(values: Sequence[float]) -> list[int]:
    """Return the place of each value, the smallest first; values that are the same share a place.

    Example:
        >>> ranks([0.02, -0.001, 0.02, 0.5])
        [2, 1, 2, 4]
    """
    rounded = [round(value, _SAME) for value in values]
    return [1 + sum(other < own for other in rounded) for own in rounded]


def ranked(
    models: Sequence[str], benchmark: Mapping[str, float], outcomes: Mapping[tuple[str, str], Outcome]
) -> list[Standing]:
    """Return the models in the order of the benchmark, the best first, with their places.

    Args:
        models: Their names.
        benchmark: The performance of each; one that has none comes last.
        outcomes: By what is preserved and the model's name; an outcome without a distance has no place.

    Example:
        >>> def outcome(distance: float) -> Outcome:
        ...     return Outcome("R", "violated", {}, None, "", {"distance": distance})
        >>> found = {("prediction", "a"): outcome(0.2), ("prediction", "b"): outcome(0.1)}
        >>> table = ranked(["a", "b"], {"a": 0.9, "b": 0.8}, found)
        >>> [(one.model, one.place, one.places["prediction"], one.gaps) for one in table]
        [('a', 1, 2, ('prediction',)), ('b', 2, 1, ())]
    """
    places: dict[str, dict[str, int]] = {model: {} for model in models}
    for kind in dict.fromkeys(kind for kind, _ in outcomes):
        known = {
            model: float(str(outcomes[kind, model].measures["distance"]))
            for model in models
            if (kind, model) in outcomes and "distance" in outcomes[kind, model].measures
        }
        for model, place in zip(known, ranks(list(known.values())), strict=True):
            places[model][kind] = place
    best_first = sorted(models, key=lambda model: -benchmark.get(model, -np.inf))
    measured = [model for model in best_first if model in benchmark]
    by_benchmark = dict(zip(measured, ranks([-benchmark[model] for model in measured]), strict=True))
    return [
        Standing(
            model,
            benchmark.get(model),
            by_benchmark.get(model),
            {kind: outcome for (kind, own), outcome in outcomes.items() if own == model},
            places[model],
        )
        for model in best_first
    ]


def benchmark_value(pairs: Pairs, measure: Measure, *, changed: bool = True) -> float | None:
    """Return the performance on all changed images together, or on all originals; None without the truth.

    Example:
        >>> from roadworthy.reliability.measures import Accuracy
        >>> images = np.arange(4)
        >>> pairs = Pairs(images, images / 4, np.ones(4), before=[1.0] * 4, after=[1.0, 1.0, 0.0, 1.0])
        >>> benchmark_value(pairs, Accuracy()), benchmark_value(pairs, Accuracy(), changed=False)
        (0.75, 1.0)
    """
    records = pairs.after if changed else pairs.before
    if not len(records):
        return None
    value = float(measure.batches(records)(np.arange(len(records))[None, :])[0])
    return None if np.isnan(value) else value
