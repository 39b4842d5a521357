"""Signs and lights that agree with those that stand there, and with the speed that is driven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from roadworthy._frozen import FrozenDict
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.transforms.objects.paint import lights_like
from roadworthy.transforms.objects.placement import Things
from roadworthy.transforms.wording import ElementDescription

_COLORS = ("red", "yellow", "green")
_PRIORITY = {"stop", "yield"}
_CAREFUL = 30  # km/h: a limit that makes sense where the speed that is driven is not known


def contradiction(
    element: str, properties: Mapping[str, str], standing: Iterable[tuple[str, Mapping[str, str]]]
) -> str:
    """Return which sign or light that stands there a new one would contradict, in words; empty for none.

    Example:
        >>> contradiction("traffic light", {"color": "red"}, [("traffic light", {"color": "green"})])
        'a green light stands there already, which the new one would contradict'
    """
    kind = properties.get("type")
    for other, known in standing:
        its = known.get("type")
        if "traffic light" in (element, other):
            both = element == other
            wrong = known.get("color") != properties.get("color") if both else {kind, its} & _PRIORITY
        elif kind in _PRIORITY and its in _PRIORITY:
            wrong = kind != its
        else:
            limited = kind == its == "speed limit" and "limit" in properties
            wrong = limited and known.get("limit") != properties["limit"]
        if wrong:
            stands = ElementDescription(other, FrozenDict(known))
            return f"a {stands} stands there already, which the new one would contradict"
    return ""


def agreeing(frame: Frame, things: Things) -> Things:
    """Return the signs or lights among things that may be put into a frame; all of what is neither.

    Raises:
        NotApplicable: Each of them would contradict what stands there, or make no sense at this speed.
    """
    element = things[0][0].element
    if element not in ("traffic light", "traffic sign"):
        return things
    standing = [("traffic light", {"color": color}) for color in _lit(frame)] + _signs_of(frame)
    limits = {views[0].properties.get("limit") for views in things}
    found, reason = [], ""
    for views in things:
        properties = views[0].properties
        why = contradiction(element, properties, standing)
        if not why and properties.get("type") == "speed limit" and "limit" in properties and len(limits) > 1:
            why = _senseless(frame, float(properties["limit"]))
        found += [] if why else [views]
        reason = reason or why
    if not found:
        raise NotApplicable(reason)
    return tuple(found)


def _senseless(frame: Frame, limit: float) -> str:
    """Return why a limit that the rule does not name makes no sense at the speed that is driven."""
    if frame.signals is None or frame.signals.speed is None:
        return "" if limit <= _CAREFUL else "no limit makes sense at a speed that is not known"
    driven = frame.signals.speed * 3.6
    return "" if limit < driven else f"no speed limit is below the {driven:.0f} km/h that are driven"


def _lit(frame: Frame) -> list[str]:
    """Return the colours of the traffic lights that are lit in a frame."""
    lights = frame.label_map.mask("traffic light")
    return [color for color in _COLORS if lights.any() and lights_like(frame.image, lights, color).any()]


def _signs_of(frame: Frame) -> list[tuple[str, dict[str, str]]]:
    """Return what is known of the signs of a frame."""
    if frame.boxes is None:
        return []
    known = zip(frame.boxes.classes, frame.boxes.attributes, strict=True)
    return [(name, dict(facts)) for name, facts in known if name == "traffic sign"]
