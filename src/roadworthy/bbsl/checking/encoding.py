"""A specification as formulas of z3, for sets of at most so many boxes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from roadworthy.bbsl import syntax
from roadworthy.bbsl.checking import lazy_z3 as z3
from roadworthy.bbsl.checking import symbols
from roadworthy.bbsl.specification import Spec

Scope = Mapping[str, symbols.Symbolic]


@dataclass(frozen=True, eq=False)
class Application:
    """An external function with the arguments that it is called with, and the value that stands for it."""

    function: str
    arguments: tuple[symbols.Symbolic, ...]
    value: symbols.Symbolic


@dataclass(eq=False)
class Encoding:
    """A specification as formulas.

    Args:
        spec: The specification.
        boxes: How many boxes a set from outside has at most, by the name of its function.
        areas: How areas become terms.
        image: Width and height of the image; any size when None.

    Attributes:
        facts: What always holds: intervals have lower ≤ upper, the same arguments give the same value, and
            what ``areas`` says.
        applications: The external functions as they are called.
        precondition: When the specification applies.
        cases: When each case holds, by label.
    """

    spec: Spec
    boxes: Mapping[str, int]
    areas: symbols.Areas
    image: tuple[float, float] | None = None
    facts: list[symbols.Formula] = field(init=False, default_factory=list)
    applications: list[Application] = field(init=False, default_factory=list)
    precondition: symbols.SymbolicBool = field(init=False)
    cases: dict[str, symbols.SymbolicBool] = field(init=False, default_factory=dict)
    size: tuple[symbols.Term, symbols.Term] = field(init=False)

    def __post_init__(self) -> None:
        self._types = {one.name: one for one in self.spec.functions}
        width, height = z3.Real("image.width"), z3.Real("image.height")
        self.size = width, height
        self.facts += [width > 0, height > 0]
        if self.image is not None:
            self.facts += [width == self.image[0], height == self.image[1]]
        self.areas.corner(width, "x")
        self.areas.corner(height, "y")
        for function in self.spec.functions:
            # Also those that no condition comes to ask: a picture shows them all.
            if not function.parameters:
                self._call(syntax.FunctionCall(function.name), {})
        self.precondition = self._truth(self.spec.precondition or syntax.TruthConstant(True), {})
        for case in self.spec.case_blocks:
            scope: dict[str, symbols.Symbolic] = {}
            for let in case.lets:
                scope[let.name] = _as_type(self.value(let.value, scope), let.type)
            holds = self._truth(case.condition, scope)
            earlier = self.cases.get(case.label)
            self.cases[case.label] = holds if earlier is None else symbols.SymbolicBool.some([earlier, holds])

    @property
    def known(self) -> list[symbols.Formula]:
        """Everything that always holds."""
        return [*self.facts, *self.areas.facts]

    def value(self, expression: syntax.Expression, scope: Scope) -> symbols.Symbolic:
        """Return the value of an expression of a specification whose types were checked."""
        match expression:
            case syntax.Name():
                return scope[expression.name]
            case syntax.FunctionCall():
                return self._call(expression, scope)
            case syntax.Not():
                return ~self._truth(expression.operand, scope)
            case syntax.Junction():
                joint = symbols.SymbolicBool
                return (joint.every if expression.operator == "and" else joint.some)(
                    [self._truth(one, scope) for one in expression.operands]
                )
            case syntax.Quantified():
                return self._quantified(expression, scope)
        return self._computed(expression, [self.value(one, scope) for one in syntax.children(expression)])

    def _computed(self, expression: syntax.Expression, parts: list[Any]) -> symbols.Symbolic:
        """Return the value of an expression from those of its parts."""
        sure = z3.BoolVal(True)
        match expression:
            case syntax.RealNumber():
                # Exactly as it is written.
                return symbols.SymbolicReal(z3.RealVal(Fraction(str(expression.value))), None, sure)
            case syntax.TruthConstant():
                return symbols.SymbolicBool.of(z3.BoolVal(expression.value))
            case syntax.ImageBox():
                sides = (symbols.SymbolicInterval(z3.RealVal(0), end, sure, sure) for end in self.size)
                return symbols.SymbolicBox(*sides)
            case syntax.BoxRelation():
                return self._relation(expression, *parts)
            case syntax.AxisProjection():
                return _projection(expression, *parts)
            case syntax.Width():
                return _width(*parts)
            case syntax.Ratio():
                return self._ratio(*parts)
            case syntax.Combination():
                return _combination(expression.operator, *parts)
            case syntax.BoxLiteral():
                return self._cornered(symbols.SymbolicBox(*map(_filled, parts)))
            case syntax.SetLiteral():
                members = tuple(symbols.Member(one.filled, one) for one in parts)
                return symbols.SymbolicSet(members, symbols.conjunction(one.defined for one in parts))
            case syntax.IntervalLiteral():
                return self._interval(*parts)
        raise TypeError(f"the static checks look at one frame, got {type(expression).__name__}")

    def _truth(self, expression: syntax.Expression, scope: Scope) -> symbols.SymbolicBool:
        value = self.value(expression, scope)
        assert isinstance(value, symbols.SymbolicBool)  # the types were checked
        return value

    def _call(self, expression: syntax.FunctionCall, scope: Scope) -> symbols.Symbolic:
        """Return the value of an external function: unknown, but the same for the same arguments."""
        declared = self._types[expression.function]
        arguments = tuple(
            _as_type(self.value(one, scope), kind)
            for one, kind in zip(expression.arguments, declared.parameters, strict=True)
        )
        before = [one for one in self.applications if one.function == declared.name]
        keys = list(map(symbols.key, arguments))
        for earlier in before:
            if keys == list(map(symbols.key, earlier.arguments)):
                return symbols.limited(earlier.value, symbols.conjunction(map(_known, arguments)))
        number = f"#{len(before)}" if arguments else ""
        value = self._fresh(f"{declared.name}{number}", declared.name, declared.result)
        for earlier in before:
            pairs = zip(arguments, earlier.arguments, strict=True)
            same = symbols.conjunction(_same(one, other) for one, other in pairs)
            self.facts.append(symbols.disjunction([symbols.negation(same), _same(value, earlier.value)]))
        self.applications.append(Application(declared.name, arguments, value))
        return symbols.limited(value, symbols.conjunction(map(_known, arguments)))

    def _fresh(self, name: str, function: str, kind: syntax.Type) -> symbols.Symbolic:
        if kind is syntax.Type.BOOL:
            return symbols.SymbolicBool.of(z3.Bool(name))
        if kind is syntax.Type.REAL:
            return symbols.SymbolicReal(z3.Real(name), None, z3.BoolVal(True))
        if kind is syntax.Type.INTERVAL:
            return self._fresh_interval(name)
        if kind is syntax.Type.BB:
            return self._fresh_box(name)
        members: list[symbols.Member] = []
        for number in range(self.boxes.get(function, 0)):
            present = z3.Bool(f"{name}[{number}]")
            if members:
                # Sets have no order: the boxes that are there come first, so that nothing is tried twice.
                self.facts.append(z3.Implies(present, members[-1].present))
            members.append(symbols.Member(present, self._fresh_box(f"{name}[{number}]")))
        return symbols.SymbolicSet(tuple(members), z3.BoolVal(True))

    def _fresh_interval(self, name: str) -> symbols.SymbolicInterval:
        lower, upper = z3.Real(f"{name}.lower"), z3.Real(f"{name}.upper")
        self.facts.append(lower <= upper)
        return symbols.SymbolicInterval(lower, upper, z3.BoolVal(True), z3.BoolVal(True))

    def _fresh_box(self, name: str) -> symbols.SymbolicBox:
        return self._cornered(
            symbols.SymbolicBox(self._fresh_interval(f"{name}.x"), self._fresh_interval(f"{name}.y"))
        )

    def _cornered(self, box: symbols.SymbolicBox) -> symbols.SymbolicBox:
        """Tell the areas where a box has its corners."""
        for axis, side in (("x", box.x), ("y", box.y)):
            self.areas.corner(side.lower, axis)
            self.areas.corner(side.upper, axis)
        return box

    def _interval(self, lower: symbols.Symbolic, upper: symbols.Symbolic) -> symbols.Symbolic:
        """Return an interval of two reals; where they are in the wrong order it has no value."""
        low, high = (self._plain(_as_type(one, syntax.Type.REAL)) for one in (lower, upper))
        defined = symbols.conjunction([low.defined, high.defined, low.numerator <= high.numerator])
        return symbols.SymbolicInterval(low.numerator, high.numerator, z3.BoolVal(True), defined)

    def _relation(
        self, expression: syntax.BoxRelation, left: symbols.Symbolic, right: symbols.Symbolic
    ) -> symbols.Symbolic:
        if {type(left), type(right)} == {symbols.SymbolicReal, symbols.SymbolicInterval}:
            left, right = self._plain(left), self._plain(right)
        shares = [getattr(one, "denominator", None) is not None for one in (left, right)]
        numbers = [isinstance(one, syntax.RealNumber) for one in (expression.left, expression.right)]
        if any(shares) and not any(numbers):
            self.areas.multiplied = True
        return symbols.related(expression.operator, left, right)

    def _plain(self, value: Any) -> Any:
        """Return an interval as it is, and a real as no fraction: a quotient becomes a number of its own."""
        if getattr(value, "denominator", None) is None:
            return value
        self.areas.multiplied = True
        quotient = z3.FreshReal("quotient")
        self.facts.append(z3.Implies(value.defined, quotient * value.denominator == value.numerator))
        return symbols.SymbolicReal(quotient, None, value.defined)

    def _ratio(self, part: symbols.SymbolicSet, whole: symbols.SymbolicSet) -> symbols.Symbolic:
        """Return the share of an area; it has no value where there is no area to have a share of."""
        below = self.areas.area(whole)
        defined = symbols.conjunction([part.defined, whole.defined, below > 0])
        return symbols.SymbolicReal(self.areas.area(part), below, defined)

    def _quantified(self, expression: syntax.Quantified, scope: Scope) -> symbols.Symbolic:
        """Return whether a condition holds for all boxes of a set, or for one: not for all does it not."""
        boxes = self.value(expression.boxes, scope)
        assert isinstance(boxes, symbols.SymbolicSet)  # the types were checked
        every = expression.quantifier == "forall"
        outcomes = []
        for member in boxes.members:
            inside = self._truth(expression.body, {**scope, expression.variable: member.box})
            inside = inside if every else ~inside
            held = symbols.disjunction([symbols.negation(member.present), inside.true])
            refuted = symbols.conjunction([member.present, inside.false])
            outcomes.append(symbols.SymbolicBool(held, refuted))
        together = symbols.SymbolicBool.every(outcomes)
        return symbols.limited(together if every else ~together, boxes.defined)


def _projection(expression: syntax.AxisProjection, box: symbols.SymbolicBox) -> symbols.Symbolic:
    """Return a side of a box, or an end of it (Definition 7)."""
    side = box.x if expression.axis == "x" else box.y
    if expression.end is None:
        return side
    end = side.lower if expression.end == "lower" else side.upper
    return symbols.SymbolicInterval(end, end, side.filled, side.defined)


def _width(interval: symbols.SymbolicInterval) -> symbols.Symbolic:
    width = interval.upper - interval.lower
    held = width if z3.is_true(interval.filled) else z3.If(interval.filled, width, 0)
    return symbols.SymbolicReal(held, None, interval.defined)


def _combination(operator: str, left: Any, right: Any) -> symbols.Symbolic:
    """Return a union or an intersection."""
    if isinstance(left, symbols.SymbolicInterval):
        return symbols.intersection(left, right)
    defined = symbols.conjunction([left.defined, right.defined])
    if operator == "union":
        return symbols.SymbolicSet((*left.members, *right.members), defined, covers=(left, right))
    shared = tuple(_shared(one, other) for one in left.members for other in right.members)
    return symbols.SymbolicSet(shared, defined, parts=(left, right))


def _filled(side: symbols.SymbolicInterval) -> symbols.SymbolicInterval:
    """Return the side of a box: an empty interval is none, and a box of it has no value."""
    defined = symbols.conjunction([side.filled, side.defined])
    return symbols.SymbolicInterval(side.lower, side.upper, z3.BoolVal(True), defined)


def _known(value: symbols.Symbolic) -> symbols.Formula:
    """Return where a value is there, so that a function can be asked about it."""
    if isinstance(value, symbols.SymbolicBool):
        return symbols.disjunction([value.true, value.false])
    if isinstance(value, symbols.SymbolicInterval):
        return symbols.conjunction([value.filled, value.defined])
    return value.defined


def _as_type(value: symbols.Symbolic, kind: syntax.Type) -> symbols.Symbolic:
    """Return an end of a projection as a number where one is asked for."""
    return value.end if kind is syntax.Type.REAL and isinstance(value, symbols.SymbolicInterval) else value


def _shared(one: symbols.Member, other: symbols.Member) -> symbols.Member:
    box = symbols.SymbolicBox(
        symbols.intersection(one.box.x, other.box.x), symbols.intersection(one.box.y, other.box.y)
    )
    return symbols.Member(symbols.conjunction([one.present, other.present, box.filled]), box)


def _same(one: symbols.Symbolic, other: symbols.Symbolic) -> symbols.Formula:
    """Return whether two values of one type are the same."""
    if isinstance(one, symbols.SymbolicReal) and isinstance(other, symbols.SymbolicReal):
        return symbols.related("=", one, other).true
    if isinstance(one, symbols.SymbolicSet) and isinstance(other, symbols.SymbolicSet):
        return symbols.conjunction([_included(one, other), _included(other, one)])
    pairs = zip(symbols.terms(one), symbols.terms(other), strict=True)
    return symbols.conjunction(first == second for first, second in pairs)


def _included(one: symbols.SymbolicSet, other: symbols.SymbolicSet) -> symbols.Formula:
    """Return whether every box of a set is in another."""

    def included(member: symbols.Member) -> symbols.Formula:
        twins = (symbols.conjunction([twin.present, _same(member.box, twin.box)]) for twin in other.members)
        return symbols.disjunction([symbols.negation(member.present), *twins])

    return symbols.conjunction(map(included, one.members))
