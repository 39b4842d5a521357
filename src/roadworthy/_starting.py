"""What the programs of this package do before anything else."""

from __future__ import annotations

import inspect
import sys
from importlib.abc import MetaPathFinder

_MACHINERY = (__name__, "importlib")
"""Modules that stand between an import statement and what finds the module."""


class _NoTorchForThinc(MetaPathFinder):
    """Lets torch not be found by the module of spaCy's that would load it only to see whether it is there."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "torch" and _importing() == "thinc.compat":
            raise ModuleNotFoundError("spaCy needs no torch here", name=name)


def _importing() -> str:
    """Return which module has the import at work: of this thread, because another may be loading torch."""
    frame, name = inspect.currentframe(), __name__
    while frame is not None and name.startswith(_MACHINERY):
        name = str(frame.f_globals.get("__name__"))
        frame = frame.f_back
    return name


def spare_torch() -> None:
    """Let spaCy, which reads rules, not load torch, where it is installed: that takes longer than all else.

    For programs of this package only. In a program of somebody else's, spaCy may need torch.
    """
    if not any(isinstance(one, _NoTorchForThinc) for one in sys.meta_path):
        sys.meta_path.insert(0, _NoTorchForThinc())
