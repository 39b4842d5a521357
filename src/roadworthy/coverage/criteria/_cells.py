"""What all criteria share: a fixed set of cells, each of which a test visits or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.activations import Activations, Layer
from roadworthy.errors import InputError

Visits = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
"""Which image of a batch visited which cell: two arrays of one length, every pair once."""


class Criterion(Protocol):
    """Measures how much of what a network can do a set of images made it do.

    Its memory does not grow with the number of images, and it can be pickled.
    """

    name: ClassVar[str]

    @property
    def value(self) -> float:
        """The share that is covered, from 0 to 1."""
        ...

    @property
    def covered(self) -> int:
        """How many of the things that can be covered are."""
        ...

    @property
    def total(self) -> int:
        """How many things can be covered."""
        ...

    def update(self, batch: Activations, /) -> None:
        """Add what a batch covers."""
        ...

    def gain(self, batch: Activations, /) -> float:
        """Return by how much a batch would raise the value, without adding it."""
        ...

    def gains(self, batch: Activations, /) -> NDArray[np.float64]:
        """Return by how much each image of a batch would raise the value if it alone were added."""
        ...

    def merge(self, other: Self, /) -> None:
        """Add what another one has seen, as if this one had seen it."""
        ...


class Counted:
    """What is counted of cells, whoever holds them."""

    seen: NDArray[np.bool_]

    @property
    def value(self) -> float:
        """The share of cells that were visited, from 0 to 1."""
        return self.covered / self.total

    @property
    def covered(self) -> int:
        """How many cells were visited."""
        return int(np.count_nonzero(self.seen))

    @property
    def total(self) -> int:
        """How many cells there are."""
        return len(self.seen)


class Cells(Counted, ABC):
    """A criterion over a fixed number of cells.

    Args:
        layers: Those of the network.
        total: How many cells there are.

    Raises:
        InputError: There are no cells.
    """

    name: ClassVar[str]

    def __init__(self, layers: tuple[Layer, ...], total: int) -> None:
        if total < 1:
            raise InputError(f"{self.name} needs layers with neurons, got none")
        self.layers = tuple(layers)
        self.seen = np.zeros(total, np.bool_)

    @abstractmethod
    def visits(self, batch: Activations, /) -> Visits:
        """Return which image of a batch visits which cells."""

    def settings(self) -> dict[str, Any]:
        """Return what must be equal for two of a kind to be merged, by name."""
        return {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.covered} of {self.total}, {self.value:.1%})"

    def update(self, batch: Activations, /) -> None:
        """Add what a batch visits.

        Raises:
            InputError: The batch is of another network.
        """
        self.seen[self._visits(batch)[1]] = True

    def gain(self, batch: Activations, /) -> float:
        """Return by how much a batch would raise the value, without adding it.

        Raises:
            InputError: The batch is of another network.
        """
        after = self.seen.copy()
        after[self._visits(batch)[1]] = True
        # As value computes it, so that it is value after minus value before to the last bit.
        return int(np.count_nonzero(after)) / self.total - self.value

    def gains(self, batch: Activations, /) -> NDArray[np.float64]:
        """Return by how much each image of a batch would raise the value if it alone were added.

        Raises:
            InputError: The batch is of another network.
        """
        images, cells = self._visits(batch)
        new = np.bincount(images[~self.seen[cells]], minlength=len(batch))
        return np.asarray((self.covered + new) / self.total - self.value, np.float64)

    def merge(self, other: Self, /) -> None:
        """Add what another one has seen, as if this one had seen it.

        Raises:
            InputError: The other one measures something else, or another network.
        """
        if type(other) is not type(self) or other.layers != self.layers:
            raise InputError(
                f"cannot merge {type(other).__name__} into {type(self).__name__}: expected one of the same "
                "kind for the same network and counting"
            )
        theirs = other.settings()
        for name, own in self.settings().items():
            if not np.array_equal(own, theirs[name]):
                raise InputError(f"cannot merge two {type(self).__name__} that differ in {name}")
        self.seen |= other.seen

    def _visits(self, batch: Activations) -> Visits:
        if batch.layers != self.layers:
            raise InputError(
                f"{self.name} was made for a network with {sum(one.neurons for one in self.layers)} neurons "
                f"in {len(self.layers)} layers, and got activations of {batch.values.shape[1]} neurons in "
                f"{len(batch.layers)}: use one criterion for each network and counting"
            )
        return self.visits(batch)
