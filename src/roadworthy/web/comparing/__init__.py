"""Two runs side by side, as the page Compare shows them."""

from __future__ import annotations
