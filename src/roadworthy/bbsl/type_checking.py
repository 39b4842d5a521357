"""Whether every name is bound and every part has its type, and along which axis intervals lie."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Literal

from roadworthy.bbsl import syntax
from roadworthy.bbsl.specification import CaseClause, ExternalFunction, Let, Spec
from roadworthy.bbsl.syntax import Type

Axis = Literal["x", "y", "both", "unsaid", "open"]
"""``both``: compared with intervals of both axes. ``unsaid``: with numbers alone. ``open``: with nothing."""

Slot = tuple[str, ...]
"""What lies on an axis: ("function", name), ("parameter", name, index), ("let", case, name), ("axis", x)."""


def find_axes(spec: Spec) -> Mapping[Slot, Axis]:
    """Return the axis of the interval that each function returns, and of those that it takes.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse('''
        ... exfunction vehicle(): bb  near(): interval endexfunction
        ... case stop PROJ_y(vehicle()) ~ near() endcase
        ... ''')
        >>> find_axes(spec)["function", "near"]
        'y'
    """
    search = _AxisSearch(spec)
    for case in spec.case_blocks:
        search.read_case(case)
    if spec.precondition is not None:
        search.read(spec.precondition, "")
    slots: list[Slot] = []
    for function in spec.functions:
        slots.append(("function", function.name))
        slots += [("parameter", function.name, str(index)) for index in range(len(function.parameters))]
    return {slot: search.axis(slot) for slot in slots}


class _AxisSearch:
    """Puts together what is compared, then asks on which axis each heap lies."""

    def __init__(self, spec: Spec) -> None:
        self._results = {one.name: one.result for one in spec.functions}
        self._parameters = {one.name: one.parameters for one in spec.functions}
        self._links: dict[Slot, set[Slot]] = {}

    def read_case(self, case: CaseClause) -> None:
        """Take in what a case compares."""
        for let in case.lets:
            self.read(let.value, case.label)
            # A real may be an end of a projection, and then what it is compared with lies on that axis too.
            if let.type in (Type.INTERVAL, Type.REAL):
                self._link([("let", case.label, let.name), *self._slots(let.value, case.label)])
        self.read(case.condition, case.label)

    def read(self, expression: syntax.Expression, case: str) -> None:
        """Take in what an expression compares."""
        for part in syntax.walk(expression):
            match part:
                case syntax.BoxRelation():
                    self._link([*self._slots(part.left, case), *self._slots(part.right, case)])
                case syntax.Combination():
                    self._link(self._slots(part, case))
                case syntax.BoxLiteral():
                    self._link([("axis", "x"), *self._slots(part.x, case)])
                    self._link([("axis", "y"), *self._slots(part.y, case)])
                case syntax.FunctionCall():
                    for index, argument in enumerate(part.arguments):
                        if self._parameters[part.function][index] is Type.INTERVAL:
                            slot = ("parameter", part.function, str(index))
                            self._link([slot, *self._slots(argument, case)])

    def _slots(self, expression: syntax.Expression, case: str) -> list[Slot]:
        """Return what must lie on one axis for an expression to mean something."""
        match expression:
            case syntax.AxisProjection():
                return [("axis", expression.axis)]
            case syntax.FunctionCall() if self._results[expression.function] is Type.INTERVAL:
                return [("function", expression.function)]
            case syntax.Name():
                return [("let", case, expression.name)]
            case syntax.Combination():
                return [*self._slots(expression.left, case), *self._slots(expression.right, case)]
            case syntax.IntervalLiteral():
                ends = [*self._slots(expression.lower, case), *self._slots(expression.upper, case)]
                return ends or [("axis", "unsaid")]
        return []

    def _link(self, slots: list[Slot]) -> None:
        for slot in slots:
            # An axis ends the search: what lies on x is not thereby compared with all else on x.
            if slot[0] != "axis":
                self._links.setdefault(slot, set()).update(slots)

    def axis(self, slot: Slot) -> Axis:
        """Return the axis that is reached from something by what it is compared with."""
        seen, waiting = {slot}, [slot]
        while waiting:
            for one in self._links.get(waiting.pop(), ()):
                if one not in seen:
                    seen.add(one)
                    waiting.append(one)
        on_x, on_y = ("axis", "x") in seen, ("axis", "y") in seen
        if on_x and on_y:
            return "both"
        if on_x or on_y:
            return "x" if on_x else "y"
        return "unsaid" if ("axis", "unsaid") in seen else "open"


Scope = Mapping[str, Type | None]
"""The types of the names that are bound here; None where the type is not known after an earlier mistake."""

_BUILT_IN = ("PROJ_x", "PROJ_y", "RAT", "w", "IMG")
_COMPARED: dict[str, tuple[Type, ...]] = {
    "<": (Type.REAL, Type.INTERVAL),
    ">": (Type.REAL, Type.INTERVAL),
    "=": (Type.BOOL, Type.REAL, Type.INTERVAL, Type.BB),
    **dict.fromkeys(("overlaps", "subset", "superset", "subseteq", "superseteq"), (Type.INTERVAL, Type.BB)),
}


# What a part is, what the parts inside it must be, and what these are called; several may share a name.
_SIGNATURES: dict[type[syntax.Expression], tuple[Type, Type, tuple[str, ...]]] = {
    syntax.RealNumber: (Type.REAL, Type.REAL, ()),
    syntax.TruthConstant: (Type.BOOL, Type.BOOL, ()),
    syntax.ImageBox: (Type.BB, Type.BB, ()),
    syntax.AxisProjection: (Type.INTERVAL, Type.BB, ("the box that PROJ_{axis} projects",)),
    syntax.Width: (Type.REAL, Type.INTERVAL, ("what w measures",)),
    syntax.Ratio: (Type.REAL, Type.SET_BB, ("the first argument of RAT", "the second argument of RAT")),
    syntax.IntervalLiteral: (
        Type.INTERVAL,
        Type.REAL,
        ("the lower end of an interval", "the upper end of an interval"),
    ),
    syntax.BoxLiteral: (Type.BB, Type.INTERVAL, ("the x side of a box", "the y side of a box")),
    syntax.SetLiteral: (Type.SET_BB, Type.BB, ("an element of a set",)),
    syntax.Not: (Type.BOOL, Type.BOOL, ("what 'not' is said of",)),
    syntax.Previous: (Type.BOOL, Type.BOOL, ("what 'previous' is said of",)),
    syntax.Timed: (Type.BOOL, Type.BOOL, ("what '{operator}' is said of",)),
    syntax.Junction: (Type.BOOL, Type.BOOL, ("what '{operator}' joins",)),
    syntax.Until: (Type.BOOL, Type.BOOL, ("what holds before 'until'", "what 'until' waits for")),
}


# What to do where a type is wanted and another is found.
_HINTS = {
    (Type.SET_BB, Type.BB): ": put it in braces, {…}",
    (Type.INTERVAL, Type.BB): ": project it with PROJ_x(…) or PROJ_y(…)",
    (Type.INTERVAL, Type.REAL): ": write [r, r]",
    (Type.REAL, Type.INTERVAL): ": take its width w(…), or an end such as PROJ_y.lower(…)",
}


def find_problems(spec: Spec) -> tuple[syntax.SpecificationProblem, ...]:
    """Return every name that is not bound and every part with a wrong type, in the order of the text.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> [problem.message for problem in find_problems(parse("case go IMG endcase"))]
        ['the condition of a case must be bool, got bb']
    """
    checker = _Checker(spec)
    checker.check(spec)
    return tuple(sorted(checker.problems, key=lambda problem: problem.span.start))


class _Checker:
    def __init__(self, spec: Spec) -> None:
        self.problems: list[syntax.SpecificationProblem] = []
        self._functions = {one.name: one for one in spec.functions}

    def _report(self, message: str, where: syntax.Expression | ExternalFunction | Let | CaseClause) -> None:
        self.problems.append(syntax.SpecificationProblem(message, where.span))

    def check(self, spec: Spec) -> None:
        seen: set[str] = set()
        for function in spec.functions:
            if function.name in seen:
                self._report(f"{function.name!r} is declared twice", function)
            if function.name in _BUILT_IN:
                self._report(f"{function.name!r} is built in: choose another name", function)
            seen.add(function.name)
        if spec.precondition is not None:
            self._expect(spec.precondition, Type.BOOL, {}, "the precondition")
        labels: set[str] = set()
        for case in spec.case_blocks:
            if case.label in labels:
                self._report(f"there are two cases {case.label!r}: join them with 'or', or rename one", case)
            labels.add(case.label)
            self._case(case)

    def _case(self, case: CaseClause) -> None:
        scope: dict[str, Type | None] = {}
        for let in case.lets:
            self._recursion(let.name, let.value, scope)
            self._expect(let.value, let.type, {let.name: None, **scope}, f"{let.name!r}")
            if let.name in scope:
                self._report(f"{let.name!r} is bound twice in this case", let)
            scope[let.name] = let.type
        self._expect(case.condition, Type.BOOL, scope, "the condition of a case")

    def _recursion(self, name: str, value: syntax.Expression, scope: Scope) -> None:
        for part in syntax.walk(value):
            if isinstance(part, syntax.Name) and part.name == name and name not in scope:
                call = f"; did you mean {name}()?" if name in self._functions else ""
                self._report(f"{name!r} is defined by itself{call}", part)

    def _expect(self, part: syntax.Expression, wanted: Type, scope: Scope, what: str) -> None:
        """Check a part, and that it is or turns into the type that its place asks for."""
        found = self.infer(part, scope)
        if found in (None, wanted) or (wanted is Type.REAL and _is_end(part)):
            return
        self._report(f"{what} must be {wanted}, got {found}{_HINTS.get((wanted, found), '')}", part)

    def infer(self, part: syntax.Expression, scope: Scope) -> Type | None:
        """Return the type of a part; None where a mistake inside, which is reported, leaves it open."""
        match part:
            case syntax.Name():
                return self._name(part, scope)
            case syntax.FunctionCall():
                return self._call(part, scope)
            case syntax.Combination():
                return self._combination(part, scope)
            case syntax.BoxRelation():
                self._relation(part, scope)
                return Type.BOOL
            case syntax.Quantified():
                self._quantified(part, scope)
                return Type.BOOL
        result, wanted, places = _SIGNATURES[type(part)]
        for one, what in zip(syntax.children(part), cycle(places), strict=False):
            self._expect(one, wanted, scope, what.format_map(vars(part)))
        if isinstance(part, syntax.IntervalLiteral):
            self._ends(part)
        return result

    def _name(self, part: syntax.Name, scope: Scope) -> Type | None:
        if part.name in scope:
            return scope[part.name]
        message = f"no let or quantifier binds {part.name!r} here"
        if part.name in self._functions:
            message += f": write {part.name}(), or bind it with let"
        else:
            message += syntax.nearest(part.name, [*scope, *(f"{name}()" for name in self._functions)])
        self._report(message, part)
        return None

    def _call(self, part: syntax.FunctionCall, scope: Scope) -> Type | None:
        function = self._functions.get(part.function)
        if function is None:
            for argument in part.arguments:
                self.infer(argument, scope)
            near = syntax.nearest(part.function, [*self._functions, *_BUILT_IN])
            message = f"no external function is called {part.function!r}{near}"
            if part.function in scope:
                message = f"{part.function!r} is a name and no function: leave the parentheses out"
            self._report(message, part)
            return None
        expected, got = len(function.parameters), len(part.arguments)
        if expected != got:
            self._report(f"{part.function!r} takes {_counted(expected, 'argument')}, got {got}", part)
        for index, argument in enumerate(part.arguments):
            if index < expected:
                what = f"argument {index + 1} of {part.function!r}"
                self._expect(argument, function.parameters[index], scope, what)
            else:
                self.infer(argument, scope)
        return function.result

    def _ends(self, part: syntax.IntervalLiteral) -> None:
        ends = [one.value for one in (part.lower, part.upper) if isinstance(one, syntax.RealNumber)]
        if len(ends) == 2 and ends[0] > ends[1]:
            message = "the lower end of an interval must not be above its upper end, got "
            self._report(f"{message}[{ends[0]:g}, {ends[1]:g}]", part)

    def _combination(self, part: syntax.Combination, scope: Scope) -> Type | None:
        left, right = self.infer(part.left, scope), self.infer(part.right, scope)
        allowed = (Type.SET_BB,) if part.operator == "union" else (Type.SET_BB, Type.INTERVAL)
        sign = syntax.SYMBOLS[part.operator]
        for side, found in ((part.left, left), (part.right, right)):
            if found is not None and found not in allowed:
                hint = ": put it in braces, {…}" if found is Type.BB else ""
                self._report(f"{sign} joins {' or '.join(allowed)}, got {found}{hint}", side)
                return None
        if left is not None and right is not None and left is not right:
            self._report(f"the two sides of {sign} must have one type, got {left} and {right}", part)
            return None
        return left or right

    def _relation(self, part: syntax.BoxRelation, scope: Scope) -> None:
        if part.operator == "in":
            self._expect(part.left, Type.REAL, scope, "what lies in an interval")
            self._expect(part.right, Type.INTERVAL, scope, "what a real lies in")
            return
        left, right = self.infer(part.left, scope), self.infer(part.right, scope)
        if left is None or right is None:
            return
        if part.operator in ("<=", ">="):
            sides = ((part.left, left), (part.right, right))
            if not all(_is_end(side) or kind is Type.REAL for side, kind in sides):
                self._report(f"{_sign(part)} compares two reals, got {left} and {right}", part)
            return
        kind = left if left is right else None
        if {left, right} == {Type.REAL, Type.INTERVAL}:
            kind = Type.INTERVAL
        if kind is None:
            hint = ""
            if {left, right} == {Type.BB, Type.SET_BB}:
                hint = ": speak of its boxes with forall or exists"
            elif {left, right} == {Type.BB, Type.INTERVAL}:
                hint = ": project the box with PROJ_x(…) or PROJ_y(…)"
            self._report(f"{_sign(part)} compares two values of one type, got {left} and {right}{hint}", part)
        elif kind not in _COMPARED[part.operator]:
            allowed = " or ".join(f"two {name}s" for name in _COMPARED[part.operator])
            hint = ": speak of its boxes with forall or exists" if kind is Type.SET_BB else ""
            self._report(f"{_sign(part)} compares {allowed}, got two {kind}s{hint}", part)

    def _quantified(self, part: syntax.Quantified, scope: Scope) -> None:
        self._expect(part.boxes, Type.SET_BB, scope, f"what {part.variable!r} is taken from")
        if part.variable in scope:
            self._report(f"{part.variable!r} is bound already: choose another name", part)
        inside = {**scope, part.variable: Type.BB}
        self._expect(part.body, Type.BOOL, inside, f"what '{part.quantifier}' is said of")


def _is_end(part: syntax.Expression) -> bool:
    return isinstance(part, syntax.AxisProjection) and part.end is not None


def _sign(part: syntax.BoxRelation) -> str:
    return f"'{syntax.SYMBOLS.get(part.operator, part.operator)}'"


def _counted(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"
