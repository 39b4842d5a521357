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
from roadworthy.transforms.transform import Presets, Transform, number
from roadworthy.transforms.weather._scene import (
    WeatherScene,
    above,
    greyed,
    percentile,
    surroundings,
    thinned,
)
from roadworthy.transforms.wording import MOMENT

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
_LEAST_SKY, _NIGHT_SKY, _NIGHT_WOODS = 0.02, 60, 40  # share of the image, and grey levels at most
_FLARE = 1.35  # times redder than green a road is in the flare of a lens


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
    if harsh or _parted(scene, scene.small_grey[road > 0]):
        return "the sun is too harsh in the image: glare and black shade would stay in any weather"
    return ""


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
    hills = scene.small_grey[scene.small_frame.label_map.mask("tree", "terrain")]
    bright = max(float(_SUNLIT), _MOST_APART * float(np.median(road)))
    # What is whiter is sky between twigs.
    if len(hills) > len(road) / 8 and np.mean((hills > bright) & (hills <= _CLIPPED)) > _MOST_SUNLIT:
        return True
    level, sunlit = cv2.threshold(road, 0, 1, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    if not _LEAST_PART < float(sunlit.mean()) < 1 - _LEAST_PART:
        return False
    return bool(road[road > level].mean() > _MOST_APART * max(float(road[road <= level].mean()), 1.0))


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
        outshone: Whether nobody would believe it on a real frame that glaring sun or the dark has spoilt.

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
    outshone: ClassVar[bool] = True

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
        if usual and self.outshone and not frame.drawn and (reason := unfit_light(scene)):
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
