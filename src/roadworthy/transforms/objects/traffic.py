"""Signs and lights that agree with those that stand there, and with the speed that is driven."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.transforms.objects.gallery import CutOut
from roadworthy.transforms.objects.paint import lights_like
from roadworthy.transforms.objects.placement import Things

_COLORS = ("red", "yellow", "green")
_PRIORITY = ("stop", "yield")
_CAREFUL = 30  # km/h: a limit that makes sense where the speed that is driven is not known


def agreeing(frame: Frame, things: Things) -> Things:
    """Return the signs or lights among things that may be put into a frame; all of what is neither.

    Raises:
        NotApplicable: Each of them would contradict what stands there, or make no sense at this speed.
    """
    element = things[0][0].element
    if element == "traffic light":
        return _lights(frame, things)
    return _signs(frame, things) if element == "traffic sign" else things


def _lights(frame: Frame, things: Things) -> Things:
    if (stands := _signs_of(frame, *_PRIORITY)) is not None:
        raise NotApplicable(f"a {stands['type']} sign stands there already, which a light would contradict")
    shown = _lit(frame)
    if not shown:
        return things
    found = _only(things, lambda one: shown == [one.properties.get("color")])
    if not found:
        asked = " or ".join(dict.fromkeys(views[0].properties.get("color", "other") for views in things))
        if len(shown) > 1:
            raise NotApplicable(
                f"{' and '.join(shown)} lights are lit there already: which counts is not known"
            )
        raise NotApplicable(f"a {shown[0]} light is lit there already, which a {asked} one would contradict")
    return found


def _signs(frame: Frame, things: Things) -> Things:
    """Return those signs of which none says otherwise than what stands there."""
    found, reason = [], ""
    limits = {views[0].properties.get("limit") for views in things}
    for views in things:
        why = _contradiction(frame, views[0].properties, named=len(limits) == 1)
        found += [] if why else [views]
        reason = reason or why
    if not found:
        raise NotApplicable(reason)
    return tuple(found)


def _contradiction(frame: Frame, sign: Mapping[str, str], *, named: bool) -> str:
    """Return why a sign cannot stand in a frame; nothing where it can.

    Args:
        frame: What is there.
        sign: Its type and number.
        named: Whether the rule says which number it has.
    """
    kind = sign.get("type")
    if kind in _PRIORITY:
        if shown := _lit(frame):
            return f"a {shown[0]} light is lit there already, which a sign would contradict"
        stands = _signs_of(frame, *(one for one in _PRIORITY if one != kind))
        return (
            f"a {stands['type']} sign stands there already, which another would contradict" if stands else ""
        )
    if kind != "speed limit" or "limit" not in sign:
        return ""
    stands = _signs_of(frame, "speed limit")
    if stands is not None and stands.get("limit") != sign["limit"]:
        return "a speed limit sign stands there already, which another would contradict"
    if named:
        return ""
    if frame.signals is None or frame.signals.speed is None:
        return "" if float(sign["limit"]) <= _CAREFUL else "no limit makes sense at a speed that is not known"
    driven = frame.signals.speed * 3.6
    return (
        ""
        if float(sign["limit"]) < driven
        else f"no speed limit is below the {driven:.0f} km/h that are driven"
    )


def _only(things: Things, fits: Callable[[CutOut], bool]) -> Things:
    return tuple(views for views in things if fits(views[0]))


def _lit(frame: Frame) -> list[str]:
    """Return the colours of the traffic lights that are lit in a frame."""
    lights = frame.label_map.mask("traffic light")
    return [color for color in _COLORS if lights.any() and lights_like(frame.image, lights, color).any()]


def _signs_of(frame: Frame, *types: str) -> dict[str, str] | None:
    """Return what is known of a sign of one of these types in a frame."""
    if frame.boxes is None:
        return None
    known = zip(frame.boxes.classes, frame.boxes.attributes, strict=True)
    signs = (dict(facts) for name, facts in known if name == "traffic sign")
    return next((facts for facts in signs if facts.get("type") in types), None)
