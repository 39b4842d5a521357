"""Which nominal sectors to give up, so that the thresholds of the rest raise as many alarms as possible.

A threshold is the greatest value of a metric among the nominal sectors that are kept. It falls only when
the sectors with the greatest values are given up, from the top. So a mutant sector has an alarm if and only
if, for one of the metrics, all nominal sectors with at least its value are given up; how many these are is
its *level*. Sectors below the first `limit` places of every metric are never worth giving up.

The search branches on one nominal sector: given up, or kept for good. What is kept cuts off everything
below it in all metrics. The bound on what else can be won relaxes two things: a mutant sector may be won
once for every metric, and a nominal sector that several metrics have in the way may be paid by them in
parts. What is left is a choice of one depth per metric under a budget, and its Lagrangian bound is a maximum
for each metric alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Found", "search"]

_PRICES = np.linspace(0.0, 1.0, 25)[1:]  # of a nominal sector, as shares of the highest that can matter

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of a search.

    Attributes:
        given_up: The numbers of the nominal sectors that are given up, in order.
        alarms: How many mutant sectors have an alarm then.
        bound: How many can have one at most; equal to alarms when the search came to its end.
        nodes: How many sets of choices were looked at.
    """

    given_up: tuple[int, ...]
    alarms: int
    bound: int
    nodes: int


def search(nominal: Numbers, mutants: Numbers, limit: int, seconds: float | None = None) -> Found:
    """Return an optimal choice of nominal sectors, the smallest of those that are optimal.

    Args:
        nominal: The metrics of the nominal sectors, rows × metrics; all get worse upwards.
        mutants: Those of the mutants' sectors.
        limit: How many nominal sectors may be given up; less than there are.
        seconds: After which the search ends with what it has.
    """
    levels = _levels(nominal, mutants, limit)
    least = levels.min(axis=1, initial=limit + 1)
    always = int(np.count_nonzero(least == 0))
    undecided, counts = np.unique(levels[(least > 0) & (least <= limit)], axis=0, return_counts=True)
    if not len(undecided):
        return Found((), always, always, 1)
    order = np.argsort(-nominal, axis=0, kind="stable")[:limit]
    candidates, places = np.unique(order, return_inverse=True)
    tree = _Tree(places.reshape(order.shape), len(candidates), limit)
    tree.descend_greedily(undecided, counts)
    end = None if seconds is None else time.monotonic() + seconds
    bound = tree.explore(_Node.root(len(candidates), limit, undecided, counts), end)
    return Found(
        tuple(int(candidates[place]) for place in np.flatnonzero(tree.best_set)),
        always + tree.best,
        always + bound,
        tree.nodes,
    )


def _levels(nominal: Numbers, mutants: Numbers, limit: int) -> Places:
    """Return how many nominal sectors must be given up for a metric to alarm, cut off above the limit."""
    levels = np.empty(mutants.shape, np.intp)
    for metric in range(nominal.shape[1]):
        below = np.searchsorted(np.sort(nominal[:, metric]), mutants[:, metric], "left")
        levels[:, metric] = np.minimum(len(nominal) - below, limit + 1)
    return levels


@dataclass(slots=True)
class _Node:
    """Some nominal sectors given up, some kept for good; what mutant sectors are still undecided."""

    taken: Flags
    kept: Flags
    left: int
    levels: Places
    counts: Places
    won: int
    bound: int

    @classmethod
    def root(cls, candidates: int, limit: int, levels: Places, counts: Places) -> _Node:
        none = np.zeros(candidates, np.bool_)
        return cls(none, none, limit, levels, counts, 0, int(counts.sum()))

    def taking(self, candidate: int) -> _Node:
        taken = self.taken.copy()
        taken[candidate] = True
        return _Node(taken, self.kept, self.left - 1, self.levels, self.counts, self.won, self.bound)

    def keeping(self, candidate: int) -> _Node:
        kept = self.kept.copy()
        kept[candidate] = True
        return _Node(self.taken, kept, self.left, self.levels, self.counts, self.won, self.bound)


@dataclass(slots=True)
class _Tree:
    """The search tree.

    Attributes:
        places: Depth × metrics: which candidate stands at which place of a metric's order.
        candidates: How many nominal sectors can be worth giving up.
        limit: How many may be given up.
        best: How many undecided mutant sectors the best set so far wins.
        best_set: That set.
        nodes: How many nodes were looked at.
    """

    places: Places
    candidates: int
    limit: int
    best: int = 0
    best_set: Flags = field(init=False)
    nodes: int = 0

    def __post_init__(self) -> None:
        self.best_set = np.zeros(self.candidates, np.bool_)

    def costs(self, taken: Flags, kept: Flags, left: int) -> Numbers:
        """Return how many more must be given up to get to a depth, infinite where that is not possible."""
        metrics = self.places.shape[1]
        costs = np.cumsum(~taken[self.places], axis=0, dtype=np.float64)
        costs[np.logical_or.accumulate(kept[self.places], axis=0) | (costs > left)] = np.inf
        return np.vstack([np.zeros((1, metrics)), costs, np.full((1, metrics), np.inf)])

    def descend_greedily(self, levels: Places, counts: Places) -> None:
        """Find a good set: again and again the depth of a metric that wins most for each sector given up."""
        taken = np.zeros(self.candidates, np.bool_)
        nothing = np.zeros(self.candidates, np.bool_)
        while True:
            left = self.limit - int(np.count_nonzero(taken))
            costs = self.costs(taken, nothing, left)
            reached = costs[levels, np.arange(levels.shape[1])] == 0
            open_ = ~reached.any(axis=1)
            gains = np.cumsum(_histogram(levels[open_], counts[open_], len(costs)), axis=0)
            rates = np.where(np.isfinite(costs) & (costs > 0), gains / np.maximum(costs, 1), 0.0)
            depth, metric = np.unravel_index(int(rates.argmax()), rates.shape)
            if rates[depth, metric] <= 0:
                self.best = int(counts[~open_].sum())
                self.best_set = taken
                return
            taken = taken.copy()
            taken[self.places[:depth, metric]] = True

    def explore(self, root: _Node, end: float | None) -> int:
        """Look at all nodes that can be better, and return how much can be won at most."""
        stack = [root]
        while stack:
            if end is not None and time.monotonic() > end:
                return max(self.best, *(node.bound for node in stack))
            node = stack.pop()
            candidate = self._branch(node)
            if candidate is not None:
                stack.append(node.keeping(candidate))
                stack.append(node.taking(candidate))
        return self.best

    def _better(self, alarms: int, size: int) -> bool:
        return (alarms, -size) > (self.best, -int(np.count_nonzero(self.best_set)))

    def _branch(self, node: _Node) -> int | None:
        """Settle what a node decides, and return the candidate to branch on; None if it cannot be better."""
        size = self.limit - node.left
        if not self._better(node.bound, size):
            return None
        self.nodes += 1
        costs = self.costs(node.taken, node.kept, node.left)
        needed = costs[node.levels, np.arange(node.levels.shape[1])]
        cheapest = needed.min(axis=1)
        node.won += int(node.counts[cheapest == 0].sum())
        if self._better(node.won, size):
            self.best, self.best_set = node.won, node.taken
        open_ = (cheapest > 0) & np.isfinite(cheapest)
        node.levels, node.counts = node.levels[open_], node.counts[open_]
        node.bound = min(node.bound, node.won + int(node.counts.sum()))
        # What is won from here on takes at least one more.
        if not len(node.counts) or not self._better(node.bound, size + 1):
            return None
        gains = np.cumsum(_histogram(node.levels, node.counts, len(costs)), axis=0)
        possible = np.isfinite(costs)
        gains[~possible] = 0.0
        node.bound = min(node.bound, node.won + self._winnable(node, gains, possible))
        if not self._better(node.bound, size + 1):
            return None
        return self._most_promising(node, costs, gains)

    def _winnable(self, node: _Node, gains: Numbers, possible: Flags) -> int:
        """Return a bound on what can still be won."""
        paid = possible[1:-1] & ~node.taken[self.places] & (gains.max(axis=0) > 0)
        sharing = np.bincount(self.places[paid], minlength=self.candidates)
        share = np.where(paid, 1.0 / np.maximum(sharing[self.places], 1), 0.0)
        shared = np.vstack([np.zeros((1, share.shape[1])), np.cumsum(share, axis=0)])
        depths = slice(0, -1)  # the last row stands for levels out of reach
        prices = _PRICES * float((gains[1:-1] / np.maximum(shared[1:], 1e-9))[possible[1:-1]].max())
        surplus = gains[depths] - prices[:, None, None] * np.where(possible[depths], shared, 0.0)
        won = prices * node.left + surplus.max(axis=1).sum(axis=1)
        return int(np.floor(float(won.min()) + 1e-6))

    def _most_promising(self, node: _Node, costs: Numbers, gains: Numbers) -> int | None:
        """Return the candidate that stands in the way of most, for what it costs."""
        rates = (gains / np.maximum(costs, 1))[1:-1]  # 0 where a depth is out of reach
        beyond = np.maximum.accumulate(rates[::-1], axis=0)[::-1]
        in_the_way = np.isfinite(costs[1:-1]) & ~node.taken[self.places]
        scores = np.bincount(self.places.ravel(), np.where(in_the_way, beyond, 0.0).ravel(), self.candidates)
        best = int(scores.argmax())
        return best if scores[best] > 0 else None


def _histogram(levels: Places, counts: Places, depths: int) -> Numbers:
    """Return how many mutant sectors have which level in which metric, depths × metrics."""
    metrics = levels.shape[1]
    cells = levels * metrics + np.arange(metrics)
    weights = np.repeat(counts, metrics).astype(np.float64)
    found = np.bincount(cells.ravel(), weights, depths * metrics)
    return np.asarray(found.reshape(depths, metrics), np.float64)
