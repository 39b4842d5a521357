"""Checks of what a network is built with; each names the setting, what it may be, and what came."""

from __future__ import annotations

from roadworthy.errors import InputError

__all__ = ["MOST_CHANNELS", "MOST_NOISE", "is_whole", "listed", "check_one_of", "check_switch", "check_whole"]

MOST_CHANNELS = 4096
MOST_NOISE = 16


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def listed(value: object) -> bool:
    """Return whether a value is a list of values."""
    return isinstance(value, list | tuple)


def _called(settings: object) -> str:
    return repr(settings.architecture) if hasattr(settings, "architecture") else "the inputs"


def check_whole(settings: object, name: str, least: int, most: int) -> None:
    """Make sure that a setting is a whole number in a range.

    Raises:
        InputError: It is not.
    """
    value = getattr(settings, name)
    if not (is_whole(value) and least <= value <= most):
        allowed = f"{least}" if least == most else f"a whole number from {least} to {most}"
        raise InputError(f"{name} of {_called(settings)} must be {allowed}, got {value!r}")


def check_switch(settings: object, name: str) -> None:
    """Make sure that a setting is true or false.

    Raises:
        InputError: It is not.
    """
    value = getattr(settings, name)
    if not isinstance(value, bool):
        raise InputError(f"{name} of {_called(settings)} must be true or false, got {value!r}")


def check_one_of(settings: object, name: str, allowed: tuple[str, ...]) -> None:
    """Make sure that a setting is one of some words.

    Raises:
        InputError: It is not.
    """
    value = getattr(settings, name)
    if value not in allowed:
        raise InputError(f"{name} of {_called(settings)} must be one of {', '.join(allowed)}, got {value!r}")
