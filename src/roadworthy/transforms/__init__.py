"""Changes to a frame: what a camera would see if the world, the air or the camera were different.

::

    rain = make_transform("rain:heavy")          # by name and preset, or with parameters
    changed = rain(frame, rng)                   # the frame, changed, with its visual change Δv
    both = compose([rain, make_transform("night")])
"""

from roadworthy.transforms.affine import Mirror, Rotation, Scale, Shear, Translation
from roadworthy.transforms.blur import (
    AveragingBlur,
    BilateralBlur,
    DefocusBlur,
    GaussianBlur,
    GlassBlur,
    MedianBlur,
    MotionBlur,
    ZoomBlur,
)
from roadworthy.transforms.engines import UserEngine, read_engines
from roadworthy.transforms.lens import Frost, Spatter
from roadworthy.transforms.making import Composition, compose, kind_of, make_transform, parse_transform
from roadworthy.transforms.noise import (
    JPEG,
    Elastic,
    GaussianNoise,
    ImpulseNoise,
    Pixelate,
    ShotNoise,
    SpeckleNoise,
)
from roadworthy.transforms.objects import Add, CutOut, Gallery, ObjectEdit, Remove, Replace, harvest
from roadworthy.transforms.operations import (
    AddOperation,
    Engine,
    Operation,
    RemoveOperation,
    ReplaceOperation,
    transform_for,
)
from roadworthy.transforms.tone import Brightness, ColourJitter, Contrast, RGBShift, Saturate
from roadworthy.transforms.transform import (
    ImageTransform,
    Keeps,
    Parameter,
    Transform,
    choice,
    number,
    reference_of,
    register,
    spelled,
    word,
)
from roadworthy.transforms.weather import Cloudy, Dusk, Fog, Night, Rain, Shadow, Snow, SunGlare, Winter

__all__ = [
    "Add",
    "AddOperation",
    "AveragingBlur",
    "BilateralBlur",
    "Brightness",
    "Cloudy",
    "ColourJitter",
    "Composition",
    "Contrast",
    "CutOut",
    "DefocusBlur",
    "Dusk",
    "Elastic",
    "Engine",
    "Fog",
    "Frost",
    "Gallery",
    "GaussianBlur",
    "GaussianNoise",
    "GlassBlur",
    "ImageTransform",
    "ImpulseNoise",
    "JPEG",
    "Keeps",
    "MedianBlur",
    "Mirror",
    "MotionBlur",
    "Night",
    "Operation",
    "Parameter",
    "Pixelate",
    "RGBShift",
    "Rain",
    "ObjectEdit",
    "Remove",
    "RemoveOperation",
    "Replace",
    "ReplaceOperation",
    "Rotation",
    "Saturate",
    "Scale",
    "Shadow",
    "Shear",
    "ShotNoise",
    "Snow",
    "Spatter",
    "SpeckleNoise",
    "SunGlare",
    "Transform",
    "Translation",
    "UserEngine",
    "Winter",
    "ZoomBlur",
    "choice",
    "compose",
    "harvest",
    "kind_of",
    "make_transform",
    "number",
    "parse_transform",
    "read_engines",
    "reference_of",
    "register",
    "spelled",
    "transform_for",
    "word",
]
