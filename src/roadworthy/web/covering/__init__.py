"""What tests have tried of networks and of the operating domain, as the page Coverage shows it."""

from __future__ import annotations
