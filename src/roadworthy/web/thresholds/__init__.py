"""How much change people tolerate, as the page Thresholds shows it."""

from __future__ import annotations
