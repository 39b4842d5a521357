"""What the programs of this package do before anything else."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

__all__ = ["spare_torch"]


class _NoTorchForThinc(MetaPathFinder):
    """Lets torch not be found by the module of spaCy's that would load it only to see whether it is there."""

    def find_spec(self, name: str, *_: object) -> None:
        asking = sys.modules.get("thinc.compat")
        # While it looks, it has not said yet whether torch is there.
        if name == "torch" and asking is not None and not hasattr(asking, "has_torch"):
            raise ModuleNotFoundError("spaCy needs no torch here", name=name)


def spare_torch() -> None:
    """Let spaCy, which reads rules, not load torch, where it is installed: that takes longer than all else.

    For programs of this package only. In a program of somebody else's, spaCy may need torch.
    """
    if not any(isinstance(one, _NoTorchForThinc) for one in sys.meta_path):
        sys.meta_path.insert(0, _NoTorchForThinc())
