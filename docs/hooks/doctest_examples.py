"""Docstrings as griffe reads them: doctests under "Examples:", and indented code without a "::"."""

from __future__ import annotations

import re
from typing import Any

import griffe


class DoctestExamples(griffe.Extension):
    """Reads an "Example:" of a docstring as code with its output and not as prose, and takes "::" away."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change a docstring before it is parsed."""
        del kwargs
        _change(obj)

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Change that of the package itself, which is no object of another."""
        del kwargs
        _change(pkg)


def _change(obj: griffe.Object) -> None:
    if obj.docstring is not None:
        text = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.M)
        obj.docstring.value = re.sub(r"^ *::\n|:(?=:$)", "", text, flags=re.M)
