"""Descriptions that are drafted for networks: whole texts, of every kind of input and output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from roadworthy.errors import InputError
from roadworthy.models.description import _classes, draft_description
from roadworthy.models.network import Tensor

CROP = "  # crop: [0.4, 0.1]    # what is cut off above and below, as a share of the height"
RANGE = "  range: [0, 1]         # what black and white become; or [-1, 1], [0, 255]"
COLOR = "  color: rgb            # or bgr, yuv"
Shape = tuple[int | None, ...]


def drafted(
    taken: tuple[Shape, str] | None, *given: tuple[str, Shape], reference: str = "onnx:nets/net.onnx"
) -> list[str]:
    runtime: Any = SimpleNamespace(
        input=None if taken is None else Tensor("image", *taken),
        outputs=[Tensor(name, shape, "float32") for name, shape in given],
    )
    return draft_description(reference, runtime).splitlines()


@pytest.mark.parametrize(
    ("taken", "lines"),
    [
        (
            ((None, 3, 66, 200), "float32"),
            ["  width: 200", "  height: 66", "  layout: nchw", COLOR, RANGE, CROP],
        ),
        (((1, 66, 200, 3), "uint8"), ["  width: 200", "  height: 66", "  layout: nhwc", COLOR, CROP]),
        (
            ((1, 1, 66, 200), "float32"),
            ["  width: 200", "  height: 66", "  layout: nchw", "  color: gray", RANGE, CROP],
        ),
        (
            ((1, 5, 3, 66, 200), "float32"),
            ["  width: 200", "  height: 66", "  layout: nchw", COLOR, RANGE, "  history: 4", CROP],
        ),
        (((None, 3, None, None), "float32"), ["  layout: nchw", COLOR, RANGE, CROP]),
        (None, [COLOR, RANGE, CROP]),
    ],
)
def test_what_a_network_takes(taken: tuple[Shape, str] | None, lines: Sequence[str]) -> None:
    found = drafted(taken, ("answer", (None, 1)))
    assert found[:3] == ["model: onnx:net.onnx", "name: net", "input:"]
    assert found[3 : found.index("output:")] == list(lines)


@pytest.mark.parametrize("stem", ["a: b #c", "yes", "'\"", "net\n  x", "1.5"])
def test_any_name_of_a_file_is_a_name_in_the_draft(stem: str) -> None:
    drawn = yaml.safe_load("\n".join(drafted(None, ("answer", (None, 1)), reference=f"onnx:{stem}.onnx")))
    assert (drawn["model"], drawn["name"]) == (f"onnx:{stem}.onnx", stem)


def test_an_input_that_is_no_image_is_told() -> None:
    found = drafted(((1, 7), "float32"), ("answer", (None, 1)))
    assert found[3].startswith("  # how frames become this input is yours to say: ")
    assert found[4:6] == [COLOR, RANGE]


DEGREES = [
    "    steering: deg       # or rad, or a number: how many degrees 1 is",
    "    steering_positive: right   # or left",
]
METRES = ["    speed: m/s          # or km/h, mph"]
KNOWN = "   # what the numbers are, in their order"
NAMES = "   # their names, in the order of the numbers"
HEAD = "   # or yolov5, yolov8, darknet, rows, ssd, separate"
FOUND = [
    "  classes: [pedestrian, car]   # their names, in the order of the numbers, or a file of them",
    "  score_threshold: 0.25",
]


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ([("out", (None, 1))], [f"  signals: [steering]{KNOWN}", "  units:", *DEGREES]),
        ([("out", (None, 2))], [f"  signals: [steering, speed]{KNOWN}", "  units:", *DEGREES, *METRES]),
        ([("Speed", (None, 1))], [f"  signals: [speed]{KNOWN}", "  units:", *METRES]),
        (
            [("speed", (None, 1)), ("steer", (None, 1))],
            [f"  signals: [speed, steering]{KNOWN}", "  units:", *DEGREES, *METRES],
        ),
        (
            [("speed", (None, 1)), ("speed2", (None, 1))],
            [f"  signals: [steering, speed]{KNOWN}", "  units:", *DEGREES, *METRES],
        ),
        ([("out", (None,))], [f"  signals: [steering]{KNOWN}", "  units:", *DEGREES]),
        (
            [("out", (None, 3))],
            [f"  signals: [steering, speed, throttle]{KNOWN}", "  units:", *DEGREES, *METRES],
        ),
        (
            [("out", (None, 4))],
            [
                "  task: classification",
                f"  classes: [class-0, class-1, class-2, class-3]{NAMES}",
                "  activation: softmax   # or none, if the network ends with it; sigmoid",
            ],
        ),
        (
            [("out", (None, 3, 8, 9))],
            ["  task: segmentation", f"  classes: [class-0, class-1, class-2]{NAMES}"],
        ),
        ([("out", (None, None, 8, 9))], ["  task: segmentation", f"  classes: [class-0, class-1]{NAMES}"]),
        ([("out", (1, 84, 8400))], ["  task: detection", f"  head: yolov8{HEAD}", *FOUND]),
        ([("out", (1, 8400, 85))], ["  task: detection", f"  head: yolov5{HEAD}", *FOUND]),
        (
            [("boxes", (1, 9, 4)), ("scores", (1, 9)), ("classes", (1, 9))],
            ["  task: detection", f"  head: separate{HEAD}", *FOUND],
        ),
    ],
)
def test_what_a_network_most_likely_answers(given: list[tuple[str, Shape]], lines: list[str]) -> None:
    found = drafted(((None, 3, 66, 200), "float32"), *given)
    assert found[found.index("output:") + 1 :] == lines


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        ("torchscript:deep/er/net.pt", ["model: torchscript:net.pt", "name: net"]),
        ("http://127.0.0.1:8000/predict", ["model: http://127.0.0.1:8000/predict", "name: predict"]),
        ("torch:package.module:Net", ["model: torch:package.module:Net", "name: package"]),
    ],
)
def test_files_lie_beside_their_description_and_others_do_not(reference: str, named: list[str]) -> None:
    assert drafted(None, ("out", (1, 1)), reference=reference)[:2] == named


def test_classes_by_words_or_in_a_file(tmp_path: Path) -> None:
    for name, content in (
        ("a.names", "\ufeffcar\ntruck\n"),
        ("a.txt", "car\ntruck"),
        ("a.json", '["car", "truck"]'),
        ("b.json", '{"1": "truck", "0": "car"}'),
    ):
        (tmp_path / name).write_text(content, "utf-8")
        assert list(_classes(name, "here", tmp_path)) == ["car", "truck"]
    assert _classes(" car , truck", "here", tmp_path) == ["car", "truck"]
    assert _classes("car", "here", tmp_path) == ["car"]
    assert _classes("a.txt, b", "here", tmp_path) == ["a.txt", "b"]
    for name, content in (("c.json", '{"1": "truck"}'), ("d.json", "[1]"), ("e.json", '"car"')):
        (tmp_path / name).write_text(content, "utf-8")
        with pytest.raises(
            InputError, match=rf"here: .*{name} must list class names, or have a name for each"
        ):
            _classes(name, "here", tmp_path)
    with pytest.raises(InputError, match="here: cannot read the class names"):
        _classes("absent.txt", "here", tmp_path)
