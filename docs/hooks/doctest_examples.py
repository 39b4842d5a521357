"""Docstrings as griffe reads them: doctests under "Examples:", and indented code without a "::"."""

from __future__ import annotations

import re
from typing import Any

import griffe


class DoctestExamples(griffe.Extension):
    """Reads an "Example:" of a docstring as code with its output and not as prose, and takes "::" away."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring before it is parsed."""
        del kwargs
        if obj.docstring is not None:
            text = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.M)
            obj.docstring.value = re.sub(r"^ *::\n|:(?=:$)", "", text, flags=re.M)
