"""What came of rules that were run: tables in the shape of the RMT paper's, sheets, and shrunk violations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from heapq import nsmallest
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._files import file_name
from roadworthy.cases import Dataset, Prediction, Requirement, Scalar, Status
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, LabelMap, PlannedPath, Signals
from roadworthy.images import read_image, write_image
from roadworthy.labelling import estimated_by
from roadworthy.models import SystemUnderTest
from roadworthy.report.drawing import BACKGROUND, Image, draw_difference, draw_frame
from roadworthy.report.sheets import Tile, contact_sheet, draw_answer
from roadworthy.result_tables import ResultTable
from roadworthy.rules.clips import read_course
from roadworthy.rules.generation import RulePlan
from roadworthy.rules.reading import change_in_brief, reaction_in_brief
from roadworthy.rules.shrinking import Shrinking, Shrunk, Violation
from roadworthy.rules.tables import (
    Spent,
    Tally,
    cost_table,
    is_composed,
    read_tally,
    reasons_table,
    threshold_table,
    violation_table,
)
from roadworthy.runs import read_rows, run
from roadworthy.runs.gate import STREET, Gate
from roadworthy.runs.store import MEASURE, clip_images
from roadworthy.runs.store.writing import image_path
from roadworthy.runs.suites import SuiteResult
from roadworthy.transforms.answers import read_answer
from roadworthy.transforms.wording import added_things

_TILE_WIDTH = 480
_STRIP, _STRIP_WIDTH = 6, 300  # frames of a strip of film, and pixels


class RulesReport:
    """Rules that were run, and what is made of their rows.

    Args:
        result: The run; all of its requirements are rules.
        thresholds: At which of them rules are judged as well, where they leave that open.
        progress: Wraps what takes long, to show how far it has come.
    """

    def __init__(
        self,
        result: SuiteResult,
        thresholds: Sequence[float] = (),
        progress: Callable[[Sequence[Any], str], Iterable[Any]] = lambda items, _: items,
    ) -> None:
        self.result, self.thresholds, self._progress = result, thresholds, progress
        self.plans: dict[str, RulePlan] = {one.requirement.id: one.part.inside for one in result.plan.trials}
        self.models = list(result.plan.models)

    @cached_property
    def tallies(self) -> dict[tuple[str, str], Tally]:
        """What became of the frames, by rule and model."""
        return {
            pair: read_tally(self.plans[pair[0]], read_rows(self.result.folder_of(*pair)), self.thresholds)
            for pair in self.result.outcomes
        }

    def tables(self) -> list[ResultTable]:
        """Return violations, those at other thresholds, why frames do not qualify, and seconds."""
        plans, models, tallies = self.plans, self.models, self.tallies
        simple = [id for id in plans if not is_composed(plans[id])]
        composed = [id for id in plans if is_composed(plans[id])]
        told, timed = self.thresholds, set(self.result.costs) == set(plans)
        tables = (
            violation_table("Violations", simple, models, tallies) if simple else None,
            threshold_table(list(plans), models, tallies, told) if told else None,
            violation_table("Violations of composed rules", composed, models, tallies) if composed else None,
            self.reasons(),
            cost_table(plans, *self._spent(), self.result.preparing) if timed else None,
        )
        return [one for one in tables if one is not None]

    def reasons(self) -> ResultTable | None:
        """Return why frames do not qualify, or why there is no verdict; None where all were judged."""
        return reasons_table(list(self.plans), self.models, self.tallies)

    def _spent(self) -> tuple[dict[str, Spent], float]:
        """Return the seconds for each rule, and those for the original frames."""
        costs = self.result.costs
        spent = {
            rule: Spent(sum(cost.making[1:]), sum(cost.evaluating.values()) / max(1, len(cost.evaluating)))
            for rule, cost in costs.items()
        }
        return spent, max((cost.making[0] for cost in costs.values() if cost.making), default=0.0)

    def document(self) -> dict[str, Any]:
        """Return everything for scripts."""
        plan = self.result.plan
        frames = {name: len(one.frames) for name, one in plan.data.items()}
        return {
            "data": next(iter(frames)),
            "frames": next(iter(frames.values())),
            "seed": plan.context.seed,
            "models": self.models,
            "rules": {
                id: {
                    "text": one.rule.text,
                    "reading": str(one.rule),
                    "notes": list(one.rule.notes),
                    "changes": [str(scenario) for scenario in one.scenarios],
                    "outputs": [expectation.output for expectation in one.expectations],
                    "formulas": [_formula(one, expectation.formula) for expectation in one.expectations],
                }
                for id, one in self.plans.items()
            },
            "results": [self._result(pair) for pair in self.result.outcomes],
            "seconds": round(self.result.seconds, 3),
            "notes": self.result.notes,
        }

    def _result(self, pair: tuple[str, str]) -> dict[str, Any]:
        outcome, tally = self.result.outcomes[pair], self.tallies[pair]
        return {
            "rule": pair[0],
            "model": pair[1],
            "status": str(outcome.status),
            "summary": outcome.summary,
            "violations": tally.violations,
            "judged": tally.judged,
            "ratio": tally.violations / tally.judged if tally.judged else None,
            "errors": tally.counts[Status.ERROR],
            "not_applicable": tally.counts[Status.NOT_APPLICABLE],
            "reasons": {reason: count for (_, reason), count in tally.reasons.items()},
            "thresholds": {
                f"{one:g}": {"violations": violations, "judged": judged}
                for one, (violations, judged) in tally.thresholds.items()
            },
            "worst_margin": outcome.measures.get("worst_margin"),
            "folder": str(self.result.folder_of(*pair).relative_to(self.result.folder)),
        }

    def _worst(self, pair: tuple[str, str], count: int) -> list[dict[str, Scalar]]:
        """Return the stored rows with the smallest margins among the violations."""
        rows = (row for row in read_rows(self.result.folder_of(*pair)) if row["status"] == "violated")
        return nsmallest(count, rows, key=lambda row: float(str(row["margin"])))

    def _sheet_path(self, pair: tuple[str, str], ending: str = "") -> Path:
        path = self.result.folder / "sheets" / f"{file_name(pair[0])}-{file_name(pair[1])}{ending}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write_sheets(self, count: int) -> list[str]:
        """Draw the worst violations of each rule and model; return the files, below the folder."""
        written = []
        for pair in self._progress(list(self.result.outcomes) if count else [], "Drawing violations"):
            rows = [row for row in self._worst(pair, count) if row["images"]]
            if not rows:
                continue
            plan, tally = self.plans[pair[0]], self.tallies[pair]
            title = (
                f"{pair[0]} · {pair[1]} · {tally.violations} of {tally.judged} violate it, the worst first"
            )
            path = self._sheet_path(pair)
            images = self.result.folder / "images"
            write_image(path, violation_sheet(plan, rows, images, title=title, note=plan.rule.text))
            written.append(str(path.relative_to(self.result.folder)))
        return written

    def shrink(self, count: int) -> list[dict[str, Any]]:
        """Shrink the worst violations of each rule and model to the least change that still violates.

        Returns:
            What is left of the changes; sheets of them lie in the folder.
        """
        shrunk: list[dict[str, Any]] = []
        trials = {one.requirement.id: one for one in self.result.plan.trials}
        for pair in self._progress(list(self.result.outcomes) if count else [], "Shrinking violations"):
            rule, model = pair
            # The least change is looked for in single frames.
            rows = self._worst(pair, count) if self.plans[rule].timing is None else []
            violations = [Violation(str(row["param.frame"]), int(str(row["param.seed"]))) for row in rows]
            if not violations:
                continue
            trial, plan = trials[rule], self.result.plan
            frames, system = plan.data[trial.data].frames, plan.models[model].system
            ordered = shrunk_violations(
                self.plans[rule], trial.requirement, frames, system, violations, gate=plan.gate
            )
            if ordered:
                title = f"{rule} · {model} · the least change that still violates it"
                sheet = shrunk_sheet(self.plans[rule], ordered, title=title)
                write_image(self._sheet_path(pair, "-shrunk"), sheet)
            shrunk += [{"rule": rule, "model": model, **_shrunk_document(one)} for one in ordered]
        return shrunk


def _formula(plan: RulePlan, relation: str) -> str:
    return relation if plan.timing is None else plan.timing.formula(relation)


def shrunk_violations(
    plan: RulePlan,
    requirement: Requirement,
    data: Dataset,
    system: SystemUnderTest,
    violations: Sequence[Violation],
    *,
    gate: str | Gate | None = STREET,
) -> list[Shrunk]:
    """Return the least change with which each frame still violates a rule.

    One that does not violate it any more is left out: the model answers differently from time to time.

    Raises:
        InputError: The rule has a time.
    """
    search = Shrinking(plan, violations)
    shrink(search, requirement, data, system, gate=gate)
    return [search.smallest[one.frame_id] for one in violations if one.frame_id in search.smallest]


def shrink(
    search: Shrinking,
    requirement: Requirement,
    data: Dataset,
    system: SystemUnderTest,
    *,
    gate: str | Gate | None = STREET,
) -> None:
    """Carry out a search for the least change, which then knows what it found and all that it tried.

    Raises:
        InputError: The rule has a time.
    """
    if search.plan.timing is not None:
        raise InputError("the least change is looked for in single frames, and this rule is tried on clips")
    run(search, requirement, data, system, gate=gate)


def shrunk_table(shrunk: Sequence[Mapping[str, Any]]) -> ResultTable:
    """Return what is left of shrunk changes, for people."""
    rows = tuple(
        (one["rule"], one["model"], one["frame"], f"{one['amount']:.0%}", "; ".join(one["changes"]))
        for one in shrunk
    )
    columns = ("rule", "model", "frame", "amount", "what is left of the change")
    return ResultTable("The least change that still violates", columns, rows)


def _shrunk_document(one: Shrunk) -> dict[str, Any]:
    return {
        "frame": one.violation.frame_id,
        "seed": one.violation.seed,
        "amount": one.amount,
        "changes": list(one.changes),
        "predictions": {output: list(values) for output, values in one.predictions.items()},
        "margin": one.margin,
    }


def violation_sheet(
    plan: RulePlan, rows: Sequence[Mapping[str, Scalar]], images: Path, *, title: str, note: str = ""
) -> Image:
    """Return a row for each of some violations: the original, its follow-ups, and where the last one differs.

    Args:
        plan: How the rule is tried.
        rows: Stored rows of the violations, with images.
        images: The folder with the images.
        title: A heading.
        note: A quieter line at the right of the heading.
    """
    if plan.timing is not None:
        return film_sheet(plan, rows, images, title=title, note=note)
    tiles: list[Tile] = []
    for row in rows:
        pictures = [read_image(image_path(images, one)) for one in str(row["images"]).split()]
        frames = [Frame(str(row["case"]), picture) for picture in pictures]
        stored = [row.get(f"{MEASURE}answer.{number}") for number in range(len(frames))]
        said = [
            None if text is None else read_answer(str(text), frame.size)
            for text, frame in zip(stored, frames, strict=True)
        ]
        tiles += _tiles(plan, frames, _answers(plan, row), _brief(plan), said)
        scale = _TILE_WIDTH / frames[0].width
        change = row["visual_change"]
        seen = "" if change is None else f"visual change {float(change):.2f}"
        told = estimated_by(row, MEASURE) or "difference"
        tiles.append(Tile(draw_difference(frames[0], frames[-1], scale), told, seen))
    return contact_sheet(tiles, len(plan.scenarios) + 2, title=title, note=note)


def film_sheet(
    plan: RulePlan, rows: Sequence[Mapping[str, Scalar]], images: Path, *, title: str, note: str = ""
) -> Image:
    """Return two strips of film for each of some clips: as it was, and as the rule's last block has it."""
    assert plan.timing is not None
    tiles: list[Tile] = []
    last = len(plan.scenarios)
    for row in rows:
        stored = clip_images(row)
        course = read_course(str(row[f"measure.course.{last}"]))
        known = [place for place, one in enumerate(course) if one.after is not None and one.time >= 0]
        # What is seen again later does not count.
        known = [place for number, place in enumerate(known) if place == known[0] + number]
        shown = [known[place * (len(known) - 1) // (_STRIP - 1)] for place in range(_STRIP)]
        decides = int(str(row["measure.decides"]))
        shown[min(range(_STRIP), key=lambda place: abs(shown[place] - decides))] = decides
        shown = list(dict.fromkeys(shown))
        name = "; ".join(filter(None, (str(row["case"]), estimated_by(row, MEASURE))))
        for number in (0, last):
            for place in shown:
                moment = course[place]
                assert moment.before is not None
                assert moment.after is not None
                frame = Frame(str(row["case"]), read_image(image_path(images, stored[place][number])))
                drawn = draw_frame(frame, "none", _STRIP_WIDTH / frame.width)
                short = "violates" if place == decides else plan.timing.falling_short(moment.time)
                said = reaction_in_brief(plan.expectations[-1], moment.before, moment.after, short)
                heading = name if place == shown[0] else ""
                tiles.append(Tile(drawn, said) if number else Tile(drawn, f"{moment.time:.1f} s", heading))
            tiles += [Tile(np.full_like(drawn, BACKGROUND))] * (_STRIP - len(shown))
    return contact_sheet(tiles, _STRIP, title=title, note=note)


def shrunk_sheet(plan: RulePlan, found: Sequence[Shrunk], *, title: str, note: str = "") -> Image:
    """Return a row for each shrunk violation: the original, and the least change that still violates."""
    tiles: list[Tile] = []
    for one in found:
        answers = [
            {output: values[place] for output, values in one.predictions.items()}
            for place in range(len(one.frames))
        ]
        tiles += _tiles(plan, one.frames, answers, one.changes, one.answers)
        scale = _TILE_WIDTH / one.frames[0].width
        about = f"{one.amount:.0%} of the change violates"
        if estimated := estimated_by(one.frames[-1].metadata):
            about += f"; {estimated}"
        tiles.append(Tile(draw_difference(one.frames[0], one.frames[-1], scale), about))
    return contact_sheet(tiles, len(plan.scenarios) + 2, title=title, note=note)


def _brief(plan: RulePlan) -> Sequence[str]:
    """Return what each follow-up changes, in so few words that they fit below it."""
    blocks = plan.rule.blocks
    if len(blocks) != len(plan.words):
        return plan.words
    return [", ".join(change_in_brief(change) for change in block.changes) for block in blocks]


def _answers(plan: RulePlan, row: Mapping[str, Scalar]) -> list[dict[str, float]]:
    """Return what the model answered to each of the frames, as far as the rule speaks of it."""
    answers: list[dict[str, float]] = [{} for _ in range(len(plan.scenarios) + 1)]
    for number, expectation in enumerate(plan.expectations, 1):
        for place, name in ((number - 1, "before"), (number, "after")):
            value = row[f"measure.{name}.{number}"]
            assert isinstance(value, int | float)
            answers[place][expectation.output] = float(value)
    return answers


def _tiles(
    plan: RulePlan,
    frames: Sequence[Frame],
    answers: Sequence[Mapping[str, float]],
    changes: Sequence[str],
    said: Sequence[Prediction | None],
) -> list[Tile]:
    tiles = []
    for place, (frame, answer, seen) in enumerate(zip(frames, answers, said, strict=True)):
        scale = min(4.0, _TILE_WIDTH / frame.width)
        if isinstance(seen, Boxes | LabelMap | PlannedPath):
            drawn = draw_answer(frame, seen, scale)
        else:
            shown = Signals(speed=answer.get("speed"), steering=answer.get("steering"))
            drawn = draw_frame(frame.replace(signals=shown), "signals", scale)
        if place == 0:
            tiles.append(Tile(drawn, frame.id))
        else:
            expectation = plan.expectations[place - 1]
            before, after = (answers[one][expectation.output] for one in (place - 1, place))
            told = changes[place - 1] + _distance(frame)
            tiles.append(Tile(drawn, reaction_in_brief(expectation, before, after), told))
    return tiles


def _distance(frame: Frame) -> str:
    """Return how far away what was added is seen; nothing where nothing was."""
    notes = added_things(frame)
    return f", seen at {notes[-1]['distance']:.0f} m" if notes else ""
