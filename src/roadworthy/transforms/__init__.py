"""Changes to a frame: what a camera would see if the world, the air or the camera were different.

::

    rain = make_transform("rain:heavy")          # by name and preset, or with parameters
    changed = rain(frame, rng)                   # the frame, changed, with its visual change Δv
    both = compose([rain, make_transform("night")])
"""

# Importing them registers what is in them.
from roadworthy.transforms import affine, blur, lens, noise, tone, weather  # noqa: F401
from roadworthy.transforms.engines import UserEngine, read_engines
from roadworthy.transforms.making import Composition, compose, kind_of, make_transform, parse_transform
from roadworthy.transforms.objects import Add, ObjectEdit, Remove, Replace
from roadworthy.transforms.operations import (
    AddOperation,
    Engine,
    Operation,
    RemoveOperation,
    ReplaceOperation,
    transform_for,
)
from roadworthy.transforms.transform import (
    ImageTransform,
    Keeps,
    Transform,
    choice,
    number,
    register,
    spelled,
    word,
)

__all__ = [
    "ImageTransform",
    "choice",
    "number",
    "register",
    "word",
    "Add",
    "AddOperation",
    "Composition",
    "Engine",
    "Keeps",
    "Operation",
    "ObjectEdit",
    "Remove",
    "RemoveOperation",
    "Replace",
    "ReplaceOperation",
    "Transform",
    "UserEngine",
    "compose",
    "kind_of",
    "make_transform",
    "parse_transform",
    "read_engines",
    "spelled",
    "transform_for",
]
