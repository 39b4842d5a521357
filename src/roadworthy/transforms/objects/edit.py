"""What edits of objects have in common: they say which pixels they may change."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.transforms.objects.cut_out_files import BrokenCutOut
from roadworthy.transforms.transform import Keeps, Transform

__all__ = ["Edited", "ObjectEdit"]

Mask = NDArray[np.bool_]


class Edited(NamedTuple):
    """A frame after an edit, and which pixels of its image the edit was free to change."""

    frame: Frame
    region: Mask


class ObjectEdit(Transform):
    """A transform that adds, removes or replaces things; outside its region it changes nothing."""

    family = "objects"
    keeps = Keeps.EDITED
    needs = ("labels",)
    random = True

    @abstractmethod
    def edit(self, frame: Frame, rng: np.random.Generator) -> Edited:
        """Make the edit; see `Transform.change`."""

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        return self._edited(frame, rng).frame

    def _edited(self, frame: Frame, rng: np.random.Generator) -> Edited:
        try:
            return self.edit(frame, rng)
        except BrokenCutOut as error:
            # The draws of other frames may fall on cut-outs that are whole.
            raise NotApplicable(str(error)) from error

    def region(self, frame: Frame, rng: np.random.Generator | int = 0) -> Mask:
        """Return which pixels of a frame's image the edit with this seed may change.

        It follows from what is edited and from where things are put, not from the edited image.

        Raises:
            NotApplicable: The frame does not qualify.

        Example:
            >>> from roadworthy.datasets import load
            >>> from roadworthy.transforms import make_transform
            >>> frame = load("world:town", count=1)[0]
            >>> change = make_transform("replace", element="building", by="tree")
            >>> changed, region = change(frame, 7, measure=False), change.region(frame, 7)
            >>> bool((changed.image[~region] == frame.image[~region]).all())
            True
        """
        return self._edited(frame, np.random.default_rng(rng)).region
