"""Puts small faults into the package, one at a time, and tells which of them the room's own tests notice.

::

    python -m scripts.faults --count 150 --seed 1
    python -m scripts.faults --rooms report web --count 20 --seed 2 --likely
    python -m scripts.faults --given faults.json

A fault is a dropped condition, a border moved by one, a lost sign, a number that is off, a call that is left
out, a statement that is gone. Where it goes is drawn at random, in each room equally often. The tests of a
room are its folder in ``tests`` and the examples of the changed module; those that name the changed function
run first. Faults are put into a copy of the tree, never into the tree itself. Faults that somebody thought of
come from a JSON file: a list of objects with room, file, function, before (in the file once) and after.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, islice
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGE = Path("src/roadworthy")
_BORDERS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_SIGNS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}


@dataclass(frozen=True)
class Fault:
    """A small change of one place.

    Attributes:
        room: The folder of the package, or "base" for modules beside the folders.
        file: Below the root of the project.
        line: Where.
        function: What it stands in.
        before: The code as it is.
        after: The code with the fault.
        noticed: Whether a test failed; None where none was run yet.
        by: The test that noticed it, or that the limit ended the tests.
    """

    room: str
    file: str
    line: int
    function: str
    before: str
    after: str
    noticed: bool | None = None
    by: str = ""


def _changes(node: ast.AST) -> Iterator[ast.AST | None]:
    """Yield what may stand in a node's place; None where the statement is to be left out."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _BORDERS:
        yield _with(node, ops=[_BORDERS[type(node.ops[0])]()])
    elif isinstance(node, ast.BoolOp):
        for number in range(len(node.values)):
            rest = node.values[:number] + node.values[number + 1 :]
            yield rest[0] if len(rest) == 1 else _with(node, values=rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        yield _with(node, op=_SIGNS[type(node.op)]())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1 if isinstance(node.value, int) else node.value * 2 or 1.0)
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.If) and not node.orelse:
        yield _with(node, test=ast.Constant(value=False))
        yield _with(node, test=ast.Constant(value=True))
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name | ast.Attribute) and len(node.args) == 1 and not node.keywords:
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if name in _TWINS:
                yield _with(node, func=_renamed(node.func, _TWINS[name]))
            elif name[:1].islower():
                yield node.args[0]
        for number in range(len(node.keywords)):
            yield _with(node, keywords=node.keywords[:number] + node.keywords[number + 1 :])
    elif (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or isinstance(node, ast.AugAssign):
        yield None


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _renamed(function: ast.expr, name: str) -> ast.expr:
    if isinstance(function, ast.Attribute):
        return ast.Attribute(function.value, name, ast.Load())
    return ast.Name(name, ast.Load())


def _walk(node: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Yield the nodes of code that runs and the name of what they stand in."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        inner = [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]
        function = node.name
    elif isinstance(node, ast.ClassDef):
        inner, function = list(node.body), node.name
    elif isinstance(node, ast.AnnAssign):
        inner = [node.value] if node.value is not None else []
    elif isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Raise | ast.Assert):
        return  # words of messages are for readers; the condition before a raise is walked
    elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    else:
        inner = list(ast.iter_child_nodes(node))
    yield node, function
    for child in inner:
        yield from _walk(child, function)


@dataclass(frozen=True)
class Place:
    """Somewhere in a file where a fault can be put.

    Attributes:
        room: The folder of the package.
        file: The file.
        function: What it stands in.
        node: What is there.
        changed: What may stand there instead; None for nothing.
    """

    room: str
    file: Path
    function: str
    node: ast.AST
    changed: ast.AST | None

    def fault(self) -> tuple[Fault, str] | None:
        """Return the fault and the text of the file with it; None where that cannot be read any more."""
        node = self.node.test if isinstance(self.node, ast.If) else self.node
        changed = self.changed.test if isinstance(self.changed, ast.If) else self.changed
        text = self.file.read_bytes()
        starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
        first = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        last = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        new = "pass" if changed is None else ast.unparse(changed)
        if isinstance(node, ast.expr):
            new = f"({new})"
        mutated = (text[:first] + new.encode() + text[last:]).decode()
        try:
            ast.parse(mutated)
        except SyntaxError:  # inside of a formatted string, say
            return None
        old = " ".join(text[first:last].decode().split())
        where = str(self.file.relative_to(_ROOT))
        return Fault(self.room, where, node.lineno, self.function, old, new), mutated  # type: ignore[attr-defined]


def places_in(file: Path, room: str) -> list[Place]:
    """Return every place of a file where a fault can be put, once for each fault."""
    nodes = _walk(ast.parse(file.read_text("utf-8")))
    return [
        Place(room, file, function, node, changed) for node, function in nodes for changed in _changes(node)
    ]


def rooms() -> dict[str, list[Path]]:
    """Return the files of each room of the package."""
    found: dict[str, list[Path]] = {}
    for file in sorted((_ROOT / _PACKAGE).rglob("*.py")):
        parts = file.relative_to(_ROOT / _PACKAGE).parts
        found.setdefault(parts[0] if len(parts) > 1 else "base", []).append(file)
    return found


def _tests_of(fault: Fault, *, likely: bool) -> list[str]:
    """Return the test files of a room, those that name the function or its module first."""
    if fault.room == "base":
        own = sorted((_ROOT / "tests").glob("test_*.py")) + sorted((_ROOT / "tests/base").rglob("test_*.py"))
    else:
        own = sorted((_ROOT / "tests" / fault.room).rglob("test_*.py"))
        own += sorted((_ROOT / "tests").glob(f"test_{fault.room}*.py"))
    stem = Path(fault.file).stem

    def near(file: Path) -> int:
        text = file.read_text("utf-8")
        return -2 * (fault.function in text and bool(fault.function)) - (
            stem.strip("_") in file.stem or stem in text
        )

    own.sort(key=lambda file: (near(file), file.name))
    named = [file for file in own if near(file) < 0]
    files = named if likely and named else own
    return [fault.file, *(str(file.relative_to(_ROOT)) for file in files)]


def tried(fault: Fault, text: str, tree: Path, *, likely: bool, limit: float) -> Fault:
    """Put a fault into a copy of the tree, run the tests of its room there, and take it out again."""
    file = tree / fault.file
    before = file.read_text("utf-8")
    file.write_text(text, "utf-8")
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "--no-header",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow",
    ]
    try:
        done = subprocess.run(
            [*command, *_tests_of(fault, likely=likely)],
            cwd=tree, env=environment, capture_output=True, text=True, timeout=limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Fault(**asdict(fault) | {"noticed": False, "by": "no test within the limit"})
    finally:
        file.write_text(before, "utf-8")
    named = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    by = named[0].split(" ", 1)[1].partition(" - ")[0] if named else f"exit code {done.returncode}"
    return Fault(**asdict(fault) | {"noticed": done.returncode != 0, "by": by if done.returncode else ""})


def given_in(file: Path) -> Iterator[tuple[Fault, str]]:
    """Yield the faults of a JSON file; those whose text is not there once are told and left out."""
    for one in json.loads(file.read_text("utf-8")):
        text = (_ROOT / one["file"]).read_text("utf-8")
        if text.count(one["before"]) != 1:
            print(f"left out {one['file']} {one['function']}: {one['before']!r}")  # noqa: T201
            continue
        line = text[: text.index(one["before"])].count("\n") + 1
        known = {name: one[name] for name in ("room", "file", "function", "before", "after")}
        yield Fault(**known, line=line), text.replace(one["before"], one["after"])


def _copied(folder: Path) -> Path:
    """Copy the files that git knows."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, capture_output=True, check=True).stdout
    for name in filter(None, names.decode().split("\0")):
        target = folder / "project" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (_ROOT / name).exists():
            shutil.copy2(_ROOT / name, target)
    if (shared := _ROOT.parent / "shared").exists():
        (folder / "shared").symlink_to(shared)  # real data lies beside the project
    return folder / "project"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="faults", description=__doc__.partition("\n")[0])
    parser.add_argument("--rooms", nargs="*", help="only these")
    parser.add_argument("--count", type=int, default=150, help="faults in all")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other faults")
    parser.add_argument(
        "--likely", action="store_true", help="run only test files that name the changed function"
    )
    parser.add_argument("--limit", type=float, default=600, help="seconds for the tests of one fault")
    parser.add_argument("--given", type=Path, help="a JSON file of faults instead of random ones")
    parser.add_argument("--list", action="store_true", help="only show the faults")
    parser.add_argument("--out", type=Path, help="a JSON file for the faults and what became of them")
    given = parser.parse_args(arguments)
    chosen = {name: files for name, files in rooms().items() if not given.rooms or name in given.rooms}
    rng = random.Random(given.seed)
    drawn: list[tuple[Fault, str]] = []
    if given.given:
        drawn = [one for one in given_in(given.given) if one[0].room in chosen]
        chosen = {}
    for number, (room, files) in enumerate(chosen.items()):
        share = given.count // len(chosen) + (number < given.count % len(chosen))
        possible = [place for file in files for place in places_in(file, room)]
        rng.shuffle(possible)
        drawn += islice(filter(None, (place.fault() for place in possible)), share)
    results: list[Fault] = []
    with tempfile.TemporaryDirectory() as folder:
        tree = _copied(Path(folder)) if not given.list else Path()
        for fault, text in drawn:
            began = time.monotonic()
            if not given.list:
                fault = tried(fault, text, tree, likely=given.likely, limit=given.limit)
            results.append(fault)
            mark = {True: "noticed", False: "NOT", None: ""}[fault.noticed]
            print(  # noqa: T201
                f"{mark:8}{fault.file}:{fault.line} {fault.function}: {fault.before} -> {fault.after}"
                f"  {fault.by} ({time.monotonic() - began:.0f} s)",
                flush=True,
            )
            if given.out:
                given.out.write_text(json.dumps([asdict(one) for one in results], indent=1), "utf-8")
    total, noticed = Counter(one.room for one in results), Counter(one.room for one in results if one.noticed)
    for room in total:
        print(f"{room:16}{noticed[room]:4} of {total[room]:4}")  # noqa: T201
    print(f"{'all':16}{noticed.total():4} of {total.total():4}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
