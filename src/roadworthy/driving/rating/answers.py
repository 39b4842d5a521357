"""What raters answered, and whose answers count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from roadworthy._frozen import FrozenDict
from roadworthy._tables import Table
from roadworthy.driving.rating.files import COLUMNS
from roadworthy.driving.rating.plan import LABELS, Questionnaire, Study
from roadworthy.errors import InputError, suggest

_TOLD = 10  # bad rows that are named


@dataclass(frozen=True)
class Ratings:
    """The scores of all raters of a study.

    Attributes:
        scores: By questionnaire, rater and clip, from 1 to 5; only of raters whose answers count.
        inattentive: By questionnaire, the raters who did not give a crash the lowest score.
        incomplete: By questionnaire, the raters who left out a clip.
    """

    scores: Mapping[str, Mapping[str, Mapping[str, int]]]
    inattentive: Mapping[str, tuple[str, ...]]
    incomplete: Mapping[str, tuple[str, ...]]


def read_ratings(study: Study, files: Sequence[Path]) -> Ratings:
    """Read the answers to a study.

    Args:
        study: The study.
        files: CSV files with the columns questionnaire, rater, clip and score. A line without a score counts
            as not answered, and a rater without any score is nobody.

    Raises:
        InputError: A file cannot be read, or rows are wrong; names the file and the lines.
    """
    known = {one.id: one for one in study.questionnaires}
    told: dict[str, dict[str, dict[str, int | None]]] = {id: {} for id in known}
    wrong: list[str] = []
    for file in files:
        if not file.is_file():
            raise InputError(f"expected a CSV file of answers, found none at {file}")
        table = Table.read(file)
        table.require(*COLUMNS)
        for index, row in enumerate(table.rows):
            try:
                _read_row(table, index, known, told)
            except InputError as error:
                where = f"{file}: line {row.line}"
                wrong.append(str(error) if where in str(error) else f"{where}: {error}")
    if wrong:
        more = f"\nand {len(wrong) - _TOLD} more rows" if len(wrong) > _TOLD else ""
        raise InputError("\n".join(wrong[:_TOLD]) + more)
    return _sorted_out(study, told)


def _read_row(
    table: Table,
    index: int,
    known: Mapping[str, Questionnaire],
    told: dict[str, dict[str, dict[str, int | None]]],
) -> None:
    questionnaire, rater, clip, score = (table.text(index, name) for name in COLUMNS)
    if questionnaire not in known:
        raise InputError(f"there is no questionnaire {questionnaire!r}: {suggest(questionnaire, known)}")
    if clip not in known[questionnaire].clips:
        near = suggest(clip, known[questionnaire].clips)
        raise InputError(f"{questionnaire} has no clip {clip!r}: {near}")
    if not rater:
        raise InputError("expected the name of the rater, got none")
    if score and score not in map(str, range(1, len(LABELS) + 1)):
        raise InputError(f"the score must be 1, 2, 3, 4 or 5, got {score!r}")
    own = told[questionnaire].setdefault(rater, {})
    if clip in own:
        raise InputError(
            f"{rater} has rated clip {clip} of {questionnaire} before: leave one of the lines out"
        )
    own[clip] = int(score) if score else None


def _sorted_out(study: Study, told: Mapping[str, Mapping[str, Mapping[str, int | None]]]) -> Ratings:
    """Tell apart whose answers count."""
    kept: dict[str, dict[str, FrozenDict[str, int]]] = {}
    inattentive: dict[str, list[str]] = {}
    incomplete: dict[str, list[str]] = {}
    for one in study.questionnaires:
        kept[one.id], inattentive[one.id], incomplete[one.id] = {}, [], []
        checks = [id for id in one.clips if study.clips[id].kind == "attention"]
        for rater, given in told[one.id].items():
            scores = {id: score for id, score in given.items() if score is not None}
            if not scores:
                continue
            if any(scores.get(id, 1) != 1 for id in checks):
                inattentive[one.id].append(rater)
            elif len(scores) < len(one.clips):
                incomplete[one.id].append(rater)
            else:
                kept[one.id][rater] = FrozenDict({id: scores[id] for id in one.clips})
    return Ratings(
        FrozenDict({id: FrozenDict(raters) for id, raters in kept.items()}),
        FrozenDict({id: tuple(raters) for id, raters in inattentive.items()}),
        FrozenDict({id: tuple(raters) for id, raters in incomplete.items()}),
    )
