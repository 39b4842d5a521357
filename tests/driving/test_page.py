"""The pages on driving and its metrics say what the code does."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import make_driving as made
from roadworthy.driving.drives import EVENTS
from roadworthy.driving.drives.drive import SIGNALS
from roadworthy.driving.metrics import CATALOGUE, MetricSettings, parse_metric, primitives
from roadworthy.registry import simulators

DOCS = Path(__file__).resolve().parents[2] / "docs"


def _page() -> str:
    return (DOCS / "driving.md").read_text("utf-8")


def test_the_reference_of_metrics_is_what_the_code_has() -> None:
    _, _, written = made.PAGE.read_text("utf-8").partition(made.START)
    assert written.strip() == made.reference().strip(), "run make docs"
    assert set(made.QUANTITIES) == set(primitives())
    assert made.PICTURE.is_file(), "run make docs"


def test_every_metric_has_a_definition_with_its_numbers() -> None:
    settings = MetricSettings.standard()
    definitions = {str(entry.metric): made.definition(entry.metric, settings) for entry in CATALOGUE}
    assert len(definitions) == 127
    assert definitions["CountC(SP)"] == "how often it begins that SP > 13.9"
    assert definitions["RMSE(SA)"] == "root of the mean square of SA - `target_steering`"
    assert definitions["Mean(LP)"] == r"mean of \|LP\|"
    changed = settings.with_changes({"conditions": {"CountC(SP)": "> 5"}})
    assert made.definition(parse_metric("CountC(SP)"), changed) == "how often it begins that SP > 5"


def test_all_signals_events_and_simulators_are_told_of() -> None:
    page = _page()
    flat = " ".join(page.split())
    assert [name for name in SIGNALS if f"`{name}`" not in page] == []
    assert [name for name in EVENTS if f"`{name}`" not in flat] == []
    assert [name for name in simulators.names() if f"{name}:" not in page and f"`{name}`" not in page] == []


def test_adapters_that_cannot_be_run_here_are_at_least_python() -> None:
    files = re.findall(r"\]\((\.\./examples/simulators/\w+\.py)\)", _page())
    assert len(files) == 2
    for file in files:
        ast.parse((DOCS / file).read_text("utf-8"))
