"""``roadworthy demo``, ``list`` and ``selftest``: the main job, what the tool has, whether it works."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import typer

from roadworthy._files import write_json, write_text
from roadworthy.cli._answer import PASSED, VIOLATED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import make_folder, tracked
from roadworthy.cli._road import RunOptions, answer_of, outcome_lines, planned, run_plan
from roadworthy.errors import InputError
from roadworthy.registry import Listing
from roadworthy.result_tables import ResultTable

app = typer.Typer(cls=Group)


@command(app, name="list")
def list_all(kind: str | None = None) -> Answer:
    """List the data sets, transforms, models, metrics and simulators, plug-ins included.

    Options:
        kind ([KIND]): Only this kind: datasets, transforms, models, metrics or simulators.

    Examples:
        roadworthy list
        roadworthy list datasets
        roadworthy list --json
    """
    listing = Listing.of(kind)
    return Answer(listing.document(), listing.tables())


@command(app, name="selftest")
def self_test(
    out: Path | None = None, only: list[str] | None = None, quick: bool = False, seed: int = 0
) -> Answer:
    """Seed known faults into models, labels and specifications, and report which the tool finds.

    Each fault comes in several sizes, to report the smallest that is found, and with a sound counterpart that
    must raise no alarm. Known limitations are listed as such. The exit code is 0 if every fault that must be
    found is found without a false alarm, else 1.

    Options:
        out (FOLDER): Write selftest.json and selftest.md here.
        only (METHOD): rules, coverage, reliability, bbsl, driving, labels, runs or evidence; repeatable.
        quick: Fewer sizes of each fault and less data: half a minute.

    Examples:
        roadworthy selftest
        roadworthy selftest --only bbsl --only evidence
        roadworthy selftest --out tool-confidence
    """
    from roadworthy.selftest import FaultStanding, selftest, sentence
    from roadworthy.selftest.running import as_document, as_markdown, fault_table

    report = selftest(
        only or (), quick=quick, seed=seed, progress=lambda faults: tracked(faults, "Seeding faults")
    )
    document, table = as_document(report), fault_table(report)
    written = []
    if out is not None:
        folder = make_folder(out)
        write_json(folder / "selftest.json", document)
        write_text(folder / "selftest.md", as_markdown(report))
        written.append(f"Wrote {out / 'selftest.json'} and {out / 'selftest.md'}")
    return Answer(
        document,
        [
            # What was tried and said of sound counterparts is in the files; here it would not fit.
            ResultTable(table.title, table.columns[:3], tuple(row[:3] for row in table.rows)),
            *(line for one in report.results for line in one.complaints()),
            *(f"{one.fault.id}: {one.fault.limitation}" for one in report.of(FaultStanding.KNOWN)),
            *(f"{one.fault.id} was not tried: {one.trouble}" for one in report.of(FaultStanding.NOT_RUN)),
            *written,
        ],
        exit_code=PASSED if report.passed else VIOLATED,
        conclusion=sentence(report),
    )


@command(app)
def demo(out: Path = Path("demo-out")) -> Answer:
    """Test the shipped networks in the built-in world by requirements of all five kinds.

    Options:
        out (FOLDER): Where to write.

    Examples:
        roadworthy demo
        roadworthy demo --out pictures --json
    """
    make_folder(out)
    folder = _emptied(out / "run")
    how = RunOptions(out=folder)
    published = run_plan(planned(demo_suite(), how, folder), how, folder)
    suite = answer_of(published, how)
    shown = [
        f"A suite with requirements of all five kinds, from {demo_suite()}:",
        *outcome_lines(published.result),
        *suite.shown,
        f"{_NEXT_STEPS} --run {shlex.quote(str(folder))}",
    ]
    return Answer({"suite": suite.document}, shown, suite.notes, suite.report)


_NEXT_STEPS = (
    "The networks are small ones from the papers: what is violated above are faults that they really have. "
    "After the report, try a sentence of your own, or the page to look at failures:\n"
    "  roadworthy rules run --model dave2 --rule "
    '"If a pedestrian appears on the roadside, the ego-vehicle should slow down."\n'
    "  roadworthy serve"
)


def demo_suite() -> Path:
    """Return the suite of the demonstration: an example that comes with the package."""
    package = Path(__file__).parents[1]
    shipped, source = package / "examples", package.parents[1] / "examples"
    return (shipped if shipped.is_dir() else source) / "demo.suite.yaml"


def _emptied(folder: Path) -> Path:
    """Return a folder without what an earlier demonstration left in it.

    Raises:
        InputError: It holds something else.
    """
    if not folder.exists():
        return folder
    if not (folder / "manifest.json").is_file():
        raise InputError(f"{folder} is not from an earlier demonstration: choose another --out")
    shutil.rmtree(folder)
    return folder
