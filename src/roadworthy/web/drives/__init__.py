"""Recorded drives, as the page Drives shows them."""

from __future__ import annotations
