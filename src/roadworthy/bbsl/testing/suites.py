"""Suites: several tests in one file, as Table 2 of the paper lists them.

::

    tests:
      ID1: {spec: listing1_distance.bbsl, values: {stoppingDistance: [275, 375]}, data: Td1, system: SUT1}
      ID2: {spec: listing1_distance.bbsl, values: {stoppingDistance: [275, 375]}, data: Td1, system: SUT2}

A suite names data and systems; which they are is said when it is run, so that it knows no folder of
anybody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from roadworthy.errors import InputError, suggest

_KEYS = ("spec", "values", "data", "system")


@dataclass(frozen=True)
class SuiteSpecification:
    """One test of a suite.

    Attributes:
        id: Its name.
        spec: The file of the specification.
        values: The values of external functions, in image pixels.
        data: The name of the data.
        system: The name of the system under test.
    """

    id: str
    spec: Path
    values: Mapping[str, Any]
    data: str
    system: str


def load_suite(path: str | PathLike[str]) -> tuple[SuiteSpecification, ...]:
    """Read a suite from a YAML file; files of specifications are looked for beside it.

    Raises:
        InputError: The file cannot be read, or something in it is wrong; says on which line.
    """
    from roadworthy._yaml import read_yaml

    file = read_yaml(Path(path), "suite of tests", "'tests:'")
    for key in file.data:
        if key != "tests":
            raise InputError(f"{file.where(str(key))}: unknown key {key!r}: expected 'tests:'")
    tests = file.data.get("tests")
    if not isinstance(tests, dict) or not tests:
        raise InputError(f"{file.where('tests')}: 'tests:' must name at least one test, got {tests!r}")
    found = []
    for id, given in tests.items():
        where = file.where("tests", str(id))
        if not isinstance(given, dict):
            raise InputError(f"{where}: a test must have {', '.join(_KEYS)}, got {given!r}")
        for key in given:
            if key not in _KEYS:
                raise InputError(f"{where}: test {id} has no {key!r}; {suggest(str(key), _KEYS)}")
        for key in ("spec", "data", "system"):
            if not isinstance(given.get(key), str):
                raise InputError(f"{where}: test {id} needs a name for {key!r}, got {given.get(key)!r}")
        values = given.get("values") or {}
        if not isinstance(values, dict):
            raise InputError(f"{where}: the values of test {id} must be a mapping, got {values!r}")
        spec = Path(path).parent / given["spec"]
        found.append(SuiteSpecification(str(id), spec, dict(values), given["data"], given["system"]))
    return tuple(found)
