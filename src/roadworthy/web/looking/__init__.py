"""What runs found, as the page Look shows it: a wall of cases, one at a time, and what people say of it."""

from __future__ import annotations
