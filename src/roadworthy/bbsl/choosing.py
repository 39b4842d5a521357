"""Which method tries a specification."""

from __future__ import annotations

from typing import Any

from roadworthy.bbsl.bindings import Bindings
from roadworthy.bbsl.method import BbslMethod
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.testing.roles import ObjectRole
from roadworthy.bbsl.track_method import BbslTrackMethod
from roadworthy.errors import InputError

__all__ = ["TEXT", "method_for"]

TEXT = "The detections lead to the case that the ground truth leads to"
"""What every specification requires."""


def method_for(
    spec: Spec, bindings: Bindings, role: ObjectRole | None, *, matching: str = "best", outside: str = "fail"
) -> BbslMethod | BbslTrackMethod:
    """Return the method that tries a specification, over tracks if it speaks of several frames.

    Raises:
        InputError: A setting cannot be used, or no function stands for the object of a track.
    """
    settings: dict[str, Any] = {"matching": matching, "outside": outside}
    if not spec.is_temporal:
        return BbslMethod(spec, bindings, role=role, **settings)
    if role is None:
        raise InputError(
            "the specification speaks of several frames, so a function must stand for the object of a track: "
            "leave one of type bb unbound, or name it as the object"
        )
    return BbslTrackMethod(spec, bindings, role=role, **settings)
