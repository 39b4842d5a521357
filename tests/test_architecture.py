"""The shape of the package: which room may import which, what an import loads, how long a module gets."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version
from scripts.count_code import code_lines, count

from rooms import FACES, METHODS, ROOT, SAME_ROOM, floor_of, imports_of, modules, room_of, rooms

REPOSITORY = Path(__file__).resolve().parents[1]

NO_NEIGHBOURS = METHODS | {"world"}
"""Rooms that import nothing from their own floor."""

HEAVY = (
    "cv2",  # OpenCV: images in and out, drawing; loads at the first image
    "duckdb",  # queries over stored rows
    "fastapi",  # the web page
    "matplotlib",  # plots of reports
    "onnxruntime",  # networks under test
    "pandas",  # installed with ray
    "pyarrow",  # the result store
    "ray",  # the cluster executor
    "scipy",  # confidence bounds
    "spacy",  # the language of rules
    "torch",  # training, mutants, torch models under test
)
"""What takes long to load and is needed by few commands: imported where it is used, never by the root."""

LONGEST_MODULE = 600
OPENCV = canonicalize_name("opencv-python-headless")


MODULES = modules()


def offences(module: str, source: str, *, is_package: bool = False) -> list[str]:
    """Return what is wrong with the imports of a module."""
    parts = module.split(".")
    room = SAME_ROOM.get(parts[1], parts[1]) if len(parts) > 1 else ROOT
    floor = floor_of(room)
    if floor is None:
        return [f"{module} fits no floor: add {room!r} to FLOORS in docs/rooms.py"]
    if room in FACES:
        return []
    found = []
    for line, target in imports_of(module, source, is_package=is_package):
        other = room_of(target)
        if other == room:
            continue
        where = f"{module}:{line} imports {target}"
        other_floor = floor_of(other)
        if other_floor is None:
            found.append(f"{where}, which fits no floor")
        elif other_floor < floor:
            found.append(f"{where}: {other!r} lies above {room!r}")
        elif other_floor == floor and room in NO_NEIGHBOURS:
            found.append(f"{where}: {room!r} imports nothing from its own floor")
        elif any(part.startswith("_") and not part.endswith("__") for part in target.split(".")[2:]):
            found.append(f"{where}, which is private to {other!r}")
    return found


def test_arrows_point_down() -> None:
    found = [
        offence
        for module in MODULES
        for offence in offences(module.name, module.path.read_text("utf-8"), is_package=module.is_package)
    ]
    assert found == []


def test_rooms_do_not_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter(rooms()).prepare()
    except CycleError as error:
        pytest.fail(f"these rooms import each other in a circle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("frames.boxes", "from roadworthy.models import Truth", "'models' lies above 'frames'"),
        ("frames.boxes", "import roadworthy.cli.main", "'cli' lies above 'frames'"),
        ("runs.single", "from roadworthy.report import html", "'report' lies above 'runs'"),
        (
            "report.html",
            "def draw():\n    from roadworthy import web",
            ":2 imports roadworthy.web: 'web' lies",
        ),
        (
            "cases.methods",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from roadworthy.runs import run",
            ":3 imports roadworthy.runs.run: 'runs' lies above 'cases'",
        ),
        ("cases.methods", "from ..rules import parse", "roadworthy.rules.parse: 'rules' lies above 'cases'"),
        ("frames.formats.maite", "from ... import runs", "'runs' lies above 'frames'"),
        ("seeding", "from . import world", "'world' lies above 'seeding'"),
        ("models.truth", "__import__('roadworthy.runs')", "'runs' lies above 'models'"),
        (
            "models",
            "import importlib\nimportlib.import_module('roadworthy.cli')",
            "'cli' lies above 'models'",
        ),
        ("rules.language", "from roadworthy.coverage import x", "'rules' imports nothing from its own floor"),
        ("bbsl", "import roadworthy.driving", "'bbsl' imports nothing from its own floor"),
        ("world.truth", "from roadworthy import datasets", "'world' imports nothing from its own floor"),
        ("world.truth", "from roadworthy.models import Truth", "'world' imports nothing from its own floor"),
        ("runs.single", "from roadworthy import Frame", "'roadworthy' lies above 'runs'"),
        ("runs.single", "import roadworthy", "'roadworthy' lies above 'runs'"),
        ("runs.single", "from roadworthy.frames.formats._rows import x", "which is private to 'frames'"),
        ("runs.single", "from roadworthy.frames.boxes import _COLUMNS", "which is private to 'frames'"),
        ("runs.single", "import roadworthy.garage.door", "which fits no floor"),
        ("garage.door", "", "roadworthy.garage.door fits no floor: add 'garage' to FLOORS"),
        ("garage", "", "roadworthy.garage fits no floor: add 'garage' to FLOORS"),
    ],
)
def test_the_checker_finds(module: str, source: str, complaint: str) -> None:
    (found,) = offences(f"{ROOT}.{module}", source, is_package=module in ("models", "bbsl"))
    assert complaint in found
    assert found.startswith(f"{ROOT}.{module}")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("frames.boxes", "import numpy as np\nfrom roadworthy.ontology import ontology"),
        ("frames.boxes", "from roadworthy.frames.boxes import checked_corners"),
        ("frames.boxes", "from . import labels\nfrom ._box_checks import checked_corners"),
        ("frames.frame", "from roadworthy._frozen import FrozenDict"),
        ("ontology", "def load():\n    from roadworthy._ontology_file import load_elements"),
        ("datasets.world", "from roadworthy.world import frame_of\nfrom roadworthy.registry import datasets"),
        ("rules.method", "from roadworthy.transforms import rain\nfrom roadworthy.cases import BaseMethod"),
        ("cli.data", "from roadworthy import __version__\nfrom roadworthy.web import serve"),
        ("__main__", "from roadworthy.cli import main"),
    ],
)
def test_the_checker_allows(module: str, source: str) -> None:
    assert offences(f"{ROOT}.{module}", source) == []


def test_the_root_loads_no_heavy_library() -> None:
    code = f"import sys, {ROOT}; print([name for name in {HEAVY} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_every_heavy_library_can_be_told_by_this_name() -> None:
    # A misspelt name would never be found in sys.modules, and the test above would pass for ever.
    absent = [name for name in HEAVY if importlib.util.find_spec(name) is None]
    assert set(absent) <= {"matplotlib"}


def test_no_module_is_too_long() -> None:
    lengths = {module.name: len(module.path.read_text("utf-8").splitlines()) for module in MODULES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}, "split them"


MOST_FILES, MOST_LINES = 620, 88_000
"""The ceiling: new capability is paid for by simpler code elsewhere."""
SLICE = 60
"""Lines of code below which a module that one other imports is a slice of it."""


def test_the_package_stays_below_its_ceiling() -> None:
    files, lines = count(REPOSITORY / "src" / ROOT)
    assert files <= MOST_FILES
    assert lines <= MOST_LINES
    assert files == len(MODULES)


def test_no_module_is_a_slice_of_another() -> None:
    names = {module.name for module in MODULES}
    importers: dict[str, set[str]] = {}
    for module in MODULES:
        source = module.path.read_text("utf-8")
        for _, target in imports_of(module.name, source, is_package=module.is_package):
            found = target if target in names else target.rpartition(".")[0]
            if found != module.name:
                importers.setdefault(found, set()).add(module.name)
    slices = {
        module.name: importers[module.name]
        for module in MODULES
        if not module.is_package
        and len(importers.get(module.name, ())) == 1
        and code_lines(module.path.read_text("utf-8")) < SLICE
    }
    assert slices == {}, "put each into its only importer"


def test_only_faces_list_what_is_public() -> None:
    listing = {
        module.name
        for module in MODULES
        if not module.is_package
        and module.name.count(".") > 1
        and any(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
                for node in ast.parse(module.path.read_text("utf-8")).body)
    }  # fmt: skip
    assert listing == set()


def test_no_two_public_classes_share_a_name() -> None:
    places: dict[str, list[str]] = {}
    for module in MODULES:
        for node in ast.parse(module.path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module.name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


FRONT_ENDS = ("cli", "web", "pytest_plugin")
STARTERS = {
    "run", "run_several", "Work", "RunStore", "begin_manifest", "complete_manifest", "write_manifest",
    "add_notes", "note_models",
}  # fmt: skip
"""What starts the loop of a run or writes its store: front ends build suites, and `runs` does the rest."""


def test_front_ends_have_no_door_of_their_own() -> None:
    found = [
        f"{module.name}:{line} imports {target}"
        for module in MODULES
        if room_of(module.name) in FRONT_ENDS
        for line, target in imports_of(
            module.name, module.path.read_text("utf-8"), is_package=module.is_package
        )
        if target.startswith(f"{ROOT}.runs.") and target.rpartition(".")[2] in STARTERS
    ]
    assert found == []


MACHINERY = {"_answer", "_app", "_commands", "_console", "_road", "options"}
"""What is no command: how options are read, answers printed and runs started."""
MOST_STATEMENTS, MOST_LOOPS = 20, 6
COUNTING = {"collections", "cv2", "numpy", "pyarrow", "scipy", "statistics"}
"""What works on data: a command that needs it does the work of a room."""


def logic(source: str) -> dict[str, tuple[int, int]]:
    """Return how many statements and loops each function has; imports and refusals are none."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            inside = [each for statement in node.body for each in ast.walk(statement)]
            plain = (ast.Import, ast.ImportFrom, ast.Raise)
            docstring = bool(ast.get_docstring(node))
            statements = sum(isinstance(each, ast.stmt) and not isinstance(each, plain) for each in inside)
            loops = sum(isinstance(each, ast.For | ast.While | ast.comprehension) for each in inside)
            found[node.name] = (statements - docstring, loops)
    return found


def test_a_command_reads_its_options_and_leaves_the_work_to_a_room() -> None:
    found = []
    for module in MODULES:
        if not module.name.startswith(f"{ROOT}.cli.") or module.name.rpartition(".")[2] in MACHINERY:
            continue
        source = module.path.read_text("utf-8")
        for name, (statements, loops) in logic(source).items():
            if statements > MOST_STATEMENTS or loops > MOST_LOOPS:
                found.append(f"{module.name}.{name} has {statements} statements and {loops} loops")
        for node in ast.walk(ast.parse(source)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            found += [f"{module.name} imports {one}" for one in names if one.split(".")[0] in COUNTING
                      and one != "collections.abc"]  # fmt: skip
    assert found == [], "move what they do into the room that it belongs to"


def undescribed(source: str) -> set[str]:
    """Return the classes and functions of a module that have no docstring.

    Read from the source, because a dataclass gets one from Python where its author wrote none.
    """
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return {
        node.name
        for node in ast.parse(source).body
        if isinstance(node, kinds) and not ast.get_docstring(node)
    }


TELLS_CONTENT = {"stamp", "content", "sha256", "_sha256"}
"""Parameters of cached functions that say which content of a path is meant."""


def caches_by_path(source: str) -> list[str]:
    """Return the functions that keep results by a path alone: another file may lie there the next time."""
    kept = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        decorators = " ".join(map(ast.unparse, node.decorator_list))
        if "cache" not in decorators or "cached_property" in decorators:
            continue
        parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        paths = [one for one in parameters if one.annotation and "Path" in ast.unparse(one.annotation)]
        if paths and not TELLS_CONTENT & {one.arg for one in parameters}:
            kept.append(node.name)
    return kept


def test_no_cache_goes_by_a_path() -> None:
    assert caches_by_path("@lru_cache(maxsize=4)\ndef read(path: Path) -> str: ...") == ["read"]
    assert caches_by_path("@cache\ndef read(path: Path | None, stamp: str) -> str: ...") == []
    kept = {module.name: caches_by_path(module.path.read_text("utf-8")) for module in MODULES}
    assert {name: functions for name, functions in kept.items() if functions} == {}


def test_a_missing_docstring_is_found() -> None:
    source = "@dataclass\nclass Bare: ...\ndef told():\n    'Why.'\ndef untold(): ...\nCONSTANT = 3\n"
    assert undescribed(source) == {"Bare", "untold"}


def test_public_names_exist_and_are_described() -> None:
    found = []
    for module in MODULES:
        if module.name == f"{ROOT}.__main__":
            continue
        loaded = importlib.import_module(module.name)
        public = getattr(loaded, "__all__", [])
        bare = undescribed(module.path.read_text("utf-8"))
        for name in public:
            if not hasattr(loaded, name):
                found.append(f"{module.name}.{name} does not exist")
            if public.count(name) > 1:
                found.append(f"{module.name}.{name} is listed twice")
            if name in bare:
                found.append(f"{module.name}.{name} has no docstring")
    assert found == []


def test_every_module_is_looked_at() -> None:
    # Of none, all of the above would hold.
    assert {one.path for one in MODULES} == set((REPOSITORY / "src" / ROOT).rglob("*.py"))


def constraints() -> dict[NormalizedName, Requirement]:
    lines = (REPOSITORY / "constraints.txt").read_text("utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert len({canonicalize_name(pin.name) for pin in pins}) == len(pins), "a name is pinned twice"
    return {canonicalize_name(pin.name): pin for pin in pins}


def test_constraints_are_exact() -> None:
    for name, pin in constraints().items():
        assert [one.operator for one in pin.specifier] == ["=="], name
        assert "*" not in str(pin.specifier), name


def test_opencv_is_below_5() -> None:
    """Version 5 has no readers for darknet and caffe networks, which users' detectors need."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {canonicalize_name(one.name): one for one in map(Requirement, project["dependencies"])}
    for named in (wanted[OPENCV], constraints()[OPENCV]):
        assert not any(named.specifier.contains(version) for version in ("5.0", "5.0.0.1", "6.1"))


def needed(name: str, extras: frozenset[str], found: dict[NormalizedName, metadata.Distribution]) -> None:
    """Collect an installed distribution and all that it needs here; extras that are not installed are not."""
    try:
        dist = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return
    found[canonicalize_name(name)] = dist
    for requirement in map(Requirement, dist.requires or ()):
        marker = requirement.marker
        if marker is not None and not any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            continue
        key = canonicalize_name(requirement.name)
        if key not in found or requirement.extras:
            needed(requirement.name, frozenset(requirement.extras), found)


@pytest.mark.skipif(
    Path(sys.prefix).resolve() != (REPOSITORY / ".venv").resolve(),
    reason="tells only about the project's .venv",
)
def test_what_the_project_installs_is_pinned_at_the_version_that_is_installed() -> None:
    """A tool that a developer adds to the environment, such as a profiler, is nobody's business."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    found: dict[NormalizedName, metadata.Distribution] = {}
    needed(ROOT, frozenset(project["optional-dependencies"]), found)
    for tool in ("hatchling", "editables"):
        needed(tool, frozenset(), found)
    assert len(found) > 80
    pins = constraints()
    wrong = []
    for name, dist in found.items():
        if name in (ROOT, "pip", "setuptools", "wheel"):
            continue
        # The same torch is 2.13.0 or 2.13.0+cpu, depending on where it came from.
        version = Version(dist.version).public
        if name not in pins or not pins[name].specifier.contains(version, prereleases=True):
            wrong.append(f"{name}=={version} is installed, constraints.txt has {pins.get(name)}")
    assert wrong == []
