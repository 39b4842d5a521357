"""Rules about detections on real frames without any labels, with a public detector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import roadworthy
from roadworthy.cases import Dataset
from roadworthy.datasets import load
from roadworthy.frames import Boxes, Frame
from roadworthy.models import load_model
from roadworthy.rules import parse
from roadworthy.rules.gauges import gauge_of


@pytest.fixture(scope="module")
def detector() -> Any:
    folder = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "networks"
    if not folder.is_dir():
        pytest.skip("the public networks are not beside the repository")
    return load_model(f"onnx:{folder / 'yolox_nano.onnx'}", threads=1)


@pytest.fixture
def plain(real_data: Path) -> list[Frame]:
    data: Dataset = load(f"camvid:{real_data / 'camvid'}")
    # As film has them: an image, and nothing known about it.
    return [Frame(one.id, one.image) for one in (data[number] for number in (60, 200, 320))]


def test_darkness_costs_a_detector_its_confidence(detector: Any, plain: list[Frame]) -> None:
    """What is measured is what numpy finds on the boxes themselves."""
    expectation = (
        parse("At night, the confidence of the vehicles must not drop by more than 20%.")
        .blocks[0]
        .expectation
    )
    dark = [one.replace(image=(one.image * 0.12).astype(np.uint8)) for one in plain]
    before, after = (list(detector.predict(frames)) for frames in (plain, dark))
    measured = 0
    for pair, answers in zip(zip(plain, dark, strict=True), zip(before, after, strict=True), strict=True):
        sure = [one for one in answers[0].select("vehicle") if one.scores[0] >= 0.5]
        if not sure:
            continue
        wanted = []
        for one in sure:
            near = [two.scores[0] for two in answers[1].select("vehicle") if one.iou(two)[0, 0] >= 0.5]
            wanted.append((float(one.scores[0]), float(max(near, default=0.0))))
        found = gauge_of(expectation.output).measured(pair, answers)
        assert np.array(found) == pytest.approx(np.array(wanted))
        worst = min(0.2 * first - (first - second) for first, second in wanted)
        assert expectation.judged(pair, answers)[2] == pytest.approx(worst, abs=1e-6)
        measured += 1
    assert measured


def test_a_suite_asks_a_detector_about_fog_on_film(real_data: Path, detector: Any, tmp_path: Path) -> None:
    suite = {
        "models": {"yolox": f"onnx:{real_data / 'networks' / 'yolox_nano.onnx'}"},
        "data": {"street": {"data": f"camvid:{real_data / 'camvid'}", "sample": 3}},
        "requirements": {
            "F": {
                "rule": "If it becomes foggy, the detector must still detect the vehicles.",
                "accept": "50%",
            }
        },
    }
    result = roadworthy.run_suite(suite, tmp_path / "out").result
    ((_, outcome),) = result.outcomes.items()
    assert sum(outcome.counts.values()) == 3
    (first,) = detector.predict([load(f"camvid:{real_data / 'camvid'}")[0]])
    assert isinstance(first, Boxes)
