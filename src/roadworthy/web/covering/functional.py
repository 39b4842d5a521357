"""Which parts of the operating domain were never tried, from the files that commands write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roadworthy._files import read_json
from roadworthy.errors import InputError

__all__ = ["Functional", "functional_of"]

_FILES = (
    ("evidence/functional_coverage.json", None, "covered", "total", "never_touched", "rows"),
    ("search.json", "functional", "tried", "bins", "never_tried", None),
    ("coverage.json", "functional", "covered", "total", "holes", "dimensions"),
)
"""Files, where in them it stands, and what its parts are called there."""


@dataclass(frozen=True)
class Functional:
    """Functional coverage.

    Attributes:
        file: Where it stands.
        covered: How many bins were tried.
        total: How many there are.
        rows: For each dimension or cross: its name, how many bins were tried, and how many there are.
        holes: For each dimension or cross, what was never tried.
        note: What its frames are, if the file says so.
    """

    file: str
    covered: int
    total: int
    rows: tuple[tuple[str, int, int], ...]
    holes: Mapping[str, tuple[str, ...]]
    note: str = ""


def functional_of(folder: Path) -> list[Functional]:
    """Return the functional coverage that stands in a folder, from whichever command.

    Raises:
        InputError: A file is broken.

    Example:
        >>> import json, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     told = {"functional": {"tried": 1, "bins": 2, "never_tried": ["weather: fog is never tried"]}}
        ...     _ = Path(folder, "search.json").write_text(json.dumps(told))
        ...     functional_of(Path(folder))[0].holes
        {'weather': ('fog is never tried',)}
    """
    found = []
    for file, part, covered, total, holes, rows in _FILES:
        if not (folder / file).is_file():
            continue
        document: Any = read_json(folder / file)
        try:
            told = document if part is None else document.get(part)
            if told is None:
                continue
            found.append(
                Functional(
                    file,
                    int(told[covered]),
                    int(told[total]),
                    tuple(
                        (str(row["name"]), int(row["covered"]), int(row["total"]))
                        for row in (told[rows] if rows else ())
                    ),
                    _grouped([str(one) for one in told[holes]]),
                    str(told.get("note", "")),
                )
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"{folder / file} must be what a command of ours writes: {error!r}") from error
    return found


def _grouped(holes: list[str]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for hole in holes:
        name, _, words = hole.partition(": ")
        groups.setdefault(name, []).append(words or name)
    return {name: tuple(some) for name, some in groups.items()}
