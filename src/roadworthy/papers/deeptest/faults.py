"""Does coverage predict the faults that a suite of images finds? Faults are mutants of the network.

Suites of the same number of images are drawn from a pool at random. Each has its coverage by every criterion,
and the number of mutants that it kills: those that answer one of its images otherwise than the original, by
more than a tolerance. A criterion that predicts faults ranks the suites of one size as the mutants do.

Larger suites cover more and kill more, whatever the criterion. So the size is held equal, and the correlation
over suites of all sizes stands beside, to show what is the size's alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import file_name
from roadworthy.coverage.activations import Counting
from roadworthy.coverage.criteria.named import CRITERIA, Training, parse_criterion
from roadworthy.coverage.criteria.neurons import Cells, Visits
from roadworthy.coverage.observed import observable
from roadworthy.errors import InputError, SystemUnderTestError, check_number
from roadworthy.frames import Frame
from roadworthy.models import Network, SystemUnderTest, load_model, torch_model
from roadworthy.papers.deeptest.activity import Progress, batches, silent, steering_of
from roadworthy.papers.deeptest.statistics import kendall, spearman
from roadworthy.result_tables import ResultTable
from roadworthy.seeding import rng_for
from roadworthy.statistics import ConfidenceInterval

_CONFIDENCE = 0.95
_QUARTERS = 4
_FEWEST_SUITES = 20


class Unions:
    """Counts what several images visit together.

    Args:
        visited: Which image visits which cell, or kills which mutant: images × cells.
    """

    def __init__(self, visited: NDArray[np.bool_]) -> None:
        counts = visited.sum(axis=0)
        # What one image alone visits is added up; only the rest can be visited twice.
        self._alone = visited[:, counts == 1].sum(axis=1)
        self._packed = np.packbits(visited[:, counts > 1], axis=1)

    def sizes(self, suites: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return how many cells each suite visits; a suite is a row of images, each there once."""
        found = self._alone[suites].sum(axis=1)
        for place, suite in enumerate(suites):
            found[place] += np.bitwise_count(np.bitwise_or.reduce(self._packed[suite], axis=0)).sum()
        return np.asarray(found, np.int64)


def draw_suites(
    weights: NDArray[np.float64], size: int, count: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return suites of equally many different images, drawn by their weights: suites × images.

    Example:
        >>> suites = draw_suites(np.ones(5), 3, 100, np.random.default_rng(0))
        >>> suites.shape, min(len(set(suite)) for suite in suites.tolist())
        ((100, 3), 3)
    """
    # The largest of log(weight) + Gumbel noise are a draw without replacement.
    return np.argpartition(np.log(weights) + rng.gumbel(size=(count, len(weights))), -size, axis=1)[:, -size:]


@dataclass(frozen=True)
class FaultRow:
    """How one criterion goes with the mutants that suites kill.

    Attributes:
        criterion: Its name.
        size: How many images a suite has; None for suites of all sizes together.
        coverage: Mean coverage of the suites.
        killed: Mean number of mutants that they kill.
        tau: Kendall's tau-b of coverage and mutants killed, over the suites; None where there is none.
        interval: Where it lies for other images and mutants of this kind; None where that cannot be told.
        rho: Spearman's correlation of the same.
        least: Mean number of mutants killed by the quarter of the suites that covers least; None where all
            cover the same.
        most: The same of the quarter that covers most.
        reason: Why there is no correlation; empty where there is one.
    """

    criterion: str
    size: int | None
    coverage: float
    killed: float
    tau: float | None
    interval: ConfidenceInterval | None
    rho: float | None
    least: float | None
    most: float | None
    reason: str = ""


def correlate(
    visited: Mapping[str, tuple[NDArray[np.bool_], int]],
    killed: NDArray[np.bool_],
    *,
    sizes: Sequence[int],
    suites: int = 300,
    resamples: int = 200,
    groups: Sequence[str] = (),
    seed: int = 0,
) -> list[FaultRow]:
    """Correlate coverage with mutants killed, over random suites of equal size.

    Suites of one pool share images, so they are not independent, and a p value over them would mean nothing.
    The interval is about the average over pools and sets of mutants as large as these: the estimate plus and
    minus 1.96 standard deviations of a bootstrap over images and mutants. Images get random weights (Rubin's
    Bayesian bootstrap) instead of being drawn several times, so that every suite has as many different ones;
    mutants are drawn with replacement. Each resample draws suites of its own.

    Args:
        visited: For each criterion, which image visits which cell (images × cells; cells that none visits may
            be left out), and how many cells there are.
        killed: Which image kills which mutant: images × mutants.
        sizes: How many images a suite has.
        suites: How many suites of each size.
        resamples: Of the bootstrap.
        groups: The drive that each image is of; images of one get one weight. Each is its own when left out.
        seed: The same seed draws the same suites.

    Raises:
        InputError: There are too few images or suites, or no mutants.
    """
    images, mutants = killed.shape
    _check(images, mutants, sizes, suites, resamples)
    drives = np.unique(list(groups) or np.arange(images), return_inverse=True)[1]
    unions = {name: Unions(one) for name, (one, _) in visited.items()}
    deaths = Unions(killed)
    rows, everything = [], []
    for size in sizes:
        rng = rng_for(seed, "suites", size)
        drawn = draw_suites(np.ones(images), size, suites, rng)
        covered = {name: one.sizes(drawn) for name, one in unions.items()}
        dead = deaths.sizes(drawn)
        everything.append((covered, dead))
        again: dict[str, list[float]] = {name: [] for name in unions}
        for _ in range(resamples):
            drawn = draw_suites(rng.standard_exponential(drives.max() + 1)[drives], size, suites, rng)
            some = Unions(killed[:, rng.integers(mutants, size=mutants)]).sizes(drawn)
            for name, one in unions.items():
                found = kendall(one.sizes(drawn), some)
                again[name] += [] if found.value is None else [found.value]
        rows += [_row(name, size, covered[name], visited[name][1], dead, again[name]) for name in unions]
    for name in unions if len(sizes) > 1 else ():
        covered_all = np.concatenate([one[name] for one, _ in everything])
        dead_all = np.concatenate([one for _, one in everything])
        rows.append(_row(name, None, covered_all, visited[name][1], dead_all, None))
    return rows


def _check(images: int, mutants: int, sizes: Sequence[int], suites: int, resamples: int) -> None:
    if not mutants:
        raise InputError("expected at least one mutant, got none")
    if not sizes or min(sizes) < 1 or len(set(sizes)) < len(sizes):
        raise InputError(f"expected different sizes of suites, each 1 or more, got {list(sizes)}")
    if max(sizes) > images // 2:
        raise InputError(
            f"suites of {max(sizes)} images need a pool of {2 * max(sizes)} or more, else they are alike; "
            f"got {images}"
        )
    if suites < _FEWEST_SUITES or resamples < 2:
        raise InputError(
            f"expected {_FEWEST_SUITES} suites and 2 resamples or more, got {suites} and {resamples}"
        )


def _row(
    criterion: str,
    size: int | None,
    covered: NDArray[np.int64],
    total: int,
    dead: NDArray[np.int64],
    again: Sequence[float] | None,
) -> FaultRow:
    tau = kendall(covered, dead)
    quarter = len(covered) // _QUARTERS
    order = np.argsort(covered, kind="stable") if np.ptp(covered) else None
    return FaultRow(
        criterion,
        size,
        coverage=float(covered.mean()) / total,
        killed=float(dead.mean()),
        tau=tau.value,
        interval=None if tau.value is None or again is None else _interval(tau.value, again),
        rho=spearman(covered, dead).value,
        least=None if order is None else float(dead[order[:quarter]].mean()),
        most=None if order is None else float(dead[order[-quarter:]].mean()),
        reason=tau.reason and f"all suites {'cover' if np.ptp(covered) == 0 else 'kill'} the same",
    )


def _interval(tau: float, again: Sequence[float]) -> ConfidenceInterval | None:
    if len(again) < 2:
        return None
    half = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2) * float(np.std(again, ddof=1))
    return ConfidenceInterval(max(-1.0, tau - half), min(1.0, tau + half))


@dataclass(frozen=True, eq=False)
class FaultStudy:
    """What the suites of one network cover, and what they kill.

    Attributes:
        model: The network.
        rows: One for each criterion and size, then one for each criterion over all sizes.
        images: How many images the pool has.
        suites: How many suites there are of each size.
        tolerance: By how many degrees at the wheels a mutant must answer otherwise to be killed.
        kills: For each mutant, by name, how many images of the pool kill it.
    """

    model: str
    rows: tuple[FaultRow, ...]
    images: int
    suites: int
    tolerance: float
    kills: Mapping[str, int]

    def table(self) -> ResultTable:
        """Return a row for each criterion, with its correlations at every size."""
        sizes = list(dict.fromkeys(row.size for row in self.rows))
        cells = []
        for name in dict.fromkeys(row.criterion for row in self.rows):
            own = {row.size: row for row in self.rows if row.criterion == name}
            shown = {"criterion": name}
            for size in sizes:
                shown["all sizes together" if size is None else f"{size} images"] = _shown(own[size])
                if size is not None:
                    shown[f"killed by {size}"] = ", ".join(
                        "-" if one is None else f"{one:.1f}" for one in (own[size].least, own[size].most)
                    )
            cells.append(shown)
        never = sum(count == 0 for count in self.kills.values())
        always = sum(count == self.images for count in self.kills.values())
        return ResultTable.of(
            f"{self.model}: Kendall's tau of coverage and mutants killed, over {self.suites} random suites "
            f"of each size from {self.images} images",
            cells,
            f"{len(self.kills)} mutants, of which {never} are killed by no image and {always} by every one. "
            f"An image kills a mutant that steers it otherwise than the original by more than "
            f"{self.tolerance:g}° at the wheels. In brackets the 95% interval for other images and mutants "
            "of this kind; of many, one in twenty misses by chance. Killed: mutants killed by the quarter of "
            "the suites that covers least, and by the one that covers most. All sizes together: larger "
            "suites cover and kill more, so this is the size's correlation, not the criterion's.",
            name=f"faults-{file_name(self.model)}",
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {**asdict(self), "kills": dict(self.kills)}


def _shown(row: FaultRow) -> str:
    if row.tau is None:
        return row.reason
    if row.interval is None:
        return f"{row.tau:+.2f}"
    return f"{row.tau:+.2f} ({row.interval.lower:+.2f} to {row.interval.upper:+.2f})"


def study_faults(
    model: SystemUnderTest,
    mutants: Sequence[SystemUnderTest],
    pool: Iterable[Frame],
    *,
    reference: Sequence[Frame],
    criteria: Sequence[str] = CRITERIA,
    counting: str | Counting = "distinct",
    tolerance: float = 1.0,
    sizes: Sequence[int] = (10, 25, 50),
    suites: int = 300,
    resamples: int = 200,
    seed: int = 0,
    batch: int = 64,
    progress: Progress = silent,
) -> FaultStudy:
    """Study whether suites that cover more kill more mutants, at equal size.

    The original and all mutants answer the pool once; suites are drawn from these answers.

    Args:
        model: The network, whose neurons are watched.
        mutants: Faulty versions of it.
        pool: The images that suites are drawn from.
        reference: Other images, which criteria that compare with training data compare with.
        criteria: Criteria with their options.
        counting: Which outputs are neurons.
        tolerance: By how many degrees at the wheels an answer may differ from the original's.
        sizes: How many images a suite has.
        suites: How many suites of each size.
        resamples: Of the bootstrap.
        seed: The same seed draws the same suites.
        batch: Images that a model sees at a time.
        progress: Told how many images of the pool are done.

    Raises:
        InputError: Something is missing or out of range, or a model does not steer.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models import load_model
        >>> frames = list(load("world:town", count=24))
        >>> mutants, how = [load_model("epoch")], {"sizes": (4,), "suites": 20, "resamples": 5}
        >>> study = study_faults(load_model("dave2"), mutants, frames[:16], reference=frames[16:], **how)
        >>> len(study.rows), study.rows[0].criterion, study.rows[0].size
        (8, 'neuron', 4)
    """
    check_number("the tolerance", tolerance, least=0)
    check_number("batch", batch, least=1)
    observed = observable(model, counting)
    choices = [parse_criterion(one) for one in criteria]
    needs = {one.needs for one in choices}
    known = [observed.observe(some)[1] for some in batches(reference, batch)] if needs - {"layers"} else []
    training = Training().completed(needs, lambda: known)
    made: dict[str, Cells] = {}
    pairs: dict[str, list[Visits]] = {str(one): [] for one in choices}
    killed: list[NDArray[np.bool_]] = []
    groups: list[str] = []
    for some in batches(pool, batch):
        predictions, activations = observed.observe(some)
        made = made or {str(one): one.make(activations.layers, training) for one in choices}
        for name, criterion in made.items():
            images, cells = criterion.visits(activations)
            pairs[name].append((images + len(groups), cells))
        right = np.array([steering_of(model.name, *one) for one in zip(predictions, some, strict=True)])
        found = np.array([_steering(one, some) for one in mutants]).reshape(len(mutants), len(some))
        # A mutant that answers no number is killed, too.
        killed.append(~(np.abs(found - right) <= tolerance).T)
        groups += [str(frame.metadata.get("sequence") or frame.id) for frame in some]
        progress(len(groups))
    if not groups:
        raise InputError("expected a pool of images, got none")
    kills = np.concatenate(killed)
    visited = {name: (_matrix(pairs[name], len(groups)), one.total) for name, one in made.items()}
    rows = correlate(
        visited, kills, sizes=sizes, suites=suites, resamples=resamples, groups=groups, seed=seed
    )
    counts = dict(zip((one.name for one in mutants), kills.sum(axis=0).tolist(), strict=True))
    return FaultStudy(model.name, tuple(rows), len(groups), suites, tolerance, counts)


def make_faults(model: str, rounds: int) -> list[Network[Any]]:
    """Return mutants of a network of the zoo, by the operators of DeepMutation++, in memory.

    The first round has all operators; further ones draw other weights and neurons. Mutants that are provably
    equivalent are left out.

    Args:
        model: The network, as `load_module` takes it.
        rounds: How often weights and neurons are drawn.

    Raises:
        InputError: The network cannot be mutated, or there are no rounds.
        MissingExtraError: torch is not installed.
    """
    from roadworthy.models.zoo import load_module, located_weights, read_variant
    from roadworthy.training.mutants import example_of, mutate, plan
    from roadworthy.training.mutants.operators import OPERATORS, RATIO_OPERATORS

    check_number("rounds of mutants", rounds, least=1)
    module, variant = load_module(model), read_variant(located_weights(model))
    example = example_of(variant)
    found = []
    for seed in range(rounds):
        # What changes a whole layer does not depend on the draw.
        operators = tuple(RATIO_OPERATORS if seed else OPERATORS)
        for mutation in plan(module, example, operators=operators, seed=seed):
            mutant = mutate(module, example, mutation)
            if not mutant.equivalent:
                found.append(torch_model(mutant.module, spec=variant.spec, name=mutation.name))
    return found


def read_faults(folder: Path) -> list[SystemUnderTest]:
    """Return the mutants that `driving mutate` wrote, but those known to be equivalent or broken.

    Raises:
        InputError: The folder has none.
    """
    from roadworthy.training.mutants.saving import read_mutants

    known = [one for one in read_mutants(folder) if "failed" not in one and one.get("fate") != "equivalent"]
    if not known:
        raise InputError(f"{folder} has no mutants that differ: make some with roadworthy driving mutate")
    return [load_model(folder / one["folder"], name=one["name"]) for one in known]


def _steering(mutant: SystemUnderTest, frames: Sequence[Frame]) -> list[float]:
    """Return what a mutant steers on each frame; no number where it fails."""
    try:
        return [steering_of(mutant.name, *one) for one in zip(mutant.predict(frames), frames, strict=True)]
    except SystemUnderTestError:
        return [math.nan] if len(frames) == 1 else [_steering(mutant, [one])[0] for one in frames]


def _matrix(pairs: Sequence[Visits], images: int) -> NDArray[np.bool_]:
    """Return which image visits which cell, of the cells that one visits: images × cells."""
    rows, cells = (np.concatenate(one) for one in zip(*pairs, strict=True))
    known, columns = np.unique(cells, return_inverse=True)
    found = np.zeros((images, len(known)), np.bool_)
    found[rows, columns] = True
    return found
