from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame
from roadworthy.models import ImageInput, onnx_model, torch_model
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.scorers import BoxScorer, answered_classes, with_all_boxes
from roadworthy.models.zoo.catalogue import Variant, architecture
from roadworthy.models.zoo.perception_networks import STRIDE, detector_loss, generalized_iou
from roadworthy.training import export
from roadworthy.training.tasks import DetectionTask, task_for

WIDTH, HEIGHT = 64, 32
DETECTOR = architecture("detector")
OUTPUT = DETECTOR.answers(("car", "truck", "pedestrian"))
assert isinstance(OUTPUT, DetectionOutput)
TASK = DetectionTask(OUTPUT, WIDTH, HEIGHT)
INPUT = ImageInput(width=WIDTH, height=HEIGHT)


def small(width: int = WIDTH, height: int = HEIGHT) -> Variant:
    options = {"width": width, "height": height, "channels": (16, 24, 32, 48, 64), "blocks": (1, 1, 1, 1)}
    return DETECTOR.variant(options={**options, "neck": 32})


def target(boxes: Boxes, size: tuple[int, int] = (WIDTH, HEIGHT)) -> torch.Tensor:
    frame = Frame("a", np.zeros((size[1], size[0], 3), np.uint8), boxes=boxes)
    return torch.from_numpy(TASK.target(INPUT.view(frame)))[None]


def perfect(targets: torch.Tensor, classes: int = 3) -> torch.Tensor:
    """The answers that are exactly right, with boxes in all cells that belong to a thing."""
    columns, rows = WIDTH // STRIDE, HEIGHT // STRIDE
    answers = torch.zeros(len(targets), 4 + classes, rows, columns)
    for image, things in enumerate(targets):
        for x1, y1, x2, y2, number, counts in things.tolist():
            if counts:
                column, row = int((x1 + x2) / 2 // STRIDE), int((y1 + y2) / 2 // STRIDE)
                around = (slice(max(0, row - 1), row + 2), slice(max(0, column - 1), column + 2))
                box = torch.tensor([(x1 + x2) / 2 / WIDTH, (y1 + y2) / 2 / HEIGHT,
                                    (x2 - x1) / WIDTH, (y2 - y1) / HEIGHT])  # fmt: skip
                answers[(image, slice(0, 4), *around)] = box[:, None, None]
                answers[image, 4 + int(number), row, column] = 1
    return answers.flatten(2)


def loss(answers: torch.Tensor, targets: torch.Tensor) -> float:
    return float(detector_loss(answers, targets, (WIDTH, HEIGHT)))


THINGS = Boxes([[4, 4, 20, 16], [40, 10, 50, 30]], ["car", "pedestrian"])


def test_what_is_known_about_it_needs_no_torch() -> None:
    code = (
        "import sys; from roadworthy.models.zoo.catalogue import architecture; architecture('detector'); "
        "print('torch' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


def test_it_is_small_and_answers_for_any_size() -> None:
    module = DETECTOR.variant().build()
    assert sum(one.numel() for one in module.parameters()) < 700_000, "less than 3 MB as 32-bit numbers"
    for width, height in ((320, 160), (100, 52)):
        built = small(width, height).build().eval()
        with torch.inference_mode():
            answers = built(torch.zeros(2, 3, height, width))
        assert answers.shape == (2, 4 + 8, -(-width // STRIDE) * -(-height // STRIDE))


def test_a_fresh_network_finds_nothing() -> None:
    frame = Frame("a", np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8))
    model = torch_model(small().build(), spec=small().spec)
    assert len(model.predict([frame])[0]) == 0


def test_targets_are_in_pixels_of_what_the_network_sees() -> None:
    frame = Frame(
        "a", np.zeros((100, 256, 3), np.uint8), boxes=Boxes([[20, 30, 60, 110]], ["truck"]).clipped(256, 100)
    )
    taken = ImageInput(width=64, height=32, crop=(20, 16))
    assert TASK.target(taken.view(frame))[0].tolist() == [5, 5, 15, 32, 1, 1], "what is cropped is cut off"
    fitted = TASK.target(ImageInput(width=64, height=64, fit="letterbox").view(frame))
    assert fitted[0].tolist() == pytest.approx([5, 19.5 + 7.5, 15, 44.5, 1, 1], abs=0.6)


def test_what_can_hardly_be_seen_is_ignored_and_what_has_no_name_left_out() -> None:
    boxes = Boxes(
        [[0, 0, 30, 30], [0, 0, 20, 20], [0, 0, 10, 10], [0, 0, 9, 5], [0, 0, 8, 8], [0, 0, 40, 30]],
        ["car", "car", "tram", "pedestrian", "pedestrian", "tree"],
        occlusion=[0.8, 0.9, 0, 0, np.nan, 0],
    )
    rows = target(boxes)[0]
    assert rows[:6, 4].tolist() == [0, 0, 0, 2, 2, -1], "the tree is nothing to a detector of road users"
    assert rows[:6, 5].tolist() == [1, 0, 0, 1, 0, 0]


def test_where_there_are_too_many_things_the_largest_are_kept() -> None:
    sizes = np.random.default_rng(0).permutation(60) / 3 + 7
    rows = target(Boxes([[0, 0, size, size] for size in sizes], ["car"] * 60))[0]
    assert len(rows) == 48
    assert rows[:, 2].tolist() == pytest.approx(sorted(sizes, reverse=True)[:48])


def test_mirrored_targets_are_those_of_the_mirrored_frame() -> None:
    frame = Frame("a", np.zeros((HEIGHT, WIDTH, 3), np.uint8), boxes=THINGS)
    mirrored = TASK.mirrored(torch.from_numpy(TASK.target(INPUT.view(frame))))
    expected = TASK.target(INPUT.view(frame.mirrored()))
    assert mirrored[:2].tolist() == expected[:2].tolist()


def test_a_frame_without_boxes_cannot_be_learned() -> None:
    with pytest.raises(InputError, match="frame 'a' has no boxes to learn"):
        TASK.target(INPUT.view(Frame("a", np.zeros((4, 4, 3), np.uint8))))


def test_right_answers_have_no_loss_and_every_mistake_has() -> None:
    targets = target(THINGS)
    right = perfect(targets)
    assert loss(right, targets) == pytest.approx(0, abs=1e-4)
    columns = WIDTH // STRIDE
    car, nowhere = 2 * columns + 3, 7 * columns + 2
    wrong_class, missed, invented, moved = (right.clone() for _ in range(4))
    wrong_class[0, 4:6, car] = torch.tensor([0.0, 1.0])
    missed[0, 4, car] = 0.1
    invented[0, 6, nowhere] = 0.9
    moved[0, 0, :] += 4 / WIDTH
    # -(1 - p)² log p of the one that was missed and -p² log(1 - p) of the one invented, over two things.
    assert loss(missed, targets) == pytest.approx(-(0.9**2) * np.log(0.1) / 2, rel=1e-3)
    assert loss(invented, targets) == pytest.approx(-(0.9**2) * np.log(0.1) / 2, rel=1e-3)
    assert loss(wrong_class, targets) > 2
    # A box of 16 moved by 4 has a GIoU of 12 / 20, one of 10 has 6 / 14.
    assert loss(moved, targets) == pytest.approx(2 * (8 / 20 + 8 / 14) / 2, rel=1e-3)


def test_boxes_inside_what_is_ignored_cost_nothing() -> None:
    hidden = Boxes(THINGS.xyxy, THINGS.classes, occlusion=[0.9, 0.0])
    targets = target(hidden)
    right = perfect(targets)
    invented = right.clone()
    invented[0, 4:7, 2 * (WIDTH // STRIDE) + 3] = 0.9
    assert loss(invented, targets) == pytest.approx(loss(right, targets))


def test_an_image_without_things_asks_for_silence() -> None:
    targets = target(Boxes.empty())
    silent = perfect(targets)
    assert loss(silent, targets) == pytest.approx(0, abs=1e-4)
    assert loss(silent + 0.1, targets) > 0


def test_the_less_sure_near_a_middle_is_asked_the_less() -> None:
    targets = target(Boxes([[0, 0, 64, 32]], ["car"]))
    right = perfect(targets)
    columns = WIDTH // STRIDE
    costs = []
    for away in (1, 3, 6):
        answers = right.clone()
        answers[0, 4, 4 * columns + 8 - away] = 0.5
        costs.append(loss(answers, targets) - loss(right, targets))
    assert costs == sorted(costs)
    assert costs[0] < 0.2 * costs[-1]


def test_generalized_iou_against_areas_counted_in_pixels() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        a, b = (np.sort(rng.integers(0, 12, (2, 2)), axis=0) for _ in range(2))
        a[1] += 1
        b[1] += 1
        grids = []
        for low, high in (a, b):
            grid = np.zeros((14, 14), bool)
            grid[low[1] : high[1], low[0] : high[0]] = True
            grids.append(grid)
        shared, union = (grids[0] & grids[1]).sum(), (grids[0] | grids[1]).sum()
        around = np.prod(np.maximum(a[1], b[1]) - np.minimum(a[0], b[0]))
        found = generalized_iou(*(torch.tensor(box.reshape(-1), dtype=torch.float32) for box in (a, b)))
        assert float(found) == pytest.approx(shared / union - (around - union) / around, abs=1e-5)


def test_it_learns_a_handful_of_frames_by_heart(tmp_path: Path, learned_by_heart: Callable[..., Any]) -> None:
    """The proof that targets, loss, decoding, export and average precision fit together."""
    width, height = 128, 64
    frames = list(load("world:town", count=5, size=f"{width}x{height}", traffic=5.0, seed=5))
    variant = small(width, height)
    module, losses = learned_by_heart(variant, frames, rate=5e-3, steps=70)
    task, taken = task_for(variant), variant.spec.input
    views = [taken.view(frame) for frame in frames]
    with torch.inference_mode():
        answers = module(torch.from_numpy(taken.tensor(views))).numpy()
    (measure,) = task.measures(answers, np.stack([task.target(view) for view in views]))
    assert losses[-1] < 0.1 * losses[0]
    assert measure.name == "mAP@0.5"
    assert measure.value > 0.9

    export(module, variant, tmp_path / "detector.onnx", frames=frames)
    model = onnx_model(tmp_path / "detector.onnx", spec=variant.spec)
    expected = torch_model(module, spec=variant.spec).predict(frames)
    for one, other in zip(model.predict(frames), expected, strict=True):
        assert one.classes == other.classes
        np.testing.assert_allclose(one.xyxy, other.xyxy, atol=0.05)
    scorer = BoxScorer(answered_classes(model))
    scorer.add(frames, with_all_boxes(model).predict(frames))
    assert scorer.measures()[0].value > 0.9


def test_without_anything_to_find_there_is_no_measure() -> None:
    answers = np.zeros((1, 4 + 3, WIDTH // STRIDE * HEIGHT // STRIDE), np.float32)
    assert TASK.measures(answers, target(Boxes.empty()).numpy()) == []
    assert len(TASK.measures(answers, target(THINGS).numpy())) == 1


def test_all_boxes_are_those_below_the_usual_threshold_too() -> None:
    model = torch_model(small().build(), spec=small().spec, name="mine")
    more = with_all_boxes(model)
    frame = Frame("a", np.zeros((HEIGHT, WIDTH, 3), np.uint8))
    assert more.name == "mine"
    assert len(more.predict([frame])[0]) >= len(model.predict([frame])[0])  # type: ignore[arg-type]
    assert answered_classes(more) == DETECTOR.outputs


def test_classes_of_the_ontology_are_its_outputs() -> None:
    assert isinstance(DETECTOR.variant(["car", "tram"]).spec.output, DetectionOutput)
