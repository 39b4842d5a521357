"""Image engines that users bring or choose: which operation they do, and how they are called, in a YAML file.

::

    engines:
      lines:
        learned: remove-line                  # a learned engine: one that is shipped, or a folder
      eraser:
        network: migan                        # a public network that fills holes, once it is imported
      pix2pixhd:
        command: [python, run_pix2pix.py, --image, "{image}", --labels, "{labels}", --output, "{output}"]
        timeout: 60
        supports:
          - {operation: remove, element: line}
          - {operation: replace, element: building, by: tree}
      my-night:
        entry: night.py:darker
        supports: [{operation: replace, element: time, by: night}]
      my-service:
        http: {url: "http://127.0.0.1:8188/edit", fields: {image: "{image}", prompt: "{by} in a street"}}
        supports: [{operation: replace, element: building}]
      my-diffusion:
        pipeline: {folder: inpainting, prompt: "{by} beside a road"}
        supports: [{operation: replace, element: building}]

Such a file is read by :func:`roadworthy.transforms.read_engines`. An engine that runs a program or code, or
calls another machine, is called only if that is allowed, for it can do anything that its user can do. A
learned engine is data: it needs no permission.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from roadworthy.transforms.engines.engine import EngineTransform, UserEngine

__all__ = ["SHIPPED", "EngineTransform", "UserEngine", "is_named", "read_engines"]

SHIPPED = "shipped"
"""Instead of a file: the learned engines that come with Roadworthy and are nearer to the truth than what is
built in, for frames of the built-in world."""


def is_named(engines: str) -> bool:
    """Return whether engines are known by this name, instead of described in a file.

    Example:
        >>> is_named("shipped"), is_named("migan"), is_named("engines.yaml")
        (True, True, False)
    """
    from roadworthy.transforms.engines.commands import fillers

    return engines in (SHIPPED, *fillers())


def read_engines(path: str | PathLike[str], *, allow_commands: bool = False) -> tuple[UserEngine, ...]:
    """Read the engines that a YAML file describes, in its order.

    Args:
        path: The file, or "shipped" for the learned engines that come with Roadworthy and were measured to be
            nearer to the truth than what is built in. On frames that are not of the built-in world, these
            refuse to work. Or the name of a public network that fills holes, "migan": it removes things.
        allow_commands: Whether they may be called. Without it they are read and checked, but all that run
            code or call other machines refuse to work.

    Raises:
        InputError: Something in it cannot be used, which is named with its file and line; or none is shipped
            that is nearer.
    """
    if str(path) == SHIPPED:
        from roadworthy.transforms.learned.engine import nearer_engines

        return nearer_engines()
    from roadworthy.transforms.engines.files import engines_of_file, filling_engine

    if is_named(str(path)):
        return (filling_engine(str(path)),)
    return engines_of_file(Path(path), allowed=allow_commands)
