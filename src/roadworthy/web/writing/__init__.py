"""What is typed, read while it is typed: rules and specifications, previews and static checks."""

from __future__ import annotations
