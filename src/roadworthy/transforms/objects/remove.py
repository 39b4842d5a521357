"""Taking things out of a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.transforms.objects.edit import Edited, ObjectEdit
from roadworthy.transforms.objects.inpainting import Gap, filled
from roadworthy.transforms.objects.parts import parts_of
from roadworthy.transforms.objects.region import region_of
from roadworthy.transforms.objects.selection import Selection, check_element, select
from roadworthy.transforms.objects.truth import PAINTED, labels_without, truth_without
from roadworthy.transforms.parameters import number, word
from roadworthy.transforms.perspective import Perspective
from roadworthy.transforms.transform import Presets, register

__all__ = ["LEAST_SHARE", "Remove", "without"]

LEAST_SHARE = 0.001
"""Of the image's pixels. The driving networks of the papers see 200 × 66 pixels: a thing of this share has 13
of them, half of what one filter of their first layer covers. Less can hardly count (RMT, 3.3.4)."""

Mask = NDArray[np.bool_]

_CUT = 0.5  # of a thing's columns that end at what is removed: its feet are not seen
# What everything else stands on and in front of.
_NEVER = ("road", "sidewalk", "terrain", "sky", "ego-vehicle")


@register("remove", summary="things of an element are taken out, and what is behind them shows")
@dataclass(frozen=True, kw_only=True)
class Remove(ObjectEdit):
    """All things that a few words describe are taken out: "lane lines", "vehicle", "red car", "stop sign".

    The label map is edited first, then the pixels are made to fit it. Outside :meth:`region`, that is the
    things, an edge round them and the shadows that touch them, nothing changes. What lay behind them is a
    guess: what is beside them goes on. A frame in which something else would be left without its feet does
    not qualify. The contact shadow goes with a thing, as far as it is darker than the ground and touches the
    thing; long shadows, mostly those of trees and buildings, stay. A sign or a light goes with its post.
    """

    element: str = word("vehicle", "What is taken out, as a word of the ontology with or without properties.")
    least_share: float = number(
        LEAST_SHARE,
        "The share of the image's pixels below which things are too small to be worth removing.",
        low=0,
        high=1,
    )

    presets: ClassVar[Presets] = {
        "lines": {"element": "line"},
        "vehicles": {"element": "vehicle"},
        "trees": {"element": "tree"},
        "buildings": {"element": "building"},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_element(self.name, self.element, never=_NEVER)

    def edit(self, frame: Frame, rng: np.random.Generator) -> Edited:
        chosen = select(frame, check_element(self.name, self.element), self.least_share)
        if chosen.what.is_a("dynamic object") and _leaves_half_a_thing(frame, chosen):
            raise NotApplicable(
                f"without what hides it, the rest of a thing behind a {chosen.what} would float"
            )
        return without(frame, chosen, rng)


def _leaves_half_a_thing(frame: Frame, gone: Selection) -> bool:
    """Return whether a thing stays whose lower part was hidden: nobody knows what that looks like."""
    labels = frame.labels
    assert labels is not None
    staying = labels.mask("dynamic object", "traffic sign") & ~gone.mask
    below = np.zeros_like(gone.mask)
    below[:-2] = gone.mask[1:-1] | gone.mask[2:]
    for window, pixels in parts_of(staying, least=int(LEAST_SHARE * staying.size)):
        wide = pixels.shape[1]
        foot = pixels.shape[0] - 1 - pixels[::-1].argmax(axis=0)
        cut = below[window][foot, np.arange(wide)]
        if np.count_nonzero(cut) > _CUT * wide:
            return True
    return False


def without(frame: Frame, gone: Selection, rng: np.random.Generator, hidden: Mask | None = None) -> Edited:
    """Take out what was selected; what will be `hidden` anyway is not painted."""
    labels = frame.labels
    assert labels is not None
    ids = labels_without(frame, gone)
    opacity = region_of(frame, gone.mask, paint=gone.what.element in PAINTED)
    if hidden is not None:
        opacity[hidden] = 0
    gap = Gap(opacity, ids, Perspective.of(frame))
    image, origin = filled(frame.image, labels.ids, labels.classes, gap, rng)
    return Edited(truth_without(frame, gone, ids, origin).replace(image=image), opacity > 0)
