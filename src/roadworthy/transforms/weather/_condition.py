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
from roadworthy.ontology import CONDITIONS, VOID, ontology
from roadworthy.transforms.perspective import ROAD
from roadworthy.transforms.transform import BelievableTransform, Presets, number
from roadworthy.transforms.weather import _scene
from roadworthy.transforms.weather._estimates import hanging
from roadworthy.transforms.weather._scene import WeatherScene
from roadworthy.transforms.wording import MOMENT, Numbers

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


_N = Numbers("weather")
_PAINT, _BESIDE = 7, 4  # pixels of a thumbnail: what is narrower is paint, and what is too near to things


def unfit_light(scene: WeatherScene) -> str:
    """Return why a real frame shows no other weather than what it was seen in; empty where it does."""
    grey = scene.small_grey[_scene.thinned(scene.ground, *scene.small) > 0]
    road = _scene.above(scene.small_road, 127)
    if scene.frame.labels is None or not len(grey):
        # Where the ground is, is not known.
        return ""
    white, bright, dark, black = (
        np.count_nonzero(one) / len(grey)
        for one in (grey > _N.clipped, grey > _N.sunlit, grey < _N.shaded, grey < _N.black)
    )
    if black > _N.most_black:
        return "the ground is black in the image: a change of weather or time would not show on it"
    red, green, _ = cv2.mean(scene.thumbnail, road)[:3]
    harsh = white > _N.most_clipped or min(bright, dark) > _N.most_harsh or red > _N.flare * green
    first = round(scene.view.horizon - _N.above_horizon * scene.height)
    # Not in the thumbnail: a smear may be a few pixels wide.
    full = cv2.cvtColor(scene.frame.image[min(max(first, 0), scene.height - 1) :], cv2.COLOR_RGB2GRAY)
    smear = np.mean(full > _N.smear, axis=0).max() > _N.smeared
    if harsh or smear or _parted(scene, scene.small_grey[road > 0]):
        return "the sun is too harsh in the image: glare and black shade would stay in any weather"
    red_plane, _, blue_plane = cv2.split(scene.thumbnail)
    warmer, sky = cv2.subtract(red_plane, blue_plane), scene.small_sky > 127
    share = np.mean(warmer[sky] > _N.tinged) if np.mean(sky) > _N.least_tinged else 0.0
    if np.mean((warmer > _N.warm) & sky) > _N.most_warm or share > _N.most_tinged:
        return "sunlit leaves are burnt out in the image, and cannot be told from the sky"
    if scene.estimated and _clouds_between(scene):
        return "clouds between twigs would stay in another sky"
    faded = sky & (scene.small_grey < _N.dark_sky * np.median(scene.small_grey[sky] if sky.any() else 0))
    if not scene.estimated and np.mean(faded) > _N.most_dark_sky:
        return "the label map does not fit the image: things would fade with the sky"
    if scene.estimated and _sky_unclear(scene):
        return "the sky cannot be told in the image: parts of the ground would float in it"
    return ""


def _sky_unclear(scene: WeatherScene) -> bool:
    """Return whether woods or ground have sky all around, or a white sky is called something else."""
    sky = _scene.thinned(scene.sky, *scene.small) > 127
    hangs = scene.small_frame.label_map.mask("pole", "traffic sign", "traffic light")
    skies = (scene.small_frame.label_map.mask("sky"), sky)
    if max(_floating(one | hangs) for one in skies) > _N.most_floating:
        return True
    white = (scene.small_grey >= _N.white_sky) & ~sky
    white[max(round(scene.small_view.horizon), 0) :] = False
    white = cv2.morphologyEx(white.view(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)) > 0
    return float(np.mean(hanging(white, sky, 1))) > _N.most_white


def _clouds_between(scene: WeatherScene) -> bool:
    """Return whether clouds that are not burnt out are seen through what is called woods."""
    there, grey = _scene.above(scene.small_sky, 127), scene.small_grey
    if (_scene.percentile(grey, 0.5, there) or 255.0) > _N.bright_clouds:
        return False
    sky, woods = _scene.thinned(scene.sky, *scene.small), scene.small_frame.label_map.mask("tree", VOID)
    woods[max(round(scene.small_view.horizon), 0) :] = False
    # Leaves in the sun are warmer than clouds.
    cool = scene.thumbnail[..., 2].astype(np.int16) - scene.thumbnail[..., 0]
    woods &= cool > cv2.mean(cool, there)[0] - _N.warmer
    through = woods & (sky <= 127) & (grey > _N.cloudy * (_scene.percentile(grey, 0.1, there) or 0.0))
    return float(np.mean(through)) > _N.most_cloudy


def _floating(sky: NDArray[np.bool_]) -> float:
    """Return how much of an image has sky all around."""
    _, parts = cv2.connectedComponents((~sky).view(np.uint8))
    border = np.concatenate([parts[0], parts[-1], parts[:, 0], parts[:, -1]])
    return float(np.mean(~sky & ~np.isin(parts, border)))


def _at_night(scene: WeatherScene) -> bool:
    """Return whether the sky, or what stands before it, is as dark as at night."""
    if cv2.countNonZero(scene.small_sky) > _N.least_sky * scene.small_grey.size:
        level = _scene.percentile(scene.small_grey, 0.5, _scene.above(scene.small_sky, 127))
        return (level or 0.0) < _N.night_sky
    rows = len(scene.small_grey)
    upper = scene.small_grey[: min(max(round(scene.small_view.horizon), rows // 3), rows)]
    return (_scene.percentile(upper, 0.9) or 0.0) < _N.night_woods


def _parted(scene: WeatherScene, road: NDArray[np.uint8]) -> bool:
    """Return whether a scene is in the sun and its road, or some of it, in a shade that nobody can lift."""
    if not len(road):
        return False
    where = scene.small_frame.label_map.mask("tree", "terrain")
    hills, soft = scene.small_grey[where], np.asarray(cv2.blur(scene.small_grey, (9, 9)), np.uint8)[where]
    bright = max(float(_N.sunlit), _N.most_apart * float(np.median(road)))
    walls = scene.small_grey[scene.small_frame.label_map.mask("building")]
    if len(walls) > len(road) / 8 and np.mean(walls > bright) > _N.most_lit_walls:
        return True
    red, _, blue = cv2.split(scene.thumbnail)
    golden = (cv2.subtract(red, blue) > _N.golden) & (scene.small_grey > _N.golden_apart * np.median(road))
    if np.mean(golden & scene.small_frame.label_map.mask("building")) > _N.most_golden:
        return True
    # What is whiter is sky between twigs.
    if len(hills) > len(road) / 8:
        lit = np.mean((hills > bright) & (hills <= _N.clipped)) > _N.most_sunlit
        if lit or np.median(hills) > max(_N.lit_hills, _N.brighter_hills * float(np.median(road))):
            return True
    return _in_two(road, _N.least_part, _N.most_apart) or _in_two(soft, _N.least_hills, _N.hills_apart)


def _in_two(grey: NDArray[np.uint8], least: float, apart: float) -> bool:
    """Return whether a part of some pixels, and a rest as large at least, are so many times brighter."""
    if not len(grey):
        return False
    level, sunlit = cv2.threshold(grey, 0, 1, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    if not least < float(sunlit.mean()) < 1 - least:
        return False
    return bool(grey[grey > level].mean() > apart * max(float(grey[grey <= level].mean()), 1.0))


def sharp_shadows(scene: WeatherScene) -> str:
    """Return a complaint where edges of shadows cross road or pavement; tyres leave softer ones."""
    if scene.frame.labels is None:
        return ""
    things = scene.known_mask("dynamic object", *ROAD[2:])
    hidden = _scene.widened(_scene.thinned(things, *scene.small), _BESIDE)
    pavement = _scene.thinned(scene.known_mask("sidewalk"), *scene.small)
    road, walk = (
        (_scene.widened(_scene.above(one, 127), -far) > 0) & (hidden == 0)
        for one, far in ((scene.small_road, _BESIDE), (pavement, _BESIDE // 2))
    )
    beside = np.ones((_PAINT, _PAINT), np.uint8)
    grey = np.asarray(cv2.blur(scene.small_grey, (3, 3)), np.uint8)
    plain = cv2.morphologyEx(grey, cv2.MORPH_OPEN, beside)
    bright, dark = (one(plain, beside).astype(np.float32) + 4 for one in (cv2.dilate, cv2.erode))
    edges = (bright > 44) & (bright > _N.edge * dark)
    softer = (bright > _N.lit_road) & (bright > _N.soft_edge * dark)
    around = cv2.morphologyEx(grey, cv2.MORPH_CLOSE, np.ones((9, 9), np.uint8)).astype(np.float32) + 4
    narrow = (around > _N.lit_road) & (around > _N.narrow_edge * (grey + np.float32(4)))
    crossed = road.any() and any(
        share[road].mean() > most
        for share, most in ((edges, _N.most_edges), (softer, _N.most_soft), (narrow, _N.most_narrow))
    )
    if not crossed and np.mean(edges & walk) <= _N.most_beside and not _deep_shadows(scene):
        return ""
    return "the sun casts sharp shadows on the road, which would stay in any weather"


def _deep_shadows(scene: WeatherScene) -> bool:
    """Return whether parts of the road are very dark, but not under vehicles: there they always are."""
    road, down = _scene.above(scene.small_road, 127), scene.small[1] // 8
    level = _scene.percentile(scene.small_grey, 0.6, road) or 0.0
    things = _scene.thinned(scene.known_mask("dynamic object"), *scene.small)
    under = cv2.dilate(things, np.ones((down + 1, 3), np.uint8), anchor=(1, down))
    deep = (scene.small_grey < _N.deep * level) & (_scene.widened(road, -1) > 0) & (under == 0)
    return float(np.mean(deep)) > (_N.most_deep if level > _N.sunlit_road else _N.most_dark)


@dataclass(frozen=True, kw_only=True)
class WeatherTransform(BelievableTransform):
    """Weather, light or a season that comes over a scene; labels stay true.

    Class attributes:
        fact: What it changes among the metadata, "weather", "time" or "season"; empty for none.
        value: The ontology's word for it.
        bars: Facts of the metadata with which it cannot be, and the reason.
        least_change: The least mean squared error, in grey levels² at amount 1 and in proportion below it,
            between a frame and the changed one. A smaller one says that the frame showed it before: the
            filter of section 3.3.4 of the RMT paper, which gives no number. 0 for what does not take the
            place of other weather, another time or season, and is not filtered.
        painted: Whether people see on most real frames that it was made.

    The error is looked at where the metadata do not say what the weather, the time or the season was. Amounts
    below light, and weather with parameters of its own, are asked for by searches and by people who know what
    they do; they are not filtered by it.

    Attributes:
        amount: How much of it: 1/3 is light, 2/3 normal, 1 heavy.
    """

    amount: float = number(LEVELS["normal"], low=0, high=1, identity=0)

    family = "weather"
    wants = ("labels", "depth")
    random = True
    presets: ClassVar[Presets] = {level: {"amount": amount} for level, amount in LEVELS.items()}
    fact: ClassVar[str] = ""
    value: ClassVar[str] = ""
    bars: ClassVar[Mapping[str, str]] = {}
    least_change: ClassVar[float] = 0.0
    painted: ClassVar[bool] = False

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
        scene = _scene.surroundings(frame)
        # The change must be large where nobody said what there was, nor asked for a small one.
        own = (one for one in self.parameters() if one.name not in ("amount", "realism", "traffic"))
        usual = self.amount >= LEVELS["light"] and all(getattr(self, one.name) == one.default for one in own)
        if usual and not frame.drawn and _at_night(scene):
            raise NotApplicable(
                "it is already night in the image, which other weather or light would turn into a grey day"
            )
        if usual and self.doubts(frame):
            self.doubt(frame, self._unfit(scene))
        image = self.drawn(scene, rng)
        if not frame.drawn and scene.colourless:
            image = _scene.greyed(image, 1.0)
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
        if self.painted:
            self.doubt(frame, f"{self.value} looks painted on real frames")
