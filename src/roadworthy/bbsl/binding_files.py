"""Bindings in a YAML file.

::

    functions:
      stoppingDistance: [275, 375]            # a value that is the same in every frame
      vehicles: {boxes: vehicle, min_score: 0.5}
      leadVehicle: {lead: vehicle, corridor: [420, 821]}
      limit: {table: limits.csv, columns: limit}
      egoStop: {stopping_distance: {focal_length: 720, horizon: 172}}

A mapping names a source (see `binding_sources.SOURCES`) with its first argument, or with a mapping of all of
them; further keys are its options.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, fields
from os import PathLike
from pathlib import Path
from typing import Any

from roadworthy.bbsl.binding_sources import SOURCES
from roadworthy.bbsl.bindings import Bindings, Source
from roadworthy.errors import InputError, RoadworthyError, suggest

__all__ = ["load_bindings", "source_of"]


def load_bindings(path: str | PathLike[str]) -> Bindings:
    """Read bindings from a YAML file.

    Raises:
        InputError: The file cannot be read, or something in it is wrong; says on which line.
    """
    from roadworthy._yaml import read_yaml

    file = read_yaml(Path(path), "file of bindings", "'functions:'")
    for key in file.data:
        if key != "functions":
            raise InputError(f"{file.where(str(key))}: unknown key {key!r}: expected 'functions:'")
    functions = file.data.get("functions")
    if not isinstance(functions, dict) or not functions:
        raise InputError(
            f"{file.where('functions')}: 'functions:' must name external functions, got {functions!r}"
        )
    sources: dict[str, Any] = {}
    for name, given in functions.items():
        try:
            sources[str(name)] = source_of(given, Path(path).parent)
        except RoadworthyError as error:
            raise InputError(f"{file.where('functions', str(name))}: {name}: {error}") from error
    return Bindings(sources)


def source_of(given: Any, folder: Path) -> Any:
    """Return what gives a function its values, from how a file writes it.

    Args:
        given: A value that is the same in every frame, or a mapping that names a source.
        folder: Where paths in it count from.

    Raises:
        InputError: It is neither.

    Example:
        >>> source_of({"boxes": "vehicle"}, Path()), source_of([275, 375], Path())
        (BoxesOf(classes=('vehicle',), min_score=0.0), [275, 375])
    """
    return _source(given, folder) if isinstance(given, dict) else _plain(given)


def _plain(value: Any) -> Any:
    """Check a value that is the same in every frame: true, a number, or numbers."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, bool) or (isinstance(value, (int, float)) and math.isfinite(value)):
        return value
    hint = ": write {signal: speed} for a signal" if isinstance(value, str) else ""
    raise InputError(f"expected true, false, numbers, or a mapping that names a source, got {value!r}{hint}")


def _source(given: dict[str, Any], folder: Path) -> Source:
    kinds = [key for key in given if key in SOURCES]
    if len(kinds) != 1:
        first = str(next(iter(given), ""))
        raise InputError(
            f"expected one source, {', '.join(SOURCES)}, got {first!r}; {suggest(first, SOURCES)}"
        )
    kind = SOURCES[kinds[0]]
    declared = {one.name: one for one in fields(kind)}
    main = given[kinds[0]]
    options = {key: value for key, value in given.items() if key != kinds[0]}
    options.update(main if isinstance(main, dict) else {next(iter(declared)): main})
    known = [name for name in declared if name != "folder"]
    for key in options:
        if key not in known:
            raise InputError(f"{kinds[0]} has no option {key!r}; {suggest(str(key), known)}")
    missing = [
        name
        for name, one in declared.items()
        if one.default is MISSING and one.default_factory is MISSING and name not in options
    ]
    if missing:
        raise InputError(f"{kinds[0]} needs {' and '.join(missing)}")
    if "folder" in declared:
        options["folder"] = folder
    try:
        return kind(**options)
    except TypeError as error:
        raise InputError(f"{kinds[0]}: a value has the wrong type: {error}") from error
