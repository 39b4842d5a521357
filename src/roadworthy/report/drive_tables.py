"""What drives were like: tables sector by sector, what there is to measure, and the files of a drive."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._files import rendered, replacing, write_json, write_text
from roadworthy._tables import csv_text
from roadworthy.cases import Case
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import failing_sectors, partial_sectors
from roadworthy.driving.drives.readers.recorded import DRIVE_FILE, read_recorded
from roadworthy.driving.method import NO_FRAMES
from roadworthy.driving.metrics import (
    CATALOGUE,
    MetricSettings,
    MetricTable,
    availability,
    compute,
    meaning_of,
    per_step,
    primitives,
    unit_of,
)
from roadworthy.driving.repeats import Repeats
from roadworthy.driving.requirements import DrivingQuality
from roadworthy.driving.search import GENE, DriveSearch
from roadworthy.driving.simulators import Scenario
from roadworthy.driving.simulators.scenarios import kept_drive
from roadworthy.errors import InputError, suggest
from roadworthy.report.driving import FRAMES_FILE, Film, drive_figure
from roadworthy.report.plots import save
from roadworthy.result_tables import ResultTable
from roadworthy.rules.gauges import gauge_of
from roadworthy.runs import read_rows
from roadworthy.runs.store import StoredRun
from roadworthy.runs.suites import SuiteResult
from roadworthy.seeding import rng_for

SHOWN = ("Mean(SP)", "SD(SP)", "SD(LP)", "Max(LP)", "SD(SA)", "Count(LCR)", "Count(CR)")
"""The metrics of a table that fits on a screen."""


def as_number(value: float) -> float | str | None:
    """Return a number for JSON: nothing where it is not known, a word where it is infinite."""
    if math.isnan(value):
        return None
    return "inf" if math.isinf(value) else value


def drive_facts(drive: Drive) -> dict[str, object]:
    """Return what a drive was, in numbers for JSON."""
    driven = drive.signals.get("distance")
    return {
        "drive": drive.name,
        "ended": drive.ended or None,
        "rows": len(drive),
        "seconds": drive.duration,
        "metres": None if driven is None else as_number(float(np.nanmax(driven) - np.nanmin(driven))),
        "sectors": list(drive.sector_names),
        "events": {
            name: int(np.count_nonzero(np.diff(flags.astype(np.int8), prepend=0) == 1))
            for name, flags in drive.events.items()
        },
        "notes": list(drive.notes),
    }


def sector_rows(
    table: MetricTable, partial: Sequence[bool] | None = None
) -> list[dict[str, float | str | None]]:
    """Return a row for each sector, with all its metrics, and whether the drive ended inside the sector."""
    return [
        {
            "drive": table.drive,
            "sector": name,
            **({} if partial is None else {"partial": partial[number]}),
            **{metric: as_number(float(values[number])) for metric, values in table.values.items()},
        }
        for number, name in enumerate(table.sectors)
    ]


def sector_table(
    table: MetricTable, metrics: Sequence[str] = SHOWN, partial: Sequence[bool] | None = None
) -> ResultTable:
    """Return some metrics of each sector, with their units; an asterisk marks a sector that is not whole."""
    known = [name for name in metrics if name in table.values]
    units = [("", *map(unit_of, known))] if known else []
    rows = [
        (
            f"{name} *" if partial is not None and partial[number] else name,
            *(f"{table.values[metric][number]:.3g}" for metric in known),
        )
        for number, name in enumerate(table.sectors)
        if known
    ]
    note = "* The drive ended in the middle of this sector." if partial is not None and any(partial) else ""
    return ResultTable("", ("sector", *known), (*units, *rows), note)


Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class DriveMetrics:
    """What was measured of a drive, or what there is to measure.

    Attributes:
        rows: The numbers, as CSV has them.
        document: Everything for scripts.
        shown: The same for people.
        notes: What to know about the drive.
        conclusion: What is missing; empty where nothing is.
    """

    rows: Rows
    document: Mapping[str, Any]
    shown: str | ResultTable
    notes: Sequence[str] = ()
    conclusion: str = ""

    @classmethod
    def catalogue(cls, drive: Drive | None = None, settings: MetricSettings | None = None) -> DriveMetrics:
        """Return what there is to measure; with a drive, also whether it allows it and what it lacks."""
        lacking = {} if drive is None else availability(drive, settings=settings)
        rows: Rows = []
        cells = []
        for entry in CATALOGUE:
            name = str(entry.metric)
            row: dict[str, Any] = {
                "metric": name,
                "meaning": meaning_of(name),
                "block": primitives()[entry.metric.primitive].group,
                "unit": unit_of(name),
                "uses": entry.uses,
            }
            last = str(entry.uses)
            if drive is not None:
                row |= {"computable": not lacking[name], "missing": lacking[name]}
                last = f"needs {lacking[name]}" if lacking[name] else "ok"
            rows.append(row)
            cells.append((name, row["meaning"], row["unit"], last))
        table = ResultTable("", ("metric", "meaning", "unit", "uses" if drive is None else ""), tuple(cells))
        if drive is None:
            return cls(rows, {"metrics": rows}, table)
        count = sum(row["computable"] for row in rows)
        conclusion = f"{count} of {len(rows)} metrics can be computed from {drive.name}."
        return cls(rows, {**drive_facts(drive), "metrics": rows}, table, _notes(drive), conclusion)

    @classmethod
    def steps(
        cls, drive: Drive, names: Sequence[str] | None = None, settings: MetricSettings | None = None
    ) -> DriveMetrics:
        """Return metrics of every step of a drive; speed, lateral position and steering if none is named."""
        values = per_step(drive, names or ["SP", "LP", "SA"], settings=settings)
        rows: Rows = [
            {"time": float(time), **{key: as_number(float(values[key][row])) for key in values}}
            for row, time in enumerate(drive.time)
        ]
        document = {**drive_facts(drive), "steps": rows}
        return cls(rows, document, json.dumps(document, indent=2, ensure_ascii=False))

    @classmethod
    def of(
        cls,
        drive: Drive,
        names: Sequence[str] | None = None,
        settings: MetricSettings | None = None,
        *,
        sectors: bool = False,
    ) -> DriveMetrics:
        """Return metrics of a drive, or of each of its sectors; all that can be computed if none is named.

        Raises:
            InputError: A metric that is named needs what the drive does not have.
        """
        table = compute(drive, names, whole=not sectors, settings=settings)
        if names and table.missing:
            name, what = next(iter(table.missing.items()))
            raise InputError(f"{name} of drive {drive.name} needs {what}")
        partial = partial_sectors(drive) if sectors else None
        rows: Rows = sector_rows(table, partial)
        units = {name: unit_of(name) for name in table.values}
        if sectors:
            shown = sector_table(table, list(table.values) if names else SHOWN, partial)
        else:
            cells = tuple(
                (name, f"{float(values[0]):.5g}", units[name], meaning_of(name))
                for name, values in table.values.items()
            )
            shown = ResultTable("", ("metric", "value", "unit", "meaning"), cells)
        document = {**drive_facts(drive), "values": rows, "units": units, "missing": dict(table.missing)}
        lacking = f"{len(table.missing)} metrics lack a signal: see --list with this log."
        return cls(rows, document, shown, _notes(drive), lacking if table.missing else "")


def _notes(drive: Drive) -> list[str]:
    return [f"{note}." for note in drive.notes]


def write_rows(rows: Sequence[Mapping[str, object]], path: Path) -> None:
    """Write rows as CSV; a value that is not known is an empty cell.

    Raises:
        InputError: The file cannot be written.
    """
    columns = list(rows[0]) if rows else []
    write_text(path, csv_text(columns, ([one.get(name) for name in columns] for one in rows)))


REPEATS_FILE = "repeats.csv"
"""What the file of a run is called that tells how far repeated drives differ."""


def spread_rows(result: SuiteResult) -> Rows:
    """Return how the metrics of repeated drives spread, a row for each requirement, model and metric."""
    return [
        {
            "requirement": trial.requirement.id,
            "model": model,
            **asdict(spread),
            "unit": unit_of(spread.metric),
        }
        for trial, model in result.plan.pairs
        if isinstance(asked := trial.part.inside, DrivingQuality) and asked.repeats > 1
        for spread in Repeats.kept(result.folder, trial.requirement.id, model, asked).spread(
            asked.metric_settings()
        )
    ]


def write_repeats(result: SuiteResult) -> None:
    """Write how far repeated drives differ, where drives were repeated."""
    if rows := spread_rows(result):
        write_rows(rows, result.folder / REPEATS_FILE)


def spread_table(rows: Rows) -> ResultTable:
    """Return how some metrics spread, for people."""
    columns = ("mean", "between_repeats", "between_scenarios")
    cells = tuple(
        (row["metric"], *("" if row[name] is None else f"{row[name]:.3g}" for name in columns), row["unit"])
        for row in rows
        if row["metric"] in SHOWN
    )
    heads = ("metric", "mean", "SD between repeats", "SD between scenarios", "unit")
    return ResultTable("Whole drives", heads, cells)


class DriveReport:
    """The drive of a run, or the first of its repeats that failed: its files, and what is told about it.

    Args:
        result: The run, of one requirement with one scenario on one model.

    Attributes:
        video: The film, if one was written.
        problem: Why a film that was asked for could not be written.
    """

    def __init__(self, result: SuiteResult) -> None:
        ((trial, model),) = result.plan.pairs
        quality: DrivingQuality = trial.part.inside
        self.folder, self._settings = result.folder, quality.metric_settings()
        (self._scenario,) = quality.scenarios
        self._model = result.plan.models[model].form.model
        kept = [
            kept_drive(result.folder, trial.requirement.id, model, number + 1)
            for number in range(quality.repeats)
        ]
        self._driven = [
            (number, read_recorded(file)) for number, (file, _) in enumerate(kept) if file.is_file()
        ]
        failed = (number for number, drive in self._driven if failing_sectors(drive))
        self._kept, self._frames = kept[next(failed, self._driven[0][0] if self._driven else 0)]
        self._spread = spread_rows(result)
        self.video: str | None = None
        self.problem = ""

    @property
    def driven(self) -> bool:
        """Whether anything was driven before the model or the simulator failed."""
        return bool(self._driven)

    @cached_property
    def drive(self) -> Drive:
        """What was driven."""
        return read_recorded(self._kept)

    @cached_property
    def _sectors(self) -> MetricTable:
        return compute(self.drive, settings=self._settings)

    def document(self) -> dict[str, Any]:
        """Return everything for scripts."""
        (whole,) = sector_rows(compute(self.drive, whole=True, settings=self._settings))
        return {
            **drive_facts(self.drive),
            "simulator": self._scenario.simulator,
            "options": dict(self._scenario.options),
            "model": self._model,
            "failing_sectors": list(failing_sectors(self.drive)),
            "metrics": {name: value for name, value in whole.items() if name not in ("drive", "sector")},
            "folder": str(self.folder),
            "video": self.video,
            **({"repeats": self._spread} if self._spread else {}),
        }

    def write(self, metric: str, video: str, ending: str, *, frames: bool) -> None:
        """Write the drive, its metrics, its picture and its film.

        Args:
            metric: What colours the way.
            video: failing, all, none or the name of a sector.
            ending: Of the film's name, such as mp4.
            frames: Whether the frames are kept beside the drive.
        """
        _copy(self._kept, self.folder / DRIVE_FILE)
        write_rows(sector_rows(self._sectors, partial_sectors(self.drive)), self.folder / "metrics.csv")
        figure = drive_figure(self.drive, metric, alarms=failing_sectors(self.drive), settings=self._settings)
        save(figure, self.folder / "drive.png")
        if self._frames.is_file():
            try:
                self._film(video, ending)
            except InputError as error:
                self.problem = str(error)  # what was measured must not be lost for it
            if frames:
                _copy(self._frames, self.folder / FRAMES_FILE)
        write_json(self.folder / "drive.json", self.document())

    def _film(self, video: str, ending: str) -> None:
        failed = failing_sectors(self.drive)
        if video == "none" or (video == "failing" and not failed):
            return
        sector = {"failing": failed[0] if failed else None, "all": None}.get(video, video)
        name = f"{(sector or 'drive').replace('/', '-').replace(' ', '-')}.{ending}"
        Film.read(self._frames).write(self.folder / name, self.drive, sector=sector)
        self.video = name

    def lines(self) -> list[str | ResultTable | Mapping[str, str]]:
        """Return what people read."""
        facts = drive_facts(self.drive)
        far = f"{facts['metres']:.0f} m in " if isinstance(facts["metres"], float) else ""
        names = [DRIVE_FILE, "metrics.csv", "drive.json", "drive.png", *([self.video] if self.video else [])]
        names += [name for name in (FRAMES_FILE, REPEATS_FILE) if (self.folder / name).is_file()]
        driven = f"{self.drive.ended}, {far}{self.drive.duration:.1f} s"
        repeated = [
            (str(number + 1), one.ended, f"{one.duration:.1f} s", ", ".join(failing_sectors(one)) or "none")
            for number, one in self._driven
        ]
        repeats = ResultTable("", ("repeat", "ended", "after", "failing sectors"), tuple(repeated))
        return [
            *((repeats, spread_table(self._spread)) if self._spread else ()),
            f"{self.drive.name} in {self._scenario.simulator}: {driven}",
            sector_table(self._sectors, partial=partial_sectors(self.drive)),
            {
                "failing sectors": ", ".join(failing_sectors(self.drive)) or "none",
                "written": f"{self.folder}: {', '.join(names)}",
            },
        ]


_TOLD = {
    **{"drive": "case", "status": "status", "margin": "margin"},
    **{"reaction": "measure.reaction", "gap": "measure.gap", "ttc": "measure.time_to_collision"},
    **{"slowest": "measure.lowest_speed", "reason": "reason"},
}
_HEADS = ("drive", "status", "margin", "holds after", "gap", "ttc", "slowest", "reason")
_MEANING = (
    "Margin: of the formula. Holds after: the time from the change until it holds for good. Gap to what "
    "came, ttc (time to collision) and speed: the least of the drive."
)


def driven_rules(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
    """Return the drives of rules, a row each, the worst first; and the same for scripts."""
    tables, found = [], []
    for (rule, model), outcome in result.outcomes.items():
        plan = next(one.part.inside for one in result.plan.trials if one.requirement.id == rule)
        rows = sorted(read_rows(result.folder_of(rule, model)), key=_badness)
        told = [{name: row.get(column) for name, column in _TOLD.items()} for row in rows]
        gauge = gauge_of(plan.expectation.output)
        # Below 0 it is the braking that is lacking.
        margin = "m (m/s²)" if gauge.kind in ("stop", "collision") else gauge.unit
        units = ("", "", margin, "s", "m", "s", "m/s", "")
        cells = (units, *(tuple(map(_cell, one.values())) for one in told))
        title = f"{rule} on {model}: {outcome.summary}"
        tables.append(ResultTable(title, _HEADS, cells, f"{plan.formula}\n{_MEANING}"))
        kept = [kept_drive(result.folder, rule, model, int(str(row["param.drive"])))[0] for row in rows]
        files = [one.relative_to(result.folder).as_posix() if one.is_file() else "" for one in kept]
        drives = [{**one, "file": file} for one, file in zip(told, files, strict=True)]
        said = {"rule": rule, "model": model, "status": str(outcome.status), "formula": plan.formula}
        found.append({**said, "summary": outcome.summary, "drives": drives})
    return tables, {"results": found, "notes": result.notes}


_FAILED = ("violated", "error")
_ANYHOW = ("simulator", "start", "seed")  # what every drive has
FAILURES_FILE = "failures.suite.yaml"
"""What the suite is called that drives the smallest failures of a search again."""


def searched_drives(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
    """Return the failures that a search found, as small as they became."""
    ((pair, outcome),) = result.outcomes.items()
    rows: Rows = list(map(dict, read_rows(result.folder_of(*pair))))
    told = _smallest(result.plan.trials[0].part.inside, rows)
    kinds = {(one["finding"].rpartition(" in ")[0], one["needs"]) for one in told}
    tries = sum(not row["param.smaller_than"] for row in rows)
    errors = sum(row["status"] == "error" for row in rows)
    columns = {
        "failure": "finding",
        "tries": "tries",
        "smallest": "case",
        "fails after, s": "after",
        "needs": "needs",
    }
    cells = tuple(tuple(str(one[name]) for name in columns.values()) for one in told)
    title = f"{len(told)} failures of {len(kinds)} kinds in {tries} tries"
    title += f"; {errors} of {len(rows)} drives ended in an error" if errors else ""
    document = {"tries": tries, "drives": len(rows), "errors": errors, "kinds": len(kinds), "findings": told}
    document |= {"summary": outcome.summary, "notes": result.notes}
    return [ResultTable(title, tuple(columns), cells)], document


def write_failures(result: SuiteResult) -> None:
    """Write a suite of the smallest failures that searches for drives found, where they found any."""
    asked: list[dict[str, Any]] = [
        {"search": one.part.inside, "id": one.requirement.id, "model": model, "told": told}
        for one, model in result.plan.pairs
        if isinstance(one.part.inside, DriveSearch) and (one.requirement.id, model) in result.outcomes
        if (told := _smallest(one.part.inside, read_rows(result.folder_of(one.requirement.id, model))))
    ]
    if not asked:
        return
    opened = result.plan.models
    models = {one["model"]: opened[one["model"]].form.model_dump(exclude_defaults=True) for one in asked}
    base = Path(os.path.relpath(result.plan.suite.folder, result.folder)).as_posix()
    known = {"asked": asked, "models": models, "base": base, "json": json.dumps, "dict": dict}
    template = Path(__file__).with_name(f"{FAILURES_FILE}.jinja")
    write_text(result.folder / FAILURES_FILE, rendered(template, **known))


def _smallest(search: DriveSearch, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    plain, found = search.values({}), dict[str, dict[str, Any]]()
    for row in rows:
        finding, of = row.get("measure.finding"), row["param.smaller_than"]
        if not finding or (finding in found and of not in ("", finding)):
            continue
        one = found.setdefault(finding, {"finding": finding, "tries": 0, "case": ""})
        one["tries"] += not of
        if of or not one["case"]:
            drive = varied(row)
            needs = [
                f"{name} {it}" for name, it in drive.items() if name not in _ANYHOW and it != plain[name]
            ]
            after = round((row.get("measure.changed_at") or 0.0) + row["measure.time"], 1)
            one |= {"case": row["case"], "after": after, "needs": ", ".join(needs)}
            one["drive"] = drive
    return [found[name] for name in sorted(found)]


def varied(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what varied in a drive of a search, with the change in words; nothing for other drives."""
    told = {name[len(GENE) :]: one for name, one in row.items() if name.startswith(GENE) and one is not None}
    told.pop("amount", None)
    return {**told, "change": row["param.change.1"]} if told else {}


def driven_case(folder: Path, id: str | None, suite: Path | None = None) -> tuple[Scenario, Drive, str]:
    """Return the scenario and the kept drive of a case of a run: the worst that failed, or one by id.

    Raises:
        InputError: There is no such case, or it asks for no drive.
    """
    from roadworthy.runs.evidence.reopening import plan_of

    rows = [(pair, row) for pair in StoredRun.open(folder).pairs for row in read_rows(pair.folder)]
    chosen = [one for one in rows if (one[1]["case"] == id if id else one[1]["status"] in _FAILED)]
    if not chosen:
        names = [str(row["case"]) for _, row in rows]
        hint = suggest(id, names) if id else f"name one of its {len(names)} cases, such as {names[:1]}"
        raise InputError(f"{folder} has no case {id or 'that failed'}: {hint}")
    # Of equals, the last of a search is the smallest.
    pair, row = min(reversed(chosen), key=lambda one: _badness(one[1]))
    plan, case = plan_of(folder, suite), str(row["case"])
    (trial,) = (one for one in plan.trials if one.requirement.id == pair.requirement.id)
    asked, only = trial.requirement, varied(row)
    if only:
        asked = replace(asked, parameters={**asked.parameters, "only": [only]})
    method = trial.kind.method({asked.id: trial.part}, plan.context)
    cases = () if trial.kind.needs_data else method.cases(asked, NO_FRAMES, rng_for(0))
    for one in (one for one in cases if isinstance(one, Case) and (only or one.id == case)):
        scenario: Any = getattr(one.asks[0], "scenario", None)
        number = int(str(row.get("param.drive") or scenario.number))
        return scenario, read_recorded(kept_drive(folder, asked.id, pair.system, number)[0]), case
    raise InputError(f"{case} of {folder} asks for no drive: export what drove in the built-in world")


def _badness(row: Mapping[str, Any]) -> float:
    return math.inf if row["margin"] is None else float(row["margin"])


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value or "")


def _copy(source: Path, target: Path) -> None:
    with replacing(target) as unfinished:
        shutil.copyfile(source, unfinished)
