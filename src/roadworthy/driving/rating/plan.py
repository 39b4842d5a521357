"""The plan of a rating study: which clips a person sees, and in which order.

The design is that of Jahangirova, Stocco and Tonella, section III.C: a questionnaire shows five clips of a
good driver, five of a poor one and a crash that whoever looks rates lowest, all of one track, and every
person sees them in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roadworthy.driving.rating.clips import Clip
from roadworthy.errors import InputError
from roadworthy.seeding import rng_for

LABELS = ("Very low", "Low", "Neither low nor good", "Good", "Excellent")
"""What the scores from 1 to 5 mean."""


@dataclass(frozen=True)
class Design:
    """How a study is run.

    Attributes:
        good: How many clips of good driving a questionnaire has.
        poor: How many of poor driving.
        attention: How many crashes, to see who pays attention; whoever does not give them the lowest score is
            left out.
        raters: How many people fill in a questionnaire.
        questionnaires: How many there are; as many as the clips allow if left out.
        mixed: Whether a questionnaire may show several tracks.

    Raises:
        InputError: A number cannot be used.
    """

    good: int = 5
    poor: int = 5
    attention: int = 1
    raters: int = 5
    questionnaires: int | None = None
    mixed: bool = False

    def __post_init__(self) -> None:
        for name, least in (("good", 1), ("poor", 1), ("attention", 0), ("raters", 2)):
            if getattr(self, name) < least:
                raise InputError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.questionnaires is not None and self.questionnaires < 1:
            raise InputError(f"there must be at least one questionnaire, got {self.questionnaires}")


@dataclass(frozen=True)
class Questionnaire:
    """What one person rates.

    Attributes:
        id: What it is called.
        track: Where all its clips are from; empty where they are mixed.
        clips: The ids of its clips, sorted, so that their order tells nothing.
        orders: For each rater, the order in which they are shown.
    """

    id: str
    track: str
    clips: tuple[str, ...]
    orders: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Study:
    """A study that is planned.

    Attributes:
        design: How it is run.
        seed: The same seed and clips give the same plan.
        rule: By which rule clips are good or poor.
        clips: All clips that are shown, by id.
        questionnaires: Who sees what.
        reference: A clip that is in no questionnaire, to see the simulator before; None if none was left.
    """

    design: Design
    seed: int
    rule: str
    clips: dict[str, Clip]
    questionnaires: tuple[Questionnaire, ...]
    reference: str | None = None


def plan_study(
    clips: Sequence[Clip], design: Design | None = None, *, rule: str = "who drove", seed: int = 0
) -> Study:
    """Deal clips into questionnaires; a clip that is rated is in one of them only.

    Args:
        clips: Good, poor and attention clips.
        design: How the study is run.
        rule: By which rule they are good or poor, in words.
        seed: Chooses clips and orders.

    Raises:
        InputError: There are too few clips for one questionnaire, or two with one id.

    Example:
        >>> kinds = ["good"] * 12 + ["poor"] * 11 + ["attention"]
        >>> clips = [Clip(f"c{n}", "", "", "town", (), 0, 12, kind) for n, kind in enumerate(kinds)]
        >>> study = plan_study(clips)
        >>> [(one.id, one.track, len(one.clips), len(one.orders)) for one in study.questionnaires]
        [('Q01', 'town', 11, 5), ('Q02', 'town', 11, 5)]
    """
    design = design or Design()
    if len({clip.id for clip in clips}) < len(clips):
        raise InputError("two clips have the same id: is a drive given twice?")
    rng = rng_for(seed, "rating study")
    dealt = _dealt(clips, design, rng)
    questionnaires = []
    chosen: dict[str, Clip] = {}
    checks = _shuffled([one for one in clips if one.kind == "attention"], rng)
    for number, (track, shown) in enumerate(dealt, 1):
        own = sorted(checks, key=lambda one: one.track != track)[: design.attention]
        # The next one gets another crash where there are several.
        checks = [one for one in checks if one not in own] + own
        ids = tuple(sorted(one.id for one in (*shown, *own)))
        orders = tuple(
            tuple(rng_for(seed, "order", number, rater).permutation(np.array(ids)).tolist())
            for rater in range(design.raters)
        )
        questionnaires.append(Questionnaire(f"Q{number:02d}", track, ids, orders))
        chosen |= {one.id: one for one in (*shown, *own)}
    left = [one for one in clips if one.kind == "good" and one.id not in chosen]
    reference = _shuffled(left, rng)[0] if left else None
    if reference is not None:
        chosen[reference.id] = reference
    return Study(design, seed, rule, chosen, tuple(questionnaires), reference.id if reference else None)


def _dealt(clips: Sequence[Clip], design: Design, rng: np.random.Generator) -> list[tuple[str, list[Clip]]]:
    """Return the rated clips of each questionnaire, the tracks taking turns."""
    attention = sum(one.kind == "attention" for one in clips)
    if attention < design.attention:
        raise InputError(
            f"a questionnaire shows {design.attention} crash to see who pays attention, and {attention} "
            "drives crash after 3 s or more: give a drive that crashes with --attention, or --checks 0"
        )
    tracks = [""] if design.mixed else sorted({one.track for one in clips if one.kind != "attention"})
    piles: dict[str, list[list[Clip]]] = {}
    counts: list[str] = []
    for track in tracks:
        of_track = [one for one in clips if design.mixed or one.track == track]
        good, poor = (
            _shuffled([one for one in of_track if one.kind == kind], rng) for kind in ("good", "poor")
        )
        counts.append(f"{track or 'all tracks'}: {len(good)} good and {len(poor)} poor")
        piles[track] = [
            good[number * design.good : (number + 1) * design.good]
            + poor[number * design.poor : (number + 1) * design.poor]
            for number in range(min(len(good) // design.good, len(poor) // design.poor))
        ]
    turns = [
        (track, piles[track][number])
        for number in range(max(map(len, piles.values()), default=0))
        for track in tracks
        if number < len(piles[track])
    ]
    wanted = design.questionnaires or max(1, len(turns))
    if len(turns) < wanted:
        where = "" if design.mixed else " of one track"
        raise InputError(
            f"{wanted} questionnaires need {design.good} good and {design.poor} poor clips{where} each, got "
            f"{'; '.join(counts) or 'no clips'}: give more drives, fewer clips each, or shorter clips"
        )
    return sorted(turns[:wanted], key=lambda pair: pair[0])


def _shuffled(clips: Sequence[Clip], rng: np.random.Generator) -> list[Clip]:
    ordered = sorted(clips, key=lambda one: one.id)
    return [ordered[place] for place in rng.permutation(len(ordered))]
