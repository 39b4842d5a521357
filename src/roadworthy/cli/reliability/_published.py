"""Thresholds that are known: those that come with the program, and those that a team writes for itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy._files import write_text
from roadworthy.cli._console import console, plain_table, print_json
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.reliability.human import Threshold


def show_published(*, as_json: bool) -> None:
    """Write the published thresholds, and where they are from."""
    from roadworthy.visual_change.tolerance import human_studies

    studies = human_studies()
    if as_json:
        print_json(
            {
                name: {
                    "task": study.task,
                    "images": study.images,
                    "source": study.source,
                    "originals": study.originals,
                    "originals_source": study.originals_source,
                    "transformations": {
                        one.transformation: {"t_c": one.correctness, "t_p": one.prediction, "note": one.note}
                        for one in study.tolerances.values()
                    },
                }
                for name, study in studies.items()
            }
        )
        return
    shell = console()
    for name, study in studies.items():
        shell.print(f"[bold]{name}[/bold]: {study.task}; {study.images}")
        shell.print(study.source, markup=False)
        table = plain_table("transformation", "t_c", "t_p", "")
        for one in study.tolerances.values():
            table.add_row(one.transformation, f"{one.correctness:.2f}", f"{one.prediction:.2f}", one.note)
        shell.print(table)
        shell.print()


def write_study(found: Sequence[Threshold], path: Path) -> list[str]:
    """Write thresholds as a study that commands take by ``--study``; return what has not both t_c and t_p.

    Raises:
        InputError: No transformation has both, the ending is another, or the file cannot be written.
    """
    import yaml

    if path.suffix not in (".yaml", ".yml"):
        raise InputError(f"--save must name a file that ends in .yaml, got {path}")
    entries: dict[str, dict[str, object]] = {}
    for one in found:
        entry = entries.setdefault(one.bins.transformation, {"notes": []})
        entry[one.bins.requirement] = one.value
        if one.spread is not None:
            symbol = "t_c" if one.bins.requirement == "correctness" else "t_p"
            entry["notes"] = [
                *_notes(entry),
                f"{symbol} spreads from {one.spread[0]:.2f} to {one.spread[1]:.2f}",
            ]
    whole = {name for name, entry in entries.items() if {"correctness", "prediction"} <= entry.keys()}
    if not whole:
        raise InputError(f"{path}: of no transformation both t_c and t_p are known, and a study needs both")
    baseline = next((one.baseline for one in found if one.bins.requirement == "correctness"), None)
    rule, source = found[0].rule.name, found[0].bins.source
    document = {
        path.stem: {
            "source": f"roadworthy reliability thresholds, rule {rule}, from {source}",
            "originals": baseline,
            "transformations": {
                name: {
                    "correctness": entry["correctness"],
                    "prediction": entry["prediction"],
                    "note": "; ".join(_notes(entry)),
                }
                for name, entry in entries.items()
                if name in whole
            },
        }
    }
    write_text(path, yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
    return sorted(entries.keys() - whole)


def _notes(entry: dict[str, object]) -> list[str]:
    notes = entry["notes"]
    return list(notes) if isinstance(notes, list) else []
