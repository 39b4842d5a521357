"""The three properties of Definition 10 as questions, and what the static checks found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import Any, Literal

from roadworthy.bbsl.checking.models import FunctionValue, Model, Value
from roadworthy.bbsl.checking.solving import SolverAnswer, SolverLimits, Wanted, ask
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.syntax import WORDS
from roadworthy.bbsl.values import Box, Interval
from roadworthy.errors import InputError, check_number

Property = Literal["exhaustive", "exclusionary", "non-redundant"]
"""The properties of Definition 10."""

PROPERTIES: tuple[Property, ...] = ("exhaustive", "exclusionary", "non-redundant")


class ProofStatus(StrEnum):
    """What is known about a property.

    ``BOUNDED`` says that no counter-example has up to so many boxes in each set, and that nobody knows about
    more; of a case that it was found to hold for no such boxes.
    """

    PROVED = "proved"
    REFUTED = "refuted"
    BOUNDED = "none up to n"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Witness(Model):
    """Values of the external functions that show something, y upward.

    Attributes:
        calls: The functions with their values.
        width: The width of the image.
        height: Its height.
        labels: The cases that hold for these values.

    Example:
        >>> from roadworthy.bbsl.values import Box, Interval
        >>> car = FunctionValue("vehicle", (), Box(Interval(0, 50), Interval(75, 125)))
        >>> Witness((car,), 1242, 375, ("stop",)).pixels
        {'vehicle()': [0, 250, 50, 300]}
    """

    labels: tuple[str, ...] = ()

    @property
    def bindings(self) -> dict[str, Any]:
        """The values as `Spec.cases` takes them, so that anybody can evaluate the specification on them."""
        names = dict.fromkeys(one.function for one in self.calls)
        return {name: self._bound([one for one in self.calls if one.function == name]) for name in names}

    def _bound(self, calls: list[FunctionValue]) -> Value | Callable[..., Value]:
        if not calls[0].arguments:
            return calls[0].value
        known = {tuple(_hashable(self.in_pixels(a)) for a in one.arguments): one.value for one in calls}
        return lambda *arguments: known.get(tuple(map(_hashable, arguments)), calls[0].value)

    @property
    def pixels(self) -> dict[str, Any]:
        """The values as a person sees them in the image: boxes as x1, y1, x2, y2 with y down.

        Intervals are left as they are, y upward: nothing here says along which axis they lie.
        """
        return {
            f"{one.function}({', '.join(map(written, one.arguments))})": self.in_pixels(one.value)
            for one in self.calls
        }

    def in_pixels(self, value: Value) -> Any:
        """Return a value as a person sees it in the image; intervals as they are."""
        if isinstance(value, Box):
            return [value.x.lower, self.height - value.y.upper, value.x.upper, self.height - value.y.lower]
        if isinstance(value, Interval):
            return list(value)
        return [self.in_pixels(one) for one in value] if isinstance(value, tuple) else value

    def __str__(self) -> str:
        shown = [
            f"{one.function}({', '.join(map(written, one.arguments))}) = {written(one.value)}"
            for one in self.calls
        ]
        return ", ".join(shown)


def _hashable(value: Any) -> object:
    return tuple(_hashable(one) for one in value) if isinstance(value, list | tuple) else value


def written(value: Value) -> str:
    """Return a value as BBSL writes it.

    Example:
        >>> written(Box(Interval(0, 50), Interval(75, 125.5)))
        '([0, 50], [75, 125.5])'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Interval):
        return f"[{value.lower:g}, {value.upper:g}]"
    if isinstance(value, Box):
        return f"({written(value.x)}, {written(value.y)})"
    return f"{{{', '.join(map(written, value))}}}" if isinstance(value, tuple) else f"{value:g}"


@dataclass(frozen=True)
class CheckFinding:
    """One question that was asked, and the answer.

    Attributes:
        concerns: The property that it belongs to.
        labels: The cases that it is about: all, two, or one.
        status: What is known.
        witness: Values that refute that a specification is exhaustive or exclusionary; of a case, values for
            which it holds.
        up_to: The number of boxes of a set that was tried, where it is not proved for any number.
        reason: Why it is not known.
    """

    concerns: Property
    labels: tuple[str, ...]
    status: ProofStatus
    witness: Witness | None = None
    up_to: int | None = None
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing was found against it: proved, or no counter-example among those that were tried."""
        if self.concerns == "non-redundant":
            return self.status is ProofStatus.PROVED
        return self.status in (ProofStatus.PROVED, ProofStatus.BOUNDED)

    def __str__(self) -> str:
        names = " and ".join(repr(label) for label in self.labels)
        bound = f" with up to {self.up_to} boxes in each set"
        sentence: str = WORDS["findings"][self.concerns][self.status].format(names)
        if self.status is ProofStatus.UNKNOWN:
            return f"{sentence} is not known: {self.reason}"
        return sentence + (bound if self.status is ProofStatus.BOUNDED else "")


_ORDER = (ProofStatus.REFUTED, ProofStatus.UNKNOWN, ProofStatus.BOUNDED, ProofStatus.PROVED)


@dataclass(frozen=True)
class CheckResult:
    """What the static checks found out about a specification.

    Attributes:
        findings: Every question with its answer.
        vacuous: Whether the precondition can never hold; then the rest says nothing.
    """

    findings: tuple[CheckFinding, ...]
    vacuous: bool = False

    def of(self, name: Property) -> tuple[CheckFinding, ...]:
        """Return the findings about one property."""
        return tuple(one for one in self.findings if one.concerns == name)

    def status(self, name: Property) -> ProofStatus:
        """Return what is known about a property: the worst of its findings; proved when there are none.

        Under a precondition that never holds, no case can, and the other properties hold of nothing.
        """
        if self.vacuous and name == "non-redundant":
            return ProofStatus.REFUTED
        found = {one.status for one in self.of(name)}
        return next((one for one in _ORDER if one in found), ProofStatus.PROVED)

    @property
    def exhaustive(self) -> ProofStatus:
        """Whether every input that the precondition admits is in a case."""
        return self.status("exhaustive")

    @property
    def exclusionary(self) -> ProofStatus:
        """Whether no input is in two cases."""
        return self.status("exclusionary")

    @property
    def non_redundant(self) -> ProofStatus:
        """Whether every case can hold."""
        return self.status("non-redundant")

    @property
    def ok(self) -> bool:
        """Whether nothing was found against the specification, and no question was left open."""
        return not self.vacuous and all(one.ok for one in self.findings)

    @property
    def problems(self) -> tuple[CheckFinding, ...]:
        """The findings that speak against the specification, or leave a question open."""
        return tuple(one for one in self.findings if not one.ok)

    def lines(self) -> list[str]:
        """Return a line for each property, then each finding against the specification with its witness."""
        if self.vacuous:
            return ["the precondition can never hold, so the cases say nothing"]
        lines = []
        for name in PROPERTIES:
            status = self.status(name)
            bounds = [one.up_to for one in self.of(name) if one.up_to is not None]
            bounded = status is ProofStatus.BOUNDED
            answer = f"none up to {min(bounds)} boxes in each set" if bounded else status.value
            lines.append(f"{name}: {answer}")
        for finding in self.problems:
            lines += [f"- {finding}", *([] if finding.witness is None else [f"    {finding.witness}"])]
        return lines

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "ok": self.ok,
            "vacuous": self.vacuous,
            **{name.replace("-", "_"): self.status(name).value for name in PROPERTIES},
            "findings": [_finding(one) for one in self.findings],
        }


def _finding(one: CheckFinding) -> dict[str, Any]:
    document: dict[str, Any] = {
        "property": one.concerns,
        "labels": list(one.labels),
        "status": one.status.value,
        "sentence": str(one),
    }
    if one.up_to is not None:
        document["up_to"] = one.up_to
    if one.reason:
        document["reason"] = one.reason
    if one.witness is not None:
        shown = one.witness
        document["witness"] = {
            "values": {f"{call.function}": written(call.value) for call in shown.calls if not call.arguments},
            "text": str(shown),
            "pixels": shown.pixels,
            "width": shown.width,
            "height": shown.height,
            "cases": list(shown.labels),
        }
    return document


def check(
    spec: Spec, *, boxes: int = 3, seconds: float = 10.0, image: tuple[float, float] | None = None
) -> CheckResult:
    """Return whether a specification is exhaustive, exclusionary and non-redundant (Definition 10).

    Args:
        spec: The specification.
        boxes: The most boxes of a set that are tried, where no number is known to be enough for all.
        seconds: The most time for one question; there is one for all cases together, one for each pair of
            cases and one for each case.
        image: Width and height of the image; any size when left out. Boxes need not lie inside it.

    Raises:
        SpecificationError: A name is unknown or a type is wrong.
        InputError: The specification has no cases, speaks of other frames, or a limit cannot be used.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse('''
        ... exfunction
        ...   vehicle(): bb
        ... endexfunction
        ... case near
        ...   PROJ_y(vehicle()) < [100, 150]
        ... endcase
        ... case far
        ...   PROJ_y(vehicle()) > [100, 150]
        ... endcase
        ... ''')
        >>> result = check(spec)
        >>> result.exclusionary.value, result.exhaustive.value
        ('proved', 'refuted')
        >>> print(result.problems[0])
        some input is in no case
        >>> spec.cases(result.problems[0].witness.bindings, height=375)
        set()
    """
    _check_arguments(spec, boxes, seconds, image)
    limits = SolverLimits(boxes, seconds, image)
    labels = tuple(dict.fromkeys(spec.labels))
    applies = ask(spec, [(None, True)], limits)
    if applies.possible is False and applies.up_to is None:
        return CheckResult((), vacuous=True)
    uncovered: Wanted = [(None, True), *((label, False) for label in labels)]
    findings = [_checks_finding(spec, "exhaustive", labels, ask(spec, uncovered, limits))]
    for pair in combinations(labels, 2):
        both: Wanted = [(None, True), *((label, True) for label in pair)]
        findings.append(_checks_finding(spec, "exclusionary", pair, ask(spec, both, limits)))
    for label in labels:
        answer = ask(spec, [(None, True), (label, True)], limits)
        findings.append(_checks_finding(spec, "non-redundant", (label,), answer))
    return CheckResult(tuple(findings))


def _check_arguments(spec: Spec, boxes: int, seconds: float, image: tuple[float, float] | None) -> None:
    spec.check_types()
    if not spec.case_blocks:
        raise InputError("the specification has no cases, so there is nothing to check")
    if spec.is_temporal:
        raise InputError(
            "static checks look at one frame: leave out always, eventually, until and previous, and check "
            "the conditions inside these on their own"
        )
    check_number("boxes", boxes, least=1)
    check_number("seconds", seconds, above=0)
    if image is not None and not (image[0] > 0 and image[1] > 0):
        raise InputError(f"image must have a width and a height above 0, got {image}")


def _checks_finding(
    spec: Spec, name: Property, labels: tuple[str, ...], answer: SolverAnswer
) -> CheckFinding:
    if answer.possible is None:
        return CheckFinding(name, labels, ProofStatus.UNKNOWN, reason=answer.reason)
    # Of a case one wants to see an input; of the other properties that there is none.
    wanted = name == "non-redundant"
    if answer.model is None:
        status = ProofStatus.REFUTED if wanted else ProofStatus.PROVED
        return CheckFinding(
            name, labels, status if answer.up_to is None else ProofStatus.BOUNDED, up_to=answer.up_to
        )
    witness = _witness(spec, answer.model)
    expected = {"exhaustive": set(), "exclusionary": set(labels), "non-redundant": set(labels)}[name]
    if not (set(witness.labels) == expected if name == "exhaustive" else expected <= set(witness.labels)):
        reason = f"the values that z3 found do not do it when they are evaluated: {witness}"
        return CheckFinding(name, labels, ProofStatus.UNKNOWN, reason=reason)
    return CheckFinding(name, labels, ProofStatus.PROVED if wanted else ProofStatus.REFUTED, witness)


def _witness(spec: Spec, model: Model) -> Witness:
    """Evaluate the specification on what z3 found: nothing is shown that does not stand this."""
    found = Witness(model.calls, model.width, model.height)
    outcome = spec.evaluate(found.bindings, width=model.width, height=model.height)
    labels = tuple(label for label in dict.fromkeys(spec.labels) if label in outcome.cases)
    return replace(found, labels=labels)
