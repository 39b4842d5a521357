"""What ``roadworthy coverage search`` gives out: findings, drawings, a document, and what was never tried."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy._files import write_json
from roadworthy.cli._console import console, make_folder, plain_table, print_json

if TYPE_CHECKING:
    from roadworthy.coverage import FunctionalCoverage, OperatingDomain
    from roadworthy.coverage.method import CoverageMethod
    from roadworthy.coverage.search.findings import CoverageGrowth, FailureGroup
    from roadworthy.coverage.search.settings import SearchSettings
    from roadworthy.coverage.search.trials import Replay
    from roadworthy.papers.deeptest.seeds import Seeds
    from roadworthy.runs import RunResult


_LISTED = 10  # findings that are printed
_HOLES = 8


class Found:
    """A search that is over, and what is read from its rows."""

    def __init__(
        self,
        settings: SearchSettings,
        seeds: Seeds,
        method: CoverageMethod,
        result: RunResult,
        out: Path,
        seconds: float,
        notes: list[str],
    ) -> None:
        from roadworthy.coverage.search.findings import findings_of, growth_of
        from roadworthy.coverage.search.trials import Replay
        from roadworthy.runs import read_rows

        self.settings, self.seeds, self.result, self.out = settings, seeds, result, out
        self.method, self.seconds = method, seconds
        rows = list(read_rows(out))
        self.tried = [row for row in rows if row.get("param.transform")]
        self.findings: list[FailureGroup] = findings_of(self.tried)
        self.growth: CoverageGrowth = growth_of(self.tried, method.originals.criterion.value)
        self.replay: Replay = Replay(rows, seeds)
        self.notes = [*notes, *self._own_notes()]

    def _own_notes(self) -> list[str]:
        originals = self.method.originals
        notes = [
            f"Layer {one.name!r} gave one and the same number for every seed image: its {one.neurons} "
            "neurons cannot be covered unless a change wakes it."
            for one in originals.constant_layers()
        ]
        if originals.unanswered:
            notes.append(
                f"{len(originals.unanswered)} seed images could not be answered and set no bound; the first: "
                f"{originals.unanswered[0]}"
            )
        if len(self.tried) < self.settings.tries:
            why = "the time was up" if self.settings.seconds else "nothing was left to try"
            notes.append(f"It ended after {len(self.tried)} of {self.settings.tries} tries: {why}.")
        return notes

    @property
    def relation(self) -> str:
        originals, settings = self.method.originals, self.settings
        return (
            f"(label - prediction)^2 <= {settings.lam:g} * {settings.reference.upper()} of the "
            f"{len(self.seeds)} seed images = {originals.bound:.6g}, in {originals.unit}^2"
        )


def give_out(found: Found, domain: OperatingDomain, worst: int, *, as_json: bool) -> None:
    """Write drawings and a document beside the rows, and show them.

    Args:
        found: The search.
        domain: The operating domain, for what was never tried.
        worst: How many findings are drawn.
        as_json: Whether the document is printed instead of a summary for people.
    """
    from roadworthy.coverage import FunctionalCoverage
    from roadworthy.report.plots import draw_growth, save

    functional = FunctionalCoverage(domain)
    functional.update(found.replay.frames())
    make_folder(found.out)
    figure = draw_growth({found.settings.search: found.growth}, criterion=found.settings.criterion)
    save(figure, found.out / "growth.png")
    written = ["growth.png"]
    if worst and found.findings:
        _write_sheet(found, worst)
        written.append("findings.png")
    document = _document(found, functional)
    write_json(found.out / "search.json", document)
    if as_json:
        print_json(document)
        return
    _print(found, functional, [*written, "search.json"])


def _write_sheet(found: Found, count: int) -> None:
    from roadworthy.coverage.search.findings import most_different
    from roadworthy.frames import Signals
    from roadworthy.images import write_image
    from roadworthy.report.plots import ShownFinding, finding_sheet

    output, unit = found.settings.output, found.method.originals.unit

    def only(value: float) -> Signals:
        return Signals(steering=value) if output == "steering" else Signals(speed=value)

    shown = []
    for one in most_different(found.findings, count):
        row = found.replay.rows[one.simplest]
        predicted = float(row["measure.prediction"]) / float(row["param.scale"])  # type: ignore[arg-type]
        original, changed = found.replay.original(one.simplest), found.replay.frame(one.simplest)
        shown.append(
            ShownFinding(
                original.replace(signals=only(getattr(original.signals, output))),
                changed.replace(signals=only(predicted)),
                f"error {float(row['measure.error']):+.3g} {unit}, {_failures(one.failures)}",  # type: ignore[arg-type]
                found.replay.changes(one.simplest),
            )
        )
    total = sum(one.failures for one in found.findings)
    title = f"{found.settings.search} · the most different of "
    title += f"{len(found.findings)} findings from {total} failures"
    # The font of sheets has plain letters only.
    note = f"lambda {found.settings.lam:g}: squared error up to {found.method.originals.bound:.3g} {unit}^2"
    write_image(found.out / "findings.png", finding_sheet(shown, title=title, note=note))


def _failures(count: int) -> str:
    return "1 failure" if count == 1 else f"{count} failures"


def _document(found: Found, functional: FunctionalCoverage) -> dict[str, object]:
    criterion = found.method.originals.criterion
    return {
        "settings": found.settings.parameters(),
        "data": found.seeds.name,
        "status": str(found.result.outcome.status),
        "summary": found.result.outcome.summary,
        "relation": found.relation,
        "unit": found.method.originals.unit,
        "mse": found.method.originals.mse,
        "bound": found.method.originals.bound,
        "tries": len(found.tried),
        "evaluated": found.method.evaluated,
        "seconds": round(found.seconds, 3),
        "coverage": {
            "originals": found.growth.coverage[0],
            "reached": found.growth.coverage[-1],
            "covered": criterion.covered,
            "total": criterion.total,
        },
        "failures": found.growth.failures[-1],
        "findings": [
            {
                "case": one.case,
                "frame": found.replay.rows[one.case]["param.frame"],
                "changes": found.replay.changes(one.case),
                "simplest": one.simplest,
                "simplest_changes": found.replay.changes(one.simplest),
                "failures": one.failures,
                "originals": one.originals,
                "error": one.error,
                "margin": one.margin,
                "transformations": dict(one.transformations),
            }
            for one in found.findings
        ],
        "functional": {
            "tried": functional.covered,
            "bins": functional.total,
            "never_tried": functional.holes(),
        },
        "notes": found.notes,
    }


def _print(found: Found, functional: FunctionalCoverage, written: list[str]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    unit = found.method.originals.unit
    out.print(Text(found.result.outcome.summary), soft_wrap=True)
    out.print(Text(found.relation, style="dim"), soft_wrap=True)
    total = sum(one.failures for one in found.findings)
    if found.findings:
        out.print(f"\n{total} failures are {len(found.findings)} findings, the worst first", soft_wrap=True)
        table = plain_table(
            "failures", "frames", f"worst ({unit})", "try", "the simplest change that fails so"
        )
        for one in found.findings[:_LISTED]:
            table.add_row(
                str(one.failures),
                str(one.originals),
                f"{one.error:+.3g}",
                one.simplest.removeprefix("try "),
                Text(found.replay.changes(one.simplest)),
            )
        out.print(Padding(table, (0, 0, 0, 2)))
    holes = functional.holes()
    out.print(f"\nThe tries visit {functional.covered} of {functional.total} bins of the operating domain")
    for hole in holes[:_HOLES]:
        out.print(Padding(Text(hole, style="dim"), (0, 0, 0, 2)))
    if len(holes) > _HOLES:
        out.print(f"  and {len(holes) - _HOLES} more in search.json", style="dim")
    for note in found.notes:
        out.print(Text(note), soft_wrap=True)
    out.print(
        f"\n{found.method.evaluated} images for {len(found.tried)} tries in {found.seconds:.1f} s; wrote "
        f"{', '.join(written)} into {found.out}",
        markup=False,
        soft_wrap=True,
    )
    out.print(f"roadworthy report {found.out} makes a page of it", markup=False, soft_wrap=True)
