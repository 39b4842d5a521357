"""Recipes of the learned engines that come with the package.

Processes that render import this, and have no use for torch: nothing here loads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from roadworthy.training.loop import Precision
from roadworthy.world.classes import NAMES


@dataclass(frozen=True)
class PairedWeights:
    """How much the losses of learning from pairs count.

    Attributes:
        look: The look distance where the truth differs from the frame.
        plain: The mean absolute difference there and where the engine paints.
        adversarial: What a discriminator says; 0 for none.
        matching: What it sees; it counts only where there is a discriminator.
        teacher: The look distance and the difference to what a larger network makes; 0 for none.
    """

    look: float = 1.0
    plain: float = 1.0
    adversarial: float = 0.0
    matching: float = 0.0
    teacher: float = 0.0


CLASSES = tuple(one for one in NAMES if one != "void")

_LARGE, _SMALL = (240, 480), (160, 320)  # height and width that engines are trained and compared at


@dataclass(frozen=True)
class EngineVariant:
    """A way to learn a change.

    Attributes:
        name: What it is called.
        prefilled: Whether it starts from what the classical transform makes; for edits.
        weights: How much the losses count.
        share: How much of the time it gets, as against the other variants.
    """

    name: str
    prefilled: bool = False
    weights: PairedWeights = field(default_factory=PairedWeights)
    share: float = 1.0

    @property
    def taught(self) -> bool:
        """Whether a wider network learns first and teaches it; each gets half of its time."""
        return self.weights.teacher > 0


@dataclass(frozen=True)
class EngineRecipe:
    """How one engine comes about.

    Attributes:
        change: What it does.
        variants: Ways to learn it; the best is kept.
        width: Channels of the network.
        blocks: How often each of its levels looks again.
        noise: Channels of noise that it sees.
        rate: Adam's learning rate.
        ships: Whether the engine comes with the package.
        faults: What was seen to be wrong in its pictures, one sentence each, for its card.
    """

    change: str
    variants: tuple[EngineVariant, ...]
    width: int = 32
    blocks: int = 2
    noise: int = 1
    rate: float = 1e-3
    ships: bool = True
    faults: tuple[str, ...] = ()


_LIGHT = EngineVariant("adversarial", weights=PairedWeights(plain=0.5, adversarial=0.05, matching=0.5))
_PLANTS = EngineVariant("adversarial", weights=PairedWeights(plain=0.5, adversarial=0.1, matching=1.0))


RECIPES: Mapping[str, EngineRecipe] = {
    one.change: one
    for one in (
        # The classical transform is hard to beat here, so what starts from it gets the most time.
        EngineRecipe(
            "remove-line", (EngineVariant("prefilled", prefilled=True, share=3.0), EngineVariant("own"))
        ),
        EngineRecipe("building-to-tree", (_PLANTS,), rate=5e-4),
        # What ships is the first; the second, distilled from a wider network, needs more time than was given.
        EngineRecipe(
            "day-to-night",
            (replace(_LIGHT, share=3.0), EngineVariant("taught", weights=PairedWeights(teacher=0.5))),
            noise=2,
            rate=5e-4,
            faults=(
                "Traffic lights go out, and people in blue or purple clothes may glow like lit windows: "
                "do not judge rules about lights or people with it.",
            ),
        ),
        EngineRecipe("clear-to-rain", (_LIGHT,), noise=2, rate=5e-4),
        EngineRecipe("clear-to-snow", (_LIGHT,), noise=2, rate=5e-4, ships=False),
        EngineRecipe("summer-to-winter", (_PLANTS,), noise=2, rate=5e-4, ships=False),
    )
}
"""The engines that can be made, by their names."""


@dataclass(frozen=True)
class Effort:
    """How much is done.

    Attributes:
        minutes: That all variants of an engine learn, together.
        pairs: Rendered for training at the first size, and half of it at the second.
        checked: Scenes for validation.
        compared: Scenes for the comparison with the classical transform.
        batch: Images at a time.
        steps: The most batches for each variant.
        sizes: Height and width of the smaller and of the larger pictures.
        precision: Of the numbers in the networks; see `EngineSettings`.
        channels_last: How they lie in memory; likewise.
        width: Of the networks; as the recipe says when left out.
        until: Seconds since 1970 by which engines are written; what comes before leaves less time to learn.
            None for no such limit.
    """

    minutes: float = 7.0
    pairs: int = 6000
    checked: int = 256
    compared: int = 240
    batch: int = 16
    steps: int = 60_000
    sizes: tuple[tuple[int, int], ...] = (_SMALL, _LARGE)
    precision: Precision = "float32"
    channels_last: bool = False
    width: int | None = None
    until: float | None = None


QUICK = Effort(minutes=0.2, pairs=8, checked=4, compared=8, batch=4, steps=3, sizes=((64, 128),), width=8)
"""Next to nothing, to see that all works."""
