"""Showing and writing what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy._files import write_json, write_text
from roadworthy.cli._console import console, make_folder, plain_table

if TYPE_CHECKING:
    from roadworthy.coverage.measuring import CoverageMeasurement


FUNCTIONAL = "functional"
_SHOWN = 5  # holes of each dimension or cross, and untried neurons of each layer, that are printed


def as_document(found: CoverageMeasurement) -> dict[str, Any]:
    """Return all that was measured as plain data."""
    functional = found.functional
    document: dict[str, Any] = {
        "model": found.model or None,
        "counting": found.counting or None,
        "images": found.images,
        "criteria": [
            {
                "criterion": one.criterion,
                "covered": one.covered,
                "total": one.total,
                "value": one.value,
                "layers": [
                    {
                        "layer": row.layer.name,
                        "kind": row.layer.kind,
                        "neurons": row.layer.neurons,
                        "covered": row.covered,
                        "total": row.total,
                        "untried_neurons": list(row.untried),
                    }
                    for row in one.rows()
                ],
            }
            for one in found.criteria.values()
        ],
        "growth": [{"images": count, **values} for count, values in found.growth],
    }
    if functional is not None:
        document[FUNCTIONAL] = {
            "operating_domain": functional.domain.path.name,
            "covered": functional.covered,
            "total": functional.total,
            "value": functional.value,
            "dimensions": [row._asdict() for row in functional.rows()],
            "holes": functional.holes(),
        }
    return document


def write_measured(folder: Path, found: CoverageMeasurement, document: dict[str, Any]) -> None:
    """Write the figure, all numbers, and what was never tried."""
    from roadworthy.report.plots import growth_figure, save

    make_folder(folder)
    write_json(folder / "coverage.json", document)
    write_text(folder / "holes.txt", "\n".join(_holes(found, None)) + "\n")
    if found.growth:
        title = f"Coverage of {found.model}" if found.model else "Coverage of the operating domain"
        save(growth_figure(found.growth, title=title), folder / "growth.png")


def _holes(found: CoverageMeasurement, most: int | None) -> list[str]:
    """Return what was never tried, in words; of each layer, dimension or cross at most so many."""
    lines: list[str] = []
    for one in found.criteria.values():
        lines += [
            f"{one.criterion}: {row.layer.name}: {len(row.untried)} of {row.layer.neurons} neurons never "
            f"tried: {_numbers(row.untried, most)}"
            for row in one.rows()
            if row.untried
        ]
    if found.functional is None:
        return lines
    groups: dict[str, list[str]] = {}
    for hole in found.functional.holes():
        groups.setdefault(hole.partition(":")[0], []).append(hole)
    for name, holes in groups.items():
        lines += holes[:most]
        if most is not None and len(holes) > most:
            lines.append(f"{name}: and {len(holes) - most} more")
    return lines


def _numbers(numbers: Sequence[int], most: int | None) -> str:
    shown = ", ".join(map(str, numbers[:most]))
    return shown if most is None or len(numbers) <= most else f"{shown}, …"


def print_measured(found: CoverageMeasurement, folder: Path | None) -> None:
    """Write what was measured for people: tables, and what was never tried."""
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    images = "1 image" if found.images == 1 else f"{found.images} images"
    counted = f"{found.model}, counting {found.counting}, " if found.model else ""
    out.print(f"{counted}{images}", markup=False)
    for one in found.criteria.values():
        out.print(Text.assemble((one.criterion, "bold"), f": {one.covered} of {one.total}, {one.value:.1%}"))
        if rows := one.rows():
            table = plain_table("layer", "kind", "neurons", "covered", "of", "share", "untried neurons")
            for row in rows:
                cells = (row.layer.name, row.layer.kind, row.layer.neurons, row.covered, row.total)
                share = f"{row.covered / row.total:.1%}"
                table.add_row(*(Text(str(cell)) for cell in (*cells, share, len(row.untried))))
            out.print(Padding(table, (0, 0, 0, 2)))
    if found.functional is not None:
        whole = found.functional
        out.print(
            Text.assemble((FUNCTIONAL, "bold"), f": {whole.covered} of {whole.total}, {whole.value:.1%}")
        )
        out.print(Padding(Text(whole.table()), (0, 0, 0, 2)), soft_wrap=True)
    holes = _holes(found, _SHOWN)
    if holes:
        out.print("What was never tried:", style="bold")
        for line in holes:
            out.print(Text(f"  {line}"), soft_wrap=True)
    if folder is not None:
        out.print(Text.assemble("Wrote ", (str(folder), "cyan")), soft_wrap=True)
