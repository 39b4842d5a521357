"""The options that commands about the reliability of models share."""

from __future__ import annotations

from typing import Annotated

import typer

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="A model: a name, kind:path or a model.yaml; repeatable. classifier if left out.",
    ),
]
Transforms = Annotated[
    list[str] | None,
    typer.Option(
        "--transform",
        "-t",
        metavar="NAME",
        help="What changes the images: one of the paper's eight, or any transform that has an amount; "
        "repeatable. The eight if left out.",
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="MEASURE",
        help="accuracy, accuracy(of=car), ap(iou=0.5), miou, steering(tolerance=1.39) or speed(tolerance=1); "
        "repeatable. What suits the model if left out.",
    ),
]
Limit = Annotated[
    float | None,
    typer.Option(metavar="Δv", help="The largest visual change, instead of what people tolerate."),
]
Study = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Whose tolerated ranges: imagenet or cifar10 of Hu et al., or a YAML file."
    ),
]
Versions = Annotated[int, typer.Option(metavar="N", help="How many changed images are made of each frame.")]
Batches = Annotated[int, typer.Option(metavar="N", help="Bootstrap batches.")]
Batch = Annotated[
    int | None, typer.Option(metavar="K", help="Images in a batch; 50, or all of fewer, if left out.")
]
Sampled = Annotated[
    str,
    typer.Option(
        "--sampling",
        metavar="HOW",
        help="even: over the visual change. published: parameters as the paper's authors draw them. levels: "
        "ImageNet-C's five.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed makes the same images and batches.")]
