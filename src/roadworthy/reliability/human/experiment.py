"""The plan of a forced-choice experiment: which person sees which images, and how.

The design is that of Hu et al., section 5, after Geirhos et al. (2018): an image is shown for 200 ms, then a
mask of noise, then the person chooses one of two answers. Nobody sees two versions of an image, so images are
dealt into *tracks*, each with one version of an image at most; a person stays in one track, and may do any
batch of it once. Every batch holds checks, originals that are shown for long enough to be certain: whoever
gets these wrong does not attend, and is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from roadworthy.errors import InputError
from roadworthy.reliability.human.answers import ORIGINAL
from roadworthy.seeding import rng_for

_FROM_0, _FROM_1 = ("checks", "practice", "fixation_ms", "mask_ms"), ("batch", "raters", "image_ms", "masks")


@dataclass(frozen=True)
class Design:
    """How an experiment is run.

    Attributes:
        choices: The two answers.
        batch: How many images a batch has, without checks.
        raters: How many people answer for each image.
        checks: How many checks a batch has.
        practice: How many images everybody begins with, which do not count.
        passed: The share of checks that a person must get right.
        fixation_ms: How long a cross is shown before an image.
        image_ms: How long an image is shown.
        mask_ms: How long the mask of noise is shown after it.
        answer_ms: How long a person may take to answer; later answers count as none.
        check_ms: How long the image of a check is shown.
        masks: How many different masks there are.
    """

    choices: tuple[str, str]
    batch: int = 20
    raters: int = 5
    checks: int = 2
    practice: int = 5
    passed: float = 0.8
    fixation_ms: int = 300
    image_ms: int = 200
    mask_ms: int = 200
    answer_ms: int = 1500
    check_ms: int = 2000
    masks: int = 10

    def __post_init__(self) -> None:
        if len(set(self.choices)) != 2 or not all(self.choices):
            raise InputError(f"a forced choice needs two different answers, got {', '.join(self.choices)}")
        for least, names in enumerate((_FROM_0, _FROM_1)):
            for name in names:
                if getattr(self, name) < least:
                    raise InputError(f"{name} must be {least} or more, got {getattr(self, name)}")
        if not 0 <= self.passed <= 1:
            raise InputError(f"passed, the share to pass, must be from 0 to 1, got {self.passed}")


@dataclass(frozen=True)
class Item:
    """One image of an experiment.

    Attributes:
        id: What it is called for those who see it; says nothing about it.
        image: The picture that it is a version of.
        truth: The right answer.
        transformation: What changed it, or "original".
        visual_change: How much of that can be seen.
        parameters: The change in full, as text.
    """

    id: str
    image: str
    truth: str
    transformation: str = ORIGINAL
    visual_change: float = 0.0
    parameters: str = ""


@dataclass(frozen=True)
class Batch:
    """What a person does in one sitting.

    Attributes:
        track: The track that it belongs to.
        number: Its number in the track.
        items: The ids of the images, in the order in which they are shown.
    """

    track: int
    number: int
    items: tuple[str, ...]


@dataclass(frozen=True)
class Schedule:
    """Who sees what.

    Attributes:
        items: The images that are asked about, by id.
        checks: The checks, by id.
        practice: What everybody begins with, by id.
        batches: All batches of all tracks.
        tracks: How many tracks there are.
    """

    items: dict[str, Item]
    checks: dict[str, Item]
    practice: dict[str, Item]
    batches: tuple[Batch, ...]
    tracks: int


def schedule(items: Sequence[Item], spare: Sequence[Item], design: Design, *, seed: int = 0) -> Schedule:
    """Deal images into tracks and batches.

    Args:
        items: The images, originals and changed ones.
        spare: Originals of other pictures, for practice and checks.
        design: How the experiment is run.
        seed: The same seed deals the same way.

    Raises:
        InputError: Two items have one id, a picture is both asked about and spare, or there are too few spare
            ones.

    Example:
        >>> shown = [Item(f"{n}{v}", f"p{n}", "car", v) for n in range(30) for v in ("original", "frost")]
        >>> spare = [Item(f"s{n}", f"spare {n}", "car") for n in range(9)]
        >>> plan = schedule(shown, spare, Design(("car", "not car")))
        >>> plan.tracks, [len(one.items) for one in plan.batches]
        (2, [17, 17, 17, 17])
    """
    if len({one.id for one in (*items, *spare)}) < len(items) + len(spare):
        raise InputError("two images of an experiment have the same id")
    if both := {one.image for one in items} & {one.image for one in spare}:
        raise InputError(f"{min(both)!r} is asked about, so it cannot be a check or for practice as well")
    rng = rng_for(seed, "experiment")
    tracks = _tracks(items, rng)
    parts = [_parts(track, design.batch, rng) for track in tracks]
    wanted = design.practice + design.checks * max(map(len, parts), default=0)
    if len(spare) < wanted:
        raise InputError(
            f"{wanted} more images are needed for practice and checks, got {len(spare)}: give more images, "
            "ask for fewer pairs, or fewer checks"
        )
    practice, checks = spare[: design.practice], spare[design.practice : wanted]
    batches = []
    for track, batched in enumerate(parts, 1):
        for number, ids in enumerate(batched, 1):
            # The checks of a track are all different: nobody sees one twice.
            own = [one.id for one in checks[(number - 1) * design.checks : number * design.checks]]
            batches.append(Batch(track, number, _mixed(ids, own, rng)))
    return Schedule(_by_id(items), _by_id(checks), _by_id(practice), tuple(batches), len(tracks))


def spare_needed(pictures: int, design: Design) -> int:
    """Return how many originals are enough for practice and checks, beside so many pictures asked about.

    Example:
        >>> spare_needed(100, Design(("car", "not car")))
        15
    """
    return design.practice + design.checks * -(-pictures // design.batch)


def _by_id(items: Sequence[Item]) -> dict[str, Item]:
    return {one.id: one for one in items}


def _tracks(items: Sequence[Item], rng: np.random.Generator) -> list[list[str]]:
    """Deal the versions of every picture to different tracks, and each track a mix of all kinds."""
    versions: dict[str, list[str]] = defaultdict(list)
    for one in items:
        versions[one.image].append(one.id)
    count = max(map(len, versions.values()), default=0)
    tracks: list[list[str]] = [[] for _ in range(count)]
    for image in sorted(versions):
        places = rng.permutation(count)
        for id, place in zip(versions[image], places, strict=False):
            tracks[place].append(id)
    return tracks


def _parts(ids: list[str], size: int, rng: np.random.Generator) -> list[list[str]]:
    """Cut a track into batches that differ by one image at most."""
    if not ids:
        return []
    shuffled = [ids[place] for place in rng.permutation(len(ids))]
    count = -(-len(shuffled) // size)
    ends = [len(shuffled) * number // count for number in range(count + 1)]
    return [shuffled[start:end] for start, end in pairwise(ends)]


def _mixed(ids: Sequence[str], checks: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    """Put checks among images, anywhere."""
    mixed = list(ids)
    for check in checks:
        mixed.insert(int(rng.integers(len(mixed) + 1)), check)
    return tuple(mixed)
