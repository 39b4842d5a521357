"""The channels of what a network sees of a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from roadworthy.errors import InputError
from roadworthy.transforms.learned.networks._checks import (
    MOST_CHANNELS,
    MOST_NOISE,
    check_switch,
    check_whole,
)

__all__ = ["Kind", "NetworkInputs"]

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
