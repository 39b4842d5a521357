"""Runs that wait, go on and are over: what pages ask of whoever carries them out."""

from __future__ import annotations

from typing import Protocol

from roadworthy.web.jobs.asks import BbslAsk, RulesAsk
from roadworthy.web.jobs.states import Job

__all__ = ["JobQueue"]


class JobQueue(Protocol):
    """Carries out runs, one after the other or several at a time, here or elsewhere.

    All methods return at once; `job` tells how far a run has come.
    """

    def start(self, ask: RulesAsk | BbslAsk) -> Job:
        """Take a run in; it begins when its turn comes.

        Raises:
            InputError: Too many wait already, or its folder cannot be written.
        """
        ...

    def job(self, id: str) -> Job:
        """Return a run as it stands.

        Raises:
            InputError: There is none with this id.
        """
        ...

    def jobs(self) -> list[Job]:
        """Return all runs as they stand, the latest first."""
        ...

    def cancel(self, id: str) -> Job:
        """Stop a run; what it has judged stays. One that is over stays as it is.

        Raises:
            InputError: There is none with this id.
        """
        ...

    def resume(self, id: str) -> Job:
        """Let a run go on that was stopped.

        Raises:
            InputError: There is none with this id, or it was not stopped.
        """
        ...

    def advance(self) -> None:
        """See what has ended, and begin what waits; called every now and then."""
        ...

    def close(self) -> None:
        """Stop what goes on, so that it can go on later."""
        ...
