"""``roadworthy rules study`` and ``rules ratings``: what people think of the images and the answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._answer import RESULT_FILE, print_tables
from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json
from roadworthy.cli.options import AsJson
from roadworthy.cli.rules._group import Out, Seed, app
from roadworthy.errors import InputError, suggest

if TYPE_CHECKING:
    from roadworthy.rules.study import Scores, StudyPair, StudyResult


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy rules study rules-out --out study",
        "roadworthy rules study rules-out --model epoch --balanced --pairs 120 --groups 6",
    ),
)
def study(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that `rules run` wrote.")],
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Whose answers are rated; the first if left out.")
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="How many pairs; if left out, so many that shares are known within 5% at 95% confidence.",
        ),
    ] = None,
    groups: Annotated[int, typer.Option(metavar="N", help="Groups; a rater rates one at a time.")] = 15,
    raters: Annotated[int, typer.Option(metavar="N", help="People who rate each group.")] = 8,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="As many violations as other pairs, of each rule.")
    ] = False,
    seed: Seed = 0,
    out: Out = Path("study"),
    as_json: AsJson = False,
) -> None:
    """Plan a blind study: people rate, from 1 to 7, how real images look and how reasonable answers are.

    The folder gets raters/, with images, a plan and an empty table of ratings, and key.json, which says what
    each pair is. Give raters the first only: no name in it says which pairs violate a rule.
    """
    from roadworthy.rules.study import plan_study
    from roadworthy.rules.study_files import write_study
    from roadworthy.runs import image_path

    document = _result(run)
    chosen = _model(document, model)
    found = list(_pairs(run, document, chosen))
    plan = plan_study(found, count=pairs, groups=groups, raters=raters, balanced=balanced, seed=seed)
    write_study(plan, out, lambda digest: image_path(run / "images", digest).read_bytes())
    violations = sum(item.pair.violated for item in plan.items)
    about = {
        "folder": str(out),
        "model": chosen,
        "pairs": len(plan.items),
        "violations": violations,
        "rules": sorted({item.pair.rule for item in plan.items}),
        "groups": groups,
        "raters_per_group": raters,
    }
    if as_json:
        print_json(about)
        return
    console().print(
        f"Drew {len(plan.items)} of {len(found)} pairs with images, {violations} of them violations, in "
        f"{groups} groups for {raters} raters each\nWrote {out}: give raters {out / 'raters'}, and keep "
        f"{out / 'key.json'}",
        soft_wrap=True,
    )


@app.command(cls=Command, epilog=examples("roadworthy rules ratings study study/raters/ratings.csv"))
def ratings(
    folder: Annotated[Path, typer.Argument(metavar="STUDY", help="The folder that `rules study` wrote.")],
    files: Annotated[
        list[Path], typer.Argument(metavar="RATINGS", help="Tables that raters filled in, one or more.")
    ],
    as_json: AsJson = False,
) -> None:
    """Sum up the ratings of a study, and how far raters agree (Krippendorff's alpha, ordinal)."""
    from roadworthy.rules.study import evaluate_study
    from roadworthy.rules.study_files import read_ratings, read_study

    given = [one for file in files for one in read_ratings(file)]
    if not given:
        raise InputError(f"there are no ratings in {', '.join(map(str, files))}: fill in rater and scores")
    result = evaluate_study(read_study(folder), given)
    if as_json:
        print_json(_document(result))
        return
    _print_result(result)


@dataclass(frozen=True)
class _Rule:
    outputs: list[str]


@dataclass(frozen=True)
class _Tried:
    rule: str
    model: str
    folder: str


@dataclass(frozen=True)
class _Result:
    """What `rules run` tells of its run, as far as a study needs it."""

    models: list[str]
    rules: dict[str, _Rule]
    results: list[_Tried]


def _result(run: Path) -> _Result:
    from roadworthy._files import read_record

    if not (run / RESULT_FILE).is_file():
        raise InputError(f"{run} is not the folder of a run of rules: expected {RESULT_FILE} in it")
    found = read_record(_Result, run / RESULT_FILE)
    if not found.models:
        raise InputError(f"{run / RESULT_FILE} names no model: run the rules again")
    if unknown := {one.rule for one in found.results} - found.rules.keys():
        raise InputError(f"{run / RESULT_FILE} has results of rules that it does not name: {min(unknown)}")
    return found


def _model(document: _Result, asked: str | None) -> str:
    models = document.models
    if asked is None:
        return models[0]
    if asked not in models:
        raise InputError(f"the run has no model {asked!r}; {suggest(asked, models)}")
    return asked


def _pairs(run: Path, document: _Result, model: str) -> Iterator[StudyPair]:
    """Yield what was judged of one model and is stored with images, of rules with one follow-up."""
    from roadworthy.rules.study import Answer, StudyPair
    from roadworthy.runs import read_rows

    for one in document.results:
        outputs = document.rules[one.rule].outputs
        if one.model != model or len(outputs) != 1:
            continue
        for row in read_rows(run / one.folder):
            images = str(row["images"]).split()
            if row["status"] in ("passed", "violated") and len(images) == 2:
                before, after = (float(str(row[f"measure.{name}.1"])) for name in ("before", "after"))
                yield StudyPair(
                    one.rule,
                    str(row["case"]),
                    row["status"] == "violated",
                    (images[0], images[1]),
                    (Answer(outputs[0], before, after),),
                )


def _document(result: StudyResult) -> dict[str, object]:
    def scores(one: Scores) -> dict[str, object]:
        return {"ratings": one.count, "mean": one.mean, "quartiles": list(one.quartiles)}

    return {
        "raters": result.raters,
        "missing": result.missing,
        "authenticity": {rule: scores(one) for rule, one in result.authenticity.items()},
        "reasonability": [
            {"rule": rule, "violated": violated, **scores(one)}
            for (rule, violated), one in result.reasonability.items()
        ],
        "agreement": {
            question: {
                "mean": result.mean_agreement(question),
                "groups": {str(number): alpha for number, alpha in groups.items()},
            }
            for question, groups in result.agreement.items()
        },
    }


def _print_result(result: StudyResult) -> None:
    from roadworthy.rules.tables import ResultTable

    def cells(one: Scores) -> tuple[str, ...]:
        return str(one.count), f"{one.mean:.2f}", *(f"{part:g}" for part in one.quartiles)

    def alpha(value: float | None) -> str:
        return "not defined" if value is None else f"{value:.2f}"

    columns = ("ratings", "mean", "1st quartile", "median", "3rd quartile")
    agreement = tuple(
        (question, alpha(result.mean_agreement(question)), alpha(max(known, default=None)))
        for question, groups in result.agreement.items()
        for known in [[one for one in groups.values() if one is not None]]
    )
    print_tables(
        [
            ResultTable(
                "How real the changed images look",
                ("rule", *columns),
                tuple((rule, *cells(one)) for rule, one in result.authenticity.items()),
                "From 1, pretty unreal, to 7, pretty real.",
            ),
            ResultTable(
                "How reasonable the answers are",
                ("rule", "", *columns),
                tuple(
                    (rule, "violates" if violated else "holds", *cells(one))
                    for (rule, violated), one in result.reasonability.items()
                ),
                "From 1, pretty unreasonable, to 7, pretty reasonable. Who agrees with a rule rates what "
                "violates it low.",
            ),
            ResultTable(
                "Agreement of raters",
                ("question", "mean alpha of the groups", "highest"),
                agreement,
                f"{result.raters} raters; {result.missing} answers that were asked for are missing.",
            ),
        ]
    )
