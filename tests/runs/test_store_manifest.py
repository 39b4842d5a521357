"""What was tested: digests of files, models and data sets, and the manifest that holds them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Prediction
from roadworthy.datasets import BaseDataset, KittiDataset, WorldCropsDataset, WorldDataset
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.images import write_image
from roadworthy.models import load_model
from roadworthy.runs.executors.work import Retention
from roadworthy.runs.store import read_manifest
from roadworthy.runs.store.digests import (
    Digest,
    digest_of_dataset,
    digest_of_file,
    digest_of_files,
    digest_of_model,
)
from roadworthy.runs.store.manifest import begin_manifest, check_manifest, complete_manifest
from roadworthy.runs.suites.estimating import estimate_images, readable_size

MODELS = {"dave2": Digest("aa" * 32, "the file"), "epoch": Digest("bb" * 32, "the file")}
DATA = {"town": Digest("cc" * 32, "the frames")}


def test_one_file_has_the_sum_of_its_content_and_several_that_of_their_list(tmp_path: Path) -> None:
    files = {}
    for name in ("weights.bin", "net.cfg", "Ö.txt"):
        files[name] = tmp_path / name
        files[name].write_bytes(name.encode() * 1000)
    one = digest_of_file(files["net.cfg"])
    assert one.sha256 == hashlib.sha256(b"net.cfg" * 1000).hexdigest()
    assert one.record() == {
        "sha256": one.sha256,
        "hashed": "the content of the file",
        "count": 1,
        "sums": {"net.cfg": one.sha256},
    }
    # As anybody would do it in a shell.
    listed = subprocess.run(
        "LC_ALL=C; export LC_ALL; sha256sum * | sort -k 2 | sha256sum",
        shell=True, cwd=tmp_path, capture_output=True, check=True,
    )  # fmt: skip
    assert digest_of_files(files, "them").sha256 == listed.stdout.decode().split()[0]


def test_a_file_is_hashed_again_each_time(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(b"first")
    times = path.stat()
    first = digest_of_file(path).sha256
    path.write_bytes(b"other")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert digest_of_file(path).sha256 == hashlib.sha256(b"other").hexdigest() != first
    with pytest.raises(InputError, match=r"cannot read .*gone.onnx: No such file"):
        digest_of_file(tmp_path / "gone.onnx")


class Careless:
    """A system of a user's own."""

    name = "careless"

    def predict(self, frames: Sequence[Frame], /) -> list[Prediction]:
        return [Signals(speed=1.0) for _ in frames]


def answer(images: np.ndarray) -> np.ndarray:
    return images


def test_models_are_hashed_by_what_they_consist_of() -> None:
    network = load_model("dave2")
    (path,) = network.files  # type: ignore[attr-defined]
    found = digest_of_model(network)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.settings["output"] == {"task": "regression", "signals": ["steering", "speed"]}
    assert found.settings["input"]["color"] == network.input.color  # type: ignore[attr-defined]
    here = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    assert digest_of_model(Careless()).sha256 == here
    assert digest_of_model(Careless()).hashed.startswith("the file that defines it, and those of its folder")
    function = load_model(f"callable:{__file__}:answer", output={"signals": "steering"})
    assert digest_of_model(function).sha256 == here
    assert digest_of_model(load_model("truth")).sha256 is not None
    remote = digest_of_model(load_model("http://localhost:1/", output={"signals": "steering"}))
    assert (remote.sha256, remote.hashed) == (None, "nothing: what answers there is not known")


def test_the_world_is_hashed_by_its_recipe() -> None:
    def digest(**options: Any) -> str | None:
        return digest_of_dataset(WorldDataset("town", **{"count": 8, **options})).sha256

    assert digest() == digest()
    assert len({digest(), digest(seed=1), digest(time="night"), digest(count=9), digest(size="64x32")}) == 5
    data = WorldDataset("town", count=8)
    assert digest_of_dataset(data[:4]).sha256 != digest_of_dataset(data).sha256
    crops = [digest_of_dataset(WorldCropsDataset(count=6, seed=seed)).sha256 for seed in (0, 0, 1)]
    assert crops[0] == crops[1] != crops[2]


def kitti(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    for name in ("image_2", "label_2"):
        (folder / name).mkdir(parents=True)
    for number in range(3):
        write_image(folder / "image_2" / f"{number:06d}.png", rng.integers(0, 256, (30, 60, 3), np.uint8))
        line = "Car 0.00 0 -1.57 10.0 5.0 30.0 20.0 1.5 1.6 4.2 1.0 1.5 20.0 -1.5\n"
        (folder / "label_2" / f"{number:06d}.txt").write_text(line)
    return folder


def test_data_is_hashed_as_it_is_read(tmp_path: Path) -> None:
    folder = kitti(tmp_path / "a")
    told: list[tuple[int, int]] = []
    found = digest_of_dataset(KittiDataset(str(folder)), lambda done, count: told.append((done, count)))
    assert (found.count, told) == (3, [(1, 3), (2, 3), (3, 3)])
    # Where it lies does not matter, nor what nobody reads.
    other = kitti(tmp_path / "b")
    (other / "notes.txt").write_text("mine")
    assert digest_of_dataset(KittiDataset(str(other))).sha256 == found.sha256
    part = digest_of_dataset(KittiDataset(str(other))[:2]).sha256
    assert part != found.sha256
    # A label, a pixel, and the order of the frames do.
    label = other / "label_2" / "000002.txt"
    label.write_text(label.read_text().replace("30.0", "31.0"))
    changed = digest_of_dataset(KittiDataset(str(other))).sha256
    assert changed != found.sha256
    assert digest_of_dataset(KittiDataset(str(other))[:2]).sha256 == part
    (folder / "image_2" / "000001.png").rename(folder / "image_2" / "000003.png")
    (folder / "label_2" / "000001.txt").rename(folder / "label_2" / "000003.txt")
    assert digest_of_dataset(KittiDataset(str(folder))).sha256 not in (found.sha256, changed)


def test_an_unreadable_frame_is_an_error_unless_it_is_to_be_skipped(tmp_path: Path) -> None:
    folder = kitti(tmp_path)
    (folder / "image_2" / "000001.png").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"000001.png"):
        digest_of_dataset(KittiDataset(str(folder)))
    skipping = digest_of_dataset(KittiDataset(str(folder), on_error="skip")).sha256
    assert skipping == digest_of_dataset(KittiDataset(str(folder), on_error="skip")).sha256


class Greys:
    """A data set of a user's own."""

    name = "greys"

    def __init__(self, count: int, note: object = None) -> None:
        self.count = count
        self.note = note

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int, /) -> Frame:
        return Frame(f"f{index}", np.full((4, 6, 3), index, np.uint8), metadata={"note": self.note})

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(self.count))


def test_any_data_set_can_be_hashed() -> None:
    sums = [
        digest_of_dataset(data).sha256 for data in (Greys(3), Greys(3), Greys(4), Greys(3, "x"), Greys(3, 1))
    ]
    assert sums[0] == sums[1]
    assert len(set(sums)) == 4


def test_the_order_of_what_is_known_about_a_frame_does_not_matter() -> None:
    def digest(known: dict[str, object]) -> str | None:
        frame = Frame("a", np.zeros((2, 3, 3), np.uint8), metadata=known)
        return digest_of_dataset([frame]).sha256  # type: ignore[arg-type]  # a list will do

    one = digest({"weather": "rainy", "camera": {"x": 1.0, "y": 2.0}})
    assert digest({"camera": {"y": 2.0, "x": 1.0}, "weather": "rainy"}) == one
    assert digest({"weather": "rainy", "camera": {"x": 2.0, "y": 1.0}}) != one


def test_data_of_a_user_is_not_read_by_two_threads_at_a_time() -> None:
    class Film(BaseDataset):
        """Seeks and reads, as a film does: in two threads, one would get what the other sought."""

        place = -1

        def read(self, number: int) -> Frame:
            self.place = number
            time.sleep(0.001)
            image = np.full((4, 6, 3), self.place, np.uint8)
            return Frame(f"f{number}", image, metadata={"note": None})

    frames = [f"f{number}" for number in range(40)]
    assert digest_of_dataset(Film("film", frames)).sha256 == digest_of_dataset(Greys(40)).sha256


def test_a_manifest_is_written_first_and_completed_at_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "run"
    suite = {"night.suite.yaml": Digest("dd" * 32, "the content of the file", 1)}
    begun = begin_manifest(folder, models=MODELS, data=DATA, suite=suite, seed=3, settings={"batch": 32})
    assert read_manifest(folder) == begun
    assert (begun["ended"], begun["continued"]) == (None, [])
    assert begun["models"]["dave2"] == {"sha256": "aa" * 32, "hashed": "the file"}
    assert begun["libraries"]["numpy"] == np.__version__
    ended = complete_manifest(folder)
    assert ended["ended"] >= ended["started"]
    assert {**ended, "ended": None} == begun
    text = (folder / "manifest.json").read_text("utf-8")
    assert json.loads(text) == ended
    assert str(tmp_path) not in text


def test_a_run_that_goes_on_is_noted_and_may_grow(tmp_path: Path) -> None:
    begin_manifest(tmp_path, models={"dave2": MODELS["dave2"]}, data={}, seed=3)
    complete_manifest(tmp_path)
    before = (tmp_path / "manifest.json").read_bytes()
    check_manifest(tmp_path, models=MODELS, data=DATA, seed=3)
    assert (tmp_path / "manifest.json").read_bytes() == before
    again = begin_manifest(tmp_path, models={"epoch": MODELS["epoch"]}, data=DATA, seed=3)
    assert list(again["models"]) == ["dave2", "epoch"]
    assert list(again["data"]) == ["town"]
    assert again["ended"] is None
    assert [list(one) for one in again["continued"]] == [["time"]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 4}, "a run with seed 3, and it cannot go on with seed 4: run with the same, or choose"),
        ({"settings": {"batch": 1}}, "with settings batch 32, and it cannot go on with settings batch 1"),
        ({"settings": {}}, "with settings batch 32, and it cannot go on with settings batch not given"),
        (
            {"models": {"dave2": Digest("ee" * 32, "the file")}},
            "with models dave2 of SHA-256 aaaaaaaaaaaa…, and it cannot go on with models dave2 of SHA-256 e",
        ),
        ({"data": {"town": Digest(None, "nothing")}}, "go on with data town that cannot be hashed"),
    ],
)
def test_another_run_does_not_go_on(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    mine: dict[str, object] = {"models": MODELS, "data": DATA, "seed": 3, "settings": {"batch": 32}}
    begin_manifest(tmp_path, **mine)  # type: ignore[arg-type]
    before = (tmp_path / "manifest.json").read_bytes()
    for look in (begin_manifest, check_manifest):
        with pytest.raises(InputError, match=message):
            look(tmp_path, **{**mine, **changes})  # type: ignore[arg-type]
    assert (tmp_path / "manifest.json").read_bytes() == before


def test_a_run_of_another_version_or_with_other_libraries_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_manifest(tmp_path, models=MODELS, data=DATA)
    monkeypatch.setattr("roadworthy.runs.store.manifest.libraries", lambda: {"numpy": "9"})
    again = begin_manifest(tmp_path, models=MODELS, data=DATA)
    assert again["continued"][0]["libraries"] == {"numpy": "9"}
    assert again["libraries"] != {"numpy": "9"}
    monkeypatch.setattr("roadworthy.runs.store.manifest.__version__", "99.0")
    with pytest.raises(
        InputError, match=r"with tool version '.*', and it cannot go on with tool version '99.0'"
    ):
        begin_manifest(tmp_path, models=MODELS, data=DATA)


def test_what_was_asked_for_grows_to_all_of_the_suite(tmp_path: Path) -> None:
    asked = [
        begin_manifest(tmp_path, models=MODELS, data=DATA, only=only).get("only")
        for only in (["fog"], ["rain", "fog"], [], ["fog"])
    ]
    assert asked == [["fog"], ["fog", "rain"], None, None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "is no manifest of a run"),
        ('{"format": 1, "seed": NaN}', "manifest.json: seed must be a whole number, got nan"),
        ("{", "must be JSON"),
        ('{"format": 9}', "has format 9, newer than 3: update Roadworthy"),
        ('{"format": 2, "suite": {"a.yaml": 7}}', "suite must be digests by name"),
        ('{"format": 2, "only": "fog"}', "only must be a list of ids, tags or kinds"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_told(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InputError, match=message):
        read_manifest(tmp_path)


def test_only_what_was_begun_can_be_completed(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) is None
    with pytest.raises(InputError, match=r"has no manifest.json that could be completed"):
        complete_manifest(tmp_path)


@pytest.mark.parametrize(
    ("retention", "images", "share"),
    [
        (Retention("all"), 20_000, 1.0),
        (Retention("failures"), 4000, 0.2),
        (Retention("failures", passes=0.5), 12_000, 0.6),
        (Retention("sample"), 4160, 0.208),
        (Retention("none"), 0, 0.0),
    ],
)
def test_the_room_for_images_is_measured_on_a_few(retention: Retention, images: int, share: float) -> None:
    rng = np.random.default_rng(0)
    frames = [Frame(f"f{n}", rng.integers(0, 256, (40, 60, 3), np.uint8)) for n in range(3)]
    found = estimate_images(frames, retention, cases=10_000, failing=0.2)
    assert found.images == images
    # Noise does not compress, so an image is as large as its pixels.
    assert found.likely == pytest.approx(20_000 * share * 40 * 60 * 3, rel=0.05)
    assert found.most == 0 if retention.images == "none" else found.most >= found.likely
    assert str(found).startswith("images will take about " if images else "no images are kept")


def test_an_estimate_needs_frames_and_numbers_that_can_be() -> None:
    with pytest.raises(InputError, match="expected at least one frame"):
        estimate_images([], Retention(), cases=1)
    with pytest.raises(InputError, match="got -1 cases"):
        estimate_images([], Retention(), cases=-1)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999.4, "999 bytes"),
        (1000, "1 kB"),
        (999_600, "1 MB"),
        (1.26e6, "1.26 MB"),
        (2e18, "2e+03 PB"),
    ],
)
def test_sizes_are_written_for_people(size: float, text: str) -> None:
    assert readable_size(size) == text
