"""Single answers of people about images, as an experiment collects them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from roadworthy._files import naming
from roadworthy._tables import Table
from roadworthy.errors import InputError, suggest
from roadworthy.reliability.human.bins import WIDTH, Bins, UnchangedAccuracy, transformation_word
from roadworthy.visual_change.tolerance import Preserved

ORIGINAL = "original"
"""What is said instead of a transformation where an image is shown as it is."""
COLUMNS = ("image", "transformation", "truth", "answer", "visual_change", "rater", "time")
_NEEDED = ("image", "transformation", "truth", "answer")
_INSTEAD = "fidelity"
"""A column of VIF does in place of the visual change."""


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
        if name not in (*COLUMNS, _INSTEAD):
            raise InputError(f"there is no column {name!r} to map: {suggest(name, (*COLUMNS, _INSTEAD))}")
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
    what = (
        ORIGINAL if transformation.lower() in ("", "none", ORIGINAL) else transformation_word(transformation)
    )
    visual_change = 0.0
    if what != ORIGINAL:
        value = table.number(index, named[change])
        if change == _INSTEAD:
            # Above 1, the change improves the image: Definition 1 counts that as none.
            value = max(0.0, 1 - value)
        if not 0 <= value <= 1:
            raise InputError(f"{named[change]} must be from 0 to 1, got {value:g}")
        visual_change = value
    return HumanAnswer(
        image, what, truth, answer, visual_change, *_optional(table, index, named["rater"], named["time"])
    )


def _optional(table: Table, index: int, rater: str, time: str) -> tuple[str | None, float | None]:
    who = table.text(index, rater) or None if rater in table.columns else None
    if time not in table.columns or not table.text(index, time):
        return who, None
    seconds = table.number(index, time)
    if seconds < 0:
        raise InputError(f"{time} must be 0 seconds or more, got {seconds:g}")
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
            raise InputError(
                "nobody is right about any image without a change: check the column of the truth"
            )
        known_share = UnchangedAccuracy(share, len(originals), "answers to originals")
        kept = [one.correct for one in changed]
        changes = [one.visual_change for one in changed]
        return Bins.counted(word, requirement, changes, kept, known_share, source, width=width)
    usual = _majorities(originals)
    comparable = [one for one in changed if one.image in usual]
    if not comparable:
        raise InputError(
            f"no image that {word} changed was shown without a change, too: t_p needs both of the same image"
        )
    kept = [one.answer == usual[one.image] for one in comparable]
    changes = [one.visual_change for one in comparable]
    return Bins.counted(word, requirement, changes, kept, None, source, width=width)


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
