"""``roadworthy reliability study subsets``: do thresholds hold for other images and other people?"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, plain_table, print_json
from roadworthy.cli.options import AsJson
from roadworthy.cli.reliability._human import (
    SYMBOLS,
    Answers,
    AnswersFrom,
    Columns,
    Only,
    OnOriginals,
    Plot,
    RuleName,
    Width,
    each_of,
    given_originals,
    opened_answers,
    print_left_out,
)
from roadworthy.cli.reliability._options import Seed
from roadworthy.cli.reliability.study import studies
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.papers.reliability import SubsetStudy
    from roadworthy.reliability.human import Bins, HumanData, UnchangedAccuracy


@studies.command(
    cls=Command,
    epilog=examples(
        "roadworthy reliability study subsets human/imagenet",
        "roadworthy reliability study subsets raw.csv --draw raters --pairs 50 --plot subsets.png",
    ),
)
def subsets(
    path: Answers,
    draw: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="images, raters or answers; images where they are known."),
    ] = None,
    share: Annotated[float, typer.Option(metavar="SHARE", help="How much of the whole a subset is.")] = 0.6,
    pairs: Annotated[int, typer.Option(metavar="N", help="How many pairs of subsets.")] = 10,
    rule: RuleName = "imagenet",
    originals: OnOriginals = None,
    transform: Only = None,
    column: Columns = None,
    answers: AnswersFrom = None,
    width: Width = None,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Find thresholds from parts of the answers, and compare the curves (RQ1).

    Curves are alike where their 83% intervals overlap, at every visual change: those of the two subsets of a
    pair and that of all answers. Thresholds may be far apart even so.
    """
    from roadworthy.reliability.human import rule_named

    rule_named(rule)
    data = opened_answers(path, column, answers, transform, width)
    known = given_originals(originals)
    settings: dict[str, Any] = {"rule": rule, "share": share, "pairs": pairs, "seed": seed}
    whole = data
    found, data = each_of(data, "Drawing subsets", lambda one: _study(whole, one, draw, known, settings))
    if plot is not None:
        from roadworthy.papers.reliability_figures import draw_subsets
        from roadworthy.report.plots import save

        save(draw_subsets(found), plot)
    if as_json:
        print_json(
            {
                **settings,
                "studies": [_document(one) for one in found],
                "not_counted": list(data.without),
            }
        )
        return
    table = plain_table("transformation", "", "all", f"{share:.0%} subsets", "median", "curves alike")
    for one in found:
        values = one.values
        table.add_row(
            one.whole.bins.transformation,
            SYMBOLS[one.whole.bins.requirement],
            f"{one.whole.value:.2f}",
            f"{values[0]:.2f}–{values[-1]:.2f}",
            f"{median(values):.2f}",
            f"{one.alike} of {len(one.pairs)}",
        )
    console().print(table)
    print_left_out(data)
    if plot is not None:
        console().print(f"Wrote {plot}", markup=False)


def _study(
    data: HumanData,
    bins: Bins,
    draw: str | None,
    originals: UnchangedAccuracy | None,
    settings: dict[str, Any],
) -> SubsetStudy:
    from roadworthy.papers.reliability import Drawn, study_answers, study_bins

    what = draw or ("images" if data.answers else "answers")
    if what == "answers":
        return study_bins(bins, originals=originals, **settings)
    if what not in get_args(Drawn):
        raise InputError(f"--draw must be one of {', '.join(get_args(Drawn))}, got {what!r}")
    if not data.answers:
        raise InputError(f"--draw {what} needs single answers; of binned ones only answers can be drawn")
    drawn: Drawn = "images" if what == "images" else "raters"
    kept, width = bins.requirement, bins.width
    return study_answers(data.answers, bins.transformation, kept, drawn=drawn, width=width, **settings)


def _document(one: SubsetStudy) -> dict[str, object]:
    return {
        "transformation": one.whole.bins.transformation,
        "requirement": one.whole.bins.requirement,
        "drawn": one.drawn,
        "threshold": one.whole.value,
        "pairs": [[first.value, second.value] for first, second in one.pairs],
        "alike": one.alike,
    }
