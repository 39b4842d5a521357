"""What frames belong to: as each reader knows, and as somebody says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from roadworthy.cases import Dataset
from roadworthy.datasets import BaseDataset, ChosenFrames, clusters_of, load, shuffled_clusters
from roadworthy.datasets._base import drives_by_time
from roadworthy.errors import InputError
from roadworthy.images import write_image
from roadworthy.runs.suites import plan_suite, suite_of

GREY = np.full((4, 6, 3), 90, np.uint8)


def opened(reference: str, **options: object) -> BaseDataset:
    data = load(reference, **options)
    assert isinstance(data, BaseDataset)
    return data


def images(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_image(folder / name, GREY)
    return folder


def udacity_ch2(folder: Path, stamps: Sequence[str]) -> Path:
    images(folder / "frames", [f"{stamp}.jpg" for stamp in stamps])
    lines = ["frame_id,steering_angle_rad", *(f"{stamp},0.1" for stamp in stamps)]
    (folder / "steering.csv").write_text("\n".join(lines))
    return folder


SECONDS = [1479425441, 1479425442, 1479425446, 1479425500, 1479425501]
"""Of two drives: none of the first three frames is more than 5 s after the one before."""


def test_frames_of_a_folder_are_each_for_themselves(tmp_path: Path) -> None:
    data = opened(f"folder:{images(tmp_path, ['a/1.png', 'a/2.png', 'b/1.png'])}", recursive=True)
    assert data.clusters == data.ids == ("a/1", "a/2", "b/1")


def test_of_camvid_the_film(tmp_path: Path) -> None:
    names = ["0001TP_006690", "0001TP_006720", "Seq05VD_f00000", "single"]
    data = opened(f"camvid:{images(tmp_path, [f'images/{name}.png' for name in names])}")
    assert data.clusters == ("0001TP", "0001TP", "Seq05VD", "single")


def test_of_a2d2_the_drive(tmp_path: Path) -> None:
    stamps = ["20180807145028", "20180925135056"]
    for stamp in stamps:
        place = f"{stamp[:8]}_{stamp[8:]}/camera/cam_front_center"
        images(tmp_path, [f"{place}/{stamp}_camera_frontcenter_{number:09d}.png" for number in (7, 9)])
    data = opened(f"a2d2:{tmp_path}")
    assert data.clusters == (stamps[0], stamps[0], stamps[1], stamps[1])


def test_of_cityscapes_the_city_and_its_recording(tmp_path: Path) -> None:
    names = ["aachen_000000_000019", "aachen_000000_000020", "aachen_000001_000019", "bonn_000000_000019"]
    places = [f"leftImg8bit/val/{name.split('_')[0]}/{name}_leftImg8bit.png" for name in names]
    data = opened(f"cityscapes:{images(tmp_path, places)}", split="val")
    assert data.clusters == ("aachen_000000", "aachen_000000", "aachen_000001", "bonn_000000")


def test_of_bdd100k_the_film_where_labels_name_it(tmp_path: Path) -> None:
    frames = [
        {"name": "b1-1.jpg", "videoName": "b1"},
        {"name": "b1-2.jpg", "videoName": "b1"},
        {"name": "b2-1.jpg", "videoName": "b2"},
        {"name": "b3-1.jpg"},
    ]
    images(tmp_path / "images/100k/val", [str(one["name"]) for one in frames])
    file = tmp_path / "labels" / "det_20" / "det_val.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(frames))
    assert opened(f"bdd100k:{file}").clusters == ("b1", "b1", "b2", "b3-1")


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [3, 0, 4, 2, 1]])
def test_of_udacity_drives_by_gaps_in_time_whatever_the_order(tmp_path: Path, order: list[int]) -> None:
    stamps = [f"{SECONDS[place]}182877835" for place in order]
    data = opened(f"udacity-ch2:{udacity_ch2(tmp_path, stamps)}")
    assert data.clusters == tuple(f"drive {1 + (place > 2)}" for place in order)
    assert data[1:3].clusters == data.clusters[1:3]


def test_of_the_udacity_simulator_too(tmp_path: Path) -> None:
    stamps = [f"2018_07_16_17_{minute}_685" for minute in ("16_31", "16_34", "18_00")]
    for stamp in stamps:
        images(tmp_path / "IMG", [f"{camera}_{stamp}.jpg" for camera in ("center", "left", "right")])
    lines = [
        ", ".join(
            [*(f"IMG/{camera}_{stamp}.jpg" for camera in ("center", "left", "right")), "0", "0.5", "0", "9"]
        )
        for stamp in stamps
    ]
    (tmp_path / "driving_log.csv").write_text("\n".join(lines))
    assert opened(f"udacity-sim:{tmp_path}").clusters == ("drive 1", "drive 1", "drive 2")


def test_frames_without_time_stamps_are_each_for_themselves(tmp_path: Path) -> None:
    data = opened(f"udacity-ch2:{udacity_ch2(tmp_path, ['one', 'two'])}")
    assert data.clusters == data.ids


def test_a_pause_of_more_than_five_seconds_begins_a_drive() -> None:
    assert drives_by_time([0.0, 5.0, 10.1]) == ["drive 1", "drive 1", "drive 2"]
    assert drives_by_time([0.0, None]) is None
    assert drives_by_time([]) == []


def test_of_the_world_the_drive() -> None:
    data = opened("world:town", count=6, sequence=3)
    assert data.clusters == ("town-drive-0",) * 3 + ("town-drive-1",) * 3
    assert data[2:4].clusters == ("town-drive-0", "town-drive-1")
    alone = opened("world:town", count=3)
    assert alone.clusters == alone.ids


def test_chosen_frames_keep_their_drives() -> None:
    data = load("world:town", count=6, sequence=3)
    assert ChosenFrames("x", data, [5, 0]).clusters == ("town-drive-1", "town-drive-0")
    assert ChosenFrames("x", data, [5, 0], together="frame").clusters == ("town-000005", "town-000000")


@pytest.mark.parametrize(
    ("together", "clusters"),
    [
        ("frame", "town-000000 town-000001 town-000002 town-000003 town-000004 town-000005"),
        ("data", "world:town " * 6),
        ("folder", ". " * 6),
        ("2 frames", "d0:0 d0:0 d0:2 d1:0 d1:0 d1:2"),  # never across two drives
        ("1 frame", "d0:0 d0:1 d0:2 d1:0 d1:1 d1:2"),
        ("100 frames", "d0:0 d0:0 d0:0 d1:0 d1:0 d1:0"),
    ],
)
def test_what_belongs_together_can_be_said(together: str, clusters: str) -> None:
    data = load("world:town", count=6, sequence=3)
    found = [
        one.replace("town-drive-", "d").replace(", frames from ", ":") for one in clusters_of(data, together)
    ]
    assert found == clusters.split()


def test_folders_and_stretches_of_time(tmp_path: Path) -> None:
    data = opened(f"folder:{images(tmp_path, ['a/x/1.png', 'a/x/2.png', 'b/1.png'])}", recursive=True)
    assert clusters_of(data, "folder") == ["a/x", "a/x", "b"]
    assert clusters_of(data, "2 frames") == ["frames from 0", "frames from 0", "frames from 2"]
    with pytest.raises(InputError, match="has no time stamps, so frames cannot belong together by seconds"):
        clusters_of(data, "5 s")
    drives = opened(f"udacity-ch2:{udacity_ch2(tmp_path / 'u', [f'{one}000000000' for one in SECONDS])}")
    assert len(set(clusters_of(drives, "2 s"))) == 4  # at 0 and 1 s, at 5 s, at 59 s, at 60 s
    assert len(set(clusters_of(drives, "0.5s"))) == 5
    assert len(set(clusters_of(drives, "1000 s"))) == 2, "but not across two drives"


@pytest.mark.parametrize("word", ["lap", "5", "0 frames", "0.5 frames", "0 s", "-3 s", "5 m", "frames", " "])
def test_other_words_are_refused(word: str) -> None:
    with pytest.raises(InputError, match="frame, folder, data, 200 frames or 5 s, got"):
        clusters_of(load("world:town", count=2), word)


def test_a_suite_says_it_and_is_told_at_once_what_is_wrong() -> None:
    def planned(clusters: str | None) -> Dataset:
        data = {"data": "world:town", "options": {"count": 4, "sequence": 2}, "clusters": clusters}
        rule = "If it rains, the steering angle should stay the same."
        document = {"models": "dave2", "data": {"town": data}, "requirements": {"R1": rule}}
        return plan_suite(suite_of(document)).data["town"].frames

    assert planned(None).clusters == ("town-drive-0",) * 2 + ("town-drive-1",) * 2  # type: ignore[attr-defined]
    assert planned("data").clusters == ("world:town",) * 4  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="200 frames or 5 s, got 'lap'"):
        planned("lap")


def test_clusters_are_shuffled_whole() -> None:
    data = load("world:town", count=40, sequence=4)
    orders = set()
    for seed in range(3):
        shuffled = shuffled_clusters(data, np.random.default_rng(seed))
        assert isinstance(shuffled, ChosenFrames)
        assert sorted(shuffled.ids) == sorted(opened("world:town", count=40, sequence=4).ids)
        for first in range(0, 40, 4):  # and those of a drive stay in their order
            assert len(set(shuffled.clusters[first : first + 4])) == 1
            assert list(shuffled.ids[first : first + 4]) == sorted(shuffled.ids[first : first + 4])
        orders.add(shuffled.ids)
    assert len(orders) == 3
