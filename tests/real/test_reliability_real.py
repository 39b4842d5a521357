"""Reliability of a real ImageNet classifier on real crops: vehicles, and houses and trees, of CamVid."""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from roadworthy.cases import OutcomeStatus
from roadworthy.datasets import load
from roadworthy.frames import Frame
from roadworthy.models import SystemUnderTest, load_model
from roadworthy.papers.reliability import study_levels
from roadworthy.reliability import (
    PAPER_TRANSFORMATIONS,
    Accuracy,
    Bootstrap,
    Preservation,
    ReliabilityMethod,
    SignalWithin,
    transformation_named,
)
from roadworthy.runs import run, run_several
from roadworthy.visual_change.tolerance import Preserved

# Tests run side by side: threads of theirs would wait for each other.
torch.set_num_threads(1)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
KINDS: tuple[Preserved, ...] = ("correctness", "prediction")
NUMBERS = ("required", "reached", "distance", "bound")


class Crops(list[Frame]):
    name = "crops of CamVid"


@pytest.fixture(scope="module")
def classifier(networks: Path) -> SystemUnderTest:
    return load_model(networks / "efficientnet.yaml")


def crops_of_camvid(real_data: Path, step: int, most: int = 40) -> Crops:
    """As many squares with a vehicle as without one, as large as the network sees them."""
    data = load(f"camvid:{real_data / 'camvid'}")
    vehicles, others = Crops(), Crops()
    for number in range(0, 367, step):
        frame = data[number]
        assert frame.labels is not None
        mask = frame.labels.mask("vehicle").astype(np.uint8)
        for left, top, width, height, area in cv2.connectedComponentsWithStats(mask)[2][1:].tolist():
            if height >= 30 and 0.7 < width / height < 2.5 and area > 0.7 * width * height:
                side = round(1.2 * max(width, height))
                x, y = max(0, left + width // 2 - side // 2), max(0, top + height // 2 - side // 2)
                vehicles.append(_cut(frame, x, y, side, "vehicle"))
        other = frame.labels.mask("tree", "building")
        places = ((x, y) for y in range(0, 261, 20) for x in range(0, 381, 20))
        free = next(
            (at for at in places if other[at[1] : at[1] + 100, at[0] : at[0] + 100].mean() >= 0.98), None
        )
        if free is not None:
            others.append(_cut(frame, *free, 100, "other"))
    few = min(len(vehicles), len(others), most)
    return Crops([*vehicles[:few], *others[:few]])


def _cut(frame: Frame, x: int, y: int, side: int, word: str) -> Frame:
    window = np.ascontiguousarray(frame.image[y : y + side, x : x + side])
    image = np.asarray(cv2.resize(window, (224, 224), interpolation=cv2.INTER_CUBIC), np.uint8)
    return Frame(f"{word}-{frame.id}-{x}-{y}", image, metadata={"class": word})


def test_a_real_classifier_sees_less_than_humans_under_strong_noise(
    classifier: SystemUnderTest, real_data: Path, tmp_path: Path
) -> None:
    crops = crops_of_camvid(real_data, step=24)
    assert len(crops) >= 14
    vehicle = Accuracy(of="vehicle", score=0.3)
    noise, hardly = (
        Preservation.published("prediction", "gaussian noise", vehicle, limit=limit, versions=2)
        for limit in (0.91, 0.05)
    )
    found = run_several(
        ReliabilityMethod(),
        [noise.requirement("all"), hardly.requirement("hardly")],
        crops,
        [classifier],
        out=tmp_path / "run",
        images="none",
    )
    strong, weak = (found.results[id, classifier.name].outcome for id in ("all", "hardly"))
    assert float(str(strong.measures["share_reaching"])) >= 0.9
    assert float(str(strong.measures["reached"])) < float(str(weak.measures["reached"]))
    assert weak.measures["reached"] == pytest.approx(1, abs=0.1)
    assert strong.status is not OutcomeStatus.PASSED


def test_real_frames_are_covered_by_even_draws_and_not_by_levels(real_data: Path) -> None:
    data = load(f"camvid:{real_data / 'camvid'}")
    frames = Crops(data[number] for number in (10, 200))
    (noise,) = study_levels(frames, [transformation_named("gaussian noise")], versions=12)
    assert noise.range is not None
    assert 0.4 < noise.range[0] < noise.range[1] < 0.91
    assert noise.covered(noise.even) == 1
    assert noise.covered(noise.levels) <= 0.5


def test_the_shipped_network_on_the_real_drive(real_data: Path) -> None:
    data = load(f"udacity-ch2:{real_data / 'udacity_ch2'}")
    frames = Crops(data[number] for number in range(0, len(data), len(data) // 8))
    one = Preservation.published(
        "prediction", "contrast", SignalWithin("steering"), versions=2, bootstrap=Bootstrap(batches=50)
    )
    outcome = run(ReliabilityMethod(), one.requirement(), frames, load_model("dave2-udacity")).outcome
    assert outcome.measures["images"] == len(frames)
    assert 0 <= float(str(outcome.measures["reached"])) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER_TRANSFORMATIONS)
def test_the_table_that_the_page_states(
    name: str, classifier: SystemUnderTest, real_data: Path, tmp_path: Path
) -> None:
    vehicle = Accuracy(of="vehicle", score=0.3)
    asked = [
        Preservation.published(kind, name, vehicle, versions=3, rule="paper").requirement() for kind in KINDS
    ]
    crops = crops_of_camvid(real_data, step=4)
    assert len(crops) == 80
    found = run_several(
        ReliabilityMethod(), asked, crops, [classifier], out=tmp_path / "run", images="none", gate="off"
    )
    numbers = [
        found.results[one.id, classifier.name].outcome.measures[number] for one in asked for number in NUMBERS
    ]
    _, _, part = PAGE.read_text("utf-8").partition("**A real ImageNet classifier.**")
    (cells,) = re.findall(rf"^\| {name} \| (.*) \|$", part.partition("## ")[0], re.M)
    stated = [float(one) for one in re.findall(r"-?\d\.\d+", cells)]
    assert numbers == pytest.approx(stated, abs=0.02)
