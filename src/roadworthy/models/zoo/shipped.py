"""The networks that come with the package, trained on the built-in world: they run without torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from roadworthy._files import read_json
from roadworthy.errors import InputError
from roadworthy.models.network import Network
from roadworthy.models.onnx import onnx_model
from roadworthy.models.zoo.saved import weights_folder
from roadworthy.registry import models

__all__ = ["SHIPPED", "open_shipped"]

SHIPPED = {
    "dave2": "DAVE-2, trained on the built-in world: steering and speed",
    "epoch": "a small Epoch, trained on the built-in world: steering and speed",
    "chauffeur": "a small Chauffeur over five frames, trained on the built-in world: steering and speed",
    "dave2-udacity": "DAVE-2, trained on 3600 real frames of Udacity's challenge 2: steering",
    "epoch-udacity": "a small Epoch, trained on 3600 real frames of Udacity's challenge 2: steering",
    "detector": "a small detector of road users, signs and lights, trained on the built-in world",
    "classifier": "a small classifier of cut-out things, trained on the built-in world",
}
"""What is registered, with its summary, where its weights are there."""


def open_shipped(
    name: str,
    *,
    device: Literal["cpu", "cuda"] = "cpu",
    threads: int = 0,
    timeout: float | None = None,
) -> Network[Any]:
    """Open a network that comes with the package.

    Args:
        name: Its name.
        device: Where it runs.
        threads: How many threads it uses; 0 for as many as there are cores.
        timeout: Seconds that it may take for a batch; it is waited for when left out.

    Raises:
        InputError: The package has no such weights.
    """
    from roadworthy.models.description import described

    card = weights_folder() / f"{name}.json"
    if not card.is_file():
        raise InputError(
            f"the weights of {name!r} are not in this installation ({card.parent}): make them with "
            "python -m roadworthy.models.zoo.make_weights"
        )
    document = read_json(card)
    spec = described({}, {key: document[key] for key in ("input", "output")}, lambda *_: str(card)).spec
    file = card.with_suffix(".onnx")
    return onnx_model(file, spec=spec, name=name, device=device, threads=threads, timeout=timeout)


def _factory(name: str) -> Callable[..., Network[Any]]:
    def open_it(
        *, device: Literal["cpu", "cuda"] = "cpu", threads: int = 0, timeout: float | None = None
    ) -> Network[Any]:
        return open_shipped(name, device=device, threads=threads, timeout=timeout)

    open_it.__doc__ = f"Open {SHIPPED[name]}."
    return open_it


for _name, _summary in SHIPPED.items():
    if (weights_folder() / f"{_name}.onnx").is_file():
        models.register(_name, summary=_summary)(_factory(_name))
