"""``roadworthy driving rate``: let people rate drives, and hold metrics against what they think."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy._files import check_free
from roadworthy.cli._commands import Command, Group
from roadworthy.cli._console import (
    console,
    examples,
    make_folder,
    plain_table,
    print_json,
    print_note,
    print_rows,
    progress,
)
from roadworthy.cli._datasets import AsJson
from roadworthy.cli._out import Out
from roadworthy.cli.driving._group import SettingsFile, app, settings_of
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.driving.drives import Drive
    from roadworthy.driving.metrics import MetricSettings
    from roadworthy.driving.rating import Clip, Lengths, Study
    from roadworthy.driving.rating.results import StudyResult
    from roadworthy.report.films import Film


_HELP = "Let people rate clips of drives on a 5-point scale, and hold metrics against what they think."

ratings = typer.Typer(cls=Group, no_args_is_help=True, help=_HELP)
app.add_typer(ratings, name="rate")


@ratings.callback()
def _ratings() -> None:
    """Let people rate clips of drives on a 5-point scale, and hold metrics against what they think."""


def _drives(help: str) -> Any:
    return typer.Option(
        metavar="DRIVE", help=f"{help}; a drive's folder, or one that holds several. Repeatable."
    )


@ratings.command(
    cls=Command,
    epilog=examples(
        "roadworthy driving drive --model dave2 -s world:town --frames --out drives/good/town",
        "roadworthy driving drive --model mutants/GF-0.03 -s world:town --frames --out drives/poor/town",
        "roadworthy driving rate plan --good drives/good --poor drives/poor --out study",
        "roadworthy driving rate plan --good drives/good --poor drives/poor --attention drives/crashes",
        "roadworthy driving rate plan --good drives --by 'SD(LP)' --clip-format gif --mixed",
    ),
)
def plan(
    good: Annotated[list[Path] | None, _drives("Drives of the model that drives well")] = None,
    poor: Annotated[list[Path] | None, _drives("Drives of models that drive poorly, such as mutants")] = None,
    attention: Annotated[
        list[Path] | None, _drives("Drives that crash, to see who looks; those of --poor if left out")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="Of all clips, whoever drives, the best third by this metric is good, the worst third poor.",
        ),
    ] = None,
    clips: Annotated[
        int, typer.Option(metavar="N", min=1, help="Good clips in a questionnaire, and as many poor ones.")
    ] = 5,
    checks: Annotated[int, typer.Option(metavar="N", min=0, help="Crashes in a questionnaire.")] = 1,
    raters: Annotated[int, typer.Option(metavar="N", help="People for each questionnaire.")] = 5,
    questionnaires: Annotated[
        int | None, typer.Option(metavar="N", help="How many; as many as the clips allow if left out.")
    ] = None,
    mixed: Annotated[
        bool, typer.Option("--mixed", help="A questionnaire may show several tracks; one if left out.")
    ] = False,
    shortest: Annotated[float, typer.Option(metavar="SECONDS", help="Of a clip.")] = 10.0,
    longest: Annotated[float, typer.Option(metavar="SECONDS", help="Of a clip.")] = 15.0,
    clip_format: Annotated[
        str, typer.Option(metavar="NAME", help="webm, which browsers show; mp4; or gif.")
    ] = "webm",
    width: Annotated[int, typer.Option(metavar="PIXELS", min=64, help="Of the clips.")] = 480,
    seed: Annotated[int, typer.Option(metavar="N", help="Chooses clips and their order.")] = 0,
    settings: SettingsFile = None,
    out: Out = Path("rating-study"),
    as_json: AsJson = False,
) -> None:
    """Plan a rating study: questionnaires of good and poor clips and a crash that shows who looks.

    Drives are cut into clips of one to three sectors. Their films show what the camera saw and nothing else:
    from the frames that `driving drive --frames` kept, or by driving again what was recorded in the built-in
    world. The folder gets plan.json, instructions.md, clips/, answers.csv to be filled in, README.md, and
    key.json, which no rater may see.
    """
    from roadworthy.driving.drives.readers import drives_in
    from roadworthy.driving.rating import Design, Lengths, plan_study
    from roadworthy.driving.rating.files import write_study
    from roadworthy.report.films import FILM_ENDINGS, film_of

    if f".{clip_format}" not in FILM_ENDINGS:
        raise InputError(f"--clip-format is webm, mp4 or gif, got {clip_format!r}")
    if not good or not (poor or by):
        raise InputError(
            "give drives of a good driver with --good and of poor ones with --poor, or --by a metric that "
            "tells good from poor"
        )
    _check_free(out)
    design = Design(clips, clips, checks, raters, questionnaires, mixed)
    drives = {kind: list(drives_in(places or [])) for kind, places in (("good", good), ("poor", poor or []))}
    crashing = list(drives_in(attention)) if attention else [*drives["poor"], *drives["good"]]
    lengths = Lengths(shortest, longest)
    found = _clips(drives, crashing, by, lengths, settings_of(settings))
    rule = f"{by}: the best and the worst third" if by else "who drove"
    study = plan_study(found, design, rule=rule, seed=seed)
    recorded = {str(place): (place, drive) for place, drive in (*drives["good"], *drives["poor"], *crashing)}

    @lru_cache(maxsize=1)
    def seen(source: str) -> Film:
        place, drive = recorded[source]
        return film_of(drive, place if place.is_dir() else place.parent)

    with progress("Filming clips", len(study.clips)) as shown:

        def film(clip: Clip, path: Path) -> None:
            seen(clip.source).write_plain(path, clip.first, clip.last, width=width)
            shown(1)

        write_study(study, out, film, ending=f".{clip_format}")
    _tell(study, found, out, as_json)


def _check_free(folder: Path) -> None:
    """Refuse a folder in use before any film is made."""
    check_free(folder)
    make_folder(folder.parent)


def _clips(
    drives: dict[str, list[tuple[Path, Drive]]],
    crashing: Sequence[tuple[Path, Drive]],
    by: str | None,
    lengths: Lengths,
    settings: MetricSettings,
) -> list[Clip]:
    """Return the clips of all drives."""
    from roadworthy.driving.rating import attention_clip, by_metric, rated_clips

    found: list[Clip] = []
    for kind in ("good", "poor"):
        for place, drive in drives[kind]:
            found += rated_clips(drive, kind, source=str(place), lengths=lengths, settings=settings)
    if by is not None:
        found = by_metric(found, by)
    checks = [
        attention_clip(drive, source=str(place), lengths=lengths, settings=settings)
        for place, drive in crashing
    ]
    return [*found, *(one for one in checks if one is not None)]


def _tell(study: Study, found: Sequence[Clip], folder: Path, as_json: bool) -> None:
    counts = {kind: sum(one.kind == kind for one in found) for kind in ("good", "poor", "attention")}
    if as_json:
        print_json(
            {
                "folder": str(folder),
                "clips_found": counts,
                "clips_shown": len(study.clips),
                "rule": study.rule,
                "questionnaires": [
                    {"id": one.id, "track": one.track or None, "clips": list(one.clips)}
                    for one in study.questionnaires
                ],
                "raters": study.design.raters,
                "reference": study.reference,
            }
        )
        return
    table = plain_table("questionnaire", "track", "clips", "raters")
    for one in study.questionnaires:
        table.add_row(one.id, one.track or "mixed", str(len(one.clips)), str(len(one.orders)))
    console().print(table)
    print_rows(
        {
            "clips found": ", ".join(f"{count} {kind}" for kind, count in counts.items()),
            "written": f"{folder}: plan.json, instructions.md, clips, answers.csv, README.md, key.json",
            "next": f"fill in {folder / 'answers.csv'}, then roadworthy driving rate results {folder}",
        }
    )


@ratings.command(
    cls=Command,
    epilog=examples(
        "roadworthy driving rate results study",
        "roadworthy driving rate results study --answers monday.csv --answers tuesday.csv --out results",
        "roadworthy driving rate results study --least-kappa 0 --json",
    ),
)
def results(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The folder that `rate plan` wrote.")],
    answers: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A CSV file of answers; repeatable. The study's if left out."),
    ] = None,
    least_kappa: Annotated[
        float, typer.Option(metavar="KAPPA", help="Of a questionnaire whose clips count; fair is above 0.2.")
    ] = 0.2,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where results are written; STUDY/results if left out."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how far raters agree, what they think of each clip, and which metrics go with it.

    Raters who do not give the crash the lowest score are left out. Fleiss' kappa says how far the others
    agree, and only clips of questionnaires with a fair agreement are correlated with metrics, in the shape of
    the paper's Table II. Writes agreement.csv, clips.csv, correlations.csv, results.json and results.md.
    """
    from roadworthy.driving.rating.answers import read_ratings
    from roadworthy.driving.rating.files import ANSWERS, read_study
    from roadworthy.driving.rating.results import evaluate_study
    from roadworthy.driving.rating.tables import as_document, write_results

    planned = read_study(study)
    given = read_ratings(planned, answers or [study / ANSWERS])
    if not any(given.scores.values()) and not any((*given.inattentive.values(), *given.incomplete.values())):
        raise InputError(
            f"{answers[0] if answers else study / ANSWERS}: nobody has answered yet: fill in scores"
        )
    found = evaluate_study(planned, given, least_kappa=least_kappa)
    folder = make_folder(study / "results" if out is None else out)
    written = write_results(found, folder)
    if as_json:
        print_json({**as_document(found), "folder": str(folder)})
        return
    _print(found)
    print_rows({"written": f"{folder}: {', '.join(path.name for path in written)}"})


def _print(found: StudyResult) -> None:
    table = plain_table(
        "questionnaire", "track", "raters", "left out", "kappa", "p", "agreement", "clips used"
    )
    for one in found.questionnaires:
        table.add_row(
            one.questionnaire.id,
            one.questionnaire.track or "mixed",
            str(one.raters),
            str(one.inattentive + one.incomplete),
            *(
                ("", "", "")
                if one.agreement is None
                else (f"{one.agreement.kappa:.2f}", f"{one.agreement.p_value:.3f}", one.agreement.words)
            ),
            f"no: {one.left_out}" if one.left_out else "yes",
        )
    console().print(table)
    for kind in ("good", "poor"):
        scores = [one.score for one in found.clips if one.clip.kind == kind]
        if scores:
            console().print(
                f"{len(scores)} {kind} clips have a mean score of {sum(scores) / len(scores):.2f}."
            )
    if found.summary is not None:
        console().print(str(found.summary), highlight=False, soft_wrap=True)
    for note in found.notes:
        print_note(f"{note}.")
