"""Networks that take more than an image: SAM 2 cuts out what boxes show, MI-GAN fills what a mask marks.

Both are public networks, imported by `roadworthy networks import`. A detector and SAM 2 together give
instances; MI-GAN is what an engine that removes things can call.
"""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, check_known
from roadworthy.frames import Boxes
from roadworthy.models.images import ImageInput
from roadworthy.models.networks import PublicNetwork, check_imported, public_networks
from roadworthy.models.onnx import opened_session, wanted_threads

_SIDE = 1024  # pixels that SAM 2 sees in both directions
_SEEN = ImageInput(_SIDE, _SIDE, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
_CORNERS = (2.0, 3.0)  # what SAM calls the two points of a box
_KEPT = 4  # embeddings of images, which take seconds each


class _Imported:
    """A public network with its sessions, which stay behind when it travels to another process."""

    usual: ClassVar[str]

    def __init__(self, name: str = "", threads: int = 0) -> None:
        self.name = name or self.usual
        self.threads = threads
        check_imported(self._network)

    @property
    def _network(self) -> PublicNetwork:
        check_known("there is no public network", self.name, public_networks())
        return public_networks()[self.name]

    @cached_property
    def _sessions(self) -> list[Any]:
        folder, threads = self._network.folder, wanted_threads(self.threads)
        return [opened_session(folder / file, threads=threads) for file in self._network.files]

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "threads": self.threads}


class BoxSegmenter(_Imported):
    """SAM 2: cuts out what boxes show.

    Args:
        name: The imported network.
        threads: How many threads it uses; 0 for as many as ROADWORTHY_THREADS says, or as there are cores.

    Raises:
        UnknownNameError: It is not imported; says how to get it.
    """

    usual = "sam2-tiny"

    @cached_property
    def _embeddings(self) -> dict[str, dict[str, NDArray[Any]]]:
        return {}

    def _embedded(self, image: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
        key = sha256(repr(image.shape).encode() + np.ascontiguousarray(image).tobytes()).hexdigest()
        if key not in self._embeddings:
            from roadworthy.frames import Frame

            seen = _SEEN.tensor([_SEEN.view(Frame("image", image))])
            session = self._sessions[0]
            names = [one.name for one in session.get_outputs()]
            found = dict(zip(names, session.run(names, {session.get_inputs()[0].name: seen}), strict=True))
            while len(self._embeddings) >= _KEPT:
                self._embeddings.pop(next(iter(self._embeddings)))
            self._embeddings[key] = found
        return self._embeddings[key]

    def masks_for_boxes(self, image: NDArray[np.uint8], boxes: Boxes) -> NDArray[np.bool_]:
        """Return the pixels of what each box shows, boxes × height × width.

        Args:
            image: RGB, height × width × 3.
            boxes: In pixels of the image.
        """
        import cv2

        height, width = image.shape[:2]
        masks = np.zeros((len(boxes), height, width), np.bool_)
        if not len(boxes):
            return masks
        scale = np.array([_SIDE / width, _SIDE / height], np.float32)
        given = {
            **self._embedded(image),
            "point_coords": boxes.xyxy.astype(np.float32).reshape(-1, 2, 2) * scale,
            "point_labels": np.tile(np.array(_CORNERS, np.float32), (len(boxes), 1)),
            "mask_input": np.zeros((len(boxes), 1, 256, 256), np.float32),
            "has_mask_input": np.zeros(1, np.float32),
        }
        found, scores = self._sessions[1].run(["masks", "iou_predictions"], given)
        for number, best in enumerate(scores.argmax(axis=1)):
            masks[number] = cv2.resize(found[number, best], (width, height)) > 0
        return masks

    def instances(self, image: NDArray[np.uint8], boxes: Boxes) -> NDArray[np.int32]:
        """Return which box a pixel belongs to, from 1 on, the lower box where masks overlap; 0 is none."""
        found = np.zeros(image.shape[:2], np.int32)
        masks = self.masks_for_boxes(image, boxes)
        for number in np.argsort(boxes.xyxy[:, 3], kind="stable"):
            found[masks[number]] = number + 1
        return found


class Inpainter(_Imported):
    """MI-GAN: fills what a mask marks with what could stand there.

    Args:
        name: The imported network.
        threads: How many threads it uses; 0 for as many as ROADWORTHY_THREADS says, or as there are cores.

    Raises:
        UnknownNameError: It is not imported; says how to get it.
    """

    usual = "migan"

    def fill(self, image: NDArray[np.uint8], mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Return the image with the masked pixels filled; those around them blend in.

        Args:
            image: RGB, height × width × 3.
            mask: True where something else shall be, height × width.

        Raises:
            InputError: The mask has another size.
        """
        if mask.shape != image.shape[:2]:
            raise InputError(f"the mask must have shape {image.shape[:2]}, got {mask.shape}")
        if not mask.any():
            return image.copy()
        kept = np.where(mask, 0, 255).astype(np.uint8)[None, None]
        given = {"image": np.ascontiguousarray(image.transpose(2, 0, 1)[None]), "mask": kept}
        (found,) = self._sessions[0].run(["result"], given)
        return np.ascontiguousarray(found[0].transpose(1, 2, 0))
