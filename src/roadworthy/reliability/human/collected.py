"""What people answered in an experiment, without those who did not attend."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from roadworthy._files import naming
from roadworthy._tables import Table
from roadworthy.errors import InputError
from roadworthy.reliability.human.answers import HumanAnswer
from roadworthy.reliability.human.experiment import Item
from roadworthy.reliability.human.experiment_files import ANSWERS, COLUMNS, Experiment, read_experiment

_Said = dict[str, tuple[str, float | None]]
"""By the id of an image, the answer and how many seconds it took."""


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


def read_collected(folder: Path, files: Sequence[Path] = ()) -> Collected:
    """Read the answers to an experiment, without those of people who do not pass the checks.

    Args:
        folder: The experiment.
        files: Tables of answers; answers.csv of the folder when left out.

    Raises:
        InputError: An answer is about no image of the experiment or none of the choices, or a person answered
            twice for one picture; names the line.
    """
    made = read_experiment(folder)
    given: dict[str, _Said] = defaultdict(dict)
    seen: dict[tuple[str, str], str] = {}
    for file in files or [folder / ANSWERS]:
        table = Table.read(file)
        table.require(*COLUMNS)
        for index, row in enumerate(table.rows):
            with naming(f"{file}: line {row.line}"):
                id, rater, answer = (table.text(index, name) for name in COLUMNS[:3])
                item = _item(made, id)
                _check_answer(made, rater, answer)
                first = seen.setdefault((rater, item.image), f"{file}: line {row.line}")
                if first != f"{file}: line {row.line}":
                    raise InputError(
                        f"{rater!r} has already seen a version of this picture ({first}): a person stays in "
                        "one track and does a batch once"
                    )
                given[rater][id] = (answer, _seconds(table, index))
    if not given:
        raise InputError(f"{folder} has no answers yet: fill in {ANSWERS}")
    return _counted(made, given)


def _item(made: Experiment, id: str) -> Item:
    plan = made.schedule
    for some in (plan.items, plan.checks, plan.practice):
        if id in some:
            return some[id]
    raise InputError(f"the experiment has no item {id!r}: expected an id of plan.json")


def _check_answer(made: Experiment, rater: str, answer: str) -> None:
    if not rater:
        raise InputError("the column rater does not say who answered")
    if answer and answer not in made.design.choices:
        raise InputError(f"the answer must be {' or '.join(map(repr, made.design.choices))}, got {answer!r}")


def _seconds(table: Table, index: int) -> float | None:
    if not table.text(index, "time"):
        return None
    seconds = table.number(index, "time")
    if seconds < 0:
        raise InputError(f"time must be 0 seconds or more, got {seconds:g}")
    return seconds


def _counted(made: Experiment, given: dict[str, _Said]) -> Collected:
    plan, design = made.schedule, made.design
    answers: list[HumanAnswer] = []
    left_out: dict[str, str] = {}
    missing = raters = 0
    asked = [plan.items.keys() & set(batch.items) for batch in plan.batches]
    for rater, said in given.items():
        checked = Counter(said[id][0] == plan.checks[id].truth for id in said if id in plan.checks)
        if plan.checks and not checked:
            left_out[rater] = "answered none of the checks"
            continue
        if plan.checks and checked[True] < design.passed * checked.total():
            left_out[rater] = f"{checked[True]} of {checked.total()} checks right"
            continue
        raters += 1
        for id in sorted(id for ids in asked if ids & said.keys() for id in ids):
            answer, seconds = said.get(id, ("", None))
            late = seconds is not None and seconds * 1000 > design.answer_ms
            if not answer or late:
                missing += 1
                continue
            item = plan.items[id]
            answers.append(
                HumanAnswer(
                    item.image, item.transformation, item.truth, answer, item.visual_change, rater, seconds
                )
            )
    return Collected(tuple(answers), raters, left_out, missing)
