"""The problem of the thresholds in SMT-LIB, for other solvers."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Literal, TypeAlias

from roadworthy.driving.oracles.fitting import Table
from roadworthy.driving.sectors import SectorTable
from roadworthy.errors import InputError

__all__ = ["Form", "to_smtlib"]

Form: TypeAlias = Literal["figure-1", "implication"]
"""How a sector that is given up is written: as a product with 0, or as a premise that does not hold."""


def to_smtlib(nominal: Table, mutants: Table, *, give_up: int = 0, form: Form = "implication") -> str:
    """Return Equations 6 to 8 as a MaxSMT problem, shaped as in Figure 1 of the paper.

    All metrics must get worse upwards; turn the sign of others. The thresholds that a solver returns are any
    that are optimal, not the tight ones.

    Args:
        nominal: The sectors of the driver that drives well.
        mutants: Those of the others; the same metrics.
        give_up: In how many nominal sectors an alarm is allowed.
        form: `figure-1` writes products as the paper does. They keep thresholds from falling below 0, which
            is wrong for metrics below 0, so these are refused; `implication` is right for all.

    Raises:
        InputError: The tables differ in their metrics, or the form does not fit the values.

    Example:
        >>> text = to_smtlib({"m1": [0.5, 0.4]}, {"m1": [1.5]}, give_up=1, form="figure-1")
        >>> print(text.splitlines()[-4])
        (assert-soft (or (> 1.5 t1)))
    """
    good = SectorTable.of(nominal)
    bad = SectorTable.of(mutants).select(good.metrics)
    if form not in ("figure-1", "implication"):
        raise InputError(f"expected the form figure-1 or implication, got {form!r}")
    if form == "figure-1" and len(good) and good.values.min() < 0:
        row, column = map(int, divmod(int(good.values.argmin()), len(good.metrics)))
        raise InputError(
            f"{good.metrics[column]} is {good.values[row, column]:g} in sector {good.sectors[row]}: the form "
            "of Figure 1 is wrong for metrics below 0; write the form implication"
        )
    if not 0 <= give_up < len(good):
        raise InputError(f"expected to give up 0 to {len(good) - 1} nominal sectors, got {give_up}")
    return "\n".join(_lines(good, bad, give_up, form)) + "\n"


def _lines(good: SectorTable, bad: SectorTable, give_up: int, form: Form) -> Iterator[str]:
    yield ";; thresholds"
    for number, name in enumerate(good.metrics, 1):
        yield f"(declare-const t{number} Real) ; {name}"
    yield ";; true negative sectors"
    for sector in range(1, len(good) + 1):
        yield f"(declare-const s{sector} Int)"
        yield f"(assert (<= s{sector} 1))"
        yield f"(assert (>= s{sector} 0))"
    yield f";; tot true negatives = {len(good) - give_up}"
    total = f"(+ {' '.join(f's{sector}' for sector in range(1, len(good) + 1))})" if len(good) > 1 else "s1"
    yield f"(assert (= {total} {len(good) - give_up}))"
    yield ";; true negatives (original)"
    for sector, row in enumerate(good.values, 1):
        for number, value in enumerate(row, 1):
            if form == "figure-1":
                yield f"(assert (<= (* s{sector} {_real(value)}) t{number}))"
            else:
                yield f"(assert (=> (= s{sector} 1) (<= {_real(value)} t{number})))"
    yield ";; true positives (mutants)"
    for row in bad.values:
        alarms = " ".join(f"(> {_real(value)} t{number})" for number, value in enumerate(row, 1))
        yield f"(assert-soft (or {alarms}))"
    yield "(check-sat)"
    yield "(get-objectives)"
    yield "(get-model)"


def _real(value: float) -> str:
    """Return a number as SMT-LIB writes reals: no exponent, no sign."""
    text = format(Decimal(repr(abs(float(value)))), "f")
    text = text if "." in text else f"{text}.0"
    return f"(- {text})" if value < 0 else text
