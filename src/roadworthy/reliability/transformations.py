"""The changes that a requirement of reliability speaks of, and frames changed by as much as people see.

A transformation is a path through the parameters of a transform: `at` gives the transform at a strength from
0, which changes nothing, to 1, the end of its declared domain. Two things more are known about the eight of
Hu et al.: which entries of the CV-HAZOP checklist they stand for, and how their authors drew parameters.

Another one is a function with a decorator::

    @transformation("fog", summary="fog up to 50 m of sight", domain={"amount": (0, 1)})
    def fog(strength: float) -> Transform:
        return make_transform("fog", amount=strength)

Any transform that has an amount and keeps the labels true can be named without that; what is declared here is
then taken from the transform.

Parameters drawn evenly give images that are nearly all alike: of JPEG's qualities from 1 to 100, nine of ten
change an image by less than half of what quality 1 does. So it is the visual change that is drawn evenly, and
the strength that has it is found for each image by interpolation: Δv grows with the strength. What counts is
the Δv that was measured in the end; where it does not grow with the strength, the samples are less even, but
never outside the range.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from roadworthy import transforms
from roadworthy._frozen import frozen
from roadworthy._yaml import read_yaml
from roadworthy.cases import Dataset, FrameSource, originals
from roadworthy.errors import InputError, NotApplicable, UnknownNameError, check_choice
from roadworthy.frames import Frame
from roadworthy.ontology import normalized
from roadworthy.registry import Registry
from roadworthy.seeding import rng_for
from roadworthy.transforms import Transform
from roadworthy.transforms.noise import JPEG
from roadworthy.transforms.tone import Brightness
from roadworthy.transforms.transform import reference_of

_PAPER = FilePath(__file__).with_name("transformations.yaml")
Path: TypeAlias = Callable[[float], transforms.Transform]
"""From a number from 0 to 1 to a transform."""
Made = TypeVar("Made", bound=Path)

LEVELS = 5
"""How many levels of severity ImageNet-C has."""


@dataclass(frozen=True)
class Hazard:
    """An entry of the CV-HAZOP checklist (Zendel et al.): what of the vision process deviates, and how.

    Attributes:
        location: Where in the process: light sources, medium, objects or observer.
        parameter: The property that deviates.
        guide_word: How it deviates.
        entry: The number in the checklist, where the paper gives it.

    Example:
        >>> str(Hazard("observer: optomechanics", "focus", "other than", 1018))
        'observer: optomechanics, focus, other than (entry 1018)'
    """

    location: str
    parameter: str
    guide_word: str
    entry: int | None = None

    def __str__(self) -> str:
        number = "" if self.entry is None else f" (entry {self.entry})"
        return f"{self.location}, {self.parameter}, {self.guide_word}{number}"


@dataclass(frozen=True)
class Transformation:
    """A change of one strength, from 0 to 1.

    Attributes:
        name: What users type.
        summary: One line that says what it does.
        at: Gives the transform at a strength.
        domain: The values of each parameter at strength 0 and at strength 1; those of the transform itself
            if left out.
        hazards: The entries of CV-HAZOP that it stands for.
        published: Gives the transform that the authors of the paper draw for a number from 0 to 1; None where
            they have none.

    Example:
        >>> blur = transformation_named("defocus blur")
        >>> blur.name, dict(blur.domain)
        ('defocus-blur', {'radius': (0, 20), 'alias_blur': (0, 1)})
        >>> str(blur.at(0.5))
        'defocus-blur(radius=10, alias_blur=0.5)'
        >>> [str(one) for one in blur.levels][:2]
        ['defocus-blur(radius=3, alias_blur=0.1)', 'defocus-blur(radius=4, alias_blur=0.5)']
    """

    name: str
    summary: str
    at: Path = field(compare=False, repr=False)
    domain: Mapping[str, tuple[float, float]]
    hazards: tuple[Hazard, ...] = ()
    published: Path | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", frozen(dict(self.domain)))

    @property
    def random(self) -> bool:
        """Whether random numbers have a say in it."""
        return self.at(1.0).random

    @property
    def levels(self) -> tuple[transforms.Transform, ...]:
        """The five levels of ImageNet-C, from weak to strong; none where it has no such change."""
        kind = type(self.at(1.0))
        names = [f"imagenet-c-{number}" for number in range(1, LEVELS + 1)]
        return tuple(kind.preset(name) for name in names) if set(names) <= set(kind.presets) else ()


transformations: Registry[Callable[[], Transformation]] = Registry(
    "transformations", home="roadworthy.reliability.transformations"
)
"""Changes for requirements of reliability: a factory returns a `Transformation`."""


def transformation(
    name: str,
    *,
    summary: str,
    domain: Mapping[str, tuple[float, float]] | None = None,
    hazards: tuple[Hazard, ...] = (),
    published: Path | None = None,
    aliases: tuple[str, ...] = (),
) -> Callable[[Made], Made]:
    """Return a decorator that makes a transformation of a function from a strength to a transform.

    Args:
        name: What users type.
        summary: One line that says what it does.
        domain: The values of each parameter at strength 0 and at strength 1; those of the transform itself
            if left out.
        hazards: The entries of CV-HAZOP that it stands for.
        published: From a number from 0 to 1 to what the authors of the paper draw.
        aliases: Other names for it.

    Raises:
        InputError: The name is taken.

    Example:
        >>> from roadworthy.transforms import make_transform
        >>> @transformation("speckle", summary="speckle up to σ = 1", domain={"sigma": (0, 1)})
        ... def speckle(strength: float) -> Transform:
        ...     return make_transform("speckle-noise", sigma=strength)
        >>> str(transformation_named("speckle").at(0.25))
        'speckle-noise(sigma=0.25)'
    """

    def decorate(path: Made) -> Made:
        whole = _domain_of(type(path(1.0))) if domain is None else domain
        made = Transformation(name, summary, path, whole, hazards, published)

        def factory() -> Transformation:
            return made

        # Where the registry looks: what is registered is told from others by where its path is written.
        factory.__module__, factory.__qualname__ = path.__module__, path.__qualname__
        transformations.register(name, summary=summary, aliases=aliases)(factory)
        return path

    return decorate


def transformation_named(name: str) -> Transformation:
    """Return the transformation that has a name, in any spelling: "Gaussian noise" is "gaussian-noise".

    A transform that has an amount and keeps the labels true is a transformation, too.

    Raises:
        UnknownNameError: Nothing has the name.
        InputError: The transform that has it cannot be used so.
    """
    word = normalized(name).replace(" ", "-")
    known = {other for entry in transformations.entries() for other in (entry.name, *entry.aliases)}
    if word in known:
        return transformations.get(word)()
    try:
        kind = transforms.kind_of(word)
    except UnknownNameError:
        return transformations.get(word)()  # its complaint names the transformations
    if not kind.has_amount() or kind.keeps is not transforms.Keeps.LABELS or kind.needs:
        raise InputError(
            f"{word} cannot be sampled by its visual change: expected a transform with an amount that needs "
            f"nothing but the image and keeps the labels true; one of {', '.join(transformations.names())}"
        )
    return Transformation(word, kind.summary, kind.at, _domain_of(kind))


def _domain_of(kind: type[transforms.Transform]) -> dict[str, tuple[float, float]]:
    parameters = [one for one in kind.parameters() if one.sets_strength]
    return {one.name: (one.identity or 0, one.strongest or 0) for one in parameters}


def _between(low: float, high: float, share: float) -> float:
    """Return one of a thousand even steps: so the authors draw, and ids stay short."""
    return round(low + (high - low) * round(share * 999) / 999, 4)


def _drawn(share: float, *, kind: type[transforms.Transform], settings: Mapping[str, Any]) -> Transform:
    """Return what the authors draw: settings that are two numbers are drawn between them."""
    drawn = {
        name: _between(one[0], one[1], share) if isinstance(one, list) else one
        for name, one in settings.items()
    }
    return kind(**drawn)


def _brightness(strength: float) -> Transform:
    """Raise the value of HSV by up to 255 levels."""
    return Brightness.at(strength, space="value")


def _published_brightness(share: float) -> Transform:
    return Brightness(bias=255 * _between(0, 1, share), space="value")


def _published_jpeg(share: float) -> Transform:
    return JPEG(quality=min(round(_between(1, 1000, share)), 100))


_PATHS: Mapping[str, Path] = {"brightness": _brightness}
_PUBLISHED: Mapping[str, Path] = {"brightness": _published_brightness, "jpeg": _published_jpeg}


def _register_paper() -> tuple[str, ...]:
    """Register the eight of the paper, and return their names."""
    told = read_yaml(_PAPER, "file of transformations", "names").data
    for name, one in told.items():
        kind = transforms.kind_of(name)
        path = _PUBLISHED.get(name) or partial(_drawn, kind=kind, settings=one["published"])
        how: Any = {"hazards": (Hazard(*one["hazard"]),), "aliases": tuple(one.get("aliases", ()))}
        transformation(name, summary=one["summary"], published=path, **how)(_PATHS.get(name, kind.at))
    return tuple(told)


PAPER_TRANSFORMATIONS = _register_paper()
"""The eight of the paper, in the order of its Table 1."""


Sampling: TypeAlias = Literal["even", "published", "levels"]
"""Which changes are tried: even over Δv; parameters as the paper's authors draw them, again where Δv is above
the limit; or the five levels of ImageNet-C, whatever their Δv."""

CLOSE = 0.01
"""How near to the wanted Δv is near enough: a bin of the human data."""
LEAST_REACH = 0.05
"""A frame that the strongest change changes by less says nothing about the range."""
NARROWEST = 1e-4  # of the range of strengths
MOST_STEPS = 12
MOST_DRAWS = 100


class Strengths:
    """What is known about a frame under a transformation: the visual change at some strengths.

    Args:
        frame: The frame.
        transformation: What changes it.
        seed: Of what is random about the change.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.reliability import transformation_named
        >>> frame = load("world:town", count=1)[0]
        >>> curve = Strengths(frame, transformation_named("contrast"), 0)
        >>> strength = curve.strength_for(0.5, limit=0.77)
        >>> abs(curve.visual_change(strength) - 0.5) < 0.01
        True
    """

    def __init__(self, frame: Frame, transformation: Transformation, seed: int) -> None:
        self.frame = frame
        self._transformation = transformation
        self._seed = seed
        self._reference = reference_of(frame)
        self._known = {0.0: 0.0}

    @property
    def reach(self) -> float:
        """The visual change at the greatest strength."""
        return self.visual_change(1.0)

    def visual_change(self, strength: float) -> float:
        """Return Δv at a strength; each is measured once."""
        if strength not in self._known:
            self._known[strength] = self.measured(self._transformation.at(strength))
        return self._known[strength]

    def measured(self, transform: Transform) -> float:
        """Return Δv of a transform on the frame."""
        return self._reference.visual_change(transform.on_image(self.frame.image, self._seed))

    def strength_for(self, target: float, *, limit: float) -> float:
        """Return a strength above 0 whose Δv is near the target and at most the limit.

        It does not depend on what was asked before.

        Raises:
            NotApplicable: Even the weakest change that was tried is above the limit.
        """
        # Its own course and not that of an earlier search: whatever the order, the same frames come out.
        tried = [(0.0, 0.0), (1.0, self.reach)]
        for step in range(MOST_STEPS):
            (low, below), (high, above) = _bracket(tried, target)
            if _nearest(tried, target, limit)[0] <= CLOSE or high - low < NARROWEST:
                break
            # The straight line between the two is mostly near; halving keeps it from creeping along a bend.
            part = (target - below) / (above - below) if above > below and step % 3 < 2 else 0.5
            strength = low + (high - low) * min(max(part, 0.05), 0.95)
            insort(tried, (strength, self.visual_change(strength)))
        distance, strength = _nearest(tried, target, limit)
        if distance == np.inf:
            least = min(change for strength, change in tried if strength > 0)
            raise NotApplicable(
                f"the weakest {self._transformation.name} that was tried has a visual change of {least:.2f}, "
                f"above the limit of {limit:g}"
            )
        return strength


Tried: TypeAlias = Sequence[tuple[float, float]]
"""Strengths with their visual changes, the weakest first."""


def _bracket(tried: Tried, target: float) -> tuple[tuple[float, float], tuple[float, float]]:
    for low, high in pairwise(tried):
        if low[1] <= target <= high[1]:
            return low, high
    return tried[-2], tried[-1]


def _nearest(tried: Tried, target: float, limit: float) -> tuple[float, float]:
    """Return the distance from the target and the strength, of the nearest; 0 is the frame itself."""
    fitting = [(abs(change - target), one) for one, change in tried if one > 0 and change <= limit]
    return min(fitting, default=(np.inf, 0.0))


@dataclass(frozen=True)
class SampledFrame:
    """A frame, changed so that its visual change has a place in the tolerated range; made where it is needed.

    The frame that is made says in ``metadata["change"]`` which `transform` made it, at which `strength` where
    it has one, and what `reach` (the largest Δv) the transformation has on this frame.

    Attributes:
        original: What gives the frame.
        transformation: What changes it.
        limit: The largest Δv.
        share: Where in the range from 0 to the limit Δv shall lie, or to the reach where that is less; from 0
            to 1. Of the five levels it chooses one.
        seed: Of what is random about the change.
        sampling: Which changes are tried.
    """

    original: FrameSource
    transformation: Transformation
    limit: float
    share: float
    seed: int
    sampling: Sampling = "even"

    def __post_init__(self) -> None:
        check_choice("sampling", self.sampling, get_args(Sampling))

    @property
    def steps(self) -> tuple[Transform, ...]:
        """The change, at its strongest."""
        return (self.transformation.at(1),)

    def __call__(self) -> Frame:
        """Return the changed frame, with its Δv.

        Raises:
            NotApplicable: The transformation does not reach the range on this frame.
        """
        # Where nothing is random, all versions of a frame share what is known about it.
        seed = self.seed if self.transformation.random else 0
        frame = self.original if isinstance(self.original, Frame) else self.original()
        curve = _strengths(frame, self.transformation, seed)
        notes: dict[str, object] = {}
        if self.sampling == "even":
            if curve.reach < LEAST_REACH:
                raise NotApplicable(
                    f"the strongest {self.transformation.name} changes the frame by Δv = {curve.reach:.2f} "
                    f"only, so it cannot reach the range up to {self.limit:g}"
                )
            target = self.share * min(self.limit, curve.reach)
            strength = curve.strength_for(target, limit=self.limit)
            transform, change = self.transformation.at(strength), curve.visual_change(strength)
            notes = {"strength": strength, "reach": curve.reach, "target": target}
        elif self.sampling == "levels":
            transform = _level(self.transformation, self.share)
            change = curve.measured(transform)
        else:
            transform, change = self._drawn(curve)
        made = transform(curve.frame, seed, measure=False)
        notes["transform"] = str(transform)
        return made.replace(visual_change=change, metadata={**made.metadata, "change": notes})

    def _drawn(self, curve: Strengths) -> tuple[Transform, float]:
        published = self.transformation.published
        if published is None:
            raise InputError(f"nobody published how to draw {self.transformation.name}: use even sampling")
        rng = rng_for(self.seed, "published")
        for _ in range(MOST_DRAWS):
            transform = published(float(rng.random()))
            change = curve.measured(transform)
            if change <= self.limit:
                return transform, change
        raise NotApplicable(
            f"of {MOST_DRAWS} draws of {self.transformation.name} none has a visual change of at most "
            f"{self.limit:g}"
        )


def _level(transformation: Transformation, share: float) -> Transform:
    levels = transformation.levels
    if not levels:
        raise InputError(f"ImageNet-C has no {transformation.name}: there are no five levels of it")
    return levels[min(int(share * len(levels)), len(levels) - 1)]


# The versions of a frame are made one after another.
_strengths = lru_cache(maxsize=4)(Strengths)


def shares(images: int, versions: int, rng: np.random.Generator) -> list[list[float]]:
    """Return places in the range, some for each image: even over all of them, and over those of each image.

    Example:
        >>> places = shares(2, 3, np.random.default_rng(1))
        >>> [[int(place * 3) for place in image] for image in places]
        [[0, 1, 2], [0, 1, 2]]
        >>> sorted(int(place * 6) for image in places for place in image)
        [0, 1, 2, 3, 4, 5]
    """
    # Version v of every image lies in the v-th part of the range; in that part, each image has its own place.
    order = np.stack([rng.permutation(images) for _ in range(versions)], axis=1)
    inside = (order + rng.random((images, versions))) / images
    return ((np.arange(versions) + inside) / versions).tolist()  # type: ignore[no-any-return]


def changed_frames(
    data: Dataset,
    transformation: Transformation,
    limit: float,
    *,
    versions: int,
    rng: np.random.Generator,
    sampling: Sampling = "even",
) -> Iterator[tuple[str, int, FrameSource, SampledFrame]]:
    """Yield, for every frame and version, the frame's id, the version, the frame and the changed frame.

    Args:
        data: The frames.
        transformation: What changes them.
        limit: The largest Δv.
        versions: How many changed frames are made of each.
        rng: The same generator gives the same bytes.
        sampling: Which changes are tried; "levels" has its own five versions.
    """
    if sampling == "levels":
        versions = len(transformation.levels)
        _level(transformation, 0)
    places = shares(len(data), versions, rng)
    key = int(rng.integers(2**63))
    for index, (id, original) in enumerate(originals(data)):
        for version in range(versions):
            seed = int(rng_for(key, id, version).integers(2**63))
            share = (version + 0.5) / versions if sampling == "levels" else places[index][version]
            yield id, version, original, SampledFrame(original, transformation, limit, share, seed, sampling)
