"""Pedestrians added to real frames stand where people can stand, and cover nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.transforms import Transform, make_transform
from roadworthy.transforms.objects import harvest
from roadworthy.transforms.objects.inpainting import region_of
from roadworthy.transforms.objects.request import parts_of
from roadworthy.transforms.objects.surroundings import OCCUPYING
from roadworthy.transforms.perspective import Perspective

ALLOWED = ("sidewalk", "terrain")


def judged(before: Frame, after: Frame) -> tuple[bool, bool]:
    """Whether an added thing stands on allowed ground, and whether it covers no other.

    The feet are what is new in the lowest 3% of the thing's rows; the old label map says what is there.
    """
    assert before.labels is not None
    assert after.labels is not None
    new = after.labels.ids != before.labels.ids
    rows = np.flatnonzero(new.any(axis=1))
    lowest = slice(rows[-1] + 1 - max(1, round(0.03 * (rows[-1] - rows[0]))), rows[-1] + 1)
    share = before.labels.mask(*ALLOWED)[lowest][new[lowest]].mean()
    return bool(share >= 0.95), not bool((before.labels.mask(*OCCUPYING) & new).any())


def placed(
    frames: Iterable[Frame], transform: Transform, seeds: Iterable[int] = (0,)
) -> tuple[Counter[str], int]:
    """Count what became of frames: on allowed ground, free of others, or why they did not qualify."""
    found: Counter[str] = Counter()
    tries = 0
    for number, frame in enumerate(frames):
        for seed in seeds:
            tries += 1
            try:
                after = transform(frame, 1000 * seed + number, measure=False)
            except NotApplicable as error:
                found[error.reason] += 1
                continue
            stands, free = judged(frame, after)
            found["placed"] += 1
            found["stands"] += stands
            found["free"] += free
    return found, tries


def check(found: Counter[str], tries: int, least: float) -> None:
    assert found["placed"] >= least * tries, found
    assert found["stands"] >= 0.98 * found["placed"], found
    assert found["free"] >= 0.98 * found["placed"], found


def test_some_frames_of_camvid(real_data: Path) -> None:
    data = load(f"camvid:{real_data / 'camvid'}")
    frames = [data[number] for number in range(5, 367, 9)]
    check(*placed(frames, make_transform("add", realism="any")), least=0.75)
    # Alone, without the people of its data, a frame gets solid models, and few fit.
    check(*placed(frames, make_transform("add")), least=0.0)


def test_the_frames_of_a2d2(real_data: Path) -> None:
    """The public prototype yields 4 of 7 such frames; ours leaves out people whom nobody would believe."""
    small = load(f"a2d2:{real_data / 'a2d2'}", prepare="paper")
    for realism, least, least_small in (("any", 1 / 2, 4 / 7), ("believable", 0.0, 0.0)):
        add = make_transform("add", realism=realism)
        check(*placed(load(f"a2d2:{real_data / 'a2d2'}"), add, range(3)), least=least)
        check(*placed(small, add, range(5)), least=least_small)


def test_people_of_camvid_are_cut_out_and_put_back(real_data: Path, tmp_path: Path) -> None:
    data = load(f"camvid:{real_data / 'camvid'}")
    frames = [data[number] for number in range(60, 367, 8)]
    result = harvest(frames, ["pedestrian", "vehicle"], source="camvid")
    counts = Counter(one.element for one in result.cut_outs)
    assert counts["pedestrian"] >= 6
    assert counts["vehicle"] >= 4
    assert result.refused["pedestrian"]["too small"] > 50
    for one in result.cut_outs:
        low, high = (1.2, 2.2) if one.element == "pedestrian" else (1.0, 4.4)
        assert low <= one.height <= high
    result.gallery().save(tmp_path)
    # Who hardly stands out from the background is left out.
    check(*placed(frames, make_transform("add", gallery=str(tmp_path))), least=0.5)


def test_vehicles_and_signs_of_a2d2(real_data: Path) -> None:
    result = harvest(load(f"a2d2:{real_data / 'a2d2'}"), ["vehicle", "traffic sign"])
    counts = Counter(one.element for one in result.cut_outs)
    assert counts["vehicle"] >= 3
    assert counts["traffic sign"] >= 2


def test_the_horizon_of_one_camera_stays_where_it_is(real_data: Path) -> None:
    """The frames of one drive were taken by one camera, whose horizon moves with the car's pitch only."""
    data = load(f"camvid:{real_data / 'camvid'}")
    drive = [frame for number in range(0, 367, 3) if (frame := data[number]).id.startswith("0016E5")]
    views = [Perspective.of(frame) for frame in drive[::2]]
    rows = [view.horizon for view in views]
    assert np.median(rows) == pytest.approx(178, abs=6)
    assert np.percentile(np.abs(np.array(rows) - np.median(rows)), 80) < 0.03 * 360
    assert 1.2 < np.median([view.camera_height for view in views]) < 1.6


def test_vehicles_that_a_wet_road_mirrors(real_data: Path) -> None:
    """Roads of CamVid are dry; mirrored in them, as a blurred picture upside down, vehicles go as a whole."""
    dry, wet, vehicles = 0, 0, 0
    data = load(f"camvid:{real_data / 'camvid'}")
    for frame in (data[number] for number in range(0, len(data), 6)):
        labels = frame.label_map
        mask, ground = labels.mask("vehicle"), labels.mask("road", "sidewalk", "terrain")
        mirrors = []
        image = frame.image.astype(np.float32)
        for (rows, columns), pixels in parts_of(mask, 200):
            high = min(len(pixels), frame.height - rows.stop)
            below = slice(rows.stop, rows.stop + high), columns
            shown = pixels[::-1][:high] & ground[below]
            if np.count_nonzero(shown) < 300:
                continue
            upside = frame.image[rows.stop - high : rows.stop, columns][::-1].astype(np.float32)
            smeared = cv2.GaussianBlur(upside, (0, 0), sigmaX=1.5, sigmaY=5)
            image[below] += 0.5 * shown[..., None] * (smeared - image[below])
            mirrors.append((below, shown))
        regions = [
            region_of(one, mask, paint=False) > 0
            for one in (frame, frame.replace(image=np.rint(image).astype(np.uint8)))
        ]
        vehicles += len(mirrors)
        dry, wet = (
            count + sum(bool(region[below][shown].all()) for below, shown in mirrors)
            for count, region in zip((dry, wet), regions, strict=True)
        )
    assert vehicles > 100
    assert wet > 0.85 * vehicles
    assert dry < 0.1 * vehicles


@pytest.mark.slow
@pytest.mark.parametrize("gallery", ["shipped", "harvested"])
def test_all_frames_of_camvid(real_data: Path, tmp_path: Path, gallery: str) -> None:
    data = load(f"camvid:{real_data / 'camvid'}")
    options: dict[str, Any] = {}
    if gallery == "harvested":
        harvest(data, ["pedestrian"]).gallery().save(tmp_path)
        options["gallery"] = str(tmp_path)
    # Few solid models fit.
    check(*placed(data, make_transform("add", **options)), least=0.34 if options else 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["vehicle-ahead", "bicyclist", "traffic-light", "speed-limit-sign"])
def test_other_things_find_places_too(real_data: Path, preset: str) -> None:
    data = load(f"camvid:{real_data / 'camvid'}")
    found, tries = placed(
        (data[number] for number in range(0, 367, 5)), make_transform(f"add:{preset}", gallery="shipped")
    )
    assert found["placed"] >= 0.5 * tries
