"""How a run goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from roadworthy.cases import Method, Requirement, ResumableMethod, Scalar
from roadworthy.runs.checkpoints import FILE, Checkpoint, check_beginning, read_checkpoint
from roadworthy.runs.store import RunStore

__all__ = ["Checkpoints"]

CHECKPOINT_ROWS = 100
"""Rows after which a search that can be resumed leaves a checkpoint, at the next chance."""


class Checkpoints:
    """Where the search of a run stands, and where it stood.

    A method that does not search needs none: its stored rows say how far it got.

    Args:
        method: The method.
        requirement: What must hold.
        folder: Of the run.
        about: What the run is of: data, system and seed, in words.
        resume: Whether to go on where the run in the folder stood.

    Raises:
        InputError: The folder holds another run.
    """

    def __init__(
        self,
        method: Method,
        requirement: Requirement,
        folder: Path,
        about: Mapping[str, Scalar],
        *,
        resume: bool,
    ) -> None:
        self._method = method
        self._about = {"requirement": requirement.id, **about}
        self._rows = 0
        self._goes_on = False
        if not resume or not isinstance(method, ResumableMethod):
            return
        self._goes_on = True
        stood = read_checkpoint(folder)
        if stood is not None:
            stood.check(self._about, folder)
            method.restore(requirement, stood.state)
            self._rows = stood.rows
        else:
            check_beginning(folder, requirement)

    def begin(self, store: RunStore) -> bool:
        """Take from the store what came after the checkpoint, which is made again.

        Returns:
            Whether the cases of the rows that are left come again.
        """
        if self._goes_on:
            store.cut(self._rows)
        return not self._goes_on

    def leave(self, store: RunStore, least: int = CHECKPOINT_ROWS) -> None:
        """Leave a checkpoint, if so many rows came since the last one and the method can tell its state."""
        if not isinstance(self._method, ResumableMethod) or store.count < self._rows + least:
            return
        if state := self._method.state():
            self._rows = store.count
            store.save(FILE, Checkpoint(self._rows, store.counts, self._about, state).encoded())
