"""What people answered, in whichever form it comes, and how well they do in bins of visual change."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy._files import naming
from roadworthy._tables import Table
from roadworthy.errors import InputError, check_known, check_number, suggest
from roadworthy.visual_change.tolerance import Preserved, human_studies, known_tolerance

WIDTH = 0.01
"""Of the paper's intervals."""
MOST_TOO_FEW = 10
"""An interval is kept if it holds more answers than this, as in the paper."""

_CHANGE = ("visual_change", "IQA")
_COUNT = ("count", "Count")
_SHARE = {"correctness": ("correct_share", "Accuracy"), "prediction": ("preserved_share", "Preserved")}
_KEPT = {"correctness": ("correct", "Num_Accs"), "prediction": ("preserved", "Num_Pre")}
_FILE = re.compile(r"(?P<study>[^_]+)_(?P<kind>[cp])_p_(?P<transformation>.+)")


@dataclass(frozen=True)
class UnchangedAccuracy:
    """How people do on images without any change.

    Attributes:
        share: The share of right answers.
        count: How many answers that is the share of; None where it is not known, and then taken as exact.
        source: Where it comes from.
    """

    share: float
    count: int | None = None
    source: str = ""

    def __post_init__(self) -> None:
        check_number("the share right on originals", self.share, above=0, most=1)
        check_number("answers to originals", self.count, least=1)


@dataclass(frozen=True, eq=False)
class Bins:
    """Answers to images changed by one transformation, counted in intervals of visual change.

    Intervals with 10 answers or fewer are left out.

    Attributes:
        transformation: What changed the images.
        requirement: What is counted: answers that are right, or answers as to the original.
        edges: The upper ends of the intervals, ascending.
        counts: How many answers are in each.
        kept: How many of these are right, or as to the original.
        originals: How people do on images without a change, where the data says so.
        source: Where the data comes from.
        study: The published study that it is the data of; empty where it is none.
        width: The width of the intervals.

    Example:
        >>> bins = Bins("frost", "correctness", [0.1, 0.11, 0.5], [20, 5, 30], [19, 5, 21])
        >>> bins.edges.tolist(), bins.shares.tolist()
        ([0.1, 0.5], [0.95, 0.7])
    """

    transformation: str
    requirement: Preserved
    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    kept: NDArray[np.int64]
    originals: UnchangedAccuracy | None = None
    source: str = ""
    study: str = ""
    width: float = WIDTH

    def __post_init__(self) -> None:
        edges, counts, kept = (np.asarray(one, np.float64) for one in (self.edges, self.counts, self.kept))
        if edges.ndim != 1 or not edges.shape == counts.shape == kept.shape:
            raise InputError(
                f"expected as many edges as counts, got {edges.shape}, {counts.shape} and {kept.shape}"
            )
        if not (((edges >= 0) & (edges <= 1)).all() and (np.diff(edges) > 0).all()):
            raise InputError("the intervals of visual change must ascend from 0 to 1, without NaN")
        whole = (counts == np.rint(counts)) & (kept == np.rint(kept))
        if not (whole.all() and ((kept >= 0) & (kept <= counts)).all()):
            raise InputError("counts must be whole numbers, and no more answers can be kept than there are")
        enough = counts > MOST_TOO_FEW
        object.__setattr__(self, "transformation", transformation_word(self.transformation))
        object.__setattr__(self, "edges", edges[enough])
        object.__setattr__(self, "counts", counts[enough].astype(np.int64))
        object.__setattr__(self, "kept", kept[enough].astype(np.int64))

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of the answers that is kept, in each interval."""
        return np.asarray(self.kept / self.counts, np.float64)

    @property
    def published(self) -> float | None:
        """The threshold that its study publishes for this; None where there is none."""
        known = known_tolerance(self.transformation, study=self.study) if self.study else None
        return None if known is None else known.limit(self.requirement)

    def __len__(self) -> int:
        return len(self.edges)

    @classmethod
    def counted(
        cls,
        transformation: str,
        requirement: Preserved,
        changes: ArrayLike,
        kept: ArrayLike,
        originals: UnchangedAccuracy | None = None,
        source: str = "",
        *,
        width: float = WIDTH,
    ) -> Bins:
        """Count single answers in intervals of visual change; no change at all is in the first.

        Raises:
            InputError: There are no answers, a visual change is not from 0 to 1, or the width is no fraction
                of 1.

        Example:
            >>> changes = [0.0, 0.004, 0.01] * 4 + [0.011] * 12
            >>> bins = Bins.counted("frost", "correctness", changes, [True] * 24)
            >>> bins.edges.tolist(), bins.counts.tolist()
            ([0.01, 0.02], [12, 12])
        """
        places = np.asarray(changes, np.float64)
        if places.size == 0:
            raise InputError(f"there are no answers to images changed by {transformation}")
        if not ((places >= 0) & (places <= 1)).all():
            raise InputError("every visual change must be from 0 to 1; NaN is none")
        if not 0 < width <= 0.25 or abs(1 / width - round(1 / width)) > 1e-6:
            raise InputError(f"the width of intervals must be a fraction of 1, such as 0.02, got {width}")
        # A hundredth that was computed, such as 0.29, may lie a rounding error above its interval.
        numbers = np.maximum(np.ceil(np.round(places / width, 6)), 1).astype(np.int64)
        found, inverse = np.unique(numbers, return_inverse=True)
        counts = np.bincount(inverse)
        good = np.bincount(inverse[np.asarray(kept, bool)], minlength=len(found))
        edges = np.round(found * width, 6)
        return cls(transformation, requirement, edges, counts, good, originals, source, "", width)


def transformation_word(text: str) -> str:
    """Return the name that a transformation has here, where it is known by another.

    Example:
        >>> transformation_word("Color_jitter"), transformation_word("heavy rain")
        ('colour-jitter', 'heavy-rain')
    """
    known = known_tolerance(text)
    return known.transformation if known else "-".join(re.split(r"[\s_-]+", text.strip().lower()))


def read_bins(path: str | PathLike[str]) -> Bins:
    """Read a CSV file of binned answers, as the authors of the paper publish them.

    The columns are IQA, the upper end of an interval of visual change; Accuracy or Preserved, the share of
    the answers; Count, and Num_Accs or Num_Pre. Or, in plain words: visual_change, correct_share or
    preserved_share, count, and correct or preserved. A name such as imagenet_c_p_frost.csv says which
    transformation it is, and of which study: how people do on originals is then taken from what is
    published.

    Raises:
        InputError: The file cannot be read, a column is missing, or a number is not what it must be; names
            the line.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"expected a CSV file of binned answers, found none at {file}")
    table = Table.read(file)
    requirement = _requirement(table)
    change, count = _column(table, _CHANGE), _column(table, _COUNT)
    share, kept = _column(table, _SHARE[requirement]), _column(table, _KEPT[requirement])
    rows = []
    last = -1.0
    for index, row in enumerate(table.rows):
        with naming(f"{file}: line {row.line}"):
            edge, part, many, good = (table.number(index, name) for name in (change, share, count, kept))
            _check(edge > last, f"{change} must ascend from line to line, got {edge:g} after {last:g}")
            check_number(change, edge, least=0, most=1)
            check_number(share, part, least=0, most=1)
            _check(many == int(many) and many > 0, f"{count} must be a whole number above 0, got {many:g}")
            _check(good == int(good) and 0 <= good <= many, f"{kept} must be 0 to {many:g}, got {good:g}")
            _check(abs(part - good / many) < 0.5 / many, f"{share} is {part:g}, but {good:g}/{many:g} is not")
        last = edge
        rows.append((edge, many, good))
    if not rows:
        raise InputError(f"{file} has no intervals: expected a line for each below the names of the columns")
    named = _FILE.fullmatch(file.stem)
    word = named["transformation"] if named else file.stem
    study = named["study"].lower() if named and named["study"].lower() in human_studies() else ""
    edges, counts, good_ones = np.array(rows).T
    known = human_studies().get(study)
    originals = None
    if known is not None and known.originals is not None:
        originals = UnchangedAccuracy(known.originals, None, known.originals_source)
    return Bins(word, requirement, edges, counts, good_ones, originals, file.name, study)


def _requirement(table: Table) -> Preserved:
    for requirement, names in _SHARE.items():
        if any(name in table.columns for name in names):
            return "correctness" if requirement == "correctness" else "prediction"
    expected = " or ".join(name for names in _SHARE.values() for name in reversed(names))
    raise InputError(f"{table.path}: expected a column {expected}, got {', '.join(table.columns)}")


def _column(table: Table, names: Iterable[str]) -> str:
    for name in names:
        if name in table.columns:
            return name
    raise InputError(f"{table.path}: expected a column {' or '.join(names)}, got {', '.join(table.columns)}")


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise InputError(message)


ORIGINAL = "original"
"""What is said instead of a transformation where an image is shown as it is."""
COLUMNS = ("image", "transformation", "truth", "answer", "visual_change", "rater", "time")
_NEEDED = ("image", "transformation", "truth", "answer")
# A column of VIF does in place of the visual change.
_INSTEAD = "fidelity"


@dataclass(frozen=True, slots=True)
class HumanAnswer:
    """What one person said about one image.

    Attributes:
        image: The picture, by the same name whether it was shown as it is or changed.
        transformation: What changed it; "original" for nothing.
        truth: What is right.
        answer: What was said.
        visual_change: How much of the change can be seen; 0 for an original.
        rater: Who said it; None where that is not known.
        time: How long it took, in seconds; None where that is not known.
    """

    image: str
    transformation: str
    truth: str
    answer: str
    visual_change: float
    rater: str | None = None
    time: float | None = None

    @property
    def correct(self) -> bool:
        """Whether it is right."""
        return self.answer == self.truth


def read_answers(
    path: str | PathLike[str], columns: Mapping[str, str] | None = None
) -> tuple[HumanAnswer, ...]:
    """Read a CSV file with one answer on each line.

    Args:
        path: The file. It needs the columns image, transformation, truth, answer and visual_change, and may
            have rater and time (in seconds). Instead of visual_change it may have fidelity, the VIF.
        columns: The names of these columns in the file, where they are others: ``{"answer": "human_label"}``.

    Raises:
        InputError: A column is missing, a cell is not what it must be, or a person saw two versions of one
            image; names the line.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"expected a CSV file of answers, found none at {file}")
    for name in columns or {}:
        check_known("there is no column", name, (*COLUMNS, _INSTEAD))
    named = {name: (columns or {}).get(name, name) for name in (*COLUMNS, _INSTEAD)}
    table = Table.read(file)
    change = "visual_change" if named["visual_change"] in table.columns else _INSTEAD
    table.require(*(named[name] for name in (*_NEEDED, change)))
    answers = []
    for index, row in enumerate(table.rows):
        with naming(f"{file}: line {row.line}"):
            answers.append(_answer(table, index, named, change))
    if not answers:
        raise InputError(f"{file} has no answers: expected a line for each below the names of the columns")
    _check_versions(answers, [row.line for row in table.rows], file)
    return tuple(answers)


def _answer(table: Table, index: int, named: Mapping[str, str], change: str) -> HumanAnswer:
    texts = [table.text(index, named[name]) for name in _NEEDED]
    image, transformation, truth, answer = texts
    for name, text in zip(_NEEDED, texts, strict=True):
        if not text and name != "transformation":
            raise InputError(f"{named[name]} is empty")
    unchanged = transformation.lower() in ("", "none", ORIGINAL)
    what = ORIGINAL if unchanged else transformation_word(transformation)
    visual_change = 0.0
    if what != ORIGINAL:
        value = table.number(index, named[change])
        if change == _INSTEAD:
            # Above 1, the change improves the image: Definition 1 counts that as none.
            value = max(0.0, 1 - value)
        check_number(named[change], value, least=0, most=1)
        visual_change = value
    others = _optional(table, index, named["rater"], named["time"])
    return HumanAnswer(image, what, truth, answer, visual_change, *others)


def _optional(table: Table, index: int, rater: str, time: str) -> tuple[str | None, float | None]:
    who = table.text(index, rater) or None if rater in table.columns else None
    if time not in table.columns or not table.text(index, time):
        return who, None
    seconds = table.number(index, time)
    check_number(f"{time} in seconds", seconds, least=0)
    return who, seconds


def _check_versions(answers: Sequence[HumanAnswer], lines: Sequence[int], file: Path) -> None:
    """Whoever has seen an image is no judge of another version of it."""
    seen: dict[tuple[str, str], int] = {}
    for one, line in zip(answers, lines, strict=True):
        if one.rater is None:
            continue
        if (first := seen.setdefault((one.rater, one.image), line)) != line:
            raise InputError(
                f"{file}: line {line}: {one.rater!r} has already answered for the image {one.image!r} on "
                f"line {first}; a person sees one version of an image once: leave out the later answer"
            )


def transformations_of(answers: Iterable[HumanAnswer]) -> tuple[str, ...]:
    """Return the transformations that answers are about, by name."""
    return tuple(sorted({one.transformation for one in answers} - {ORIGINAL}))


def bins_of(
    answers: Sequence[HumanAnswer],
    transformation: str,
    requirement: Preserved,
    *,
    source: str = "",
    width: float = WIDTH,
) -> Bins:
    """Count the answers to images that one transformation changed, in intervals of visual change.

    For correctness, an answer counts as kept if it is right. For prediction, if it is what most people say
    about the original; where there is no original, or no majority about it, answers are left out.

    Args:
        answers: All answers, also those to originals.
        transformation: The transformation.
        requirement: What is counted.
        source: Where the answers come from, for messages.
        width: The width of the intervals; wider ones need fewer answers in all.

    Raises:
        InputError: There are no answers about the transformation, or none about originals.

    Example:
        >>> shown = [HumanAnswer("a", "original", "car", "car", 0.0)] * 3
        >>> shown += [HumanAnswer("a", "frost", "car", "not car", 0.4)] * 12
        >>> bins = bins_of(shown, "frost", "correctness")
        >>> bins.counts.tolist(), bins.kept.tolist(), bins.originals.share
        ([12], [0], 1.0)
    """
    word = transformation_word(transformation)
    changed = [one for one in answers if one.transformation == word]
    originals = [one for one in answers if one.transformation == ORIGINAL]
    if not changed:
        known = transformations_of(answers)
        raise InputError(f"there are no answers about {transformation!r}: {suggest(word, known)}")
    if not originals:
        raise InputError(
            "there are no answers to images without a change, and how people do is measured against them: "
            f"show some, and write {ORIGINAL!r} as their transformation"
        )
    if requirement == "correctness":
        share = sum(one.correct for one in originals) / len(originals)
        if not share:
            raise InputError("nobody is right about any unchanged image: check the column of the truth")
        known_share = UnchangedAccuracy(share, len(originals), "answers to originals")
        kept = [one.correct for one in changed]
    else:
        known_share, usual = None, _majorities(originals)
        changed = [one for one in changed if one.image in usual]
        kept = [one.answer == usual[one.image] for one in changed]
    if not changed:
        raise InputError(f"no image changed by {word} was also shown unchanged: t_p needs both")
    changes = [one.visual_change for one in changed]
    return Bins.counted(word, requirement, changes, kept, known_share, source, width=width)


def _majorities(originals: Iterable[HumanAnswer]) -> dict[str, str]:
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for one in originals:
        votes[one.image][one.answer] += 1
    usual = {}
    for image, counted in votes.items():
        (first, most), *rest = counted.most_common(2)
        if not rest or rest[0][1] < most:
            usual[image] = first
    return usual


@dataclass(frozen=True)
class Collected:
    """What came back from an experiment.

    Attributes:
        answers: The answers that count.
        raters: How many people gave them.
        left_out: Who does not count, and why.
        missing: How many images of batches that were begun have no answer.
    """

    answers: tuple[HumanAnswer, ...]
    raters: int
    left_out: dict[str, str]
    missing: int

    def lines(self) -> list[str]:
        """Return how many answers of how many people there are, then who was left out."""
        answers = f"{len(self.answers)} answers of {self.raters} people; {self.missing} missing or late"
        return [answers, *(f"left out: {rater}, {reason}" for rater, reason in self.left_out.items())]


@dataclass(frozen=True)
class HumanData:
    """Answers of people, counted for every transformation.

    Attributes:
        bins: The counts, of t_c and t_p.
        answers: The single answers, where they are known.
        collected: What was left out of an experiment, where it is one.
        without: What could not be counted, and why.
    """

    bins: tuple[Bins, ...]
    answers: tuple[HumanAnswer, ...] = ()
    collected: Collected | None = None
    without: tuple[str, ...] = ()

    def only(self, transformations: Sequence[str]) -> HumanData:
        """Return the counts of some transformations only; all where none is named.

        Raises:
            InputError: There are no answers about one of them.
        """
        known = {one.transformation for one in self.bins}
        wanted = {transformation_word(one): one for one in transformations}
        for word, written in wanted.items():
            if word not in known:
                raise InputError(f"there are no answers about {written!r}: {suggest(word, known)}")
        kept = tuple(one for one in self.bins if not wanted or one.transformation in wanted)
        return HumanData(kept, self.answers, self.collected, self.without)

    def not_counted(self, troubles: Sequence[str] = ()) -> list[str]:
        """Return what people read about answers that do not count, and other troubles with them."""
        lines = [] if self.collected is None else self.collected.lines()
        return lines + [f"not counted: {line}" for line in (*self.without, *troubles)]


def read_human(
    path: str | PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    collected: Collected | None = None,
    width: float | None = None,
) -> HumanData:
    """Read answers of people.

    Args:
        path: A CSV file of binned or single answers; or a folder of files of binned answers.
        columns: What columns of single answers are called, where they have other names.
        collected: The answers to an experiment, if the path is that of one.
        width: The width of the intervals of visual change, for single answers; 0.01 when left out.

    Raises:
        InputError: There is no such thing; names file and line.
    """
    place = Path(path).expanduser()
    if collected is not None:
        return _counted(collected.answers, str(place), collected, width)
    if place.is_file() and (columns or "answer" in Table.read(place).columns):
        return _counted(read_answers(place, columns), place.name, None, width)
    if width is not None:
        raise InputError("the width of intervals can be chosen for single answers only: these are binned")
    if place.is_dir():
        files = sorted(place.glob("*.csv"))
        if not files:
            raise InputError(f"{place} must hold CSV files of binned answers or an experiment, found neither")
        return HumanData(tuple(read_bins(file) for file in files))
    if not place.is_file():
        raise InputError(f"expected a CSV file of answers or a folder, found nothing at {place}")
    return HumanData((read_bins(place),))


def _counted(
    answers: Sequence[HumanAnswer], source: str, collected: Collected | None, width: float | None
) -> HumanData:
    found, without = [], []
    for name in transformations_of(answers):
        for requirement in get_args(Preserved):
            try:
                found.append(bins_of(answers, name, requirement, source=source, width=width or WIDTH))
            except InputError as error:
                without.append(f"{name}, {requirement}: {error}")
    if not found:
        raise InputError(f"{source}: {without[0] if without else 'no answers about changed images'}")
    return HumanData(tuple(found), tuple(answers), collected, tuple(without))
