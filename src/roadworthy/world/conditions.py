"""Weather, time of day and season, the light they make, and what seasons do to what grows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from roadworthy.errors import SceneError, check_known, check_number, suggest
from roadworthy.ontology import ontology
from roadworthy.world import classes
from roadworthy.world.camera import Array, vector
from roadworthy.world.mesh import LOOK, Color

LEAVES: dict[str, tuple[Color, ...]] = {
    season: tuple((r, g, b) for r, g, b in found) for season, found in LOOK["leaves"].items()
}
"""Of broadleaf trees and bushes, which have none in winter; a look has the same place in each season."""

SNOW: Color = (236, 240, 246)

WINTER_COVER = {classes.TERRAIN: 0.86, classes.SIDEWALK: 0.38}
"""How much of each class snow hides in winter; the road is cleared but for its edges."""


def grass(color: Color, season: str) -> Color:
    """Return the colour of what is green in summer in another season."""
    to, share = LOOK["turned grass"].get(season, (color, 0.0))
    red, green, blue = (one * (1 - share) + other * share for one, other in zip(color, to, strict=True))
    return red, green, blue


WEATHERS = ("sunny", "cloudy", "rainy", "snowy", "foggy")
TIMES = ("day", "dusk", "night")
SEASONS = ("spring", "summer", "autumn", "winter")
LEVELS = {"light": 1 / 3, "normal": 2 / 3, "heavy": 1.0}


@dataclass(frozen=True, init=False)
class Conditions:
    """What the sky does, and the season.

    Args:
        weather: ``sunny``, ``cloudy``, ``rainy``, ``snowy`` or ``foggy``, or another word for one of them.
        level: ``"light"``, ``"normal"``, ``"heavy"`` or an amount from 0 (none: the same as sunny) to 1.
        time: ``day``, ``dusk`` or ``night``.
        season: ``spring``, ``summer``, ``autumn`` or ``winter``.

    Example:
        >>> Conditions("rain", "heavy")
        Conditions(weather='rainy', level=1.0, time='day', season='summer')
    """

    weather: str
    level: float
    time: str
    season: str

    # Written out because a level may be given by name but always is a number afterwards.
    def __init__(
        self, weather: str = "sunny", level: float | str = "normal", time: str = "day", season: str = "summer"
    ) -> None:
        words = (weather, WEATHERS, "weather"), (time, TIMES, "time of day"), (season, SEASONS, "season")
        weather, time, season = (_canonical(*word) for word in words)
        vars(self).update(weather=weather, level=_amount(level), time=time, season=season)

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
    element = ontology().get(word)
    if element is None or element.name not in allowed:
        raise SceneError(f"unknown {what} {word!r}: {suggest(word, allowed)}")
    return element.name


def _amount(level: float | str) -> float:
    if isinstance(level, str):
        check_known("unknown level", level, LEVELS, SceneError)
        return LEVELS[level]
    check_number("a weather level", level, SceneError, least=0, most=1)
    return float(level)


@dataclass(frozen=True, eq=False)
class Light:
    """Numbers the renderer shades with; colours are factors on a surface's own colour."""

    sun_direction: Array  # towards the sun, world axes
    ambient: Array
    sun: Array
    shadow: float  # 0 no cast shadows … 1 black
    haze: Array  # colour the distance fades to, 0-255
    density: float  # of the haze, 1/m
    lamps: float  # 0 off … 1 all lamps at full effect
    noise: float  # camera noise, in grey levels


@dataclass(frozen=True)
class _ClearSky:
    """The light of a time of day without clouds, in the units of :class:`Light`."""

    elevation: float  # of the sun, in degrees
    ambient: tuple[float, float, float]
    sun: tuple[float, float, float]
    shadow: float
    haze: tuple[float, float, float]
    lamps: float
    noise: float


_CLEAR_SKIES: dict[str, _ClearSky] = {time: _ClearSky(*told) for time, told in LOOK["skies"].items()}
_WINTER_SKIES = _CLEAR_SKIES | {time: _ClearSky(*told) for time, told in LOOK["winter skies"].items()}
_SUN_AZIMUTH = math.radians(35.0)
_GLOOM = {"cloudy": 0.16, "rainy": 0.26, "snowy": 0.08, "foggy": 0.10}
_CLEAR_AIR = 0.0009  # density of the haze without weather
_HAZE = {"cloudy": 0.0006, "rainy": 0.0095, "snowy": 0.014, "foggy": 0.078}


@cache
def _light(conditions: Conditions) -> Light:
    clear = (_WINTER_SKIES if conditions.season == "winter" else _CLEAR_SKIES)[conditions.time]
    rise = math.radians(clear.elevation)
    ahead, aside = math.cos(rise) * math.cos(_SUN_AZIMUTH), math.cos(rise) * math.sin(_SUN_AZIMUTH)
    level, overcast = conditions.level, conditions.overcast
    gloom = 1 - _GLOOM.get(conditions.weather, 0.0) * level
    # Clouds turn the light of the sky grey and spread some of the sun's light over it.
    grey = float(np.mean(clear.ambient))
    ambient = vector(clear.ambient) * (1 - 0.6 * overcast) + grey * 0.6 * overcast
    ambient = (ambient + 0.30 * overcast * float(np.mean(clear.sun))) * gloom
    haze = vector(clear.haze)
    haze = (haze * (1 - 0.8 * overcast) + 0.8 * overcast * float(haze.mean()) * 0.98) * gloom
    thickness = level**1.5 if conditions.weather == "foggy" else level
    lamps = clear.lamps
    if conditions.time == "day":
        lamps = 0.35 * max(conditions.amount("foggy"), conditions.amount("rainy"))
    sun, shadow = vector(clear.sun) * (1 - overcast), clear.shadow * (1 - overcast)
    density = _CLEAR_AIR + _HAZE.get(conditions.weather, 0.0) * thickness
    direction = vector([ahead, aside, math.sin(rise)])
    return Light(direction, ambient, sun, shadow, haze, density, lamps, clear.noise)
