"""What is done when a worker hangs, takes too much memory or dies.

A worker that dies may have been killed by somebody, so its batch is tried again as it is. After that, and at
once when it hangs or takes too much memory, the cases of the batch are tried one by one. A case that is alone
when it happens, often enough, is an error; all others have their verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from roadworthy.cases import Verdict
from roadworthy.runs.executors.work import Done, Job, Result, Unit

__all__ = ["Fault", "Limits", "Piece", "Ticket", "blame_of", "divided"]

Fault: TypeAlias = Literal["died", "hangs", "memory"]

TRIES = 3
"""How often a worker has to die on a case, tried alone, before the case is to blame."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a worker may take.

    Attributes:
        seconds: For a batch; None for no limit.
        megabytes: Of memory; None for no limit.
    """

    seconds: float | None = None
    megabytes: float | None = None


@dataclass(eq=False, slots=True)
class Piece:
    """A batch, or a part of one, on its way through the workers.

    Attributes:
        ticket: What it belongs to.
        unit: What is to be done.
        places: The numbers of its cases in the whole batch.
        deaths: How many workers died on it.
        wants_fresh: Whether it has to be tried by a worker that has done nothing before.
        result: What became of it.
    """

    ticket: Ticket
    unit: Unit
    places: tuple[int, ...]
    deaths: int = 0
    wants_fresh: bool = False
    result: Done | None = None

    @property
    def is_single(self) -> bool:
        """Whether it is one case on one system."""
        return len(self.unit.cases) == 1 and len(self.unit.systems) == 1


@dataclass(eq=False, slots=True)
class Ticket:
    """A batch that was handed in, with the pieces it was divided into."""

    pieces: list[Piece] = field(default_factory=list)

    @classmethod
    def of(cls, unit: Unit) -> Ticket:
        """Return the ticket for a batch that is one piece."""
        ticket = cls()
        ticket.pieces.append(Piece(ticket, unit, tuple(range(len(unit.cases)))))
        return ticket

    @property
    def is_done(self) -> bool:
        """Whether all pieces are done."""
        return all(piece.result is not None for piece in self.pieces)

    def done(self) -> Done:
        """Return what became of all pieces together, in their order; to be called once."""
        whole = Done()
        # Pieces know their ticket, and frames must not wait until Python looks for such circles.
        pieces, self.pieces = self.pieces, []
        for piece in pieces:
            part = piece.result
            assert part is not None
            if len(pieces) == 1:
                return part
            first = len(whole.images)
            whole.images.extend(part.images)
            for one in part.results:
                images = tuple(first + number for number in one.images)
                whole.results.append(
                    Result(piece.places[one.place], one.system, one.verdict, images, one.seconds)
                )
            for place, seconds in part.making.items():
                whole.making.setdefault(piece.places[place], seconds)
            if part.error is not None:
                whole.error = part.error
                break
        return whole


def divided(piece: Piece, job: Job) -> list[Piece]:
    """Return a piece as one for each case and system, and put them in its place on the ticket."""
    parts = [
        Piece(piece.ticket, Unit((case,), (name,)), (place,))
        for name in piece.unit.systems
        for place, case in zip(piece.places, piece.unit.cases, strict=True)
        if (case.requirement_id, name) in job.tested
    ]
    number = piece.ticket.pieces.index(piece)
    piece.ticket.pieces[number : number + 1] = parts
    return parts


def blame_of(fault: Fault, piece: Piece, limits: Limits) -> str:
    """Return why a case is an error; the same words whoever ran it.

    Example:
        >>> unit = Unit((), ("dave2",))
        >>> blame_of("hangs", Piece(Ticket(), unit, ()), Limits(seconds=60))
        'dave2 gave no answer within 60 s, tried alone; its process was ended'
    """
    (name,) = piece.unit.systems
    if fault == "hangs":
        return f"{name} gave no answer within {limits.seconds:g} s, tried alone; its process was ended"
    if fault == "memory":
        return f"{name} took more than {limits.megabytes:g} MB of memory, tried alone; its process was ended"
    return f"the process of {name} died, tried alone {TRIES} times: a crash, an exit, or killed"


def blamed(piece: Piece) -> Done:
    """Return the verdict on a case whose frames cannot be made either."""
    (case,), (name,) = piece.unit.cases, piece.unit.systems
    return Done([Result(0, name, Verdict.error(case, piece.unit.blame))])
