"""The images of an experiment: originals with a true answer, and versions of them that cover all of Δv."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Dataset
from roadworthy.errors import InputError, NotApplicable, check_number
from roadworthy.frames import Frame
from roadworthy.models.scorers import true_class
from roadworthy.ontology import normalized
from roadworthy.reliability.human.answers import ORIGINAL
from roadworthy.reliability.transformations import SampledFrame, Transformation
from roadworthy.seeding import rng_for

PLAIN = 0.1
"""Of the height of an image: a thing as high as this is seen at a glance."""


Change: TypeAlias = Callable[[Frame, float, int], tuple[Frame, str]]
"""Makes a version of a frame, from where its visual change shall be in the range from 0 to 1 and a seed: the
changed frame, with its visual change, and the change as text. Raises NotApplicable where it cannot."""


def even_change(transformation: Transformation) -> Change:
    """Return a change whose versions are even over the visual change, from 0 to all that it reaches."""

    def version(frame: Frame, share: float, seed: int) -> tuple[Frame, str]:
        made = SampledFrame(frame, transformation, 1.0, share, seed)()
        how = made.metadata["change"]
        return made, str(how["transform"]) if isinstance(how, Mapping) else str(how)

    return version


@dataclass(frozen=True, eq=False)
class Stimulus:
    """One image to be shown, with what is known about it."""

    image: str
    truth: str
    pixels: NDArray[np.uint8]
    transformation: str = ORIGINAL
    visual_change: float = 0.0
    parameters: str = ""


def choices_for(target: str) -> tuple[str, str]:
    """Return the two answers: is it one, or not?

    Example:
        >>> choices_for("car")
        ('car', 'not car')
    """
    return target, f"not {target}"


def says_whether(target: str) -> Callable[[Frame], str | None]:
    """Return what gives the right answer to a frame; None where the frame does not tell it.

    A frame with a class is a target or not. A frame with boxes has one in it that is at least a tenth as high
    as the image, or none at all; with smaller ones only, nobody could be sure in 200 ms.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> boxes = Boxes([[5, 5, 30, 60]], ["pedestrian"])
        >>> street = Frame("a", np.zeros((90, 99, 3), np.uint8), boxes=boxes)
        >>> says_whether("pedestrian")(street), says_whether("bicyclist")(street)
        ('pedestrian', 'not bicyclist')
    """
    yes, no = choices_for(target)

    def truth(frame: Frame) -> str | None:
        found = true_class(frame)
        if found is not None:
            return yes if normalized(found) == normalized(target) else no
        if frame.boxes is None:
            return None
        targets = frame.boxes.select(target)
        if not len(targets):
            return no
        tallest = float((targets.xyxy[:, 3] - targets.xyxy[:, 1]).max())
        return yes if tallest >= PLAIN * frame.image.shape[0] else None

    return truth


@dataclass(frozen=True)
class Stimuli:
    """The images of an experiment, made one after another.

    As many frames are drawn for which the one answer is right as for which the other is, as in the paper,
    while there are enough of both.

    Attributes:
        data: Where the frames come from.
        changes: The transformations: the name and the change.
        truth: Gives the right answer to a frame, or None.
        pairs: How many pairs of original and changed image for each transformation.
        spare: How many further originals, for practice and checks.
        seed: The same seed draws the same frames and changes.
    """

    data: Dataset
    changes: Sequence[tuple[str, Change]]
    truth: Callable[[Frame], str | None]
    pairs: int
    spare: int
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("pairs for each transformation", self.pairs, least=1)
        if not self.changes:
            raise InputError("an experiment needs at least one transformation")

    @cached_property
    def drawn(self) -> tuple[list[list[int]], list[int]]:
        """The frames of each transformation, and the spare ones.

        Each frame is used for one transformation while there are enough, then for several.

        Raises:
            InputError: There are too few frames with an answer.
        """
        answers: dict[str, list[int]] = {}
        for index in range(len(self.data)):
            answer = self.truth(self.data[index])
            if answer is not None:
                answers.setdefault(answer, []).append(index)
        if len(answers) < 2:
            known = ", ".join(answers) or "none"
            raise InputError(
                f"{self.data.name}: expected frames for which either answer is right, got {known}: choose "
                "other data, or another --target; the frames must tell their class or have boxes"
            )
        rng = rng_for(self.seed, "frames")
        piles = [[pile[place] for place in rng.permutation(len(pile))] for pile in answers.values()]
        found, wanted = sum(map(len, piles)), self.pairs + self.spare
        if found < wanted:
            raise InputError(
                f"{self.data.name}: at least {wanted} frames with a known answer are needed, for pairs, "
                f"practice and checks, got {found}: give more, or ask for fewer pairs"
            )
        order = [index for turn in zip_longest(*piles) for index in turn if index is not None]
        spare, rest = order[: self.spare], order[self.spare :]
        starts = range(0, len(self.changes) * self.pairs, self.pairs)
        return [[rest[(start + place) % len(rest)] for place in range(self.pairs)] for start in starts], spare

    def spare_ones(self) -> Iterator[Stimulus]:
        """Yield the originals for practice and checks."""
        for index in self.drawn[1]:
            yield self._original(self.data[index])

    def _original(self, frame: Frame) -> Stimulus:
        return Stimulus(frame.id, str(self.truth(frame)), frame.image)

    def shown(self, skipped: Callable[[str], None] | None = None) -> Iterator[Stimulus]:
        """Yield originals and changed images, each original once.

        Args:
            skipped: Is told why a frame could not be changed; it is left out then.
        """
        originals: set[int] = set()
        for (name, version), indices in zip(self.changes, self.drawn[0], strict=True):
            rng = rng_for(self.seed, "places", name)
            places = (rng.permutation(len(indices)) + rng.random(len(indices))) / len(indices)
            for index, place in zip(indices, places.tolist(), strict=True):
                frame = self.data[index]
                try:
                    made, how = version(frame, place, int(rng_for(self.seed, name, frame.id).integers(2**31)))
                except NotApplicable as error:
                    if skipped is not None:
                        skipped(f"{name}: {error.reason}")
                    continue
                if index not in originals:
                    originals.add(index)
                    yield self._original(frame)
                if made.visual_change is None:
                    raise InputError(f"{name} does not tell the visual change of {frame.id!r}")
                truth, change = str(self.truth(frame)), float(made.visual_change)
                yield Stimulus(frame.id, truth, made.image, name, change, how)
