"""The blind study of the RMT paper: how real changed images look, and how reasonable the answers are."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from roadworthy.errors import InputError
from roadworthy.rules.study import (
    QUESTIONS,
    SCALE,
    Answer,
    Rating,
    StudyPair,
    StudyResult,
    evaluate_study,
    plan_study,
)
from roadworthy.rules.study_files import COLUMNS, KEY, read_ratings, read_study, write_study
from roadworthy.runs.store import StoredRun
from roadworthy.web.studies.task import Part, Task

STUDIES = "studies"
"""The folder in the folder of a run where its studies are."""
_NUMBERING = Lock()
_HAND_FILLED = "raters/ratings.csv"


class PairStudy(Task):
    """Pairs of images, rated from 1 to 7; nobody is told which of them violate a rule."""

    kind = "pairs"
    title = "A blind study of pairs"
    columns = tuple(COLUMNS)
    plan_file = "raters/plan.json"

    def _files(self) -> list[str]:
        items = [item for group in self.plan["groups"] for item in group["items"]]
        return [str(item[name]) for item in items for name in ("original", "changed")]

    def _prepare(self) -> None:
        self._groups: dict[int, list[dict[str, Any]]] = {
            int(group["group"]): list(group["items"]) for group in self.plan["groups"]
        }
        self._group_of = {str(one["id"]): number for number, items in self._groups.items() for one in items}
        self._wanted = int(self.plan["raters_per_group"])

    def parts(self) -> list[Part]:
        """Return the groups."""
        done = dict.fromkeys(self._groups, 0)
        for rows in self.answers.read_all().values():
            for number in self._complete(rows):
                done[number] += 1
        return [
            Part(f"group {number}", len(items), done[number], self._wanted)
            for number, items in self._groups.items()
        ]

    def begin(self, rater: str) -> dict[str, Any]:
        """Return the group that a person has begun, or else the one that fewest people have rated."""
        with self.answers.lock:
            rows = self.answers.read(rater)
            number = self._begun(rows)
            if number is None:
                number = self._next(rows)
            if number is None:
                return {"items": [], "group": None, "rated": len(self._complete(rows))}
            given = {row["item"]: row for row in rows}
            if self._groups[number][0]["id"] not in given:
                fresh = [
                    {**dict.fromkeys(self.columns, ""), "item": str(one["id"]), "rater": rater}
                    for one in self._groups[number]
                ]
                self.answers.write(rater, [*rows, *fresh])
                given |= {row["item"]: row for row in fresh}
        items = [
            {
                **one,
                "given": {question: _number(given[str(one["id"])][question]) for question in QUESTIONS},
            }
            for one in self._groups[number]
        ]
        return {"group": number, "items": items, "questions": dict(QUESTIONS), "scale": list(SCALE)}

    def answer(self, rater: str, item: str, values: Mapping[str, Any]) -> None:
        """Store the two scores of a pair."""
        scores = {question: values.get(question) for question in QUESTIONS}
        for question, score in scores.items():
            if type(score) is not int or not SCALE[0] <= score <= SCALE[1]:
                raise InputError(f"{question} must be a whole number from 1 to 7, got {score!r}")
        with self.answers.lock:
            rows = self.answers.read(rater)
            found = next((row for row in rows if row["item"] == item), None)
            if found is None:
                raise InputError(f"{rater} was not asked about {item!r}: open the page again")
            found.update({question: str(score) for question, score in scores.items()})
            self.answers.write(rater, rows)

    def result(self) -> StudyResult:
        """Return what people think so far.

        Raises:
            InputError: Nobody has answered yet, or a table is wrong.
        """
        ratings: list[Rating] = [one for path in self.answers.paths for one in read_ratings(path)]
        by_hand = self.folder / _HAND_FILLED
        if by_hand.is_file():
            ratings += read_ratings(by_hand)
        if not ratings:
            raise InputError("nobody has answered yet")
        return evaluate_study(read_study(self.folder), ratings)

    def _complete(self, rows: list[dict[str, str]]) -> list[int]:
        """Return the groups of which a person has rated every pair."""
        rated = {row["item"] for row in rows if all(row[question] for question in QUESTIONS)}
        return [
            number for number, items in self._groups.items() if {str(one["id"]) for one in items} <= rated
        ]

    def _begun(self, rows: list[dict[str, str]]) -> int | None:
        complete = set(self._complete(rows))
        begun = (self._group_of.get(row["item"]) for row in rows)
        return next((one for one in begun if one is not None and one not in complete), None)

    def _next(self, rows: list[dict[str, str]]) -> int | None:
        """Return the group that is wanted most; none where the person or the study has them all."""
        own = {self._group_of.get(row["item"]) for row in rows}
        raters = dict.fromkeys(self._groups, 0)
        for other in self.answers.read_all().values():
            rated = {row["item"] for row in other if row[next(iter(QUESTIONS))]}
            for number in {self._group_of.get(one) for one in rated}:
                if number is not None:
                    raters[number] += 1
        open_ones = [one for one in self._groups if one not in own and raters[one] < self._wanted]
        return min(open_ones, key=lambda one: (raters[one], one), default=None)


def pairs_of(run: StoredRun, system: str) -> Iterator[StudyPair]:
    """Yield what a study can draw from: judged pairs of a model that are stored with both images."""
    for pair in run.pairs:
        if pair.system != system or pair.requirement.method != "rules":
            continue
        for row in run.rows(requirement=pair.requirement.id, system=system):
            images = str(row["images"] or "").split()
            output, before, after = (
                row.get(name) for name in ("param.output.1", "measure.before.1", "measure.after.1")
            )
            if row["status"] not in ("passed", "violated") or len(images) != 2:
                continue
            if output is None or before is None or after is None or row.get("param.output.2") is not None:
                continue
            yield StudyPair(
                pair.requirement.id,
                str(row["case"]),
                row["status"] == "violated",
                (images[0], images[1]),
                (Answer(str(output), float(str(before)), float(str(after))),),
            )


def draw_study(
    folder: Path,
    system: str,
    *,
    count: int | None = None,
    groups: int = 1,
    raters: int = 8,
    balanced: bool = True,
    seed: int = 0,
) -> str:
    """Draw a blind study from a run, and write its files beside the run.

    Args:
        folder: The folder of the run.
        system: Whose answers are rated.
        count: How many pairs; so many that shares are known within 5% at 95% confidence when left out.
        groups: Into how many groups they are dealt; a person rates one at a time.
        raters: How many people rate each group.
        balanced: Whether to draw as many violations as other pairs.
        seed: The same seed draws the same.

    Returns:
        The name of the study.

    Raises:
        InputError: There are too few pairs with images, or the files cannot be written.
    """
    run = StoredRun.open(folder)
    pairs = list(pairs_of(run, system))
    kinds = {pair.violated for pair in pairs}
    if kinds != {True, False}:
        have = "no pair" if not kinds else ("violations only" if True in kinds else "no violation")
        raise InputError(
            f"a blind study shows pairs that violate a rule and pairs that do not, and the run has {have} of "
            f"{system} with images: run the rules again with --images all, which keeps the images of both"
        )
    plan = plan_study(pairs, count=count, groups=groups, raters=raters, balanced=balanced, seed=seed)
    home = folder / STUDIES
    # A name of its own: two browsers may draw from one run at once.
    unfinished = home / f".part-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        home.mkdir(exist_ok=True)
        write_study(plan, unfinished, lambda digest: run.image(digest).read_bytes())
        with _NUMBERING:
            number = 1
            while (home / f"study-{number}").exists():
                number += 1
            unfinished.rename(home / f"study-{number}")
    except OSError as error:
        raise InputError(f"cannot write the study to {home}: {error.strerror}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return f"study-{number}"


def is_pair_study(folder: Path) -> bool:
    """Return whether a folder holds a blind study."""
    return (folder / PairStudy.plan_file).is_file() and (folder / KEY).is_file()


def _number(text: str) -> int | None:
    return int(text) if text else None
