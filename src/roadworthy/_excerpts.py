"""A line of a user's text with the words that are at fault underlined."""

from __future__ import annotations

_WIDEST = 100


def excerpt(where: str, message: str, text: str, line: int, column: int, width: int) -> str:
    """Return a message with the place it is about, and the line there with the words underlined.

    Args:
        where: The file.
        message: What is wrong.
        text: The line of the file.
        line: Its number, counted from 1.
        column: Where the words start, counted from 1.
        width: How many characters they have; what goes beyond the line is left out.

    Example:
        >>> print(excerpt("stop.bbsl", "no function is called 'vehicel'", "  vehicel() ≈ IMG", 2, 3, 7))
        stop.bbsl:2:3: no function is called 'vehicel'
          2 |   vehicel() ≈ IMG
            |   ^^^^^^^
    """
    before, after = text[: column - 1], text[column - 1 :]
    width = max(1, min(width, len(after)))
    if len(text) > _WIDEST:
        before = before if len(before) <= _WIDEST // 2 else f"…{before[-(_WIDEST // 2) :]}"
        after = after if len(after) <= _WIDEST // 2 else f"{after[: _WIDEST // 2]}…"
        width = min(width, len(after))
    # A tab stays a tab above the mark, whatever its width.
    under = "".join("\t" if letter == "\t" else " " for letter in before)
    number = str(line)
    return (
        f"{where}:{line}:{column}: {message}\n"
        f"  {number} | {before}{after}\n"
        f"  {' ' * len(number)} | {under}{'^' * width}"
    )
