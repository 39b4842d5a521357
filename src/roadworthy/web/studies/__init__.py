"""What people are asked about pairs, glances and clips of drives, and what they answered."""

from __future__ import annotations
