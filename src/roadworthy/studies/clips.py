"""Clips of drives that people rate: how drives are cut, who sees which clip, and the files of the study.

The design is that of Jahangirova, Stocco and Tonella, section III.C: a questionnaire shows five clips of a
good driver, five of a poor one and a crash that whoever looks rates lowest, all of one track, and every
person sees them in another order. ::

    plan.json               question, scale, and the questionnaires with their clips: what a page needs
    instructions.md         what raters are told
    README.md               what those who run the study must know
    clips/3f9c….webm        the clips; neither they nor their names say anything about who drove
    answers.csv             to be filled in: questionnaire, rater, clip, score
    key.json                who drove, good, poor or attention, and the metrics of every clip: not for raters
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import appearing, write_json, write_text
from roadworthy._frozen import FrozenDict, frozen
from roadworthy._tables import csv_text
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import partial_sectors
from roadworthy.driving.metrics import MetricSettings, compute, parse_metric
from roadworthy.driving.requirements import AUTONOMOUS, usual_direction
from roadworthy.errors import InputError, check_number
from roadworthy.seeding import rng_for
from roadworthy.studies.study import ANSWERS, PLAN, StudyPlan

Kind: TypeAlias = Literal["good", "poor", "attention"]
"""What a clip is shown for: a good drive, a poor one, or a crash that shows who pays attention."""

RATED_METRICS = (*AUTONOMOUS, "Max(SP)", "Count(CR)", "Count(LCR)")
"""The 26 metrics of Table II, in its order."""

QUESTION = "How good is the driving in this clip?"
LABELS = ("Very low", "Low", "Neither low nor good", "Good", "Excellent")
"""What the scores from 1 to 5 mean."""
COLUMNS = ("questionnaire", "rater", "clip", "score")
INSTRUCTIONS = "instructions.md"

_LONG_AGO = 1_000_000_000
_CRASH = "crash"
_LEAST = 3.0  # seconds before a crash, to see it coming
_NUMBERED = re.compile(r"(?P<track>.+?)[-_ ]?\d+(?: lap \d+)?$")


@dataclass(frozen=True)
class Lengths:
    """How long clips are.

    Attributes:
        shortest: Seconds that a clip lasts at least; below 10 people lack context.
        longest: Seconds that it lasts at most; beyond 15 it may show good and poor driving.
        sectors: How many sectors it may span.

    Raises:
        InputError: A clip cannot be so long.
    """

    shortest: float = 10.0
    longest: float = 15.0
    sectors: int = 3

    def __post_init__(self) -> None:
        if not 0 < self.shortest <= self.longest:
            raise InputError(
                f"clips must last more than 0 s and at most as long as the longest, got {self.shortest:g} to "
                f"{self.longest:g} s"
            )
        check_number("sectors of a clip", self.sectors, least=1)


@dataclass(frozen=True)
class Clip:
    """A piece of a drive.

    Attributes:
        id: What it is called for those who see it; says nothing about it.
        source: Where the drive lies.
        driver: Who drove.
        track: Where, by the name that its sectors have in common.
        sectors: The sectors that it is of.
        first: When it begins, in seconds of the drive.
        last: When it ends.
        kind: What it is shown for.
        metrics: What it was like; only what is known.
    """

    id: str
    source: str
    driver: str
    track: str
    sectors: tuple[str, ...]
    first: float
    last: float
    kind: Kind
    metrics: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", frozen(self.metrics))

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.last - self.first


def rated_clips(
    drive: Drive,
    kind: Kind,
    *,
    source: str = "",
    lengths: Lengths | None = None,
    settings: MetricSettings | None = None,
) -> list[Clip]:
    """Cut a drive into clips: a sector each, or as many in a row as it takes for the shortest length.

    A sector that lasts longer than a clip may is shown from its begin, and measured as it is shown. Left out
    are sectors in the middle of which the drive ended, those with a gap in the record, and those with a
    crash: that is bad without anybody's opinion.

    Args:
        drive: The drive.
        kind: What the clips are shown for.
        source: Where it lies.
        lengths: How long clips are.
        settings: Of the metrics.

    Example:
        >>> time = np.arange(600) / 15
        >>> drive = Drive("dave2", time, {"speed": 8 + 0 * time}).cut_by_time(6)
        >>> [(clip.sectors, round(clip.seconds)) for clip in rated_clips(drive, "good")]
        [(('1', '2'), 12), (('3', '4'), 12), (('5', '6'), 12)]
    """
    found = []
    for clip in _pieces(drive, kind, source, lengths or Lengths()):
        inside = _inside(drive, clip)
        crashes = drive.events.get(_CRASH, False) & inside
        if not crashes.any() and not (drive.gaps & inside[:-1] & inside[1:]).any():
            found.append(_measured(drive, clip, settings))
    return found


def attention_clip(
    drive: Drive, *, source: str = "", lengths: Lengths | None = None, settings: MetricSettings | None = None
) -> Clip | None:
    """Return the last seconds before the first crash of a drive; None if it has none or crashes at once.

    Example:
        >>> time = np.arange(300) / 15
        >>> drive = Drive("mutant", time, events={"crash": time > 18})
        >>> clip = attention_clip(drive)
        >>> round(clip.first), round(clip.last)
        (8, 18)
    """
    wanted = lengths or Lengths()
    crashes = np.flatnonzero(drive.events.get(_CRASH, False))
    if not len(crashes):
        return None
    last = float(drive.time[crashes[0]])
    first = max(float(drive.time[0]), last - wanted.shortest)
    if last - first < _LEAST:
        return None
    return _measured(drive, _clip(drive, "attention", source, first, last), settings)


def clips_of(
    drives: Mapping[Kind, Sequence[tuple[Path, Drive]]], *, by: str | None = None, **how: Any
) -> list[Clip]:
    """Return the clips of all drives of a study.

    Args:
        drives: The drives to rate, good and poor, and those to look for crashes in; each with where it lies.
        by: The metric that tells good clips from poor ones; who drove does where it is left out.
        how: How long clips are, and settings of the metrics; see `rated_clips`.
    """
    rated = [
        clip
        for kind in ("good", "poor")
        for place, drive in drives[kind]
        for clip in rated_clips(drive, kind, source=str(place), **how)
    ]
    crashes = (attention_clip(drive, source=str(place), **how) for place, drive in drives["attention"])
    return [*(by_metric(rated, by) if by else rated), *(one for one in crashes if one is not None)]


def by_metric(clips: Sequence[Clip], metric: str) -> list[Clip]:
    """Call the best third of clips by a metric good and the worst poor, whoever drove; drop the others.

    Args:
        clips: The clips.
        metric: What they are ranked by.

    Raises:
        InputError: A clip does not have the metric.

    Example:
        >>> clips = [Clip(str(n), "", "", "", (), 0, 1, "good", {"SD(LP)": n}) for n in range(6)]
        >>> [(clip.id, clip.kind) for clip in by_metric(clips, "SD(LP)")]
        [('0', 'good'), ('1', 'good'), ('4', 'poor'), ('5', 'poor')]
    """
    name = str(parse_metric(metric))
    lacking = next((clip for clip in clips if name not in clip.metrics), None)
    if lacking is not None:
        raise InputError(f"{name} is not known of {lacking.driver} in {', '.join(lacking.sectors)}")
    sign = 1 if usual_direction(name) == "up" else -1
    ranked = sorted(clips, key=lambda clip: (sign * clip.metrics[name], clip.id))
    count = len(ranked) // 3
    best, worst = ranked[:count], ranked[len(ranked) - count :]
    return [*(replace(one, kind="good") for one in best), *(replace(one, kind="poor") for one in worst)]


def _pieces(drive: Drive, kind: Kind, source: str, lengths: Lengths) -> Iterator[Clip]:
    firsts = (np.flatnonzero(drive.sectors == n)[0] for n in range(len(drive.sector_names)))
    starts = [float(drive.time[one]) for one in firsts]
    ends = [*starts[1:], float(drive.time[-1])]
    whole = [not partial for partial in partial_sectors(drive)]
    number = 0
    while number < len(starts):
        last = number
        while (
            ends[last] - starts[number] < lengths.shortest
            and last + 1 < min(len(starts), number + lengths.sectors)
            and whole[last + 1]
        ):
            last += 1
        end = ends[last] if last + 1 == len(starts) else float(drive.time[drive.time < ends[last]][-1])
        if whole[number] and ends[last] - starts[number] >= lengths.shortest:
            yield _clip(drive, kind, source, starts[number], min(end, starts[number] + lengths.longest))
        number = last + 1


def _clip(drive: Drive, kind: Kind, source: str, first: float, last: float) -> Clip:
    inside = drive.sectors[(drive.time >= first) & (drive.time <= last)]
    sectors = tuple(drive.sector_names[number] for number in np.unique(inside))
    what = f"{source}\0{drive.name}\0{first!r}\0{last!r}\0{kind == 'attention'}"
    id = hashlib.sha256(what.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    numbered = _NUMBERED.match(sectors[0])  # town-03 is on the track town
    return Clip(id, source, drive.name, numbered["track"] if numbered else "", sectors, first, last, kind)


def _inside(drive: Drive, clip: Clip) -> NDArray[np.bool_]:
    return np.asarray((drive.time >= clip.first) & (drive.time <= clip.last))


def _measured(drive: Drive, clip: Clip, settings: MetricSettings | None) -> Clip:
    """Return a clip with the metrics of what it shows; what is before and after smooths its ends."""
    inside = _inside(drive, clip)
    numbers = np.cumsum(np.concatenate([[False], inside[1:] != inside[:-1]]))
    cut = drive.with_sectors(numbers)
    row = int(numbers[np.flatnonzero(inside)[0]])
    table = compute(cut, list(RATED_METRICS), settings=settings)
    known = {name: float(values[row]) for name, values in table.values.items() if np.isfinite(values[row])}
    return replace(clip, metrics=FrozenDict(known))


@dataclass(frozen=True)
class ClipDesign:
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
        check_number("questionnaires", self.questionnaires, least=1)


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
class ClipPlan(StudyPlan):
    """A study that is planned.

    Attributes:
        seed: The same seed and clips give the same plan.
        rule: By which rule clips are good or poor.
        design: How it is run.
        reference: A clip that is in no questionnaire, to see the simulator before; None if none was left.
        clips: All clips that are shown, by id.
        questionnaires: Who sees what.
    """

    command = "driving rate plan"
    by_id = ("clips",)
    seed: int
    rule: str
    design: ClipDesign
    reference: str | None
    clips: dict[str, Clip]
    questionnaires: tuple[Questionnaire, ...]

    def __post_init__(self) -> None:
        if unknown := {id for one in self.questionnaires for id in one.clips} - self.clips.keys():
            raise InputError(f"a questionnaire shows the clip {min(unknown)!r}, which is not there")


def plan_clips(
    clips: Sequence[Clip], design: ClipDesign | None = None, *, rule: str = "who drove", seed: int = 0
) -> ClipPlan:
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
        >>> plan = plan_clips(clips)
        >>> [(one.id, one.track, len(one.clips), len(one.orders)) for one in plan.questionnaires]
        [('Q01', 'town', 11, 5), ('Q02', 'town', 11, 5)]
    """
    design = design or ClipDesign()
    if len({clip.id for clip in clips}) < len(clips):
        raise InputError("two clips have the same id: is a drive given twice?")
    rng = rng_for(seed, "rating study")
    dealt = _dealt(clips, design, rng)
    questionnaires = []
    chosen: dict[str, Clip] = {}
    checks = _shuffled(clips, "attention", rng)
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
    left = _shuffled([one for one in clips if one.id not in chosen], "good", rng)
    chosen |= {one.id: one for one in left[:1]}
    return ClipPlan(seed, rule, design, left[0].id if left else None, chosen, tuple(questionnaires))


def _dealt(
    clips: Sequence[Clip], design: ClipDesign, rng: np.random.Generator
) -> list[tuple[str, list[Clip]]]:
    """Return the rated clips of each questionnaire, the tracks taking turns."""
    attention = sum(one.kind == "attention" for one in clips)
    if attention < design.attention:
        raise InputError(
            f"crashes that a questionnaire shows to see who pays attention: {design.attention}; drives that "
            f"crash after 3 s or more: {attention}. Give a drive that crashes with --attention, or --checks 0"
        )
    tracks = [""] if design.mixed else sorted({one.track for one in clips if one.kind != "attention"})
    piles: dict[str, list[list[Clip]]] = {}
    counts: list[str] = []
    for track in tracks:
        of_track = [one for one in clips if design.mixed or one.track == track]
        good, poor = _shuffled(of_track, "good", rng), _shuffled(of_track, "poor", rng)
        counts.append(f"{track or 'all tracks'}: {len(good)} good and {len(poor)} poor")
        piles[track] = [
            good[number * design.good : (number + 1) * design.good]
            + poor[number * design.poor : (number + 1) * design.poor]
            for number in range(min(len(good) // design.good, len(poor) // design.poor))
        ]
    rounds = range(max(map(len, piles.values()), default=0))
    turns = [(track, piles[track][n]) for n in rounds for track in tracks if n < len(piles[track])]
    wanted = design.questionnaires or max(1, len(turns))
    if len(turns) < wanted:
        where = "" if design.mixed else " of one track"
        raise InputError(
            f"{wanted} questionnaire{'s need' if wanted != 1 else ' needs'} {design.good} good and "
            f"{design.poor} poor clips{where} each, got "
            f"{'; '.join(counts) or 'no clips'}: give more drives, fewer clips each, or shorter clips"
        )
    return sorted(turns[:wanted], key=lambda pair: pair[0])


def _shuffled(clips: Sequence[Clip], kind: Kind, rng: np.random.Generator) -> list[Clip]:
    ordered = sorted((one for one in clips if one.kind == kind), key=lambda one: one.id)
    return [ordered[place] for place in rng.permutation(len(ordered))]


def write_clips(plan: ClipPlan, folder: Path, film: Callable[[Clip, Path], object], *, ending: str) -> None:
    """Write the files of a study, all of them or none.

    Args:
        plan: The study.
        folder: Where; must be new or empty.
        film: Writes the film of a clip to a path, without a word in it.
        ending: What films end in.

    Raises:
        InputError: The folder is in use or cannot be written.
    """
    reference = f"clips/{plan.reference}{ending}" if plan.reference else None
    with appearing(folder) as unfinished:
        (unfinished / "clips").mkdir()
        # One drive after the other, so that its frames are needed only once.
        for clip in sorted(plan.clips.values(), key=lambda one: (one.source, one.id)):
            path = unfinished / f"clips/{clip.id}{ending}"
            film(clip, path)
            # Not even the order of writing shall tell who drove.
            os.utime(path, (_LONG_AGO, _LONG_AGO))
        for_page = {
            "question": QUESTION,
            "scale": [{"score": score, "label": label} for score, label in enumerate(LABELS, 1)],
            "instructions": INSTRUCTIONS,
            "reference": reference,
            "raters_per_questionnaire": plan.design.raters,
            "questionnaires": [
                {
                    "id": one.id,
                    "clips": [{"id": id, "file": f"clips/{id}{ending}"} for id in one.clips],
                    "orders": one.orders,
                }
                for one in plan.questionnaires
            ],
        }
        blank = (
            (one.id, f"{one.id}-{number}", id, "")
            for one in plan.questionnaires
            for number, order in enumerate(one.orders, 1)
            for id in order
        )
        write_json(unfinished / PLAN, for_page)
        plan.write_key(unfinished, 2)
        for name, words in _words(plan, reference).items():
            write_text(unfinished / name, words)
        write_text(unfinished / ANSWERS, csv_text(COLUMNS, blank))


def _words(plan: ClipPlan, reference: str | None) -> dict[str, str]:
    """Return what raters are told, nothing about who drives or crashes, and notes for those who run it."""
    count = plan.design.attention
    ends = "1 clip of each questionnaire ends" if count == 1 else f"{count} clips of each questionnaire end"
    watch = f"Before you begin, watch `{reference}`. It shows what such a clip looks like, and is not rated."
    values = {
        "clips": len(plan.questionnaires[0].clips),
        "questionnaires": len(plan.questionnaires),
        "raters": plan.design.raters,
        "rule": plan.rule,
        "question": QUESTION,
        "scale": "\n".join(f"{score}. {label}" for score, label in enumerate(LABELS, 1)),
        "before": f"{watch}\n\n" if reference else "",
        "checks": f"- {ends} in a crash. Whoever does not give that a 1 is left out.\n" if count else "",
    }
    return {
        name: Path(__file__).with_name(text).read_text("utf-8").format_map(values)
        for name, text in {INSTRUCTIONS: "clip_instructions.md", "README.md": "clip_readme.md"}.items()
    }
