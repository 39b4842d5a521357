"""Requirements as pytest tests: rules, specifications and suites, one test per requirement and model.

pytest loads this module in every project of an environment in which Roadworthy is installed, so it imports
nothing heavy; the rest of the package is loaded when there is something to collect. ``-p no:roadworthy``
turns it off.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from roadworthy.pytest_plugin.collecting import RequirementFile

_ENDINGS = (".rules", ".bbsl")
_SUITES = (".suite.yaml", ".suite.yml")
_MARKER = (
    "roadworthy(requirement, model, method, severity, tag): a requirement tested by Roadworthy; select by "
    "-m \"roadworthy(severity='critical')\" or -m \"roadworthy(tag='night')\""
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and settings."""
    group = parser.getgroup("roadworthy", "rules, specifications and suites for driving models")
    declared = json.loads(Path(__file__).with_name("options.json").read_text("utf-8"))
    for name, how in declared["options"].items():
        group.addoption(name, **(how | {"type": int} if "type" in how else how))
    for name, how in declared["settings"].items():
        parser.addini(name, **how)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARKER)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which models and data rules and specifications are tested on, where any are set."""
    models = config.getoption("--roadworthy-model") or config.getini("roadworthy_model")
    if not models:
        return None
    data = config.getoption("--roadworthy-data") or config.getini("roadworthy_data")
    return f"roadworthy: {', '.join(models)} on {data}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> RequirementFile | None:
    """Collect a file of requirements.

    One that is named on the command line is always collected. In a folder, rules and specifications are
    collected where the project says on which models they are tested, because other tools have files with
    these endings; a suite, which names its models itself, if it looks like one.
    """
    named = parent.session.isinitpath(file_path)
    if file_path.name.endswith(_SUITES) or (named and file_path.name == "suite.yaml"):
        if not named and not _looks_like_a_suite(file_path):
            return None
        from roadworthy.pytest_plugin.collecting import SuiteFile

        return SuiteFile.from_parent(parent, path=file_path)
    if file_path.suffix not in _ENDINGS:
        return None
    config = parent.config
    if not named and not config.getoption("--roadworthy-model") and not config.getini("roadworthy_model"):
        return None
    from roadworthy.pytest_plugin.collecting import RulesFile, SpecificationFile

    kind = RulesFile if file_path.suffix == ".rules" else SpecificationFile
    return kind.from_parent(parent, path=file_path)


def _looks_like_a_suite(path: Path) -> bool:
    """Return whether a file has the keys that every suite has, without reading it as YAML."""
    try:
        with path.open("rb") as file:
            lines = file.read(1 << 20).splitlines()
    except OSError:
        return False
    return all(any(line.startswith(key) for line in lines) for key in (b"models:", b"requirements:"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the requirements that are known to be violated."""
    if config.getini("roadworthy_xfail"):
        from roadworthy.pytest_plugin.expected import mark_expected

        mark_expected(config, items)
