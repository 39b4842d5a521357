"""The pages, a file for each."""

from __future__ import annotations
