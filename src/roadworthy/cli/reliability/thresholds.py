"""``roadworthy reliability thresholds``: how much visual change people tolerate, from their answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, plain_table, print_json
from roadworthy.cli.options import AsJson
from roadworthy.cli.reliability._group import app
from roadworthy.cli.reliability._human import (
    SYMBOLS,
    AnswersFrom,
    Columns,
    MaybeAnswers,
    Only,
    OnOriginals,
    Plot,
    RuleName,
    Width,
    each_of,
    given_originals,
    opened_answers,
    print_left_out,
    threshold_document,
)
from roadworthy.cli.reliability._options import Seed
from roadworthy.cli.reliability._published import show_published, write_study

if TYPE_CHECKING:
    from roadworthy.reliability.human import Threshold


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy reliability thresholds human/imagenet --plot thresholds.png",
        "roadworthy reliability thresholds frost.csv --originals 0.97 --rule careful",
        "roadworthy reliability thresholds raw.csv --column answer=human_label --column truth=label --json",
        "roadworthy reliability thresholds experiment --rule careful --save mine.yaml",
        "roadworthy reliability thresholds",
    ),
)
def thresholds(
    path: MaybeAnswers = None,
    rule: RuleName = "imagenet",
    originals: OnOriginals = None,
    transform: Only = None,
    column: Columns = None,
    answers: AnswersFrom = None,
    width: Width = None,
    repetitions: Annotated[
        int,
        typer.Option(metavar="N", help="How often the experiment is repeated in silico; 0: no intervals."),
    ] = 1000,
    confidence: Annotated[float, typer.Option(metavar="SHARE", help="Of spread and interval.")] = 0.9,
    seed: Seed = 0,
    plot: Plot = None,
    save_as: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write them as a YAML file that `check --study` takes."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the visual change up to which people do as well as without any.

    t_c is for answers that are right, t_p for answers as to the original. The spread is where the thresholds
    of repetitions of the same experiment lie; a wide one says that the threshold is a matter of luck. A drop
    must grow before it is significant, so it begins below the threshold: the last column says where. Without
    a PATH, the published thresholds are shown that come with the program, and where they are from.
    """
    if path is None:
        show_published(as_json=as_json)
        return
    from roadworthy.reliability.human import estimate_threshold, rule_named

    chosen = rule_named(rule)
    data = opened_answers(path, column, answers, transform, width)
    known = given_originals(originals)
    settings: dict[str, Any] = {
        "rule": chosen, "originals": known, "samples": repetitions, "confidence": confidence, "seed": seed,
    }  # fmt: skip
    found, data = each_of(data, "Finding thresholds", lambda one: estimate_threshold(one, **settings))
    if plot is not None:
        from roadworthy.papers.reliability_figures import draw_thresholds
        from roadworthy.report.plots import save

        save(draw_thresholds(found), plot)
    without = [] if save_as is None else write_study(found, save_as)
    if as_json:
        print_json(
            {
                "rule": {"name": chosen.name, "summary": chosen.summary},
                "seed": seed,
                "repetitions": repetitions,
                "thresholds": [threshold_document(one) for one in found],
                "left_out": data.collected.left_out if data.collected else {},
                "not_counted": list(data.without),
                "plot": None if plot is None else str(plot),
            }
        )
        return
    _print(found)
    shell = console()
    shell.print(f"\nRule {chosen.name}: {chosen.summary}.", markup=False)
    print_left_out(data)
    for name in without:
        shell.print(f"not in {save_as}: {name}, of which not both t_c and t_p are known", markup=False)
    for file in (plot, save_as):
        if file is not None:
            shell.print(f"Wrote {file}", markup=False)


def _print(found: list[Threshold]) -> None:
    published = any(one.bins.published is not None for one in found)
    table = plain_table(
        "transformation", "", "threshold", *(["published"] if published else []), "spread", "drop begins", ""
    )
    table.columns[0].no_wrap = True
    for one in found:
        cells = [one.bins.transformation, SYMBOLS[one.bins.requirement], f"{one.value:.2f}"]
        if published:
            cells.append("" if one.bins.published is None else f"{one.bins.published:.2f}")
        table.add_row(*cells, _between(one.spread), _between(one.interval), _remark(one))
    console().print(table)


def _between(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.2f}–{interval[1]:.2f}"


def _remark(one: Threshold) -> str:
    remarks = [] if one.found else ["no drop found"]
    return ", ".join(remarks + (["unstable"] if one.stable is False else []))
