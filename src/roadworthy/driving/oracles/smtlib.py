"""The thresholds' problem for other solvers: MaxSMT as SMT-LIB, shaped as in Figure 1 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Literal, TypeAlias

from roadworthy.driving.oracles import fitting
from roadworthy.driving.sectors import SectorTable
from roadworthy.errors import InputError, check_choice

Form: TypeAlias = Literal["figure-1", "implication"]
"""How a sector that is given up is written: as a product with 0, or as a premise that does not hold."""


def to_smtlib(
    nominal: fitting.Table,
    mutants: fitting.Table,
    *,
    give_up: int = 0,
    directions: fitting.Directions = None,
    form: Form = "implication",
) -> str:
    """Return Equations 6 to 8 as a MaxSMT problem, shaped as in Figure 1 of the paper.

    A metric that gets worse downwards is written with its sign turned, and so is its threshold. The
    thresholds that a solver returns are any that are optimal, not the tight ones.

    Args:
        nominal: The sectors of the driver that drives well.
        mutants: Those of the others; the same metrics.
        give_up: In how many nominal sectors an alarm is allowed.
        directions: Whether each metric gets worse upwards or downwards, by name or in order; upwards if left
            out.
        form: `figure-1` writes products as the paper does. They keep thresholds from falling below 0, which
            is wrong for numbers below 0, so these are refused; `implication` is right for all.

    Raises:
        InputError: What `fit_oracle` would refuse, or the form does not fit the values.

    Example:
        >>> text = to_smtlib({"m1": [0.5, 0.4]}, {"m1": [1.5]}, give_up=1, form="figure-1")
        >>> print(text.splitlines()[-4])
        (assert-soft (or (> 1.5 t1)))
    """
    check_choice("the form", form, ("figure-1", "implication"))
    good, bad, ways = fitting.checked_problem(nominal, mutants, give_up, directions)
    signs = fitting.signs_of(ways, good.metrics)
    kept = good.values * signs
    if form == "figure-1" and kept.min() < 0:
        row, column = map(int, divmod(int(kept.argmin()), len(good.metrics)))
        turned = " with its sign turned" if signs[column] < 0 else ""
        raise InputError(
            f"{good.metrics[column]}{turned} is {kept[row, column]:g} in sector {good.sectors[row]}: the "
            "form of Figure 1 is wrong for metrics below 0; write the form implication"
        )
    return "\n".join(_lines(good, kept, bad.values * signs, ways, give_up, form)) + "\n"


def _lines(
    good: SectorTable,
    kept: fitting.Numbers,
    alarmed: fitting.Numbers,
    ways: Mapping[str, fitting.Direction],
    give_up: int,
    form: Form,
) -> Iterator[str]:
    yield ";; thresholds"
    for number, name in enumerate(good.metrics, 1):
        turned = ", its sign turned" if ways[name] == "down" else ""
        yield f"(declare-const t{number} Real) ; {' '.join(name.split())}{turned}"
    yield ";; true negative sectors"
    for sector in range(1, len(good) + 1):
        yield f"(declare-const s{sector} Int)"
        yield f"(assert (<= s{sector} 1))"
        yield f"(assert (>= s{sector} 0))"
    yield f";; tot true negatives = {len(good) - give_up}"
    total = f"(+ {' '.join(f's{sector}' for sector in range(1, len(good) + 1))})" if len(good) > 1 else "s1"
    yield f"(assert (= {total} {len(good) - give_up}))"
    yield ";; true negatives (original)"
    for sector, row in enumerate(kept, 1):
        for number, value in enumerate(row, 1):
            if form == "figure-1":
                yield f"(assert (<= (* s{sector} {_real(value)}) t{number}))"
            else:
                yield f"(assert (=> (= s{sector} 1) (<= {_real(value)} t{number})))"
    yield ";; true positives (mutants)"
    for row in alarmed:
        alarms = " ".join(f"(> {_real(value)} t{number})" for number, value in enumerate(row, 1))
        yield f"(assert-soft (or {alarms}))"
    yield "(check-sat)"
    yield "(get-objectives)"
    yield "(get-model)"


def _real(value: float) -> str:
    """Return a number as SMT-LIB writes reals: no exponent, and a sign as a function."""
    text = format(Decimal(repr(abs(float(value)))), "f")
    text = text if "." in text else f"{text}.0"
    return f"(- {text})" if value < 0 else text
