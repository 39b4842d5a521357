"""What was tested, with what and where: ``manifest.json``, written first and completed at the end.

::

    format        2; of 1 the documents had other words, and all of a suite was taken to be asked for
    tool          name and version
    started       when, in UTC; continued has the times at which the run went on; ended is null until the end
    seed          of all that is drawn by lot
    settings      how it was run, as far as it matters for the rows
    only          the ids, tags or kinds that were asked for, where that is not all of the suite
    models, data, suite   by name: SHA-256, and what exactly was hashed; a suite is what says what must hold
    engines       likewise, where image engines of the user changed frames or a network labelled them
    notes         what a reader should know, see `notes`
    published     the report and other files that were made of the rows, where that was done
    libraries     versions of what computes
    host          kind of machine, cores, memory; neither its name nor its user's, and no path
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NotRequired, TypedDict, Unpack

from roadworthy._files import read_json
from roadworthy._version import __version__
from roadworthy.errors import InputError
from roadworthy.runs.store.digests import Digest
from roadworthy.runs.store.rows import TABLES
from roadworthy.runs.store.writing import storing, write_whole

MANIFEST = "manifest.json"

FORMAT = 3
# The first format of runs that say what decides, and the cluster of every case.
_WITH_CLUSTERS = 3
# What must be the same for a run to go on.
_SAME = ("tool", "seed", "settings")

# Of what a run may get more when it goes on; what it has must be the same.
_GROWING = ("suite", "models", "data", "engines")


class Tested(TypedDict):
    """What a run tests.

    Attributes:
        models: The systems under test, by name.
        data: The data sets, by name.
        suite: The suite file and those that it includes, by name.
        engines: The image engines, by name.
        seed: Of all that is drawn by lot; 0 if left out.
        settings: What else the rows depend on; what JSON can hold.
        only: The ids, tags or kinds of the suite that are asked for; all of it if left out or empty.
    """

    models: Mapping[str, Digest]
    data: Mapping[str, Digest]
    suite: NotRequired[Mapping[str, Digest]]
    engines: NotRequired[Mapping[str, Digest]]
    seed: NotRequired[int]
    settings: NotRequired[Mapping[str, Any]]
    only: NotRequired[Sequence[str]]


def begin_manifest(folder: Path, **tested: Unpack[Tested]) -> dict[str, Any]:
    """Write down what is about to be tested; where a run goes on, see that it is the same.

    A run may go on with further models, data and files of the suite, which are added to what is there.

    Args:
        folder: The folder of the run.
        **tested: What is tested, see `Tested`.

    Returns:
        The manifest.

    Raises:
        InputError: The run in the folder was of something else, or the file cannot be written.

    Example:
        >>> import tempfile
        >>> from roadworthy.models import load_model
        >>> from roadworthy.runs.store.digests import digest_of_model
        >>> models = {"dave2": digest_of_model(load_model("dave2"))}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = begin_manifest(Path(folder), models=models, data={}, seed=7)
        ...     complete_manifest(Path(folder))["ended"] is not None
        True
    """
    record = _record(tested)
    if (there := read_manifest(folder)) is not None:
        _check_same(there, record, folder)
        other = {name: record[name] for name in ("libraries", "host") if there.get(name) != record[name]}
        growing = [name for name in _GROWING if name in there or name in record]
        grown = {name: {**there.get(name, {}), **record.get(name, {})} for name in growing}
        continued = [*there.get("continued", []), {"time": record["started"], **other}]
        asked = list(dict.fromkeys([*there.get("only", ()), *record.get("only", ())]))
        # Once all of the suite was asked for, it is.
        only = {"only": asked} if "only" in there and "only" in record else {}
        kept = {name: one for name, one in there.items() if name != "only"}
        record = {**kept, **only, **grown, "continued": continued, "ended": None}
    write_manifest(folder, record)
    return record


def check_manifest(folder: Path, **tested: Unpack[Tested]) -> None:
    """See that the run in a folder, if there is one, is of the same; nothing is written.

    Args:
        folder: The folder of the run.
        **tested: What is tested, see `Tested`.

    Raises:
        InputError: It is of something else; says what differs.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = begin_manifest(Path(folder), models={}, data={}, seed=7)
        ...     check_manifest(Path(folder), models={}, data={}, seed=8)
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: ... holds a run with seed 7, and it cannot go on with seed 8: ...
    """
    if (there := read_manifest(folder)) is not None:
        _check_same(there, _record(tested), folder)


def take_suite(folder: Path, suite: Mapping[str, Digest]) -> None:
    """Write down the suite that a run goes on with, which may give its searches another budget.

    Raises:
        InputError: The manifest cannot be read or written.
    """
    record = read_manifest(folder) or {}
    now = {**record.get("suite", {}), **{name: one.record() for name, one in suite.items()}}
    if now != record.get("suite"):
        write_manifest(folder, {**record, "suite": now})


def record_published(folder: Path, files: Sequence[str]) -> None:
    """Write down which files are made of the rows of a run, so that one that goes missing is missed.

    Raises:
        InputError: The manifest cannot be read or written.
    """
    record = read_manifest(folder)
    if record is not None and record.get("published") != [*files]:
        write_manifest(folder, {**record, "published": [*files]})


def complete_manifest(folder: Path) -> dict[str, Any]:
    """Write down that the run has ended, and return the manifest.

    Raises:
        InputError: There is no manifest, or it cannot be written.
    """
    if (record := read_manifest(folder)) is None:
        raise InputError(f"{folder} has no {MANIFEST} that could be completed: begin it first")
    record["ended"] = _now()
    write_manifest(folder, record)
    return record


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a run; None where it has none.

    Raises:
        InputError: The file cannot be read, or is of a later version of Roadworthy.
    """
    path = folder / MANIFEST
    if not path.is_file():
        return None
    record = read_json(path)
    if not isinstance(record, dict) or not isinstance(record.get("format"), int):
        raise InputError(f"{path} is no manifest of a run: expected an object with its format")
    if record["format"] > FORMAT:
        raise InputError(f"{path} has format {record['format']}, newer than {FORMAT}: update Roadworthy")
    if not isinstance(record.get("seed", 0), int):
        # A seed that is NaN would be another one than itself.
        raise InputError(f"{path}: seed must be a whole number, got {record['seed']!r:.80}")
    for name in _GROWING:
        digests = record.get(name) or {}
        if not isinstance(digests, dict) or not all(isinstance(one, dict) for one in digests.values()):
            raise InputError(f"{path}: {name} must be digests by name, got {digests!r:.80}")
    continued = record.get("continued", [])
    if not isinstance(continued, list) or not all(isinstance(one, dict) for one in continued):
        raise InputError(f"{path}: continued must be a list of objects, got {continued!r:.80}")
    if not isinstance(record.get("settings", {}), dict):
        raise InputError(f"{path}: settings must be an object, got {record['settings']!r:.80}")
    for name, listed in (("only", "ids, tags or kinds"), ("published", "files")):
        if not isinstance(record.get(name, []), list):
            raise InputError(f"{path}: {name} must be a list of {listed}, got {record[name]!r:.80}")
    return record


def is_of_before(manifest: Mapping[str, Any] | None) -> bool:
    """Return whether a run is of before cases had clusters and requirements said what decides."""
    return int((manifest or {}).get("format", 0)) < _WITH_CLUSTERS


def libraries(names: Sequence[str] = TABLES["libraries"]) -> dict[str, str]:
    """Return the versions of installed libraries, of those that compute if none are named, and of Python.

    Example:
        >>> sorted(libraries())[:2]
        ['duckdb', 'numpy']
    """
    found = {"python": platform.python_version()}
    for name in names:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def host() -> dict[str, Any]:
    """Return what kind of machine this is, without its name, its user or a path.

    Example:
        >>> sorted(host())
        ['cores', 'machine', 'memory_gib', 'processor', 'system']
    """
    return {
        "system": _system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": _memory(),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_manifest(folder: Path, record: Mapping[str, Any]) -> None:
    """Write a manifest, whole or not at all.

    Raises:
        InputError: It cannot be written.
    """
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        content = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(folder / MANIFEST, content.encode("utf-8", "backslashreplace"))


def _record(tested: Tested) -> dict[str, Any]:
    def records(digests: Mapping[str, Digest]) -> dict[str, Any]:
        return {name: one.record() for name, one in digests.items()}

    engines = records(tested.get("engines", {}))
    only = list(tested.get("only", ()))
    return {
        "format": FORMAT,
        "tool": {"name": "roadworthy", "version": __version__},
        "started": _now(),
        "continued": [],
        "ended": None,
        "seed": tested.get("seed", 0),
        "settings": json.loads(json.dumps(dict(tested.get("settings", {})), allow_nan=False)),
        **({"only": only} if only else {}),
        "suite": records(tested.get("suite", {})),
        "models": records(tested["models"]),
        "data": records(tested["data"]),
        **({"engines": engines} if engines else {}),
        "libraries": libraries(),
        "host": host(),
    }


def _check_same(there: Mapping[str, Any], mine: Mapping[str, Any], folder: Path) -> None:
    if different := difference(there, mine):
        what, found, wanted = different
        others = "other requirements, models, data or options were given; "
        raise InputError(
            f"{folder} holds a run with {what} {found}, and it cannot go on with {what} {wanted}: "
            f"{others if what.startswith('suite ') else ''}run with the same, or choose another folder with "
            "--out"
        )


def difference(
    there: Mapping[str, Any], mine: Mapping[str, Any], *, may_grow: bool = True
) -> tuple[str, str, str] | None:
    """Return what differs between two manifests that should be of one run, there and here, in words.

    Where a run may grow, each may have models, data and files that the other does not have.
    """
    for name in (*_SAME, *_GROWING):
        found, wanted = there.get(name), mine.get(name)
        if name in _GROWING:
            found, wanted = found or {}, wanted or {}
        what = name
        if isinstance(found, dict) and isinstance(wanted, dict):
            # The part that differs says more than the whole; new parts may come in where runs grow.
            parts = {*found} & {*wanted} if name in _GROWING and may_grow else {*found, *wanted}
            part = next((key for key in sorted(parts) if found.get(key) != wanted.get(key)), None)
            if part is None:
                continue
            what, found, wanted = differing(f"{name} {part}", found.get(part), wanted.get(part))
        if found != wanted:
            return what, _short(found), _short(wanted)
    return None


def differing(what: str, found: object, wanted: object) -> tuple[str, object, object]:
    """Return what differs between two records: the records themselves where it is what was hashed.

    Example:
        >>> differing("models a", {"sha256": "1", "input": {"w": 2}}, {"sha256": "1", "input": {"w": 3}})
        ('models a input w', 2, 3)
    """
    if not isinstance(found, dict) or not isinstance(wanted, dict):
        return what, found, wanted
    if found == wanted or found.get("sha256") != wanted.get("sha256"):
        return what, found, wanted
    part = next(key for key in sorted({*found, *wanted}) if found.get(key) != wanted.get(key))
    return differing(f"{what} {part}", found.get(part), wanted.get(part))


def _short(value: object) -> str:
    if isinstance(value, dict) and "sha256" in value:
        told = value["sha256"]
        return "that cannot be hashed" if told is None else f"of SHA-256 {told[:12]}…"
    return "not given" if value is None else repr(value)


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    found = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(found, platform.processor())


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


ModelNotes = Mapping[str, Mapping[str, Sequence[str]]]
"""What looks wrong with models, by their names and by the names of data; empty where nothing does."""


def add_notes(folder: Path, *, run: Iterable[str] = (), models: ModelNotes | None = None) -> None:
    """Add to what the manifest of a run keeps; nothing is written where all of it is known.

    Args:
        folder: The folder of the run, which has a manifest.
        run: About the run, a sentence each.
        models: About models.

    Raises:
        InputError: The manifest cannot be read or written.

    Example:
        >>> import tempfile
        >>> from roadworthy.runs.store.manifest import begin_manifest
        >>> with tempfile.TemporaryDirectory() as name:
        ...     _ = begin_manifest(Path(name), models={}, data={})
        ...     add_notes(Path(name), models={"dave2": {"town": ["dave2: speed hardly varies"], "coast": []}})
        ...     manifest = read_manifest(Path(name))
        >>> notes_of(manifest), model_notes(manifest)["dave2"]["coast"]
        (['dave2: speed hardly varies'], [])
    """
    if (manifest := read_manifest(folder)) is None:
        return
    before = _told(manifest)
    known = model_notes(manifest)
    added = {
        "run": list(dict.fromkeys([*_sentences(before.get("run")), *run])),
        "models": {
            name: {
                **known.get(name, {}),
                **{data: list(some) for data, some in (models or {}).get(name, {}).items()},
            }
            for name in (*known, *(one for one in models or {} if one not in known))
        },
    }
    if added != before and (added["run"] or added["models"]):
        write_manifest(folder, {**manifest, "notes": added})


def add_seconds(folder: Path, seconds: Mapping[str, float]) -> None:
    """Add to what the manifest keeps of how long requirements took, all processes together."""
    manifest = read_manifest(folder)
    if manifest is not None and seconds:
        before = manifest.get("seconds", {})
        added = {id: round(before.get(id, 0.0) + took, 3) for id, took in seconds.items()}
        write_manifest(folder, {**manifest, "seconds": {**before, **added}})


def model_notes(manifest: Mapping[str, Any] | None) -> dict[str, dict[str, list[str]]]:
    """Return what a manifest keeps about models, also of those with which nothing looks wrong."""
    models = _told(manifest).get("models")
    return {
        str(name): {str(data): _sentences(some) for data, some in every.items()}
        for name, every in (models.items() if isinstance(models, Mapping) else ())
        if isinstance(every, Mapping)
    }


def notes_of(manifest: Mapping[str, Any] | None) -> list[str]:
    """Return all that a manifest keeps, a sentence each: about the run, then about models."""
    about = (note for every in model_notes(manifest).values() for some in every.values() for note in some)
    return list(dict.fromkeys([*_sentences(_told(manifest).get("run")), *about]))


def _told(manifest: Mapping[str, Any] | None) -> Mapping[str, Any]:
    notes = (manifest or {}).get("notes")
    return notes if isinstance(notes, Mapping) else {}


def _sentences(given: object) -> list[str]:
    return [str(one) for one in given] if isinstance(given, list) else []
