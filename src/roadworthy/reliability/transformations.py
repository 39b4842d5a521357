"""The changes that a requirement of reliability speaks of, each with one strength from nothing to the most.

A transformation is a path through the parameters of a transform: `at` gives the transform at a strength from
0, which changes nothing, to 1, the end of its declared domain. Two things more are known about the eight of
Hu et al.: which entries of the CV-HAZOP checklist they stand for, and how their authors drew parameters.

Another one is a function with a decorator::

    @transformation("fog", summary="fog up to 50 m of sight", domain={"amount": (0, 1)})
    def fog(strength: float) -> Transform:
        return make_transform("fog", amount=strength)

Any transform that has an amount and keeps the labels true can be named without that; what is declared here is
then taken from the transform.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

from roadworthy import transforms
from roadworthy._frozen import frozen
from roadworthy.errors import InputError, UnknownNameError
from roadworthy.ontology import normalized
from roadworthy.registry import Registry

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


def _drawn(kind: type[transforms.Transform], share: float, **settings: Any) -> transforms.Transform:
    """Return what the authors draw: settings that are two numbers are drawn between them."""
    drawn = {name: one for name, one in settings.items() if not isinstance(one, tuple)}
    ranges = {name: one for name, one in settings.items() if isinstance(one, tuple)}
    return kind(**drawn, **{name: _between(one[0], one[1], share) for name, one in ranges.items()})


def _published_brightness(share: float) -> transforms.Transform:
    return transforms.Brightness(bias=255 * _between(0, 1, share), space="value")


def _published_jpeg(share: float) -> transforms.Transform:
    return transforms.JPEG(quality=min(round(_between(1, 1000, share)), 100))


transformation(
    "rgb-shift",
    summary="each colour channel is shifted up or down",
    hazards=(Hazard("light sources", "wavelength", "other than"),),
    published=partial(_drawn, transforms.RGBShift, shift=(150, 400), draw="uniform"),
    aliases=("rgb",),
)(transforms.RGBShift.at)

transformation(
    "contrast",
    summary="everything comes nearer to the mean colour",
    hazards=(Hazard("medium", "transparency", "less"),),
    published=partial(_drawn, transforms.Contrast, gain=(0.01, 0.9)),
)(transforms.Contrast.at)

transformation(
    "defocus-blur",
    summary="the lens is out of focus",
    hazards=(Hazard("observer: optomechanics", "focus", "other than", 1018),),
    published=partial(_drawn, transforms.DefocusBlur, radius=(1, 10), alias_blur=(0, 1)),
    aliases=("defocus",),
)(transforms.DefocusBlur.at)


@transformation(
    "brightness",
    summary="too much light",
    hazards=(Hazard("light sources", "intensity", "more"),),
    published=_published_brightness,
)
def brightness(strength: float) -> transforms.Transform:
    """Raise the value of HSV by up to 255 levels."""
    return transforms.Brightness.at(strength, space="value")


transformation(
    "frost",
    summary="ice on the glass in front of the camera",
    hazards=(Hazard("observer: optomechanics", "cleanness of the lens", "less"),),
    published=partial(_drawn, transforms.Frost, scale=(0.01, 1), frost=(0.01, 1)),
)(transforms.Frost.at)

transformation(
    "colour-jitter",
    summary="brightness, contrast, saturation and hue are off",
    hazards=(Hazard("observer: electronics", "colour processing", "other than"),),
    published=partial(
        _drawn,
        transforms.ColourJitter,
        brightness=(0.5, 1),
        contrast=(0.5, 1),
        saturation=(0.5, 1),
        hue=0.5,
        draw="uniform",
    ),
    aliases=("color-jitter", "jitter"),
)(transforms.ColourJitter.at)

transformation(
    "jpeg",
    summary="the image is stored with loss",
    hazards=(Hazard("observer: electronics", "quality of transmission", "less"),),
    published=_published_jpeg,
    aliases=("jpeg-compression",),
)(transforms.JPEG.at)

transformation(
    "gaussian-noise",
    summary="noise of the sensor",
    hazards=(Hazard("observer: electronics", "noise", "more"),),
    published=partial(_drawn, transforms.GaussianNoise, sigma=(0.08, 0.9)),
    aliases=("noise",),
)(transforms.GaussianNoise.at)

PAPER_TRANSFORMATIONS = (
    "rgb-shift",
    "contrast",
    "defocus-blur",
    "frost",
    "brightness",
    "gaussian-noise",
    "colour-jitter",
    "jpeg",
)
"""The eight of the paper, in the order of its Table 1."""
