"""The language of rules: from sentences to readings."""

from __future__ import annotations
