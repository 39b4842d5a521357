"""The networks of the zoo, by name."""

from __future__ import annotations

from roadworthy.errors import UnknownNameError, suggest
from roadworthy.models.images import ImageInput
from roadworthy.models.zoo.architecture import Architecture, Size
from roadworthy.models.zoo.perception import CLASSIFIER, DETECTOR

__all__ = ["architecture", "architectures"]

_DEEPTEST = "Tian et al., DeepTest (2018)"
_RMT = "Deng et al., A Declarative Metamorphic Testing Framework for Autonomous Driving (2022), section 4"
# What classifiers of ImageNet are given, whose convolutions these are.
_IMAGENET = ImageInput(width=320, height=160, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
_THREE_LAYERS: dict[str, Size] = {"hidden": (512, 128), "dropout": 0.5}

_ALL = (
    Architecture(
        name="dave2",
        summary="NVIDIA's DAVE-2: five convolutions on 66x200 pixels",
        paper="Bojarski et al., End to End Learning for Self-Driving Cars (2016)",
        module="roadworthy.models.zoo.dave2:Dave2",
        # The rows that are left of 320×160 have the shape of 200×66, so that nothing is distorted.
        input=ImageInput(width=200, height=66, color="yuv", range=(-1, 1), crop=(0.3375, 0)),
        options={"dropout": 0.1},
    ),
    Architecture(
        name="epoch",
        summary="cg23's Epoch of Udacity's challenge 2: three convolutions, one large dense layer",
        paper=f"{_DEEPTEST}; {_RMT}",
        module="roadworthy.models.zoo.epoch:Epoch",
        input=ImageInput(width=320, height=160),
        options={"channels": (32, 64, 128), "hidden": 1024, "dropout": (0.25, 0.5)},
        small={"width": 160, "height": 80, "channels": (24, 48, 64), "hidden": 48, "dropout": (0.05, 0.1)},
    ),
    Architecture(
        name="chauffeur",
        summary="Chauffeur of Udacity's challenge 2: convolutions on each frame, an LSTM over the frames",
        paper=_DEEPTEST,
        module="roadworthy.models.zoo.chauffeur:Chauffeur",
        # The lower 120 rows of 320×160, where the public code takes those of 320×240.
        input=ImageInput(width=320, height=120, color="yuv", range=(-0.5, 0.5), crop=(0.25, 0), history=99),
        options={
            "channels": (16, 20, 40, 60, 80, 128),
            "memory": 256,
            "hidden": 256,
            "dropout": 0.1,
        },
        small={"width": 192, "height": 72, "history": 4, "memory": 64, "hidden": 64, "dropout": 0.02},
    ),
    Architecture(
        name="rambo",
        summary="Rambo of Udacity's challenge 2: three networks on what moved between frames",
        paper=_DEEPTEST,
        module="roadworthy.models.zoo.rambo:Rambo",
        input=ImageInput(width=256, height=192, color="gray", history=2, stacking="channels"),
    ),
    Architecture(
        name="vgg16",
        summary="VGG16 with three dense layers for numbers instead of classes",
        paper=f"Simonyan and Zisserman (2015); {_RMT}",
        module="roadworthy.models.zoo.vgg16:Vgg16",
        input=_IMAGENET,
        options=_THREE_LAYERS,
    ),
    Architecture(
        name="resnet101",
        summary="ResNet101 with three dense layers for numbers instead of classes",
        paper=f"He et al. (2016); {_RMT}",
        module="roadworthy.models.zoo.resnet101:ResNet101",
        input=_IMAGENET,
        options=_THREE_LAYERS,
    ),
    DETECTOR,
    CLASSIFIER,
)
_BY_NAME = {one.name: one for one in _ALL}


def architectures() -> tuple[Architecture, ...]:
    """Return every network of the zoo.

    Example:
        >>> [one.name for one in architectures()]
        ['dave2', 'epoch', 'chauffeur', 'rambo', 'vgg16', 'resnet101', 'detector', 'classifier']
    """
    return _ALL


def architecture(name: str) -> Architecture:
    """Return the network of this name.

    Raises:
        UnknownNameError: There is none.

    Example:
        >>> architecture("epoch").summary
        "cg23's Epoch of Udacity's challenge 2: three convolutions, one large dense layer"
    """
    if name not in _BY_NAME:
        raise UnknownNameError(f"the zoo has no network {name!r}; {suggest(name, _BY_NAME)}")
    return _BY_NAME[name]
