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
from typing import TypeAlias, TypeVar

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
        domain: The values of each parameter at strength 0 and at strength 1.
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
    domain: Mapping[str, tuple[float, float]],
    hazards: tuple[Hazard, ...] = (),
    published: Path | None = None,
    aliases: tuple[str, ...] = (),
) -> Callable[[Made], Made]:
    """Return a decorator that makes a transformation of a function from a strength to a transform.

    Args:
        name: What users type.
        summary: One line that says what it does.
        domain: The values of each parameter at strength 0 and at strength 1.
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
        made = Transformation(name, summary, path, domain, hazards, published)

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
    parameters = [one for one in kind.parameters() if one.sets_strength]
    domain = {one.name: (one.identity or 0.0, one.strongest or 0.0) for one in parameters}
    return Transformation(word, kind.summary, kind.at, domain)


def _between(low: float, high: float, share: float) -> float:
    """Return one of a thousand even steps: so the authors draw, and ids stay short."""
    return round(low + (high - low) * round(share * 999) / 999, 4)


def _published_shift(share: float) -> transforms.Transform:
    return transforms.RGBShift(shift=_between(150, 400, share), draw="uniform")


def _published_contrast(share: float) -> transforms.Transform:
    return transforms.Contrast(gain=_between(0.01, 0.9, share))


def _published_blur(share: float) -> transforms.Transform:
    return transforms.DefocusBlur(radius=_between(1, 10, share), alias_blur=_between(0, 1, share))


def _published_brightness(share: float) -> transforms.Transform:
    return transforms.Brightness(bias=255 * _between(0, 1, share), space="value")


def _published_frost(share: float) -> transforms.Transform:
    return transforms.Frost(scale=_between(0.01, 1, share), frost=_between(0.01, 1, share))


def _published_jitter(share: float) -> transforms.Transform:
    each = _between(0.5, 1, share)
    return transforms.ColourJitter(
        brightness=each, contrast=each, saturation=each, hue=min(each, 0.5), draw="uniform"
    )


def _published_jpeg(share: float) -> transforms.Transform:
    return transforms.JPEG(quality=min(round(_between(1, 1000, share)), 100))


def _published_noise(share: float) -> transforms.Transform:
    return transforms.GaussianNoise(sigma=_between(0.08, 0.9, share))


transformation(
    "rgb-shift",
    summary="each colour channel is shifted up or down",
    domain={"shift": (0, 255)},
    hazards=(Hazard("light sources", "wavelength", "other than"),),
    published=_published_shift,
    aliases=("rgb",),
)(transforms.RGBShift.at)

transformation(
    "contrast",
    summary="everything comes nearer to the mean colour",
    domain={"gain": (1, 0)},
    hazards=(Hazard("medium", "transparency", "less"),),
    published=_published_contrast,
)(transforms.Contrast.at)

transformation(
    "defocus-blur",
    summary="the lens is out of focus",
    domain={"radius": (0, 20), "alias_blur": (0, 1)},
    hazards=(Hazard("observer: optomechanics", "focus", "other than", 1018),),
    published=_published_blur,
    aliases=("defocus",),
)(transforms.DefocusBlur.at)


@transformation(
    "brightness",
    summary="too much light",
    domain={"bias": (0, 255)},
    hazards=(Hazard("light sources", "intensity", "more"),),
    published=_published_brightness,
)
def brightness(strength: float) -> transforms.Transform:
    """Raise the value of HSV by up to 255 levels."""
    return transforms.Brightness.at(strength, space="value")


transformation(
    "frost",
    summary="ice on the glass in front of the camera",
    domain={"scale": (1, 0), "frost": (0, 1)},
    hazards=(Hazard("observer: optomechanics", "cleanness of the lens", "less"),),
    published=_published_frost,
)(transforms.Frost.at)

transformation(
    "colour-jitter",
    summary="brightness, contrast, saturation and hue are off",
    domain={"brightness": (0, 0.98), "contrast": (0, 0.98), "saturation": (0, 0.98), "hue": (0, 0.5)},
    hazards=(Hazard("observer: electronics", "colour processing", "other than"),),
    published=_published_jitter,
    aliases=("color-jitter", "jitter"),
)(transforms.ColourJitter.at)

transformation(
    "jpeg",
    summary="the image is stored with loss",
    domain={"quality": (100, 1)},
    hazards=(Hazard("observer: electronics", "quality of transmission", "less"),),
    published=_published_jpeg,
    aliases=("jpeg-compression",),
)(transforms.JPEG.at)

transformation(
    "gaussian-noise",
    summary="noise of the sensor",
    domain={"sigma": (0, 1)},
    hazards=(Hazard("observer: electronics", "noise", "more"),),
    published=_published_noise,
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
