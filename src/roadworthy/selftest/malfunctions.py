"""The catalogue: how the tool itself could be wrong, method by method."""

from __future__ import annotations

from collections.abc import Mapping

from roadworthy._frozen import FrozenDict
from roadworthy.selftest.faults import Malfunction

METHODS = ("rules", "coverage", "reliability", "bbsl", "driving", "labels", "runs", "evidence")
"""The parts of the tool that are tested."""

_MISSED = "An unsafe system is taken for a safe one."
_NUMBER = "A rate, bound or margin in the safety case is wrong."
_LOST = "Failures are missing from the evidence, and rates are too low."
_SPECIFIED = "Something else is tested than what was meant, and passes."
_FALSE = "Work is spent on what is no fault; worse, people stop believing alarms."

_FALSE_ALARMS: Mapping[str, str] = {
    "rules": "A rule is reported as violated though the relation holds.",
    "coverage": "Neurons are reported as untried that were tried, or changes as failures that are none.",
    "reliability": "A model is reported as unreliable though it is right as long as people are.",
    "bbsl": "An object is reported as wrongly judged though the detections lead to the right case; a sound "
    "specification is refuted.",
    "driving": "A sector is reported as badly driven though it is not; a copy is reported as a mutant.",
    "labels": "Labels that can be used are refused.",
    "runs": "Cases are reported as errors though the model answered; the same model is reported as worse; a "
    "good suite is refused.",
    "evidence": "Evidence is reported as changed though it is as it was.",
}


def false_alarm_of(method: str) -> str:
    """Return the id of the malfunction that the sound counterparts of a method try.

    Example:
        >>> false_alarm_of("rules")
        'rules/false alarm'
    """
    return f"{method}/false alarm"


_ALL = (
    Malfunction("rules/missed", "rules", "misses a fault", "A violated rule is reported as kept.", _MISSED),
    Malfunction(
        "rules/number",
        "rules",
        "reports a wrong number",
        "The number of frames that violate a rule is wrong, or frames are lost.",
        _NUMBER,
    ),
    Malfunction(
        "rules/specification", "rules", "misses a fault", "A rule is read as something else.", _SPECIFIED
    ),
    Malfunction(
        "coverage/missed",
        "coverage",
        "misses a fault",
        "A change that makes the network fail, or a new behaviour of a neuron, is not noticed.",
        _MISSED,
    ),
    Malfunction(
        "coverage/number",
        "coverage",
        "reports a wrong number",
        "Neurons count as covered that are not.",
        "Tests are ended too early.",
    ),
    Malfunction(
        "reliability/missed",
        "reliability",
        "misses a fault",
        "A model that fails where people do not is reported as reliable.",
        _MISSED,
    ),
    Malfunction(
        "reliability/number",
        "reliability",
        "reports a wrong number",
        "The reliability distance or the threshold of people is wrong.",
        _NUMBER,
    ),
    Malfunction(
        "bbsl/missed",
        "bbsl",
        "misses a fault",
        "A detection that leads to the wrong reaction is reported as right.",
        _MISSED,
    ),
    Malfunction(
        "bbsl/number",
        "bbsl",
        "reports a wrong number",
        "The number of wrong objects or the margin in pixels is wrong, or objects are lost.",
        _NUMBER,
    ),
    Malfunction(
        "bbsl/specification",
        "bbsl",
        "misses a fault",
        "A specification with a gap, an overlap or a dead case is proved sound.",
        _SPECIFIED,
    ),
    Malfunction(
        "driving/missed",
        "driving",
        "misses a fault",
        "Bad driving, or a changed network, is not noticed.",
        _MISSED,
    ),
    Malfunction(
        "driving/number",
        "driving",
        "reports a wrong number",
        "A metric, an oracle or the extent of a mutation is wrong.",
        _NUMBER,
    ),
    Malfunction(
        "labels/reading",
        "labels",
        "misses a fault",
        "Labels that cannot be right are read without a word.",
        "Systems are judged by wrong truth.",
    ),
    Malfunction(
        "labels/second opinion",
        "labels",
        "misses a fault",
        "Labels that can be right but are not agree with a system that is right.",
        "Systems are judged by wrong truth.",
    ),
    Malfunction(
        "runs/lost",
        "runs",
        "loses cases",
        "Cases are lost when a system crashes, hangs or is stopped.",
        _LOST,
    ),
    Malfunction(
        "runs/number", "runs", "reports a wrong number", "The confidence bound of a rate is wrong.", _NUMBER
    ),
    Malfunction(
        "runs/regression",
        "runs",
        "misses a fault",
        "An update that is worse is reported as no worse.",
        _MISSED,
    ),
    Malfunction(
        "runs/specification", "runs", "misses a fault", "A mistake in a suite goes unnoticed.", _SPECIFIED
    ),
    Malfunction(
        "evidence/missed",
        "evidence",
        "misses a fault",
        "Evidence that was changed after the run is reported as genuine.",
        "The safety case rests on what nobody measured.",
    ),
    *(
        Malfunction(false_alarm_of(method), method, "reports a fault that is none", text, _FALSE)
        for method, text in _FALSE_ALARMS.items()
    ),
)

MALFUNCTIONS: Mapping[str, Malfunction] = FrozenDict({one.id: one for one in _ALL})
"""All of them by their ids. Those of false alarms are tried by the sound counterpart of every fault."""
