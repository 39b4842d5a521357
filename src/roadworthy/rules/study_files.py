"""The files of a blind study: what raters get, the key that they must not see, and what they give back.

::

    raters/plan.json                 groups of pairs with the model's answers, and the questions
    raters/images/pair-0001-a.png    the original; -b is the changed image
    raters/ratings.csv               to be filled in: item, rater, authenticity, reasonability
    key.json                         rule, case and verdict of every pair: not for raters
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from roadworthy._files import check_free, naming, read_json
from roadworthy._tables import Table, csv_text
from roadworthy.errors import InputError
from roadworthy.rules.study import QUESTIONS, SCALE, Answer, Item, Question, Rating, StudyPair, StudyPlan

KEY = "key.json"
COLUMNS = ("item", "rater", *QUESTIONS)
_UNITS = {"speed": (3.6, "km/h"), "steering": (1.0, "degrees, positive to the right")}


def write_study(plan: StudyPlan, folder: Path, image: Callable[[str], bytes]) -> None:
    """Write the files of a study.

    Args:
        plan: The study.
        folder: Where; must be new or empty.
        image: Returns the PNG file of an image, by the name that its pair has for it.

    Raises:
        InputError: The folder is in use, or cannot be written.
    """
    check_free(folder)
    raters = folder / "raters"
    try:
        (raters / "images").mkdir(parents=True)
        for item in plan.items:
            for name, file in zip(item.pair.images, _files(item), strict=True):
                (raters / file).write_bytes(image(name))
        _write_json(raters / "plan.json", _for_raters(plan))
        _write_json(folder / KEY, _key(plan))
        (raters / "ratings.csv").write_text(_empty_ratings(plan), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write the study to {folder}: {error.strerror}") from error


def _files(item: Item) -> tuple[str, str]:
    return f"images/{item.id}-a.png", f"images/{item.id}-b.png"


def _for_raters(plan: StudyPlan) -> dict[str, object]:
    """Return all that raters may know."""
    groups: dict[int, list[object]] = {number: [] for number in range(1, plan.groups + 1)}
    for item in plan.items:
        before, after = _files(item)
        groups[item.group].append(
            {"id": item.id, "original": before, "changed": after, "answers": _shown(item.pair.answers)}
        )
    return {
        "questions": dict(QUESTIONS),
        "scale": list(SCALE),
        "raters_per_group": plan.raters,
        "groups": [{"group": number, "items": items} for number, items in groups.items()],
    }


def _shown(answers: tuple[Answer, ...]) -> list[dict[str, object]]:
    shown: list[dict[str, object]] = []
    for answer in answers:
        factor, unit = _UNITS[answer.output]
        before, after = (round(value * factor, 1) for value in (answer.before, answer.after))
        shown.append({"output": answer.output, "unit": unit, "original": before, "changed": after})
    return shown


def _key(plan: StudyPlan) -> dict[str, object]:
    return {
        "groups": plan.groups,
        "raters_per_group": plan.raters,
        "seed": plan.seed,
        "items": [
            {
                "id": item.id,
                "group": item.group,
                "rule": item.pair.rule,
                "case": item.pair.case,
                "violated": item.pair.violated,
                "images": list(item.pair.images),
                "answers": [[one.output, one.before, one.after] for one in item.pair.answers],
            }
            for item in plan.items
        ],
    }


def _write_json(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _empty_ratings(plan: StudyPlan) -> str:
    return csv_text(COLUMNS, ([item.id, *[""] * (len(COLUMNS) - 1)] for item in plan.items))


def read_study(folder: Path) -> StudyPlan:
    """Read a study from its key.

    Raises:
        InputError: The folder is not that of a study.
    """
    path = folder / KEY
    document = read_json(path)
    try:
        items = tuple(_item(one) for one in document["items"])
        return StudyPlan(
            items, int(document["groups"]), int(document["raters_per_group"]), int(document["seed"])
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path} must be the key of a study, as rules study writes it: {error!r}") from error


def _item(record: Mapping[str, Any]) -> Item:
    before, after = record["images"]
    answers = tuple(Answer(str(output), float(one), float(two)) for output, one, two in record["answers"])
    pair = StudyPair(
        str(record["rule"]), str(record["case"]), bool(record["violated"]), (str(before), str(after)), answers
    )
    return Item(str(record["id"]), int(record["group"]), pair)


def read_ratings(path: Path) -> list[Rating]:
    """Read a filled-in table of ratings; rows without a rater, and empty scores, are left out.

    Raises:
        InputError: A column is missing, or a score is no whole number; names the line.
    """
    table = Table.read(path)
    table.require(*COLUMNS)
    ratings = []
    for number in range(len(table.rows)):
        with naming(f"{path}: line {table.rows[number].line}"):
            item, rater = (table.text(number, name) for name in ("item", "rater"))
            scores: dict[Question, int | None] = {
                question: _score(table.text(number, question), question) for question in QUESTIONS
            }
            if not rater and any(score is not None for score in scores.values()):
                raise InputError(f"{item} was rated, but the column rater does not say by whom")
        if any(score is not None for score in scores.values()):
            ratings.append(Rating(item, rater, scores))
    return ratings


def _score(text: str, question: str) -> int | None:
    if not text:
        return None
    try:
        score = int(text)
    except ValueError:
        score = 0
    if not SCALE[0] <= score <= SCALE[1]:
        raise InputError(f"{question} must be a whole number from {SCALE[0]} to {SCALE[1]}, got {text!r}")
    return score
