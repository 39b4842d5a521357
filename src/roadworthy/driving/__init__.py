"""Driving quality: what a drive was like, and oracles that notice when it got worse."""

from __future__ import annotations

from roadworthy.driving.oracles import fit_oracle

__all__ = ["fit_oracle"]
