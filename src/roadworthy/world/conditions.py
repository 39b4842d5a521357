"""Weather and time of day, and the light they make."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from roadworthy.errors import SceneError, suggest
from roadworthy.ontology import ontology

__all__ = ["LEVELS", "TIMES", "WEATHERS", "Conditions", "Light"]

WEATHERS = ("sunny", "cloudy", "rainy", "snowy", "foggy")
TIMES = ("day", "dusk", "night")
LEVELS = {"light": 1 / 3, "normal": 2 / 3, "heavy": 1.0}

Vector = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


@dataclass(frozen=True)
class Conditions:
    """What the sky does.

    Args:
        weather: ``sunny`` (or clear), ``cloudy``, ``rainy``, ``snowy`` or ``foggy``; other words for them work too.
        level: ``"light"``, ``"normal"``, ``"heavy"`` or an amount from 0 (none: the same as sunny) to 1.
        time: ``day``, ``dusk`` or ``night``.

    Example:
        >>> Conditions("rain", "heavy")
        Conditions(weather='rainy', level=1.0, time='day')
    """

    weather: str = "sunny"
    level: float = LEVELS["normal"]
    time: str = "day"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weather", _canonical(self.weather, WEATHERS, "weather"))
        object.__setattr__(self, "time", _canonical(self.time, TIMES, "time of day"))
        level = self.level
        if isinstance(level, str):
            if level not in LEVELS:
                raise SceneError(f"unknown level {level!r}: {suggest(level, LEVELS)}")
            level = LEVELS[level]
        if not 0 <= level <= 1:
            raise SceneError(f"a weather level lies between 0 and 1, got {level}")
        object.__setattr__(self, "level", float(level))

    @property
    def level_name(self) -> str:
        """The nearest of light, normal and heavy."""
        return min(LEVELS, key=lambda name: abs(LEVELS[name] - self.level))

    def amount(self, weather: str) -> float:
        """Return how much of one kind of weather there is, from 0 to 1."""
        return self.level if self.weather == weather else 0.0

    @property
    def overcast(self) -> float:
        """How much of the sky is hidden, from 0 to 1; amount 0 of any weather is clear sky."""
        most = {"sunny": 0.0, "cloudy": 0.45 + 0.55 * self.level}.get(self.weather, 1.0)
        return min(most, self.level * 6)

    @property
    def light(self) -> Light:
        """The light of these conditions."""
        return _light(self)


def _canonical(word: str, allowed: tuple[str, ...], what: str) -> str:
    known = ontology()
    if word in known:
        name = known.resolve(word).name
        if name in allowed:
            return name
    raise SceneError(f"unknown {what} {word!r}: {suggest(word, allowed)}")


@dataclass(frozen=True, eq=False)
class Light:
    """Numbers the renderer shades with; colours are factors on a surface's own colour."""

    sun_direction: Vector  # towards the sun, world axes
    ambient: Vector
    sun: Vector
    shadow: float  # 0 no cast shadows … 1 black
    haze: Vector  # colour the distance fades to, 0-255
    density: float  # of the haze, 1/m
    lamps: float  # 0 off … 1 all lamps at full effect
    noise: float  # camera noise, in grey levels


_TIME_LIGHT: dict[
    str, tuple[float, tuple[float, ...], tuple[float, ...], float, tuple[float, ...], float, float]
] = {
    # elevation of the sun, ambient, sun, shadow, haze colour, lamps, noise
    "day": (48.0, (0.60, 0.65, 0.74), (0.66, 0.60, 0.50), 0.50, (196, 212, 228), 0.0, 1.2),
    "dusk": (9.0, (0.40, 0.38, 0.46), (0.52, 0.33, 0.17), 0.30, (206, 158, 132), 0.55, 2.2),
    "night": (35.0, (0.105, 0.12, 0.18), (0.0, 0.0, 0.0), 0.0, (15, 18, 28), 1.0, 4.0),
}
_SUN_AZIMUTH = math.radians(35.0)


@cache
def _light(conditions: Conditions) -> Light:
    elevation, ambient, sun, shadow, haze, lamps, noise = _TIME_LIGHT[conditions.time]
    rise = math.radians(elevation)
    direction = (
        math.cos(rise) * math.cos(_SUN_AZIMUTH),
        math.cos(rise) * math.sin(_SUN_AZIMUTH),
        math.sin(rise),
    )
    level = conditions.level
    overcast = conditions.overcast
    gloom = (
        1 - {"cloudy": 0.16, "rainy": 0.26, "snowy": 0.08, "foggy": 0.10}.get(conditions.weather, 0.0) * level
    )
    grey = float(np.mean(ambient))
    base = np.array(ambient, dtype=np.float32) * (1 - 0.6 * overcast) + grey * 0.6 * overcast
    direct = np.array(sun, dtype=np.float32) * (1 - overcast)
    lifted = (base + 0.30 * overcast * float(np.mean(sun))) * gloom
    far = np.array(haze, dtype=np.float32)
    far = (far * (1 - 0.8 * overcast) + 0.8 * overcast * float(far.mean()) * 0.98) * gloom
    density = 0.0009 + {
        "cloudy": 0.0006,
        "rainy": 0.0095,
        "snowy": 0.014,
        "foggy": 0.078,
    }.get(conditions.weather, 0.0) * (level**1.5 if conditions.weather == "foggy" else level)
    if conditions.time == "day":
        lamps = 0.35 * max(conditions.amount("foggy"), conditions.amount("rainy"))
    return Light(
        np.array(direction, dtype=np.float32),
        lifted.astype(np.float32),
        direct,
        shadow * (1 - overcast),
        far,
        density,
        lamps,
        noise,
    )
