"""The three properties of Definition 10 as questions, and what their answers mean."""

from __future__ import annotations

from itertools import combinations

from roadworthy.bbsl.checking.models import Model
from roadworthy.bbsl.checking.results import CheckResult, Finding, ProofStatus, Property, Witness
from roadworthy.bbsl.checking.solving import Answer, Limits, Wanted, ask
from roadworthy.bbsl.specification import Spec
from roadworthy.errors import InputError

__all__ = ["check"]


def check(
    spec: Spec,
    *,
    boxes: int = 3,
    seconds: float = 10.0,
    image: tuple[float, float] | None = None,
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
    limits = Limits(boxes, seconds, image)
    labels = tuple(dict.fromkeys(spec.labels))
    applies = ask(spec, [(None, True)], limits)
    if applies.possible is False and applies.up_to is None:
        return CheckResult((), vacuous=True)
    uncovered: Wanted = [(None, True), *((label, False) for label in labels)]
    findings = [_finding(spec, "exhaustive", labels, ask(spec, uncovered, limits))]
    for pair in combinations(labels, 2):
        both: Wanted = [(None, True), *((label, True) for label in pair)]
        findings.append(_finding(spec, "exclusionary", pair, ask(spec, both, limits)))
    for label in labels:
        answer = ask(spec, [(None, True), (label, True)], limits)
        findings.append(_finding(spec, "non-redundant", (label,), answer))
    return CheckResult(tuple(findings))


def _check_arguments(spec: Spec, boxes: int, seconds: float, image: tuple[float, float] | None) -> None:
    spec.check_types()
    if not spec.case_blocks:
        raise InputError("the specification has no cases, so there is nothing to check")
    if spec.is_temporal:
        raise InputError(
            "static checks look at one frame, but the specification speaks of other frames (always, "
            "eventually, until or previous): check the conditions inside these on their own"
        )
    if boxes < 1:
        raise InputError(f"boxes must be 1 or more, got {boxes}")
    if not seconds > 0:
        raise InputError(f"seconds must be more than 0, got {seconds}")
    if image is not None and not (image[0] > 0 and image[1] > 0):
        raise InputError(f"image must have a width and a height above 0, got {image}")


def _finding(spec: Spec, name: Property, labels: tuple[str, ...], answer: Answer) -> Finding:
    if answer.possible is None:
        return Finding(name, labels, ProofStatus.UNKNOWN, reason=answer.reason)
    # Of a case one wants to see an input; of the other properties that there is none.
    wanted = name == "non-redundant"
    if answer.model is None:
        status = ProofStatus.REFUTED if wanted else ProofStatus.PROVED
        return Finding(
            name, labels, status if answer.up_to is None else ProofStatus.BOUNDED, up_to=answer.up_to
        )
    witness = _witness(spec, answer.model)
    expected = {"exhaustive": set(), "exclusionary": set(labels), "non-redundant": set(labels)}[name]
    if not (set(witness.labels) == expected if name == "exhaustive" else expected <= set(witness.labels)):
        reason = f"the values that z3 found do not do it when they are evaluated: {witness}"
        return Finding(name, labels, ProofStatus.UNKNOWN, reason=reason)
    return Finding(name, labels, ProofStatus.PROVED if wanted else ProofStatus.REFUTED, witness)


def _witness(spec: Spec, model: Model) -> Witness:
    """Evaluate the specification on what z3 found: nothing is shown that does not stand this."""
    found = Witness(model.calls, model.width, model.height)
    outcome = spec.evaluate(found.bindings, width=model.width, height=model.height)
    labels = tuple(label for label in dict.fromkeys(spec.labels) if label in outcome.cases)
    return Witness(model.calls, model.width, model.height, labels)
