"""From what was asked for to the method, requirement, models and frames that a runner takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy.datasets import fitting_options
from roadworthy.errors import InputError, RuleError
from roadworthy.models import SystemUnderTest, load_model
from roadworthy.models.load import model_name
from roadworthy.web.jobs.asks import BbslAsk, Binding, RulesAsk
from roadworthy.web.settings import opened_data

if TYPE_CHECKING:
    from roadworthy.bbsl import Spec
    from roadworthy.bbsl.method import BbslMethod, BbslTrackMethod
    from roadworthy.cases import Dataset, Method, Requirement
    from roadworthy.rules.generation import RulePlan


RULE, SPECIFICATION = "rule", "specification"
"""The ids of requirements that have no name."""


@dataclass(frozen=True)
class PreviewTrial:
    """What a runner takes."""

    method: Method
    requirement: Requirement
    data: Dataset
    systems: tuple[SystemUnderTest, ...]


def suite_document(ask: RulesAsk | BbslAsk) -> dict[str, Any]:
    """Return what is asked for as a suite: what a file of it would say.

    Raises:
        InputError: Something that was typed cannot be used.

    Example:
        >>> ask = RulesAsk(text="If it rains, slow down.", models=["dave2"], data="world:town", frames=4)
        >>> suite_document(ask)["requirements"]
        {'rule': {'rule': 'If it rains, slow down.', 'same': {}, 'accept': None}}
    """
    made = fitting_options(ask.data, count=ask.frames, seed=ask.seed)
    id = ask.name or (RULE if isinstance(ask, RulesAsk) else SPECIFICATION)
    entry = _rule_entry(ask) if isinstance(ask, RulesAsk) else _specification_entry(ask)
    return {
        "suite": id,
        "seed": ask.seed,
        "models": {model_name(one): one for one in dict.fromkeys(ask.models)},
        "data": {ask.data: {"data": ask.data, "options": made, "sample": ask.frames}},
        "requirements": {id: {**entry, "accept": ask.allow or None}},
    }


def _rule_entry(ask: RulesAsk) -> dict[str, Any]:
    from roadworthy.rules.expectation import TOLERANCES, Quantity, read_tolerance

    given: dict[str, float | str] = {"steering": ask.same_steering, "speed": _percent(ask.same_speed)}
    usual: Mapping[str, Quantity] = TOLERANCES  # type: ignore[assignment]
    same = {name: one for name, one in given.items() if read_tolerance(one) != usual[name]}
    return {"rule": " ".join(ask.text.split()), "same": same}


def _specification_entry(ask: BbslAsk) -> dict[str, Any]:
    from roadworthy.bbsl import parse

    spec = parse(ask.text)
    _check_bound(spec, ask.bindings)
    entry: dict[str, Any] = {"bbsl": ask.text, "values": values_of(ask)}
    if function := object_of(ask, spec):
        entry |= {"object": function, "classes": classes_of(ask)}
    return entry


def _percent(share: float) -> str:
    """Return a share as a percentage that is read as exactly this share.

    Example:
        >>> _percent(0.1), _percent(0.07), _percent(0.0007)
        ('10%', '7%', '0.07%')
    """
    return f"{(Decimal(repr(share)) * 100).normalize():f}%"


def plan_of(ask: RulesAsk) -> RulePlan:
    """Return how a rule is tried.

    Raises:
        InputError: It is not understood, or nothing here can make its change.
    """
    from roadworthy.rules import parse
    from roadworthy.rules.expectation import Quantity
    from roadworthy.rules.generation import plan_for

    try:
        rule = parse(ask.text)
    except RuleError as error:
        raise InputError(f"the rule is not understood: {error.reason}") from error
    same = {"steering": Quantity(ask.same_steering), "speed": Quantity(ask.same_speed, relative=True)}
    return plan_for(rule).with_tolerances(same)


def specification_method(ask: BbslAsk) -> BbslMethod | BbslTrackMethod:
    """Return the method that tests by a specification.

    Raises:
        InputError: It is wrong, or a function has no value.
    """
    from roadworthy.bbsl import Bindings, parse
    from roadworthy.bbsl.bindings import source_of
    from roadworthy.bbsl.method import method_for
    from roadworthy.bbsl.testing import find_role

    spec = parse(ask.text)
    spec.check_types()
    _check_bound(spec, ask.bindings)
    bound = {name: source_of(given, Path()) for name, given in values_of(ask).items()}
    function = object_of(ask, spec)
    role = find_role(spec, bound, function=function, classes=classes_of(ask)) if function else None
    return method_for(spec, Bindings(bound), role)


def values_of(ask: BbslAsk) -> dict[str, Any]:
    """Return what gives the functions of a specification their values, as files and suites write it.

    Raises:
        InputError: Something that was typed is no value.
    """
    return {name: _given(name, one) for name, one in ask.bindings.items() if one.source != "object"}


def classes_of(ask: BbslAsk) -> list[str]:
    """Return the classes of objects to test."""
    return [word.strip() for word in ask.classes.split(",") if word.strip()]


def object_of(ask: BbslAsk, spec: Spec) -> str:
    """Return the function that stands for the object under test; empty where none does.

    Raises:
        InputError: Several do, or one that gives no box.
    """
    objects = {name for name, one in ask.bindings.items() if one.source == "object"}
    boxes = [one.name for one in spec.functions if one.name in objects and one.result.value == "bb"]
    if objects and len(boxes) != 1:
        raise InputError("one function of type bb must stand for the object under test, and only one")
    return boxes[0] if boxes else ""


def _check_bound(spec: Spec, bindings: Mapping[str, Binding]) -> None:
    names = {one.name for one in spec.functions}
    for name in bindings:
        if name not in names:
            raise InputError(f"the specification has no external function {name!r}: choose its values again")


def _given(name: str, binding: Binding) -> Any:
    """Return what gives a function its values, as a file of bindings writes it."""
    if binding.source == "value":
        return _value(name, binding.value)
    text = binding.value.strip()
    if not text:
        what = "a signal, such as speed" if binding.source == "signal" else "classes, such as vehicle"
        raise InputError(f"{name}: name {what}")
    if binding.source == "signal":
        return {"signal": text}
    return {binding.source: [one.strip() for one in text.split(",")]}


def _value(name: str, text: str) -> bool | float | list[float]:
    """Return a value that is the same in every frame.

    Example:
        >>> _value("near", "275, 375"), _value("seen", "true")
        ([275.0, 375.0], True)
    """
    written = text.strip().strip("[]()")
    if written.lower() in ("true", "false"):
        return written.lower() == "true"
    try:
        numbers = [float(one) for one in written.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)):
        raise InputError(
            f"{name}: a value is true, false, a number, two numbers (an interval) or four (a box), "
            f"got {text!r}"
        )
    return numbers[0] if len(numbers) == 1 else numbers


def trial_of(ask: RulesAsk | BbslAsk, opened: Callable[[str], SystemUnderTest] = load_model) -> PreviewTrial:
    """Return what a runner takes; models and data are opened.

    Args:
        ask: What is asked for.
        opened: Opens a model.

    Raises:
        InputError: Something of it cannot be used; says what.
    """
    from roadworthy.cases import Acceptance, Requirement

    systems = tuple(opened(one) for one in dict.fromkeys(ask.models))
    data = opened_data(ask.data, ask.frames, seed=ask.seed, systems=systems)
    acceptance = Acceptance(ask.allow)
    if isinstance(ask, BbslAsk):
        from roadworthy.bbsl.method import TEXT

        requirement = Requirement(ask.name or SPECIFICATION, TEXT, "bbsl", acceptance=acceptance)
        return PreviewTrial(specification_method(ask), requirement, data, systems)
    from roadworthy.rules.method import RulesMethod

    requirement = Requirement(ask.name or RULE, ask.text, "rules", acceptance=acceptance)
    return PreviewTrial(RulesMethod({requirement.id: plan_of(ask)}), requirement, data, systems)
