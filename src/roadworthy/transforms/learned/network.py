"""The network of a learned engine: an ONNX file, opened once in each process."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.models.onnx import opened_session
from roadworthy.transforms.learned.card import NETWORK, EngineCard

__all__ = ["Device", "EngineNetwork"]

Device = Literal["cpu", "cuda"]
Floats = NDArray[np.float32]


class EngineNetwork:
    """Runs the network of an engine on batches.

    Args:
        folder: Of the engine.
        card: What is known about it.
        device: Where it runs.
        threads: How many threads it uses. With another number, the last bits of an image may differ.

    Raises:
        InputError: The file is broken, or the network is not the one that the card describes.
    """

    def __init__(self, folder: Path, card: EngineCard, device: Device = "cpu", threads: int = 1) -> None:
        self.path = folder / NETWORK
        self.card = card
        self._session = _session(self.path, card.sha256, device, threads)
        self._check()

    def run(self, inputs: Mapping[str, Floats]) -> Floats:
        """Return the images for a batch, batch × 3 × height × width, from -1 to 1.

        Raises:
            InputError: The network fails; says how.
        """
        try:
            (found,) = self._session.run(None, dict(inputs))
        except Exception as error:
            # ONNX Runtime has classes of its own for what goes wrong inside a network.
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"{self.path}: the network failed: {reason}") from error
        return np.asarray(found, np.float32)

    def _check(self) -> None:
        wanted = {name: ("tensor(float)", channels) for name, channels in self.card.inputs.items()}
        given = {one.name: (one.type, _channels(one)) for one in self._session.get_inputs()}
        self._compare("inputs", wanted, given)
        made = {one.name: (one.type, _channels(one)) for one in self._session.get_outputs()}
        # It may have any name: that of an input, image, it cannot have.
        name = next(iter(made), "image")
        self._compare("output", {name: ("tensor(float)", 3)}, made)

    def _compare(
        self, what: str, wanted: Mapping[str, tuple[str, int]], given: Mapping[str, tuple[str, int | None]]
    ) -> None:
        # What is not fixed in the file shows when it is run.
        same = wanted.keys() == given.keys() and all(
            kind == given[name][0] and given[name][1] in (None, channels)
            for name, (kind, channels) in wanted.items()
        )
        if not same:
            raise InputError(
                f"{self.path} is of another layout than its card says: expected the {what} "
                f"{_listed(wanted)}, got {_listed(given)}"
            )


def _channels(declared: Any) -> int | None:
    """Return the channels of an input or output; None where they are not fixed, 0 where there are none."""
    if len(declared.shape) != 4:
        return 0
    return declared.shape[1] if isinstance(declared.shape[1], int) else None


def _listed(found: Mapping[str, tuple[str, int | None]]) -> str:
    def told(kind: str, channels: int | None) -> str:
        size = "of no image" if channels == 0 else f"of {'any' if channels is None else channels} channels"
        return size if kind == "tensor(float)" else f"{size}, {kind}"

    return ", ".join(f"{name} ({told(*one)})" for name, one in found.items()) or "none"


# Engines travel to other processes as the names of their files, many times in a run.
@lru_cache(maxsize=8)
def _session(path: Path, _sha256: str, device: Device, threads: int) -> Any:
    return opened_session(path, device, threads)
