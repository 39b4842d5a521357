"""What the parameters of a transform are, declared beside each of them.

A transform is a frozen dataclass, and each of its fields is made by :func:`number`, :func:`choice` or
:func:`word`. From these declarations come the checks, the command line, forms, searches and the docs.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal

from roadworthy.errors import InputError, suggest

__all__ = ["Parameter", "choice", "number", "spelled", "word"]

_KEY = "parameter"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a transform.

    Attributes:
        name: What users type.
        description: One line that says what it does.
        default: Its value when it is not given.
        kind: "number", "integer", "choice" (one of `choices`) or "word" (any text).
        unit: Of a number, such as "degrees"; empty where it is a plain factor.
        low: The least value of a number.
        high: The greatest value of a number.
        identity: The value of a number at which it changes nothing; None where it sets no strength.
        strongest: The value of a number at amount 1, for those with an identity.
        choices: The values that a choice may have.
    """

    name: str
    description: str
    default: float | int | str
    kind: Literal["number", "integer", "choice", "word"] = "number"
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    identity: float | None = None
    strongest: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def sets_strength(self) -> bool:
        """Whether the strength of the transform depends on it."""
        return self.identity is not None

    @property
    def domain(self) -> str:
        """Which values it may have, in words.

        Example:
            >>> Parameter("angle", "How far.", 9.0, unit="degrees", low=-180, high=180, identity=0).domain
            '-180 to 180 degrees; 0 changes nothing'
        """
        if self.kind == "choice":
            return ", ".join(self.choices)
        if self.kind == "word":
            return "text"
        unit = f" {self.unit}" if self.unit else ""
        same = "" if self.identity is None else f"; {spelled(self.identity)} changes nothing"
        return f"{spelled(self.low)} to {spelled(self.high)}{unit}{same}"

    def at(self, amount: float) -> float | int:
        """Return the value at an amount from 0 (identity) to 1 (strongest), short enough to be read.

        Example:
            >>> Parameter("gain", "Factor.", 2.0, low=0, high=9, identity=1, strongest=0).at(1 / 3)
            0.6667
        """
        assert self.identity is not None
        assert self.strongest is not None
        if self.kind == "integer":
            return round(self.identity * (1 - amount) + self.strongest * amount)
        ends = sorted((self.identity, self.strongest))
        # What is rounded is the way from the identity, so that the least amount is still a change.
        way = shortened((self.strongest - self.identity) * amount)
        inside = min(max(shortened(self.identity + way, 15), ends[0]), ends[1])
        # Both ends are met exactly, however many digits they have.
        return self.strongest if amount == 1 else inside

    def checked(self, owner: str, value: object) -> float | int | str:
        """Return a value that may be used.

        Raises:
            InputError: It is of the wrong kind or out of range.
        """
        if self.kind in ("choice", "word"):
            return self._checked_text(owner, value)
        if isinstance(value, bool) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
            raise InputError(f"{owner}: {self.name} must be a number, got {value!r}")
        as_float = float(value)  # type: ignore[arg-type]
        if not self.low <= as_float <= self.high:  # NaN is refused as well
            unit = f" {self.unit}" if self.unit else ""
            limits = f"between {spelled(self.low)} and {spelled(self.high)}{unit}"
            raise InputError(f"{owner}: {self.name} must be {limits}, got {value!r}")
        if self.kind == "number":
            return as_float
        if as_float != round(as_float):
            raise InputError(f"{owner}: {self.name} must be a whole number, got {value!r}")
        return round(as_float)

    def _checked_text(self, owner: str, value: object) -> str:
        if not isinstance(value, str):
            raise InputError(f"{owner}: {self.name} must be text, got {value!r}")
        if self.kind == "choice" and value not in self.choices:
            raise InputError(f"{owner}: unknown {self.name} {value!r}; {suggest(value, self.choices)}")
        return value


def shortened(value: float, digits: int = 4) -> float:
    """Return the nearest number that has so few digits: what is computed shall not fill ids with digits.

    Example:
        >>> shortened(200 / 3), shortened(0.1 + 0.2, 15)
        (66.67, 0.3)
    """
    return float(f"{value:.{digits}g}")


def spelled(value: float | int | str) -> str:
    """Return a value as people write it, and exactly.

    Example:
        >>> spelled(30.0), spelled(0.1), spelled("edge")
        ('30', '0.1', 'edge')
    """
    return value if isinstance(value, str) else repr(value).removesuffix(".0")


def number(
    default: float,
    description: str,
    *,
    low: float,
    high: float,
    unit: str = "",
    identity: float | None = None,
    strongest: float | None = None,
    integer: bool = False,
) -> Any:
    """Declare a field of a transform that is a number; see :class:`Parameter`.

    A number with an identity sets the transform's strength; its strongest value is `high` unless given.
    """
    if identity is not None and strongest is None:
        strongest = high
    return _field(
        Parameter(
            "", description, default, "integer" if integer else "number", unit, low, high, identity, strongest
        )
    )


def choice(default: str, description: str, choices: tuple[str, ...]) -> Any:
    """Declare a field of a transform that is one of a few words."""
    return _field(Parameter("", description, default, "choice", choices=choices))


def word(default: str, description: str) -> Any:
    """Declare a field of a transform that is any text, such as an element of the ontology."""
    return _field(Parameter("", description, default, "word"))


def _field(parameter: Parameter) -> Any:
    return dataclasses.field(default=parameter.default, metadata={_KEY: parameter})


def declared_parameters(kind: type) -> tuple[Parameter, ...]:
    """Return the parameters that the fields of a dataclass declare, in their order."""
    return tuple(
        dataclasses.replace(field.metadata[_KEY], name=field.name)
        for field in dataclasses.fields(kind)
        if _KEY in field.metadata
    )
