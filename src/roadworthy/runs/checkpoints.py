"""Where a run stood when its rows were last written, and how it goes on from there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roadworthy._files import read_json
from roadworthy.cases import Method, Requirement, ResumableMethod, Scalar
from roadworthy.errors import InputError
from roadworthy.runs.store import RunStore

FILE = "checkpoint.json"


@dataclass(frozen=True)
class Checkpoint:
    """Where a run stood.

    Attributes:
        rows: How many rows there were.
        run: What the run is of: requirement, data, system and seed, in words.
        state: What the method must know to go on.
    """

    rows: int
    run: Mapping[str, Any]
    state: Mapping[str, Any]

    def encoded(self) -> bytes:
        """Return it as a file holds it."""
        record = {"rows": self.rows, "run": dict(self.run), "state": dict(self.state)}
        return (json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n").encode("ascii")

    def check(self, run: Mapping[str, Any], folder: Path) -> None:
        """Refuse to go on with something else.

        Raises:
            InputError: Names what differs.
        """
        for name, wanted in run.items():
            if self.run.get(name) != wanted:
                raise InputError(
                    f"{folder} holds a run with {name} {self.run.get(name)!r}, and it cannot go on with "
                    f"{name} {wanted!r}: resume with the same, or choose another folder"
                )


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """Return where a run stood; None where it never got to a checkpoint.

    Raises:
        InputError: The file cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    record = read_json(path)
    try:
        return Checkpoint(int(record["rows"]), dict(record["run"]), dict(record["state"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"{path} is no checkpoint of a run: {error!r}; run without --resume") from error


def check_beginning(folder: Path, requirement: Requirement) -> None:
    """Refuse a folder without a checkpoint that holds anything but the beginning of this search.

    Raises:
        InputError: It holds a run of something else, whose rows would be lost.
    """
    path = folder / "requirements.jsonl"
    if not path.is_file():
        return
    record = read_json(path)
    found = (record.get("id"), record.get("method")) if isinstance(record, dict) else None
    if found != (requirement.id, requirement.method) or record.get("outcome") is not None:
        raise InputError(
            f"{folder} holds a run that is not the beginning of this search, and its rows would be lost: "
            "choose another folder"
        )


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
        if (stood := read_checkpoint(folder)) is not None:
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
        least = getattr(self._method, "checkpoint_rows", least)  # of what is slow, fewer are lost
        if not isinstance(self._method, ResumableMethod) or store.count < self._rows + least:
            return
        if state := self._method.state():
            self._rows = store.count
            store.save(FILE, Checkpoint(self._rows, self._about, state).encoded())
