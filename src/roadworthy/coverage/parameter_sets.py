"""Which transformations a search or study tries, each with the parameters that it is tried with.

::

    for one in parameter_sets(["simple", "rain"]):
        for parameter, transform in one:
            changed = transform(frame, rng)                # one.name, parameter: a pair of the oracle

DeepTest's are those of its Table 4. Its fog and rain were made by hand in a photo editor at strengths that
are not told: here they have ten levels.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from roadworthy.errors import InputError
from roadworthy.transforms import Transform, kind_of, make_transform, parse_transform

SIMPLE = ("translation", "scale", "shear", "rotation", "contrast", "brightness", "blur")
"""The seven simple transformations of DeepTest's RQ2 and RQ3."""
COMPOSITE = ("fog", "rain")
"""Those that DeepTest composes of several filters; its oracle does not filter them by Equation 3."""
GROUPS = {"simple": SIMPLE, "composite": COMPOSITE, "deeptest": (*SIMPLE, *COMPOSITE)}
"""Words for several transformations at once."""

_LEVELS = 10


class ParameterChoice(NamedTuple):
    """A parameter and the transformation with it.

    Attributes:
        parameter: A number, a tuple of numbers, or words: the second part of an oracle's pair.
        transform: What changes a frame.
    """

    parameter: Hashable
    transform: Transform


@dataclass(frozen=True)
class ParameterSet:
    """A transformation with the parameters that it is tried with.

    Args:
        name: What it is called in tables: the first part of an oracle's pair.
        choices: Its parameters, each with the transform.

    Raises:
        InputError: There are no choices, or two have the same parameter.

    Example:
        >>> (rotation,) = parameter_sets(["rotation"])
        >>> len(rotation), rotation[0].parameter, str(rotation[0].transform)
        (10, 3.0, 'rotation(angle=3)')
    """

    name: str
    choices: tuple[ParameterChoice, ...]

    def __post_init__(self) -> None:
        if not self.choices:
            raise InputError(f"{self.name}: expected at least one parameter to try it with, got none")
        if len({one.parameter for one in self.choices}) < len(self.choices):
            raise InputError(f"{self.name}: expected every parameter once")

    def __len__(self) -> int:
        return len(self.choices)

    def __getitem__(self, index: int) -> ParameterChoice:
        return self.choices[index]

    def __iter__(self) -> Iterator[ParameterChoice]:
        return iter(self.choices)


def parameter_sets(words: Sequence[str] = ("simple",)) -> tuple[ParameterSet, ...]:
    """Return transformations with the parameters that they are tried with.

    Args:
        words: Each one of

            - `simple`, `composite` or `deeptest`: those of the paper, with its parameters;
            - one of them by its name, such as `blur`;
            - any other registered transform that has an amount: ten amounts from 0.1 to 1;
            - a transform with its parameters, such as `night:heavy` or `rotation(angle=5)`; several of one
              kind are choices of one set.

    Raises:
        UnknownNameError: A word is none of these.
        InputError: There are no words, a transform has no amount, or something is named twice.

    Example:
        >>> words = ["blur", "rotation(angle=5)", "rotation:deeptest-2"]
        >>> [(one.name, len(one)) for one in parameter_sets(words)]
        [('blur', 10), ('rotation', 2)]
        >>> sum(len(one) for one in parameter_sets(["simple"]))
        70
    """
    if isinstance(words, str) or not words:
        raise InputError(f"expected the names of transformations, such as simple or rain, got {words!r}")
    whole: dict[str, ParameterSet] = {}
    single: dict[str, list[ParameterChoice]] = {}
    for word in words:
        named = word.strip()
        if named in GROUPS:
            for name in GROUPS[named]:
                whole.setdefault(name, _named(name))
        elif any(mark in named for mark in ":(+"):
            transform = parse_transform(named)
            single.setdefault(transform.name, []).append(ParameterChoice(str(transform), transform))
        else:
            found = _named(named)
            whole.setdefault(found.name, found)
    for name in single:
        if name in whole:
            raise InputError(
                f"{name} is named with all its parameters and with single ones: give one or the other"
            )
    return (*whole.values(), *(ParameterSet(name, tuple(choices)) for name, choices in single.items()))


def _named(name: str) -> ParameterSet:
    if name == "blur":
        return _blur()
    kind = kind_of(name)
    presets = [one for one in kind.presets if one.startswith("deeptest-")]
    if presets:
        made = [make_transform(f"{name}:{one}") for one in presets]
        # Table 4 prints the smallest Gaussian kernel twice; once is meant, so that there are ten blurs.
        choices = tuple(ParameterChoice(_strength(one), one) for one in dict.fromkeys(made))
        return ParameterSet(kind.name, choices)
    if not kind.has_amount():
        options = ", ".join(f"{one.name}=…" for one in kind.parameters())
        raise InputError(f"{name} has no amount: give its parameters, as in {name}({options})")
    amounts = [level / _LEVELS for level in range(1, _LEVELS + 1)]
    return ParameterSet(kind.name, tuple(ParameterChoice(amount, kind.at(amount)) for amount in amounts))


def _blur() -> ParameterSet:
    """Return the four filters of Table 4, which are one transformation there."""
    choices = [
        ParameterChoice((one.name.removesuffix("-blur"), *_numbers(choice.parameter)), one)
        for name in ("averaging-blur", "gaussian-blur", "median-blur", "bilateral-blur")
        for choice in _named(name)
        for one in [choice.transform]
    ]
    return ParameterSet("blur", tuple(choices))


def _strength(transform: Transform) -> Hashable:
    """Return what Table 4 varies: one number, or two that belong together."""
    if transform.name == "gaussian-blur":
        return transform.settings["size"]
    if transform.name == "bilateral-blur":
        return tuple(transform.settings.values())
    varied = [value for value in transform.settings.values() if not isinstance(value, str)]
    return varied[0] if len(varied) == 1 else tuple(varied)


def _numbers(parameter: Hashable) -> tuple[Hashable, ...]:
    return parameter if isinstance(parameter, tuple) else (parameter,)
