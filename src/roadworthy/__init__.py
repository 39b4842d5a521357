"""Roadworthy tests driving models and produces evidence engineers can trust.

::

    import roadworthy as rw

    data = rw.load("world:town", weather="rain", time="night", count=24)
    data[0].boxes.select("pedestrian")
    rw.load_model("truth").predict(data[:4])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from roadworthy._version import __version__
from roadworthy.cases import Case, Dataset, Method, Outcome, Requirement, Verdict
from roadworthy.errors import RoadworthyError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.ontology import Ontology, use_ontology

if TYPE_CHECKING:
    from roadworthy import bbsl, coverage, driving, reliability, rules, world
    from roadworthy.datasets import load
    from roadworthy.models import load_model
    from roadworthy.report.publish import run_suite
    from roadworthy.runs import run

__all__ = [
    "Boxes",
    "Case",
    "Dataset",
    "Frame",
    "LabelMap",
    "Method",
    "Ontology",
    "Outcome",
    "Requirement",
    "RoadworthyError",
    "Signals",
    "Verdict",
    "__version__",
    "bbsl",
    "coverage",
    "driving",
    "load",
    "load_model",
    "reliability",
    "rules",
    "run",
    "run_suite",
    "use_ontology",
    "world",
]

# What pulls in heavy libraries is imported when it is first asked for.
_LATER = {
    **{name: name for name in ("bbsl", "coverage", "driving", "reliability", "rules", "world")},
    "load": "datasets",
    "load_model": "models",
    "run": "runs",
    "run_suite": "report.publish",
}


if not TYPE_CHECKING:  # type checkers would take any misspelt name for one that __getattr__ knows

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_LATER[name]}")
        return module if _LATER[name] == name else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
