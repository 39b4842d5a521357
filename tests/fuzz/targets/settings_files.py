"""YAML files that users write: suites, engines, the ontology, models, settings."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.harness import Target
from tests.fuzz.mutating import mutated_text, mutated_yaml

__all__ = ["TARGETS"]


_DETECTOR = b"model: opencv:net.cfg\noutput: {task: detection, classes: names.txt}\n"


def _suite(folder: Path) -> None:
    from roadworthy.runs.suites import read_suite

    read_suite(folder / "night.suite.yaml")


def _suite_plan(folder: Path) -> None:
    from roadworthy.runs.suites import plan_suite, read_suite

    plan_suite(read_suite(folder / "night.suite.yaml"))


def _engines(folder: Path) -> None:
    from roadworthy.transforms import read_engines

    read_engines(folder / "engines.yaml")


def _ontology(folder: Path) -> None:
    from roadworthy.ontology import Ontology

    made = Ontology.load(folder / "mine.yaml")
    assert made.label_classes
    assert len(made.palette) == len(made.label_classes)


def _description(folder: Path) -> None:
    from roadworthy.models.description import read_description

    read_description(folder / "model.yaml")


def _domain(folder: Path) -> None:
    from roadworthy.coverage.functional import OperatingDomain

    OperatingDomain.load(folder / "domain.yaml")


def _metric_settings(folder: Path) -> None:
    from roadworthy.driving.metrics.catalogue import MetricSettings

    MetricSettings.load(folder / "settings.yaml")


def _tolerance(folder: Path) -> None:
    from roadworthy.visual_change.tolerance import human_study

    human_study(str(folder / "people.yaml"))


def _mapping(folder: Path) -> None:
    from roadworthy.driving.drives.readers.tables import read_table

    read_table(folder / "log.csv", mapping=folder / "mapping.yaml")


_LOG = b"t,v,angle,hit\n0,5,1,0\n100,6,-1,0\n200,nan,0,1\n"

TARGETS = (
    Target("suite", "night.suite.yaml", _suite, mutated_yaml, examples=60),
    Target("suite-plan", "night.suite.yaml", _suite_plan, mutated_yaml, examples=5),
    Target("engines", "engines.yaml", _engines, mutated_yaml),
    Target("ontology", "mine.yaml", _ontology, mutated_yaml),
    Target("model-description", "model.yaml", _description, mutated_yaml, {"names.txt": b"car\nbus\n"}),
    Target("model-names", "names.txt", _description, mutated_text, {"model.yaml": _DETECTOR}),
    Target("operating-domain", "domain.yaml", _domain, mutated_yaml),
    Target("metric-settings", "settings.yaml", _metric_settings, mutated_yaml),
    Target("human-tolerance", "people.yaml", _tolerance, mutated_yaml),
    Target("column-mapping", "mapping.yaml", _mapping, mutated_yaml, {"log.csv": _LOG}, names=""),
)
