"""Checks of what a network is built with; each names the setting, what it may be, and what came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from roadworthy.errors import InputError

MOST_CHANNELS = 4096
MOST_NOISE = 16


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def listed(value: object) -> bool:
    """Return whether a value is a list of values."""
    return isinstance(value, list | tuple)


def _called(settings: object) -> str:
    return repr(settings.architecture) if hasattr(settings, "architecture") else "the inputs"


def check_whole(settings: object, name: str, least: int, most: int) -> None:
    """Make sure that a setting is a whole number in a range.

    Raises:
        InputError: It is not.
    """
    value = getattr(settings, name)
    if not (is_whole(value) and least <= value <= most):
        allowed = f"{least}" if least == most else f"a whole number from {least} to {most}"
        raise InputError(f"{name} of {_called(settings)} must be {allowed}, got {value!r}")


def check_switch(settings: object, name: str) -> None:
    """Make sure that a setting is true or false.

    Raises:
        InputError: It is not.
    """
    value = getattr(settings, name)
    if not isinstance(value, bool):
        raise InputError(f"{name} of {_called(settings)} must be true or false, got {value!r}")


def check_one_of(settings: object, name: str, allowed: tuple[str, ...]) -> None:
    """Make sure that a setting is one of some words.

    Raises:
        InputError: It is not.
    """
    value = getattr(settings, name)
    if value not in allowed:
        raise InputError(f"{name} of {_called(settings)} must be one of {', '.join(allowed)}, got {value!r}")


Kind = Literal["synthesis", "translation"]
"""Whether it paints what a label map says, or turns one image into another."""


@dataclass(frozen=True)
class NetworkInputs:
    """What a network sees of a frame, in the order of its channels.

    Attributes:
        labels: Channels of the label map, one per class and the last for anything else. 0 for a network that
            translates: it sees the image in their place.
        edges: Whether a channel marks the boundaries of things.
        context: Whether the image comes as well, black inside the hole, and the hole as a mask.
        noise: Channels of noise, from which textures such as drops of rain can be made.

    Example:
        >>> inputs = NetworkInputs(labels=9, context=True)
        >>> inputs.kind, inputs.channels, inputs.names
        ('synthesis', 13, ('labels', 'context'))
        >>> NetworkInputs(noise=2).counts
        {'image': 3, 'noise': 2}
    """

    labels: int = 0
    edges: bool = False
    context: bool = False
    noise: int = 0

    def __post_init__(self) -> None:
        check_whole(self, "labels", 0, MOST_CHANNELS)
        check_switch(self, "edges")
        check_switch(self, "context")
        check_whole(self, "noise", 0, MOST_NOISE)
        if not self.labels and (self.edges or self.context):
            raise InputError(
                "edges and context go with labels: a network that translates sees the image alone"
            )

    @property
    def kind(self) -> Kind:
        """What the network does."""
        return "synthesis" if self.labels else "translation"

    @property
    def counts(self) -> dict[str, int]:
        """The inputs that there are, with the channels of each."""
        first = {"labels": self.labels} if self.labels else {"image": 3}
        found = {**first, "edges": int(self.edges), "context": 4 * self.context, "noise": self.noise}
        return {name: count for name, count in found.items() if count}

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs that there are."""
        return tuple(self.counts)

    @property
    def channels(self) -> int:
        """Channels of all of them together."""
        return sum(self.counts.values())
