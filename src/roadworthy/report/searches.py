"""What came of a search for changed images: findings, how coverage grew, and what was never tried."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._files import write_json
from roadworthy.coverage import FunctionalCoverage, OperatingDomain
from roadworthy.coverage.search.findings import findings_of, growth_of, most_different, output_unit
from roadworthy.coverage.search.settings import SearchSettings
from roadworthy.coverage.search.trials import Replay
from roadworthy.errors import InputError
from roadworthy.frames import Signals
from roadworthy.images import write_image
from roadworthy.report.plots import ShownFinding, draw_growth, finding_sheet, save
from roadworthy.result_tables import ResultTable
from roadworthy.runs import read_rows
from roadworthy.runs.checkpoints import read_checkpoint
from roadworthy.runs.store import StoredPair, StoredRun
from roadworthy.runs.suites import SuiteResult, read_suite
from roadworthy.runs.suites.forms import as_name
from roadworthy.runs.suites.reading import SUITE_FILE

_LISTED = 10  # findings that are printed
_HOLES = 8


class SearchReport:
    """A search that is over, and what is made of its rows.

    Args:
        result: The run; its one requirement is a search with one model.
        domain: The operating domain, for what was never tried.
    """

    def __init__(self, result: SuiteResult, domain: OperatingDomain) -> None:
        (((id, model), self.outcome),) = result.outcomes.items()
        (trial,) = result.plan.trials
        folder = result.folder_of(id, model)
        self.result = result
        self.settings = trial.part.inside.settings
        self.frames = result.plan.data[trial.data].frames
        self.unit = output_unit(self.frames.units, self.settings.output)
        rows = list(read_rows(folder))
        self.tried = [row for row in rows if row.get("param.transform")]
        errors = [row.get("measure.error") for row in rows if not row.get("param.transform")]
        self.errors = np.array([float(str(one)) for one in errors if one is not None])
        # Without an answer to any original there was no search, and it left no checkpoint.
        stood = read_checkpoint(folder)
        self.state = {} if stood is None else stood.state
        self.findings = findings_of(self.tried)
        self.growth = growth_of(self.tried, self.covered / self.state["cells"] if self.state else 0.0)
        self.replay = Replay(rows, self.frames)
        self.functional = FunctionalCoverage(domain)
        self.functional.update(self.replay.frames())

    @property
    def covered(self) -> int:
        """How many cells of the criterion were visited."""
        packed = [base64.b64decode(one) for one in self.state.get("covered", ())]
        return sum(int(np.unpackbits(np.frombuffer(one, np.uint8)).sum()) for one in packed)

    @property
    def relation(self) -> str:
        """What must hold for every changed image; empty where no original was answered."""
        if not self.state:
            return ""
        return (
            f"(label - prediction)^2 <= {self.settings.lam:g} * {self.settings.reference.upper()} of the "
            f"{len(self.frames)} seed images = {self.state['bound']:.6g}, in {self.unit}^2"
        )

    @cached_property
    def document(self) -> dict[str, Any]:
        """Everything for scripts."""
        changes = self.replay.changes
        return {
            "settings": self.settings.parameters(),
            "data": f"{len(self.frames)} frames of {self.frames.data.name}",
            "status": str(self.outcome.status),
            "summary": self.outcome.summary,
            "relation": self.relation,
            "unit": self.unit,
            "mse": float(np.mean(self.errors**2)) if len(self.errors) else None,
            "bound": self.state.get("bound"),
            "tries": len(self.tried),
            "evaluated": self.state.get("evaluated", 0),
            "seconds": round(self.result.seconds, 3),
            "coverage": {
                "originals": self.growth.coverage[0],
                "reached": self.growth.coverage[-1],
                "covered": self.covered,
                "total": self.state.get("cells", 0),
            },
            "failing_tries": self.growth.failures[-1],
            "findings": [
                {
                    "case": one.case,
                    "frame": self.replay.rows[one.case]["param.frame"],
                    "changes": changes(one.case),
                    "simplest": one.simplest,
                    "simplest_changes": changes(one.simplest),
                    "failures": one.failures,
                    "originals": one.originals,
                    "error": one.error,
                    "margin": one.margin,
                    "transformations": dict(one.transformations),
                }
                for one in self.findings
            ],
            "functional": {
                "tried": self.functional.covered,
                "bins": self.functional.total,
                "never_tried": self.functional.holes(),
            },
            "notes": self.result.notes,
        }

    def tables(self) -> list[ResultTable]:
        """Return the worst findings, and what was never tried."""
        columns = ("failures", "frames", f"worst ({self.unit})", "try", "the simplest change that fails so")
        rows = tuple(
            (
                str(one.failures),
                str(one.originals),
                f"{one.error:+.3g}",
                one.simplest.removeprefix("try "),
                self.replay.changes(one.simplest),
            )
            for one in self.findings[:_LISTED]
        )
        title = f"{self.growth.failures[-1]} failures are {len(self.findings)} findings, the worst first"
        holes = self.functional.holes()
        more = len(holes) - _HOLES
        bins = f"The tries visit {self.functional.covered} of {self.functional.total} bins"
        return [
            *([ResultTable(title, columns, rows)] if rows else []),
            ResultTable(
                f"{bins} of the operating domain",
                ("what is missing",),
                tuple((one,) for one in holes[:_HOLES]),
                f"and {more} more in search.json" if more > 0 else "",
            ),
        ]

    def lines(self) -> list[str]:
        """Return what the tables do not show."""
        return [
            *([self.relation] if self.relation else []),
            f"{self.document['evaluated']} images for {len(self.tried)} tries",
            self.outcome.summary,
        ]

    def write(self, worst: int) -> None:
        """Draw how the search went and its findings, and write search.json.

        Args:
            worst: How many findings are drawn.
        """
        folder = self.result.folder
        figure = draw_growth({self.settings.search: self.growth}, criterion=self.settings.criterion)
        save(figure, folder / "growth.png")
        if worst and self.findings:
            self._write_sheet(worst)
        if not (self.result.complete_before and (folder / "search.json").is_file()):
            write_json(folder / "search.json", self.document)

    def _write_sheet(self, count: int) -> None:
        output = self.settings.output
        shown = []
        for one in most_different(self.findings, count):
            row = self.replay.rows[one.simplest]
            predicted = float(str(row["measure.prediction"])) / float(str(row["param.scale"]))
            error = float(str(row["measure.error"]))
            original, changed = self.replay.original(one.simplest), self.replay.frame(one.simplest)
            failures = "1 failure" if one.failures == 1 else f"{one.failures} failures"
            shown.append(
                ShownFinding(
                    original.replace(signals=Signals(**{output: getattr(original.signals, output)})),
                    changed.replace(signals=Signals(**{output: predicted})),  # type: ignore[arg-type]
                    f"error {error:+.3g} {self.unit}, {failures}",
                    self.replay.changes(one.simplest),
                )
            )
        title = f"{self.settings.search} · the most different of {len(self.findings)} findings from "
        title += f"{self.growth.failures[-1]} failures"
        note = f"lambda {self.settings.lam:g}: squared error up to {self.state['bound']:.3g} {self.unit}^2"
        write_image(self.result.folder / "findings.png", finding_sheet(shown, title=title, note=note))


def sampling_suite(
    run: StoredRun, *, tries: int, accept: Mapping[str, Any] | None, seed: int
) -> dict[str, Any]:
    """Return the suite that estimates how often a model fails in the operating domain of its searches.

    Half of the tries are drawn alike from all transformations, half in proportion to the failures that the
    search found with each, so no weight is above 2.

    Args:
        run: A run with searches.
        tries: How many changed images are drawn for each.
        accept: What is accepted, as a suite has it.
        seed: Draws them.

    Raises:
        InputError: The run has no search, or was started in another folder.
    """
    suite = read_suite(run.folder / SUITE_FILE, of_run=True)
    document: dict[str, Any] = {**suite.file.data, "suite": "coverage rate", "seed": seed}
    if suite.folder.resolve() != Path().resolve():
        raise InputError(f"paths of the search count from {suite.folder}: run this there")
    searches: dict[str, list[StoredPair]] = {}
    for pair in run.pairs:
        if pair.requirement.method == "coverage":
            searches.setdefault(pair.requirement.id, []).append(pair)
    entries = {}
    for id, pairs in searches.items():
        settings = SearchSettings.from_parameters(pairs[0].requirement.parameters)
        names = [kind.name for kind in settings.space().sets]
        failing = [
            str(row["param.transform"])
            for pair in pairs
            for row in read_rows(pair.folder)
            if row["status"] == "violated"
        ]
        found = np.array([sum(f"{name}(" in one for one in failing) for name in names], float)
        shares = np.full(len(names), 1 / len(names))
        if found.any():
            shares = (shares + found / found.sum()) / 2
        kept = document["requirements"].get(id.partition("@")[0], {})
        own = {name: kept[name] for name in ("coverage", "counting", "training") if name in kept}
        # Commands write names that a suite cannot have otherwise.
        tried = str(pairs[0].about.get("data"))
        own["data"] = tried if tried in suite.form.data else as_name(tried)
        own["models"] = [
            pair.system if pair.system in suite.form.models else as_name(pair.system) for pair in pairs
        ]
        rounded = shares.round(6)
        rounded[-1] = round(1 - float(rounded[:-1].sum()), 6)
        drawn = {"search": "sampled", "tries": tries, "shares": rounded.tolist(), "accept": accept}
        same = {"transforms": list(settings.transforms), "lambda": settings.lam, "output": settings.output}
        entries[id.replace("@", "-")] = {**own, **same, "reference": settings.reference, **drawn}
    if not entries:
        raise InputError(f"{run.folder} has no search: give the folder of coverage search")
    document.pop("base", None)
    return {**document, "requirements": entries}
