"""Opening any simulator by one spelling."""

from __future__ import annotations

from roadworthy._options import checked_options, takes_path
from roadworthy.driving.simulators.protocol import DrivingSimulator
from roadworthy.errors import InputError
from roadworthy.registry import simulators

__all__ = ["open_simulator"]


def open_simulator(reference: str, /, **options: object) -> DrivingSimulator:
    """Open a simulator.

    Args:
        reference: Its name, and after a colon what it opens: ``"world:town"``, ``"udacity:127.0.0.1:4567"``.
        options: The simulator's options; text is converted to what the option takes.

    Raises:
        UnknownNameError: No simulator has this name.
        InputError: What it shall open, or an option, cannot be used.

    Example:
        >>> open_simulator("world:town", traffic="0").name
        'world:town'
        >>> open_simulator("world:twon")
        Traceback (most recent call last):
        ...
        roadworthy.errors.SceneError: unknown track 'twon': did you mean 'town'?
    """
    name, _, path = reference.partition(":")
    if not name:
        raise InputError(f"a simulator is written name or name:path, such as 'world:town', got {reference!r}")
    factory = simulators.get(name)
    if path and takes_path(factory) == "never":
        raise InputError(f"{name!r} takes nothing after the colon, got {path!r}: write {name!r} alone")
    checked = checked_options(name, factory, options)
    simulator = factory(path, **checked) if path else factory(**checked)
    if not isinstance(simulator, DrivingSimulator):
        raise InputError(
            f"{name!r} must give a simulator with name, notes, reset, step and close, got "
            f"{type(simulator).__name__}"
        )
    return simulator
