"""How many erroneous behaviours DeepTest's oracle reports: tables in the shape of the paper's 7 and 8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roadworthy.coverage.oracle import (
    EPSILONS,
    LAMBDAS,
    UNFILTERED,
    Answers,
    Pair,
    Reference,
    check_lambda,
)
from roadworthy.errors import InputError

__all__ = ["Counts", "count_by_model", "count_by_threshold"]


@dataclass(frozen=True)
class Counts:
    """A table of numbers of erroneous behaviours.

    Args:
        title: What is counted, with λ, ε, the reference and the unit.
        corner: What the rows are.
        columns: The names of the columns.
        rows: The name and the cells of each row; None where no images were left to count, unlike 0.
    """

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[int | None, ...]], ...]

    def __str__(self) -> str:
        lines = [(self.corner, *self.columns)]
        lines += [
            (name, *("-" if cell is None else str(cell) for cell in cells)) for name, cells in self.rows
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *shown])


def count_by_threshold(
    models: Sequence[Answers],
    *,
    lambdas: Sequence[float] = LAMBDAS,
    epsilons: Sequence[float] = EPSILONS,
    reference: Reference = "mse",
    unfiltered: Sequence[str] = UNFILTERED,
) -> Counts:
    """Count erroneous behaviours of all models together over λ and ε: the shape of the paper's Table 7.

    Every changed image that violates Equation 2 counts; the columns of ε hold the transformations that
    Equation 3 filters, and each of the others has its own column.

    Raises:
        InputError: There are no models, two share a name, their units differ, or a threshold is out of range.

    Example:
        >>> changed = {("blur", 3): [0.1, 0.5], ("rain", "heavy"): [0.5, 0.2]}
        >>> answers = Answers("epoch", [0.0, 1.0], [0.1, 0.9], changed, unit="rad")
        >>> print(count_by_threshold([answers], lambdas=(5, 30), epsilons=(0.1, 0.2)))
        erroneous behaviours of epoch; λ * MSE of the originals; errors and ε in rad^2
        λ   ε = 0.1  ε = 0.2  rain
        5         -        1     2
        30        -        0     1
    """
    unit = _one_unit(models)
    apart = [name for name in unfiltered if any(name == pair[0] for one in models for pair in one.changed)]
    columns: list[list[list[int]]] = []
    for epsilon in epsilons:
        kept = [(one, [p for p in one.kept(epsilon, ()) if p[0] not in unfiltered]) for one in models]
        columns.append(_violations(kept, lambdas, reference))
    for name in apart:
        named = [(one, [pair for pair in one.changed if pair[0] == name]) for one in models]
        columns.append(_violations(named, lambdas, reference))
    rows = tuple(
        (f"{lam:g}", tuple(sum(column[number]) if column[number] else None for column in columns))
        for number, lam in enumerate(lambdas)
    )
    title = f"erroneous behaviours of {', '.join(one.model for one in models)}; {_stated(reference, unit)}"
    return Counts(title, "λ", (*(f"ε = {epsilon:g}" for epsilon in epsilons), *apart), rows)


def count_by_model(
    models: Sequence[Answers],
    *,
    lam: float = 5,
    epsilon: float = 0.03,
    reference: Reference = "mse",
    unfiltered: Sequence[str] = UNFILTERED,
) -> Counts:
    """Count erroneous behaviours of each model under each transformation: the shape of the paper's Table 8.

    As in the paper, the filtered transformations add up to the cell of `count_by_threshold` at the same λ
    and ε. The filtered come first by name, then the others.

    Raises:
        InputError: As for `count_by_threshold`.

    Example:
        >>> changed = {("blur", 3): [0.1, 0.85], ("shear", 1): [0.9, 0.1], ("rain", "heavy"): [0.5, 0.2]}
        >>> answers = Answers("epoch", [0.0, 1.0], [0.1, 0.9], changed, unit="rad")
        >>> print(count_by_model([answers], lam=2))
        erroneous behaviours, λ = 2, ε = 0.03; λ * MSE of the originals; errors and ε in rad^2
        transformation  epoch
        blur                1
        shear               -
        rain                2
    """
    unit = _one_unit(models)
    present = {pair[0] for one in models for pair in one.changed}
    names = [*sorted(present.difference(unfiltered)), *(name for name in unfiltered if name in present)]
    kept = [one.kept(epsilon, unfiltered) for one in models]
    rows = []
    for name in names:
        cells: list[int | None] = []
        for one, pairs in zip(models, kept, strict=True):
            (counts,) = _violations([(one, [pair for pair in pairs if pair[0] == name])], [lam], reference)
            cells.append(sum(counts) if counts else None)
        rows.append((name, tuple(cells)))
    title = f"erroneous behaviours, λ = {lam:g}, ε = {epsilon:g}; {_stated(reference, unit)}"
    return Counts(title, "transformation", tuple(one.model for one in models), tuple(rows))


def _violations(
    chosen: Sequence[tuple[Answers, Sequence[Pair]]], lambdas: Sequence[float], reference: Reference
) -> list[list[int]]:
    """Return for each λ the violations of each pair."""
    for lam in lambdas:
        check_lambda(lam)
    squares = [(one.reference(reference), one.errors(pair) ** 2) for one, pairs in chosen for pair in pairs]
    return [[int(np.sum(square > lam * allowed)) for allowed, square in squares] for lam in lambdas]


def _stated(reference: Reference, unit: str) -> str:
    if reference == "mse":
        return f"λ * MSE of the originals; errors and ε in {unit}^2"
    return f"λ * RMSE of the originals, in {unit}; squared errors and ε in {unit}^2"


def _one_unit(models: Sequence[Answers]) -> str:
    """Return the unit that all models share."""
    if not models:
        raise InputError("expected the answers of at least one model, got none")
    names = [one.model for one in models]
    if len(set(names)) < len(names):
        raise InputError(f"expected models with different names, got {', '.join(names)}")
    units = sorted({one.unit for one in models})
    if len(units) > 1:
        raise InputError(
            f"expected models with answers in one unit, got {', '.join(units)}: ε means one of them"
        )
    return units[0]
