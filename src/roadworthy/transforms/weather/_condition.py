"""What weather, light and season have in common: one amount, three levels, and when it does not apply."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import Image
from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.transforms.perspective import ROAD
from roadworthy.transforms.transform import Presets, Transform, number
from roadworthy.transforms.weather._scene import (
    WeatherScene,
    above,
    greyed,
    percentile,
    surroundings,
    thinned,
    widened,
)
from roadworthy.transforms.wording import DO_IT_ANYWAY, MOMENT

LEVELS: Mapping[str, float] = {"light": 0.3333, "normal": 0.6667, "heavy": 1.0}
"""The amounts that the levels of the ontology stand for."""


LOW_REALISM = "low realism: the frame has no labels"
"""What a real frame says that weather was drawn over without knowing what stands where."""


def known(frame: Frame, fact: str) -> str | None:
    """Return what the metadata say about weather, level, time or season, in the ontology's word."""
    word = frame.metadata.get(fact)
    if not isinstance(word, str):
        return None
    element = ontology().get(word)
    return word if element is None else element.name


_CLIPPED, _MOST_CLIPPED = 244, 0.03  # grey level of glare, and the share of the ground that may show it
_BLACK, _MOST_BLACK = 20, 0.5  # likewise of what is too dark
# Likewise of ground in the sun and in the shade, if both are seen.
_SUNLIT, _SHADED, _MOST_HARSH = 140, 30, 0.12
# Of the road in the sun or the shade, how much brighter the sun makes it, and the share of woods and hills
# that may be so bright beside the road.
_LEAST_PART, _MOST_APART, _MOST_SUNLIT = 0.1, 2.5, 0.15
_MOST_LIT_WALLS = 0.2  # likewise of façades
_HILLS_APART = (0.2, 4.0)  # likewise of woods and hills themselves
_BRIGHTER_HILLS = 1.6  # times brighter than the road that woods and hills may be
_MOST_FLOATING, _MOST_LEFT = 0.003, 0.0045  # of the image, by the label map and by the sky that is painted
_WHITE_SKY, _MOST_WHITE = 245, 0.005  # grey level of a burnt-out sky, and the share that may be called no sky
# Grey level and share of a column in which the sun smears, from so much of the height above the horizon on.
_SMEAR, _SMEARED, _ABOVE_HORIZON = 235, 0.9, 0.1
_WARM, _MOST_WARM = 15, 0.01  # levels redder than blue, and the share of the image that may be such a sky
# Likewise of the sky itself, if there is as much of it.
_TINGED, _MOST_TINGED, _LEAST_TINGED = 8, 0.27, 0.002
_LEAST_SKY, _NIGHT_SKY, _NIGHT_WOODS = 0.02, 60, 40  # share of the image, and grey levels at most
_FLARE = 1.35  # times redder than green a road is in the flare of a lens
_PAINT, _BESIDE = 7, 4  # pixels of a thumbnail: what is narrower is paint, and what is too near to things
_EDGE, _MOST_EDGES = 1.45, 0.03  # times darker beyond the edge of a shadow, and the share of the road there


def unfit_light(scene: WeatherScene) -> str:
    """Return why a real frame shows no other weather than what it was seen in; empty where it does."""
    grey = scene.small_grey[thinned(scene.ground, *scene.small) > 0]
    road = above(scene.small_road, 127)
    if scene.frame.labels is None or not len(grey):
        # Where the ground is, is not known.
        return ""
    white, bright, dark, black = (
        np.count_nonzero(one) / len(grey)
        for one in (grey > _CLIPPED, grey > _SUNLIT, grey < _SHADED, grey < _BLACK)
    )
    if black > _MOST_BLACK:
        return "the ground is black in the image: a change of weather or time would not show on it"
    if _at_night(scene):
        return "it is already night in the image, which other weather or light would turn into a grey day"
    red, green, _ = cv2.mean(scene.thumbnail, road)[:3]
    harsh = white > _MOST_CLIPPED or min(bright, dark) > _MOST_HARSH or red > _FLARE * green
    first = round(scene.view.horizon - _ABOVE_HORIZON * scene.height)
    # Not in the thumbnail: a smear may be a few pixels wide.
    full = cv2.cvtColor(scene.frame.image[min(max(first, 0), scene.height - 1) :], cv2.COLOR_RGB2GRAY)
    smear = np.mean(full > _SMEAR, axis=0).max() > _SMEARED
    if harsh or smear or _parted(scene, scene.small_grey[road > 0]):
        return "the sun is too harsh in the image: glare and black shade would stay in any weather"
    red_plane, _, blue_plane = cv2.split(scene.thumbnail)
    warmer, sky = cv2.subtract(red_plane, blue_plane), scene.small_sky > 127
    share = np.mean(warmer[sky] > _TINGED) if np.mean(sky) > _LEAST_TINGED else 0.0
    if np.mean((warmer > _WARM) & sky) > _MOST_WARM or share > _MOST_TINGED:
        return "sunlit leaves are burnt out in the image, and cannot be told from the sky"
    if scene.estimated and _sky_unclear(scene):
        return "the sky cannot be told in the image: parts of the ground would float in it"
    return ""


def _sky_unclear(scene: WeatherScene) -> bool:
    """Return whether woods or ground have sky all around, or a white sky is called something else."""
    sky = thinned(scene.sky, *scene.small) > 127
    hangs = scene.small_frame.label_map.mask("pole", "traffic sign", "traffic light")
    if _floating(scene.small_frame.label_map.mask("sky") | hangs) > _MOST_FLOATING:
        return True
    if _floating(sky | hangs) > _MOST_LEFT:
        return True
    white = (scene.small_grey >= _WHITE_SKY) & ~sky
    white[max(round(scene.small_view.horizon), 0) :] = False
    white = cv2.morphologyEx(white.view(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)) > 0
    _, parts = cv2.connectedComponents(cv2.dilate((white | sky).view(np.uint8), np.ones((3, 3), np.uint8)))
    return float(np.mean(white & np.isin(parts, np.unique(parts[sky])))) > _MOST_WHITE


def _floating(sky: NDArray[np.bool_]) -> float:
    """Return how much of an image has sky all around."""
    _, parts = cv2.connectedComponents((~sky).view(np.uint8))
    border = np.concatenate([parts[0], parts[-1], parts[:, 0], parts[:, -1]])
    return float(np.mean(~sky & ~np.isin(parts, border)))


def _at_night(scene: WeatherScene) -> bool:
    """Return whether the sky, or what stands before it, is as dark as at night."""
    if cv2.countNonZero(scene.small_sky) > _LEAST_SKY * scene.small_grey.size:
        return (percentile(scene.small_grey, 0.5, above(scene.small_sky, 127)) or 0.0) < _NIGHT_SKY
    rows = len(scene.small_grey)
    upper = scene.small_grey[: min(max(round(scene.small_view.horizon), rows // 3), rows)]
    return (percentile(upper, 0.9) or 0.0) < _NIGHT_WOODS


def _parted(scene: WeatherScene, road: NDArray[np.uint8]) -> bool:
    """Return whether a scene is in the sun and its road, or some of it, in a shade that nobody can lift."""
    if not len(road):
        return False
    where = scene.small_frame.label_map.mask("tree", "terrain")
    hills, soft = scene.small_grey[where], np.asarray(cv2.blur(scene.small_grey, (9, 9)), np.uint8)[where]
    bright = max(float(_SUNLIT), _MOST_APART * float(np.median(road)))
    walls = scene.small_grey[scene.small_frame.label_map.mask("building")]
    if len(walls) > len(road) / 8 and np.mean(walls > bright) > _MOST_LIT_WALLS:
        return True
    # What is whiter is sky between twigs.
    if len(hills) > len(road) / 8:
        lit = np.mean((hills > bright) & (hills <= _CLIPPED)) > _MOST_SUNLIT
        if lit or np.median(hills) > _BRIGHTER_HILLS * max(float(np.median(road)), 1.0):
            return True
    return _in_two(road, _LEAST_PART, _MOST_APART) or _in_two(soft, *_HILLS_APART)


def _in_two(grey: NDArray[np.uint8], least: float, apart: float) -> bool:
    """Return whether a part of some pixels, and a rest as large at least, are so many times brighter."""
    if not len(grey):
        return False
    level, sunlit = cv2.threshold(grey, 0, 1, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    if not least < float(sunlit.mean()) < 1 - least:
        return False
    return bool(grey[grey > level].mean() > apart * max(float(grey[grey <= level].mean()), 1.0))


def sharp_shadows(scene: WeatherScene) -> str:
    """Return a complaint where edges of shadows cross the road; tyres and puddles leave softer ones."""
    if scene.frame.labels is None:
        return ""
    hidden = widened(thinned(scene.known_mask("dynamic object", *ROAD[2:]), *scene.small), _BESIDE)
    seen = (widened(above(scene.small_road, 127), -_BESIDE) > 0) & (hidden == 0)
    beside = np.ones((_PAINT, _PAINT), np.uint8)
    plain = cv2.morphologyEx(cv2.blur(scene.small_grey, (3, 3)), cv2.MORPH_OPEN, beside)
    bright, dark = (one(plain, beside)[seen].astype(np.float32) + 4 for one in (cv2.dilate, cv2.erode))
    if not len(bright) or np.mean((bright > 44) & (bright > _EDGE * dark)) <= _MOST_EDGES:
        return ""
    return "the sun casts sharp shadows on the road, which would stay in any weather"


@dataclass(frozen=True, kw_only=True)
class WeatherTransform(Transform):
    """Weather, light or a season that comes over a scene; labels stay true.

    Class attributes:
        fact: What it changes among the metadata, "weather", "time" or "season"; empty for none.
        value: The ontology's word for it.
        bars: Facts of the metadata with which it cannot be, and the reason.
        least_change: The least mean squared error, in grey levels² at amount 1 and in proportion below it,
            between a frame and the changed one. A smaller one says that the frame showed it before: the
            filter of section 3.3.4 of the RMT paper, which gives no number. 0 for what does not take the
            place of other weather, another time or season, and is not filtered.

    The error is looked at where the metadata do not say what the weather, the time or the season was. Amounts
    below light, and weather with parameters of its own, are asked for by searches and by people who know what
    they do; they are not filtered by it.
    """

    amount: float = number(
        LEVELS["normal"], "How much of it: 1/3 is light, 2/3 normal, 1 heavy.", low=0, high=1, identity=0
    )

    family = "weather"
    wants = ("labels", "depth")
    random = True
    presets: ClassVar[Presets] = {level: {"amount": amount} for level, amount in LEVELS.items()}
    fact: ClassVar[str] = ""
    value: ClassVar[str] = ""
    bars: ClassVar[Mapping[str, str]] = {}
    least_change: ClassVar[float] = 0.0

    @abstractmethod
    def drawn(self, scene: WeatherScene, rng: np.random.Generator) -> Image:
        """Return the image under these conditions."""

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        """Return the frame under these conditions, and its metadata saying so.

        An amount that is nearer to nothing than to light leaves the metadata as they are.

        Raises:
            NotApplicable: The metadata say that it is so already, at this level or a stronger one, or the
                image hardly changes.
        """
        self._check(frame)
        scene = surroundings(frame)
        # The change must be large where nobody said what there was, nor asked for a small one.
        usual = self.amount >= LEVELS["light"] and self == type(self)(amount=self.amount)
        if usual and not frame.drawn and (reason := self._unfit(scene)):
            raise NotApplicable(reason)
        image = self.drawn(scene, rng)
        if not frame.drawn and scene.colourless:
            image = greyed(image, 1.0)
        if usual and self.least_change > 0 and known(frame, self.fact) is None:
            error = cv2.norm(frame.image, image, cv2.NORM_L2SQR) / image.size
            if error < self.least_change * self.amount:
                raise NotApplicable(f"the image hardly changes: {self._without_effect}")
        if not frame.drawn and frame.labels is None:
            frame = frame.replace(metadata={**frame.metadata, "realism": LOW_REALISM})
        if not self.fact or self.severity < LEVELS["light"] / 2:
            return frame.replace(image=image)
        facts = {**frame.metadata, self.fact: self.value}
        if self.fact == "weather":
            facts["level"] = self.level
        return frame.replace(image=image, metadata=facts)

    @staticmethod
    def passing(frame: Frame, rng: np.random.Generator) -> np.random.Generator:
        """Return random numbers for what is elsewhere in the next frame of a clip: drops, flakes, grain."""
        moment = frame.metadata.get(MOMENT)
        if moment is None:
            return rng
        return np.random.default_rng([int(rng.integers(2**32)), int(float(str(moment)) * 1000) % 2**62])

    def on_image(self, image: Image, rng: np.random.Generator | int = 0) -> Image:
        """Return a changed image, as :meth:`Transform.on_image` does; one that hardly changes is no error."""
        if image.ndim != 3 or self.is_identity:
            return super().on_image(image, rng)
        return self.drawn(WeatherScene(Frame("image", image)), np.random.default_rng(rng))

    @property
    def severity(self) -> float:
        """How much of it there is, on the scale of the levels."""
        return self.amount

    @property
    def level(self) -> str:
        """The nearest of light, normal and heavy."""
        return min(LEVELS, key=lambda name: abs(LEVELS[name] - self.severity))

    def _unfit(self, scene: WeatherScene) -> str:
        """Return why nobody would believe it on a real frame; empty where they would."""
        return unfit_light(scene) or sharp_shadows(scene)

    @property
    def _already(self) -> str:
        return f"the {self.fact} is already {self.value}"

    @property
    def _without_effect(self) -> str:
        """Why an image hardly changes."""
        return self._already

    def _check(self, frame: Frame) -> None:
        for fact in CONDITIONS:
            reason = self.bars.get(known(frame, fact) or "")
            if reason:
                raise NotApplicable(reason)
        if self.least_change and known(frame, self.fact) == self.value:
            there = LEVELS.get(str(frame.metadata.get("level")), 1.0) if self.fact == "weather" else 1.0
            if there >= LEVELS[self.level]:
                raise NotApplicable(self._already)
        # A parameter of what changes more than can be believed.
        if not frame.drawn and getattr(self, "realism", "any") == "believable":
            raise NotApplicable(f"{self.value} looks painted on real frames; {DO_IT_ANYWAY}")
