"""What the studies give out: tables on the screen and as CSV, figures, and a JSON document."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy._files import write_json, write_text
from roadworthy.cli._console import console, make_folder, print_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from roadworthy.cli.coverage.study._inputs import SeedImages
    from roadworthy.result_tables import ResultTable

__all__ = ["about", "give_out", "records", "write_text"]


def records(items: Iterable[Any]) -> list[dict[str, Any]]:
    """Return dataclasses as JSON has them."""
    return [dataclasses.asdict(one) for one in items]


def about(seeds: SeedImages, models: Iterable[str], seed: int) -> dict[str, object]:
    """Return what a study was made of."""
    return {
        "data": seeds.data.name,
        "seed_images": len(seeds) - len(seeds.left_out),
        "seed": seed,
        "models": list(models),
        "notes": seeds.notes(),
    }


def give_out(
    out: Path,
    name: str,
    tables: Sequence[ResultTable],
    figures: Mapping[str, Figure],
    document: Mapping[str, object],
    *,
    as_json: bool,
    notes: Sequence[str] = (),
    written: Sequence[str] = (),
) -> None:
    """Write everything into the folder, and show the tables, or the document.

    Args:
        out: The folder.
        name: What the JSON document is called, without its ending.
        tables: They are called what they say themselves.
        figures: Figures by their names, without an ending.
        document: Everything for scripts.
        as_json: Whether the document is printed instead of the tables.
        notes: Sentences below the tables.
        written: Files that were written into the folder before.
    """
    from roadworthy.report.plots import save

    make_folder(out)
    for table in tables:
        write_text(out / f"{table.name}.csv", table.csv())
    for title, figure in figures.items():
        save(figure, out / f"{title}.png")
    write_json(out / f"{name}.json", document)
    if as_json:
        print_json(document)
        return
    shown = console()
    for table in tables:
        shown.print(str(table), markup=False, soft_wrap=True)
        shown.print()
    for note in notes:
        shown.print(note, markup=False, soft_wrap=True)
    files = [
        *(f"{table.name}.csv" for table in tables),
        *(f"{title}.png" for title in figures),
        f"{name}.json",
        *written,
    ]
    shown.print(f"Wrote {', '.join(files)} into {out}", markup=False, soft_wrap=True)
