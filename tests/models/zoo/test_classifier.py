from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from roadworthy.cases import ClassScores
from roadworthy.datasets.world import CROP_CLASSES, WorldCropsDataset
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models import ImageInput, onnx_model, torch_model
from roadworthy.models.scorers import ClassScorer, true_class
from roadworthy.models.zoo.catalogue import architecture
from roadworthy.models.zoo.saved import export
from roadworthy.training.tasks import ClassificationTask

CLASSIFIER = architecture("classifier")

BLANK = np.zeros((8, 8, 3), np.uint8)


def test_it_tells_apart_what_the_crops_of_the_world_show() -> None:
    assert CLASSIFIER.outputs == CROP_CLASSES


def test_it_is_small_and_answers_for_any_size() -> None:
    module = CLASSIFIER.variant().build().eval()
    assert sum(one.numel() for one in module.parameters()) < 375_000, "less than 1.5 MB as 32-bit numbers"
    with torch.inference_mode():
        assert module(torch.zeros(2, 3, 64, 64)).shape == (2, 15)
        assert module(torch.zeros(1, 3, 96, 40)).shape == (1, 15)


def test_the_class_to_learn_is_in_the_metadata() -> None:
    task = ClassificationTask(("car", "stop sign"))
    known = Frame("a", BLANK, metadata={"class": "stop sign"})
    assert true_class(known) == "stop sign"
    assert task.target(ImageInput().view(known)).tolist() == [1]
    with pytest.raises(InputError, match="frame 'b' has no class to learn"):
        task.target(ImageInput().view(Frame("b", BLANK, metadata={"class": 3})))
    with pytest.raises(InputError, match=r"frame 'c' is of class 'cra', which .* 'car'"):
        task.target(ImageInput().view(Frame("c", BLANK, metadata={"class": "cra"})))


def test_the_loss_is_the_cross_entropy() -> None:
    task, module = ClassificationTask(("car", "truck")), torch.nn.Identity()
    logits = torch.tensor([[0.0, 0.0], [math.log(3.0), 0.0]])
    targets = torch.tensor([[0.0], [0.0]])
    expected = (math.log(2) + math.log(4 / 3)) / 2
    assert float(task.loss(module, logits, targets)) == pytest.approx(expected)
    (measure,) = task.measures(logits.numpy(), np.array([[0.0], [1.0]], np.float32))
    assert str(measure) == "accuracy 50%"


def test_only_frames_with_a_known_class_are_scored() -> None:
    scorer = ClassScorer()
    assert scorer.measures() == []
    answer = ClassScores(("car", "traffic_light"), np.array([0.2, 0.7]))
    frames = [
        Frame("a", BLANK),
        Frame("b", BLANK, metadata={"class": "traffic light"}),
        Frame("c", BLANK, metadata={"class": "car"}),
    ]
    scorer.add(frames, [answer] * 3)
    assert [str(one) for one in scorer.measures()] == [
        "accuracy 50%",
        "recall of traffic light 100%",
        "recall of car 0%",
    ]
    assert [one.frames for one in scorer.measures()] == [2, 1, 1], (
        "each recall is over the images of its class"
    )


def test_it_learns_a_handful_of_crops_by_heart(tmp_path: Path, learned_by_heart: Callable[..., Any]) -> None:
    frames = list(WorldCropsDataset("town", count=15, seed=1, size=32))
    options = {"width": 32, "height": 32, "channels": (16, 24, 32, 48), "blocks": (1, 1, 1), "dropout": 0}
    variant = CLASSIFIER.variant(options=options)
    module, losses = learned_by_heart(variant, frames, rate=3e-3, steps=60)
    assert losses[-1] < 0.1 * losses[0]

    export(module, variant, tmp_path / "classifier.onnx", frames=frames[:3])
    model = onnx_model(tmp_path / "classifier.onnx", spec=variant.spec)
    scorer = ClassScorer()
    answers = model.predict(frames)
    scorer.add(frames, answers)
    assert scorer.measures()[0].value > 0.9
    assert sum(answers[0].scores) == pytest.approx(1)
    expected = torch_model(module, spec=variant.spec).predict(frames)
    for one, other in zip(answers, expected, strict=True):
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-4)
