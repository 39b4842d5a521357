"""The sheets and the table on which false alarms are checked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy._files import file_name, write_text
from roadworthy.cli._console import make_folder
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cli.coverage.study._guided import GuidedImages
    from roadworthy.cli.coverage.study._inputs import SeedImages
    from roadworthy.coverage.parameter_sets import ParameterSet
    from roadworthy.papers.deeptest.deviation import DeviationStudy, Finding
    from roadworthy.papers.deeptest.figures import CheckPair


_TABLE = "checks.csv"


def refuse_to_overwrite(out: Path) -> None:
    """Refuse to write over judgements that somebody has made.

    Raises:
        InputError: The folder has a table of checks with some.
    """
    from roadworthy.papers.deeptest.checking import read_checks

    path = out / _TABLE
    if path.is_file() and any(one.judgement for one in read_checks(path)):
        raise InputError(f"{path} has judgements in it, which would be lost: choose another folder by --out")


def check_pairs(
    study: DeviationStudy,
    findings: Sequence[Finding],
    seeds: SeedImages,
    sets: Sequence[ParameterSet],
    seed: int,
    guided: GuidedImages | None,
) -> list[CheckPair]:
    """Return the images of findings, made again: the same seed makes the same ones."""
    from roadworthy.frames import Signals
    from roadworthy.papers.deeptest.activity import changed_image
    from roadworthy.papers.deeptest.figures import CheckPair

    wanted = {one.worst.frame for one in findings}
    # A data set is not asked for frames by id, and those of a sample are few.
    frames = {frame.id: frame for frame in seeds if frame.id in wanted}
    choices = {(one.name, choice.parameter): choice for one in sets for choice in one}
    units = seeds.units
    pairs = []
    for one in findings:
        worst, before = one.worst, frames[one.worst.frame]
        choice = choices.get((worst.transformation, worst.parameter))
        if choice is not None:
            after = changed_image(before, worst.transformation, choice, seed)
        else:
            assert guided is not None
            after = guided.image_of(study, one)
        answered = (units.decode_steering(value) for value in (one.original, one.answer))
        first, second = (Signals(steering=value) for value in answered)
        pairs.append(CheckPair(one, before, after, (first, second)))
    return pairs


def write_checks(
    out: Path, study: DeviationStudy, findings: Sequence[Finding], pairs: Sequence[CheckPair]
) -> list[str]:
    """Write a sheet for each model and the table that belongs to them; return the names of the files."""
    from roadworthy.images import write_image
    from roadworthy.papers.deeptest.checking import checks_csv
    from roadworthy.papers.deeptest.figures import check_sheet

    if not pairs:
        return []
    make_folder(out)
    note = f"write your judgement into {_TABLE}: true fault, false alarm or unsure"
    written = [_TABLE]
    write_text(out / _TABLE, checks_csv(findings, study.answers[0].unit))
    for answers in study.answers:
        own = [one for one in pairs if one.finding.model == answers.model]
        total = sum(one.model == answers.model for one in study.findings)
        if own:
            written.append(f"checks-{file_name(answers.model)}.png")
            title = f"{answers.model}: {len(own)} of {total} findings"
            write_image(out / written[-1], check_sheet(own, title=title, note=note))
    return written
