"""The street network, what is made of its answers, what is kept, and what is written."""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.frames import Frame, LabelMap
from roadworthy.labelling import cache, misfits, street_network
from roadworthy.labelling.chain import STREET_SOURCE, Labelling, sources_named
from roadworthy.labelling.dataset import labelled
from roadworthy.labelling.geometry import boxes_of, instances_of, metric_depth
from roadworthy.labelling.street import STREET, StreetNetwork
from roadworthy.labelling.writing import write_labels
from roadworthy.ontology import ontology


def ids_of(**rows: Any) -> NDArray[np.uint8]:
    ids = np.zeros((60, 80), np.uint8)
    for word, where in rows.items():
        ids[where] = ontology().label_id(word)
    return ids


class TestStreet:
    def test_the_file_that_ships_is_that_of_its_card(self) -> None:
        card = STREET.with_suffix(".md").read_text("utf-8")
        assert sha256(STREET.read_bytes()).hexdigest() in re.findall(r"\b[0-9a-f]{64}\b", card)
        assert STREET.stat().st_size <= 8 * 2**20

    @pytest.mark.parametrize("size", [(320, 160), (97, 61), (640, 200), (40, 400), (16, 16)])
    def test_any_size_gets_maps_of_its_size(self, size: tuple[int, int]) -> None:
        image = np.zeros((size[1], size[0], 3), np.uint8)
        ((labels, inverse),) = street_network().look([image])
        assert labels.shape == inverse.shape == (size[1], size[0])

    def test_frames_of_the_world_are_labelled_mostly_as_they_are(self) -> None:
        data = load("world", count=6, seed=2)
        for truth, frame in zip(data, labelled(data, labels="street"), strict=True):
            assert truth.labels is not None
            assert frame.labels is not None
            for words in (("road", "line"), ("sky",)):
                one, two = truth.labels.mask(*words), frame.labels.mask(*words)
                assert (one & two).sum() > 0.8 * (one | two).sum(), (frame.id, words)

    def test_images_of_several_sizes_in_one_batch_are_those_one_by_one(self) -> None:
        images = [
            load("world:town", count=1, size=size)[0].image for size in ("320x160", "160x96", "320x160")
        ]
        together = street_network().look(images)
        for image, (labels, _) in zip(images, together, strict=True):
            assert (labels.ids == street_network().look([image])[0][0].ids).mean() > 0.999


class TestGeometry:
    def test_metres_are_those_of_the_world(self) -> None:
        errors = []
        for frame in load("world:meadow", count=6, seed=4, labels="street", depth="street"):
            truth = load("world:meadow", count=6, seed=4)[int(frame.id.rpartition("-")[2])]
            assert truth.depth is not None
            assert frame.depth is not None
            near = np.isfinite(truth.depth) & np.isfinite(frame.depth) & (truth.depth < 60)
            errors.append(np.median(np.abs(frame.depth[near] / truth.depth[near] - 1)))
            assert frame.labels is not None
            assert np.isinf(frame.depth[frame.labels.mask("sky")]).all()
        assert np.median(errors) < 0.12

    def test_scale_and_shift_of_relative_depth_do_not_matter(self) -> None:
        labels = LabelMap(ids_of(sky=np.s_[:20], road=np.s_[20:]))
        rows = np.repeat(np.arange(60, dtype=np.float32)[:, None], 80, axis=1)
        true = np.maximum(rows + 0.5 - 20, 0) / (100 * 1.5)
        for scale, shift in ((1.0, 0.0), (0.2, 0.7), (30.0, -4.0)):
            depth = metric_depth(scale * true + shift, labels, focal=100.0, camera_height=1.5)
            assert depth is not None
            assert np.allclose(depth[22:], 1 / true[22:], rtol=0.01)
        twice = metric_depth(true, labels, focal=100.0, camera_height=3.0)
        assert twice is not None
        assert np.allclose(twice[30:], 2 / true[30:], rtol=0.01)

    def test_without_a_road_nobody_knows_metres(self) -> None:
        labels = LabelMap(ids_of(sky=np.s_[:20], building=np.s_[20:]))
        assert metric_depth(np.random.default_rng(1).random((60, 80)).astype(np.float32), labels) is None

    def test_things_that_touch_are_parted_where_the_distance_leaps(self) -> None:
        labels = LabelMap(ids_of(vehicle=np.s_[10:40, 10:60]))
        assert instances_of(labels).max() == 1
        inverse = np.full((60, 80), 0.2, np.float32)
        inverse[:, 35:] = 0.6
        found = instances_of(labels, inverse)
        assert found.max() == 2
        assert found[10:40, 10:60].all(), "what lies between two things is one of theirs"
        assert np.count_nonzero(found) == 30 * 50
        boxes = boxes_of(found, labels)
        assert boxes.classes == ("vehicle", "vehicle")
        assert sorted(boxes.xyxy.tolist())[0][:2] == [10, 10]
        assert boxes.track_ids is not None
        assert sorted(boxes.track_ids.tolist()) == [1, 2]


class TestCache:
    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
        counts: list[int] = []
        look = StreetNetwork.look

        def counted(self: StreetNetwork, images):  # type: ignore[no-untyped-def]
            counts.append(len(images))
            return look(self, images)

        monkeypatch.setattr(StreetNetwork, "look", counted)
        monkeypatch.setenv(cache.FOLDER, str(tmp_path / "cache"))
        return counts

    def test_nobody_is_asked_twice_about_an_image_and_the_answer_is_the_same(self, asked: list[int]) -> None:
        frames = list(load("world:town", count=3, seed=6))
        first = STREET_SOURCE.opinions(frames[:2])
        again = STREET_SOURCE.opinions([one.replace(id="other") for one in frames])
        assert asked == [2, 1]
        for one, two in zip(first, again, strict=False):
            assert one.labels == two.labels
            assert np.array_equal(one.inverse, two.inverse)  # type: ignore[arg-type]

    def test_a_broken_file_is_made_again_and_a_full_disk_costs_no_answer(
        self, asked: list[int], tmp_path: Path
    ) -> None:
        frame = load("world:town", count=1, seed=6)[0]
        STREET_SOURCE.opinions([frame])
        (file,) = (tmp_path / "cache").rglob("*.npz")
        file.write_bytes(b"cut short")
        STREET_SOURCE.opinions([frame])
        (tmp_path / "cache" / "labels").rename(tmp_path / "elsewhere")
        (tmp_path / "cache" / "labels").write_text("a file where the folder should be")
        assert STREET_SOURCE.opinions([frame])[0].labels is not None
        assert asked == [1, 1, 1]

    def test_off_keeps_nothing(self, asked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(cache.FOLDER, "off")
        frame = load("world:town", count=1, seed=6)[0]
        for _ in range(2):
            STREET_SOURCE.opinions([frame])
        assert asked == [1, 1]

    @pytest.mark.usefixtures("asked")
    def test_what_was_not_used_for_longest_goes_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cache, "_CHECKED", 1)
        frames = list(load("world:town", count=4, seed=6, size="64x48"))
        STREET_SOURCE.opinions(frames[:3])
        files = list(tmp_path.rglob("*.npz"))
        for file in files:
            os.utime(file, (1, 1))
        monkeypatch.setattr(cache, "_MOST", sum(one.stat().st_size for one in files))
        STREET_SOURCE.opinions([frames[0]])  # used again, so it stays
        STREET_SOURCE.opinions([frames[3]])
        kept = {cache._key(STREET_SOURCE.identity, one.image)[2:] for one in (frames[0], frames[3])}
        there = {one.stem for one in tmp_path.rglob("*.npz")}
        assert kept <= there
        assert len(there) < 4


class TestFit:
    def test_maps_of_other_frames_and_shifted_ones_are_noticed_and_those_that_fit_are_not(self) -> None:
        frames = list(load("world", count=12, seed=8))
        assert misfits(frames) == []
        others = [
            one.replace(labels=two.labels) for one, two in zip(frames, frames[5:] + frames[:5], strict=True)
        ]
        assert len(misfits(others)) >= 10
        shifted = [
            one.replace(labels=LabelMap(np.roll(one.label_map.ids, -16, axis=1), one.label_map.classes))
            for one in frames
        ]
        found = misfits(shifted)
        assert len(found) >= 11
        assert re.search(r": its label map seems shifted; 1[5-7] pixels to the right and", str(found[0]))

    def test_estimated_labels_and_frames_without_are_not_looked_at(self) -> None:
        (frame,) = load("world:town", count=1, labels="street")
        assert misfits([frame, frame.replace(labels=None)]) == []


class TestWriting:
    def labelling(self) -> Labelling:
        return Labelling(sources_named("labels", "street"), sources_named("depth", "street"))

    def test_what_is_written_reads_back_as_it_was(self, tmp_path: Path) -> None:
        data = load("world:town", count=3, seed=9)
        done = write_labels(data, self.labelling(), tmp_path / "out")
        assert (done.frames, done.before, done.without_depth) == (3, 0, ())
        said = labelled(data, labels="street", depth="street")
        read = labelled(data, labels=str(tmp_path / "out"), depth=str(tmp_path / "out"))
        for one, two in zip(said, read, strict=True):
            assert one.labels == two.labels
            assert np.array_equal(one.instances, two.instances)  # type: ignore[arg-type]
            assert one.depth is not None
            assert two.depth is not None
            assert np.allclose(one.depth, two.depth, atol=0.006)
            assert two.metadata["labels_from"] == "folder:out (estimated)"
        record = json.loads((tmp_path / "out" / "labelling.json").read_text())
        assert record["made_by"] == "labels by street (shipped network), depth by street (shipped network)"

    def test_it_goes_on_where_it_was_stopped_and_leaves_nothing_unfinished(self, tmp_path: Path) -> None:
        data = load("world:town", count=10, seed=9, size="64x48")

        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_labels(data, self.labelling(), tmp_path / "out", stop)
        there = len(list((tmp_path / "out" / "labels").iterdir()))
        assert there == 8
        done = write_labels(data, self.labelling(), tmp_path / "out")
        assert (done.frames, done.before) == (10, 8)
        assert [one for one in tmp_path.rglob(".*") if one.is_file()] == []

    def test_a_folder_of_something_else_is_refused(self, tmp_path: Path) -> None:
        data = load("world:town", count=1, seed=9, size="64x48")
        write_labels(data, self.labelling(), tmp_path / "out")
        with pytest.raises(InputError, match=r"holds maps made .* choose a new folder"):
            write_labels(data, Labelling(sources_named("labels", "street")), tmp_path / "out")
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "note.txt").write_text("mine")
        with pytest.raises(InputError, match="has something in it that no labelling made"):
            write_labels(data, self.labelling(), tmp_path / "other")
        assert isinstance(data[0], Frame)
