from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from roadworthy.datasets import BaseDataset, load
from roadworthy.datasets.folder import FolderDataset
from roadworthy.errors import FrameError, InputError
from roadworthy.images import write_image


def write(path: Path, level: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_image(path, np.full((4, 6, 3), level, np.uint8))


def opened(reference: str, **options: object) -> BaseDataset:
    data = load(reference, **options)
    assert isinstance(data, BaseDataset)
    return data


def test_images_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("img10.png", "img9.jpg", "IMG1.jpeg", "img2.bmp", "img2b.PNG"):
        write(tmp_path / name.lower())
    (tmp_path / "img2b.png").rename(tmp_path / "img2b.PNG")
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / ".hidden.png").write_bytes(b"")
    data = opened(f"folder:{tmp_path}")
    assert data.ids == ("img1", "img2", "img2b", "img9", "img10")
    assert [frame.id for frame in data] == list(data.ids)
    assert data.name == f"folder:{tmp_path}"


def test_folders_below_are_read_when_asked_for(tmp_path: Path) -> None:
    for name in ("b/2.png", "b/10.png", "a/1.png", "top.png", ".cache/thumb.png"):
        write(tmp_path / name)
    assert opened(f"folder:{tmp_path}").ids == ("top",)
    data = opened(f"folder:{tmp_path}", recursive="yes")
    assert data.ids == ("a/1", "b/2", "b/10", "top")
    assert data[2].id == "b/10"


def test_folders_are_classes_when_asked_for(tmp_path: Path) -> None:
    for name in ("car/2.png", "car/10.png", "traffic light/old/1.png"):
        write(tmp_path / name)
    data = opened(f"folder:{tmp_path}", classes="true")
    assert data.ids == ("car/2", "car/10", "traffic light/old/1")
    assert [frame.metadata["class"] for frame in data] == ["car", "car", "old"]
    assert opened(f"folder:{tmp_path / 'car'}", classes=True)[0].metadata["class"] == "car"
    assert "class" not in opened(f"folder:{tmp_path}", recursive=True)[0].metadata


def test_files_that_differ_only_in_their_ending_keep_it(tmp_path: Path) -> None:
    for name in ("a.jpg", "a.png", "b.png"):
        write(tmp_path / name)
    assert opened(f"folder:{tmp_path}").ids == ("a.jpg", "a.png", "b")


def test_nothing_is_read_at_opening(tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"no image at all")
    data = opened(f"folder:{tmp_path}")
    assert len(data) == 1
    with pytest.raises(FrameError, match=r"cannot read the image .*broken\.png: it is corrupt or no image"):
        data[0]


def test_a_cut_jpeg_is_skipped_and_counted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for number in range(4):
        write_image(tmp_path / f"{number}.jpg", rng.integers(0, 256, (40, 60, 3), np.uint8))
    cut = tmp_path / "2.jpg"
    cut.write_bytes(cut.read_bytes()[:-200])
    with pytest.raises(FrameError, match=r"2\.jpg: the file is cut short after \d+ bytes"):
        list(FolderDataset(str(tmp_path)))
    data = FolderDataset(str(tmp_path), on_error="skip")
    assert [frame.id for frame in data] == ["0", "1", "3"]
    assert list(data.skipped) == ["2"]
    assert "2.jpg: the file is cut short" in data.skipped["2"]
    assert len(data) == 4


def test_an_empty_folder_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no images: expected \.png, \.jpg, .*recursive=true"):
        load(f"folder:{tmp_path}")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must be a folder, found nothing at .*absent"):
        load(f"folder:{tmp_path / 'absent'}")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="must be a folder, found a file at"):
        load(f"folder:{tmp_path / 'file'}")


def test_it_travels_to_another_process(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"{number}.png", number)
    part = pickle.loads(pickle.dumps(opened(f"folder:{tmp_path}")[1:]))
    assert [int(frame.image[0, 0, 0]) for frame in part] == [1, 2]
