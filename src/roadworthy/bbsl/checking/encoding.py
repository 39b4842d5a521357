"""A specification as formulas of z3, for sets of at most so many boxes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from roadworthy.bbsl import syntax
from roadworthy.bbsl.checking import symbols
from roadworthy.bbsl.specification import Spec
from roadworthy.errors import InputError

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
        import z3

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
        true = symbols.SymbolicBool.of(z3.BoolVal(True))
        condition = self.spec.precondition
        self.precondition = true if condition is None else self._truth(condition, {})
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
        """Return the value of an expression."""
        match expression:
            case syntax.Name():
                return self._bound(expression, scope)
            case syntax.FunctionCall():
                return self._call(expression, scope)
            case syntax.BoxRelation():
                return self._relation(expression, scope)
            case syntax.Not():
                return ~self._truth(expression.operand, scope)
            case syntax.And():
                return symbols.SymbolicBool.every([self._truth(one, scope) for one in expression.operands])
            case syntax.Disjunction():
                return symbols.SymbolicBool.some([self._truth(one, scope) for one in expression.operands])
            case syntax.Quantified():
                return self._quantified(expression, scope)
            case syntax.AxisProjection():
                return self._projection(expression, scope)
            case syntax.Width():
                return self._width(self._interval(expression.interval, scope))
            case syntax.Ratio():
                return self._ratio(expression, scope)
            case syntax.Combination():
                return self._combination(expression, scope)
            case syntax.BoxLiteral():
                sides = (self._interval(one, scope) for one in (expression.x, expression.y))
                return self._cornered(symbols.SymbolicBox(*map(_filled, sides)))
            case syntax.SetLiteral():
                boxes = [self._box(one, scope) for one in expression.boxes]
                members = tuple(symbols.Member(one.filled, one) for one in boxes)
                return symbols.SymbolicSet(members, symbols.conjunction(one.defined for one in boxes))
            case syntax.IntervalLiteral():
                return self._interval_of(expression, scope)
            case _:
                return self._constant(expression)

    def _truth(self, expression: syntax.Expression, scope: Scope) -> symbols.SymbolicBool:
        value = self.value(expression, scope)
        if not isinstance(value, symbols.SymbolicBool):
            raise InputError(f"expected a truth value, got a {type(value).__name__}")
        return value

    def _real(self, expression: syntax.Expression, scope: Scope) -> symbols.SymbolicReal:
        value = _as_type(self.value(expression, scope), syntax.Type.REAL)
        if not isinstance(value, symbols.SymbolicReal):
            raise InputError(f"expected a real, got a {type(value).__name__}")
        return value

    def _interval(self, expression: syntax.Expression, scope: Scope) -> symbols.SymbolicInterval:
        value = self.value(expression, scope)
        if not isinstance(value, symbols.SymbolicInterval):
            raise InputError(f"expected an interval, got a {type(value).__name__}")
        return value

    def _box(self, expression: syntax.Expression, scope: Scope) -> symbols.SymbolicBox:
        value = self.value(expression, scope)
        if not isinstance(value, symbols.SymbolicBox):
            raise InputError(f"expected a box, got a {type(value).__name__}")
        return value

    def _set(self, expression: syntax.Expression, scope: Scope) -> symbols.SymbolicSet:
        value = self.value(expression, scope)
        if not isinstance(value, symbols.SymbolicSet):
            raise InputError(f"expected a set of boxes, got a {type(value).__name__}")
        return value

    def _call(self, expression: syntax.FunctionCall, scope: Scope) -> symbols.Symbolic:
        """Return the value of an external function: unknown, but the same for the same arguments."""
        declared = self._types.get(expression.function)
        if declared is None:
            raise InputError(f"the function {expression.function!r} is not declared")
        arguments = tuple(
            _as_type(self.value(one, scope), kind)
            for one, kind in zip(expression.arguments, declared.parameters, strict=True)
        )
        key = tuple(number for one in arguments for number in _numbers(one))
        for earlier in self.applications:
            if earlier.function == declared.name and key == tuple(
                number for one in earlier.arguments for number in _numbers(one)
            ):
                return symbols.limited(earlier.value, symbols.conjunction(map(_known, arguments)))
        count = sum(one.function == declared.name for one in self.applications)
        value = self._fresh(
            f"{declared.name}{f'#{count}' if arguments else ''}", declared.name, declared.result
        )
        for earlier in self.applications:
            if earlier.function == declared.name:
                pairs = zip(arguments, earlier.arguments, strict=True)
                same = symbols.conjunction(_same(one, other) for one, other in pairs)
                self.facts.append(symbols.disjunction([symbols.negation(same), _same(value, earlier.value)]))
        self.applications.append(Application(declared.name, arguments, value))
        return symbols.limited(value, symbols.conjunction(map(_known, arguments)))

    def _constant(self, expression: syntax.Expression) -> symbols.Symbolic:
        """Return a number exactly as it is written, true, false, or the box of the image."""
        import z3

        sure = z3.BoolVal(True)
        match expression:
            case syntax.RealNumber():
                return symbols.SymbolicReal(z3.RealVal(Fraction(str(expression.value))), None, sure)
            case syntax.TruthConstant():
                return symbols.SymbolicBool.of(z3.BoolVal(expression.value))
            case syntax.ImageBox():
                zero, (width, height) = z3.RealVal(0), self.size
                sides = (symbols.SymbolicInterval(zero, end, sure, sure) for end in (width, height))
                return symbols.SymbolicBox(*sides)
        raise InputError(f"the static checks cannot read a {type(expression).__name__.lower()}")

    def _fresh(self, name: str, function: str, kind: syntax.Type) -> symbols.Symbolic:
        import z3

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
        import z3

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

    def _bound(self, expression: syntax.Name, scope: Scope) -> symbols.Symbolic:
        """Return what a let or a quantifier bound."""
        if expression.name not in scope:
            raise InputError(f"the name {expression.name!r} is not bound")
        return scope[expression.name]

    def _interval_of(self, expression: syntax.IntervalLiteral, scope: Scope) -> symbols.Symbolic:
        """Return an interval of two reals; where they are in the wrong order it has no value."""
        import z3

        lower, upper = (self._plain(self._real(one, scope)) for one in (expression.lower, expression.upper))
        defined = [lower.defined, upper.defined, lower.numerator <= upper.numerator]
        return symbols.SymbolicInterval(
            lower.numerator, upper.numerator, z3.BoolVal(True), symbols.conjunction(defined)
        )

    def _relation(self, expression: syntax.BoxRelation, scope: Scope) -> symbols.Symbolic:
        left, right = (self.value(one, scope) for one in (expression.left, expression.right))
        if isinstance(left, symbols.SymbolicReal) and isinstance(right, symbols.SymbolicInterval):
            left = self._plain(left)
        if isinstance(left, symbols.SymbolicInterval) and isinstance(right, symbols.SymbolicReal):
            right = self._plain(right)
        shares = [
            one
            for one in (left, right)
            if isinstance(one, symbols.SymbolicReal) and one.denominator is not None
        ]
        numbers = [expression.left, expression.right]
        if shares and not any(isinstance(one, syntax.RealNumber) for one in numbers):
            self.areas.multiplied = True
        return symbols.related(expression.operator, left, right)

    def _width(self, interval: symbols.SymbolicInterval) -> symbols.Symbolic:
        import z3

        width = interval.upper - interval.lower
        held = width if z3.is_true(interval.filled) else z3.If(interval.filled, width, 0)
        return symbols.SymbolicReal(held, None, interval.defined)

    def _plain(self, value: symbols.SymbolicReal) -> symbols.SymbolicReal:
        """Return a real that is no fraction: a quotient becomes a number of its own."""
        import z3

        if value.denominator is None:
            return value
        self.areas.multiplied = True
        quotient = z3.FreshReal("quotient")
        self.facts.append(z3.Implies(value.defined, quotient * value.denominator == value.numerator))
        return symbols.SymbolicReal(quotient, None, value.defined)

    def _projection(self, expression: syntax.AxisProjection, scope: Scope) -> symbols.Symbolic:
        """Return a side of a box, or an end of it (Definition 7)."""
        box = self._box(expression.box, scope)
        side = box.x if expression.axis == "x" else box.y
        if expression.end is None:
            return side
        end = side.lower if expression.end == "lower" else side.upper
        return symbols.SymbolicInterval(end, end, side.filled, side.defined)

    def _ratio(self, expression: syntax.Ratio, scope: Scope) -> symbols.Symbolic:
        """Return the share of an area; it has no value where there is no area to have a share of."""
        part, whole = (self._set(one, scope) for one in (expression.part, expression.whole))
        below = self.areas.area(whole)
        return symbols.SymbolicReal(
            self.areas.area(part), below, symbols.conjunction([part.defined, whole.defined, below > 0])
        )

    def _combination(self, expression: syntax.Combination, scope: Scope) -> symbols.Symbolic:
        """Return a union or an intersection."""
        left, right = self.value(expression.left, scope), self.value(expression.right, scope)
        if isinstance(left, symbols.SymbolicInterval) and isinstance(right, symbols.SymbolicInterval):
            return symbols.intersection(left, right)
        if not isinstance(left, symbols.SymbolicSet) or not isinstance(right, symbols.SymbolicSet):
            raise InputError(f"the static checks know no {expression.operator} of such values")
        defined = symbols.conjunction([left.defined, right.defined])
        if expression.operator == "union":
            return symbols.SymbolicSet((*left.members, *right.members), defined, covers=(left, right))
        shared = tuple(_shared(one, other) for one in left.members for other in right.members)
        return symbols.SymbolicSet(shared, defined, parts=(left, right))

    def _quantified(self, expression: syntax.Quantified, scope: Scope) -> symbols.Symbolic:
        """Return whether a condition holds for all boxes of a set, or for one."""
        outcomes = []
        boxes = self._set(expression.boxes, scope)
        for member in boxes.members:
            inside = self._truth(expression.body, {**scope, expression.variable: member.box})
            absent = symbols.negation(member.present)
            if expression.quantifier == "forall":
                outcomes.append(
                    symbols.SymbolicBool(
                        symbols.disjunction([absent, inside.true]),
                        symbols.conjunction([member.present, inside.false]),
                    )
                )
            else:
                outcomes.append(
                    symbols.SymbolicBool(
                        symbols.conjunction([member.present, inside.true]),
                        symbols.disjunction([absent, inside.false]),
                    )
                )
        together = (
            symbols.SymbolicBool.every if expression.quantifier == "forall" else symbols.SymbolicBool.some
        )
        return symbols.limited(together(outcomes), boxes.defined)


def _filled(side: symbols.SymbolicInterval) -> symbols.SymbolicInterval:
    """Return the side of a box: an empty interval is none, and a box of it has no value."""
    import z3

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


def _numbers(value: symbols.Symbolic) -> tuple[int, ...]:
    """Return what tells a symbolic value apart from others: the numbers of z3's terms."""
    return tuple(term.get_id() for term in _terms(value))


def _terms(value: symbols.Symbolic) -> list[symbols.Term]:
    if isinstance(value, symbols.SymbolicBool):
        return [value.true]
    if isinstance(value, symbols.SymbolicReal):
        return [value.numerator, *([] if value.denominator is None else [value.denominator])]
    if isinstance(value, symbols.SymbolicInterval):
        return [value.lower, value.upper]
    if isinstance(value, symbols.SymbolicBox):
        return [*_terms(value.x), *_terms(value.y)]
    return [term for member in value.members for term in (member.present, *_terms(member.box))]


def _same(one: symbols.Symbolic, other: symbols.Symbolic) -> symbols.Formula:
    """Return whether two values of one type are the same."""
    if isinstance(one, symbols.SymbolicReal) and isinstance(other, symbols.SymbolicReal):
        return symbols.related("=", one, other).true
    if isinstance(one, symbols.SymbolicSet) and isinstance(other, symbols.SymbolicSet):
        return symbols.conjunction([_included(one, other), _included(other, one)])
    pairs = zip(_terms(one), _terms(other), strict=True)
    return symbols.conjunction(first == second for first, second in pairs)


def _included(one: symbols.SymbolicSet, other: symbols.SymbolicSet) -> symbols.Formula:
    """Return whether every box of a set is in another."""
    return symbols.conjunction(
        symbols.disjunction(
            [
                symbols.negation(member.present),
                *(symbols.conjunction([twin.present, _same(member.box, twin.box)]) for twin in other.members),
            ]
        )
        for member in one.members
    )
