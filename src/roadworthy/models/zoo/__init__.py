"""Reference networks: the driving networks of the papers, trained where they are small, trainable all.

::

    load_model("dave2")                                    # what comes with the package, run by ONNX Runtime
    load_module("dave2")                                   # the same as a torch module, to change or train on
    architecture("vgg16").variant(["speed"]).build()       # any of them with fresh weights
"""

from __future__ import annotations

from roadworthy.models.zoo.catalogue import Variant, architecture
from roadworthy.models.zoo.saved import SHIPPED, load_module, located_weights, read_variant

__all__ = ["SHIPPED", "Variant", "architecture", "load_module", "located_weights", "read_variant"]
