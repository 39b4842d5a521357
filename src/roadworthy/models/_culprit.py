"""Where in the user's code something was raised."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

__all__ = ["raised_at"]

_OURS = str(Path(__file__).parents[1])
_LIBRARIES = tuple(sysconfig.get_paths()[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib"))


def raised_at(error: BaseException) -> str:
    """Return where an error comes from, as " (file.py:12)": the last line that is not ours or a library's.

    It is the last line of a library where there is no other, and nothing where all is ours.
    """
    lines = [
        (one.filename, one.lineno)
        for one in traceback.extract_tb(error.__traceback__)
        if not one.filename.startswith((_OURS, "<frozen"))
    ]
    own = [one for one in lines if not one[0].startswith(_LIBRARIES)]
    for name, number in (own or lines)[-1:]:
        return f" ({_short(name)}:{number})"
    return ""


def _short(name: str) -> str:
    path = Path(name)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else name
