"""What went wrong inside a library, in one line."""

from __future__ import annotations

__all__ = ["reason"]


def reason(error: Exception) -> str:
    r"""Return the first line of an error's message; its class where it has none.

    Example:
        >>> reason(RuntimeError("out of memory\nframe #0: …")), reason(EOFError())
        ('out of memory', 'EOFError')
    """
    return next(iter(str(error).splitlines()), type(error).__name__)
