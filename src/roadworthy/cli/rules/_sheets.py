"""Pictures of what violates a rule: the original, what was made of it, and what the model answers to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy._files import file_name
from roadworthy.cli._console import make_folder, tracked

if TYPE_CHECKING:
    from roadworthy.cases import Scalar
    from roadworthy.cli.rules._running import Campaign
    from roadworthy.frames import Frame
    from roadworthy.report import Image, Tile
    from roadworthy.rules.generation import RulePlan
    from roadworthy.rules.shrinking import Shrunk
    from roadworthy.runs import SeveralResults


_TILE_WIDTH = 480


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
    from roadworthy.frames import Frame
    from roadworthy.images import read_image
    from roadworthy.report import Tile, contact_sheet, draw_difference
    from roadworthy.runs import image_path

    tiles: list[Tile] = []
    for row in rows:
        pictures = [read_image(image_path(images, one)) for one in str(row["images"]).split()]
        frames = [Frame(str(row["case"]), picture) for picture in pictures]
        answers = _answers(plan, row)
        tiles += _tiles(plan, frames, answers, _brief(plan))
        scale = _TILE_WIDTH / frames[0].width
        tiles.append(Tile(draw_difference(frames[0], frames[-1], scale), "difference", _seen(row)))
    return contact_sheet(tiles, len(plan.scenarios) + 2, title=title, note=note)


def shrunk_sheet(plan: RulePlan, found: Sequence[Shrunk], *, title: str, note: str = "") -> Image:
    """Return a row for each shrunk violation: the original, and the least change that still violates."""
    from roadworthy.report import Tile, contact_sheet, draw_difference

    tiles: list[Tile] = []
    for one in found:
        answers = [
            {output: values[place] for output, values in one.predictions.items()}
            for place in range(len(one.frames))
        ]
        tiles += _tiles(plan, one.frames, answers, one.changes)
        scale = _TILE_WIDTH / one.frames[0].width
        about = f"{one.amount:.0%} of the change violates"
        tiles.append(Tile(draw_difference(one.frames[0], one.frames[-1], scale), about))
    return contact_sheet(tiles, len(plan.scenarios) + 2, title=title, note=note)


def _brief(plan: RulePlan) -> Sequence[str]:
    """Return what each follow-up changes, in so few words that they fit below it."""
    from roadworthy.rules.reading import change_in_brief

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
    plan: RulePlan, frames: Sequence[Frame], answers: Sequence[Mapping[str, float]], changes: Sequence[str]
) -> list[Tile]:
    from roadworthy.frames import Signals
    from roadworthy.report import Tile, draw_frame

    tiles = []
    for place, (frame, answer) in enumerate(zip(frames, answers, strict=True)):
        shown = frame.replace(signals=Signals(speed=answer.get("speed"), steering=answer.get("steering")))
        drawn = draw_frame(shown, "signals", min(4.0, _TILE_WIDTH / frame.width))
        if place == 0:
            tiles.append(Tile(drawn, frame.id))
        else:
            tiles.append(Tile(drawn, _reaction(plan, answers, place), changes[place - 1]))
    return tiles


def _reaction(plan: RulePlan, answers: Sequence[Mapping[str, float]], place: int) -> str:
    """Return how the answer to one of the frames differs from the one before."""
    from roadworthy.rules.reading import reaction_in_brief

    expectation = plan.expectations[place - 1]
    before, after = (answers[one][expectation.output] for one in (place - 1, place))
    return reaction_in_brief(expectation, before, after)


def _seen(row: Mapping[str, Scalar]) -> str:
    change = row["visual_change"]
    return "" if change is None else f"visual change {float(change):.2f}"


def write_sheets(campaign: Campaign, found: SeveralResults, count: int) -> list[str]:
    """Draw the worst violations of each rule and model; return where they are."""
    from roadworthy.images import write_image

    written: list[str] = []
    for (rule, model), result in tracked(list(found.results.items()) if count else [], "Drawing violations"):
        assert result.folder is not None
        rows = campaign.worst(result.folder, count)
        if not rows:
            continue
        tally = campaign.tallies[rule, model]
        path = make_folder(campaign.out / "sheets") / f"{file_name(rule)}-{file_name(model)}.png"
        sheet = violation_sheet(
            campaign.plans[rule],
            rows,
            found.images,
            title=f"{rule} · {model} · {tally.violations} of {tally.judged} violate it, the worst first",
            note=campaign.plans[rule].rule.text,
        )
        write_image(path, sheet)
        written.append(str(path.relative_to(campaign.out)))
    return written
