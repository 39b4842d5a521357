"""Counts files and lines of code below a folder: docstrings, comments and blank lines do not count.

::

    python scripts/count_code.py src/roadworthy
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from functools import cache
from pathlib import Path

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@cache
def code_lines(text: str) -> int:
    r"""Return how many lines of a module are code.

    Example:
        >>> code_lines('"Why."\n\nx = 1  # one\n# two\n')
        1
    """
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, described) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - docstrings)


def count(folder: Path) -> tuple[int, int]:
    """Return the number of modules below a folder, and of their lines of code."""
    modules = sorted(folder.rglob("*.py"))
    return len(modules), sum(code_lines(one.read_text("utf-8")) for one in modules)


if __name__ == "__main__":
    files, lines = count(Path(sys.argv[1]))
    sys.stdout.write(f"{files} files, {lines} lines of code\n")
