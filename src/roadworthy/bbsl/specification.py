"""Specifications: functions from outside, a precondition and cases, and what can be done with them.

What the parts mean is defined in `roadworthy.bbsl.evaluation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from roadworthy.bbsl.syntax import Expression, SyntaxPart, Type, is_temporal

if TYPE_CHECKING:
    from roadworthy.bbsl.batches import Outcomes
    from roadworthy.bbsl.checking import CheckResult
    from roadworthy.bbsl.evaluation import Prepared, SpecificationOutcome


class ExternalFunction(SyntaxPart):
    """A function that the specification gets from outside: ``laneAt(real): setBB``."""

    name: str
    parameters: tuple[Type, ...]
    result: Type


class Let(SyntaxPart):
    """A name for a value, seen by the bindings after it and by the condition of its case."""

    name: str
    type: Type
    value: Expression


class CaseClause(SyntaxPart):
    """A reaction, and when the system should react so."""

    label: str
    lets: tuple[Let, ...]
    condition: Expression


@dataclass(frozen=True)
class Spec:
    """A specification: functions from outside, the condition under which it applies, and its cases.

    Attributes:
        functions: The external functions.
        precondition: When the specification applies; None when it always does.
        case_blocks: The cases, in the order of the text.
        source: The text, which every span points into.
        path: The file it came from; None when it came from none.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse('''
        ... exfunction
        ...   vehicle(): bb
        ... endexfunction
        ... case stop
        ...   PROJ_y(vehicle()) ~ [0, 100]
        ... endcase
        ... case NOT stop
        ...   not (PROJ_y(vehicle()) ~ [0, 100])
        ... endcase
        ... ''')
        >>> spec.labels
        ('stop', 'NOT stop')
        >>> spec.cases({"vehicle": [600, 180, 700, 300]}, height=375)
        {'stop'}
    """

    functions: tuple[ExternalFunction, ...]
    precondition: Expression | None
    case_blocks: tuple[CaseClause, ...]
    source: str = field(default="", compare=False, repr=False, kw_only=True)
    path: str | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the cases (the C of Definition 9), in the order of the text."""
        return tuple(case.label for case in self.case_blocks)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The precondition, the values of all lets and all conditions, in the order of the text."""
        before = () if self.precondition is None else (self.precondition,)
        in_cases = ((*(let.value for let in case.lets), case.condition) for case in self.case_blocks)
        return (*before, *chain.from_iterable(in_cases))

    @cached_property
    def is_temporal(self) -> bool:
        """Whether a condition speaks of other frames than the one at hand."""
        return any(map(is_temporal, self.expressions))

    @cached_property
    def prepared(self) -> Prepared:
        """What evaluation needs to know, worked out once.

        Raises:
            SpecificationError: Names are not bound or types are wrong.
        """
        from roadworthy.bbsl.evaluation import prepare

        return prepare(self)

    def check_types(self) -> None:
        """Check that every name is bound and every part has the right type.

        Raises:
            SpecificationError: Shows every place where that is not so.

        Example:
            >>> from roadworthy.bbsl import parse
            >>> parse("case go vehicle() ~ IMG endcase").check_types()
            Traceback (most recent call last):
            ...
            roadworthy.bbsl.syntax.SpecificationError: <specification>:1:9: no external function is ...
              1 | case go vehicle() ~ IMG endcase
                |         ^^^^^^^^^
        """
        _ = self.prepared

    def cases(
        self, bindings: Mapping[str, Any], *, height: float | None = None, width: float | None = None
    ) -> set[str]:
        """Return the labels of the cases that hold in one frame.

        The set is empty where no case holds, where the precondition does not hold, and where that is not
        known; `evaluate` tells these apart.

        Args:
            bindings: For each external function its value, or a callable that takes its arguments; boxes as
                x1, y1, x2, y2 and intervals as pairs, in image pixels with y down; None where there is no
                value.
            height: The height of the image in pixels, to turn y upward.
            width: The width of the image in pixels; needed for IMG alone.

        Raises:
            SpecificationError: The specification has names that are not bound or wrong types.
            InputError: A function is unbound, or a value is none of its type.
        """
        return self.evaluate(bindings, height=height, width=width).cases

    def evaluate(
        self, bindings: Mapping[str, Any], *, height: float | None = None, width: float | None = None
    ) -> SpecificationOutcome:
        """Say whether the specification applies to one frame, and of each case whether it holds.

        Arguments and errors are those of `cases`.
        """
        from roadworthy.bbsl.evaluation import evaluate

        return evaluate(self, bindings, height=height, width=width)

    def evaluate_many(
        self, bindings: Mapping[str, Any], *, height: Any = None, width: Any = None, count: int | None = None
    ) -> Outcomes:
        """Say the same for many frames at once; see `roadworthy.bbsl.batches.evaluate_many`."""
        from roadworthy.bbsl.batches import evaluate_many

        return evaluate_many(self, bindings, height=height, width=width, count=count)

    def check(
        self, *, boxes: int = 3, seconds: float = 10.0, image: tuple[float, float] | None = None
    ) -> CheckResult:
        """Say whether the specification is exhaustive, exclusionary and non-redundant (Definition 10).

        See `roadworthy.bbsl.checking.check`.
        """
        from roadworthy.bbsl.checking import check

        return check(self, boxes=boxes, seconds=seconds, image=image)

    def format(self, *, ascii: bool = False) -> str:
        """Return the specification in its canonical form, comments and all."""
        from roadworthy.bbsl.printing import format_spec

        return format_spec(self, ascii=ascii)
