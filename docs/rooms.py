"""The rooms of the package, their floors, and what each imports, read from the source.

``tests/test_architecture.py`` holds the source against the floors; ``make_architecture.py`` draws them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[1] / "src"
ROOT = "roadworthy"
METHODS = {"rules", "coverage", "reliability", "bbsl", "driving"}
FLOORS = (
    {"cli", "web", "pytest_plugin", "__main__", ROOT},
    {"training", "papers", "studies", "selftest"},
    {"report"},
    {"runs"},
    METHODS,
    {"models", "transforms", "datasets", "labelling", "world"},
    {
        "frames", "cases", "visual_change", "ontology", "registry", "errors", "result_tables", "seeding",
        "images", "places", "statistics", "class_lists", "_files", "_frozen", "_http", "_importing",
        "_options", "_starting", "_tables", "_version", "_yaml",
    },
)  # fmt: skip
"""The rooms from top to bottom; imports point down only.

The root counts as the top floor for those that import it, because it re-exports from every floor: a room
below that took `Frame` from it would load what lies above. What the root imports itself is not checked, for
it is the public face; nor is `__main__`, which does nothing but start the command line.
"""
FACES = (ROOT, "__main__")
"""What stands before the rooms and is none of them."""
SAME_ROOM = {"_ontology_file": "ontology"}
"""Modules that are the inside of a room which is itself a module."""


class Module(NamedTuple):
    """A module of the package and its file."""

    name: str
    path: Path

    @property
    def is_package(self) -> bool:
        """Whether it is the face of a folder."""
        return self.path.name == "__init__.py"


class Import(NamedTuple):
    """One imported name: `from roadworthy.frames import Boxes` imports roadworthy.frames.Boxes."""

    line: int
    target: str


def modules() -> list[Module]:
    """Return every module of the package."""
    found = []
    for path in sorted((SOURCE / ROOT).rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found.append(Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


@cache
def imports_of(module: str, source: str, *, is_package: bool = False) -> tuple[Import, ...]:
    """Return every import of something of ours: inside functions and under TYPE_CHECKING too."""
    return tuple(_imports_of(module, source, is_package=is_package))


def _imports_of(module: str, source: str, *, is_package: bool) -> Iterator[Import]:
    for node in ast.walk(ast.parse(source)):
        targets: list[str]
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if is_package else module.split(".")[:-1]
                package = package[: len(package) - node.level + 1]
                base = ".".join([*package, base] if base else package)
            targets = [f"{base}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            targets = [str(ast.literal_eval(one)) for one in node.args[:1] if isinstance(one, ast.Constant)]
        else:
            continue
        yield from (Import(node.lineno, target) for target in targets if target.split(".")[0] == ROOT)


def room_of(target: str) -> str:
    """Return the room of a module, or of a name imported from one."""
    parts = target.split(".")
    name = parts[1] if len(parts) > 1 else ROOT
    name = SAME_ROOM.get(name, name)
    # `from roadworthy import Frame` takes a name that is no room from the root.
    return name if len(parts) != 2 or any(name in floor for floor in FLOORS) else ROOT


def floor_of(room: str) -> int | None:
    """Return the floor of a room, counted from the top."""
    return next((index for index, floor in enumerate(FLOORS) if room in floor), None)


@cache
def rooms() -> dict[str, frozenset[str]]:
    """Return what each room imports: other rooms, without the faces."""
    found: dict[str, set[str]] = {}
    for module in modules():
        room = room_of(module.name)
        if room in FACES:
            continue
        source = module.path.read_text("utf-8")
        targets = imports_of(module.name, source, is_package=module.is_package)
        found.setdefault(room, set()).update(room_of(one.target) for one in targets)
    return {room: frozenset(others - {room, *FACES}) for room, others in found.items()}
