"""z3, loaded where it is first asked for: that takes a while, and most specifications are only evaluated."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import z3

    return getattr(z3, name)
