"""Who labels frames: sources, their order, and what says where an answer came from."""

from __future__ import annotations

import pickle
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.datasets import load
from roadworthy.errors import FrameError, InputError, NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.labelling import as_needed, estimated_by
from roadworthy.labelling.dataset import LabelledDataset, labelled
from roadworthy.runs.store.digests import content_of_dataset, digest_of_dataset
from roadworthy.transforms import make_transform


class Colours:
    """Frames whose left half is red and whose right half is blue."""

    name = "colours"
    ids = ("drive/a", "drive/b", "drive/c")
    clusters = ("d1", "d1", "d2")

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Frame:
        image = np.zeros((40, 80, 3), np.uint8)
        image[:, :40, 0], image[:, 40:, 2] = 255, 255 - index
        return Frame(self.ids[index], image)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return (self[index] for index in range(3))

    def signals(self, index: int) -> int:
        return 10 * index


def write_maps(folder: Path, ids: NDArray[np.uint8], names: tuple[str, ...] = Colours.ids) -> Path:
    for name in names:
        path = folder / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), ids)
    return folder


class TestSources:
    def test_a_segmenter_of_others_labels_frames_and_unknown_classes_are_void(self, segmenter: Path) -> None:
        frame = labelled(Colours(), labels=str(segmenter))[0]
        assert frame.labels is not None
        assert frame.labels.present() == {"road": 1600, "sky": 1600}
        green = frame.replace(image=np.full((40, 80, 3), (0, 255, 0), np.uint8))
        walls = labelled(_Only(green), labels=str(segmenter))[0].labels
        assert walls is not None
        assert walls.present() == {"void": 3200}
        assert frame.metadata["labels_from"] == "segmenter.yaml (estimated)"

    def test_a_depth_network_of_others_says_metres(self, depth_network: Path) -> None:
        frame = labelled(Colours(), depth=str(depth_network))[0]
        assert frame.depth is not None
        assert np.allclose(frame.depth[:, :40], 10)
        assert np.allclose(frame.depth[:, 40:], 0, atol=0.01)
        assert frame.metadata["depth_from"] == "depth.yaml (estimated)"

    def test_a_detector_that_ships_says_boxes(self) -> None:
        data = load("world:town", count=2, boxes="detector", seed=3)
        assert all(one.metadata["boxes_from"] == "detector (estimated)" for one in data)
        assert all(one.boxes is not None and one.boxes.scores is not None for one in data)

    def test_a_network_for_something_else_is_refused(self, segmenter: Path) -> None:
        with pytest.raises(InputError, match=r"depth=.*: expected a network for depth, got one for segment"):
            labelled(Colours(), depth=str(segmenter))
        with pytest.raises(
            InputError, match=r"labels=dave2: expected a network for segmentation, got one for reg"
        ):
            labelled(Colours(), labels="dave2")
        told = r"labels=streets \(own, street, none, a folder or a model\): there is no model 'streets'"
        with pytest.raises(InputError, match=told):
            labelled(Colours(), labels="streets")

    def test_numbers_of_cityscapes_are_read_and_255_is_void(self, tmp_path: Path) -> None:
        ids = np.full((40, 80), 255, np.uint8)
        ids[20:], ids[:10], ids[10:12] = 0, 10, 3
        folder = write_maps(tmp_path / "maps", ids)
        frame = labelled(Colours(), tmp_path, labels="folder:maps@cityscapes-19")[1]
        assert frame.labels is not None
        assert frame.labels.present() == {"void": 800, "road": 1600, "sky": 800}
        assert frame.metadata["labels_from"] == "folder:maps"
        assert estimated_by(frame.metadata) == ""
        with pytest.raises(FrameError, match=r"numbers, and nothing says what they mean.*@cityscapes-19"):
            labelled(Colours(), labels=str(folder))[0]

    def test_colours_are_read_by_the_table_beside_them(self, tmp_path: Path) -> None:
        picture = np.zeros((40, 80, 3), np.uint8)
        picture[:, 40:] = (0, 0, 200)  # OpenCV's order: red
        write_maps(tmp_path / "maps", picture)
        (tmp_path / "maps" / "class_dict.csv").write_text("name,r,g,b\nRoad,0,0,0\nWall,200,0,0\n")
        frame = labelled(Colours(), tmp_path, labels="maps")[0]
        assert frame.labels is not None
        assert frame.labels.present() == {"void": 1600, "road": 1600}

    def test_a_map_of_another_size_or_with_another_number_is_refused_by_name(self, tmp_path: Path) -> None:
        write_maps(tmp_path / "small", np.zeros((20, 40), np.uint8))
        with pytest.raises(
            FrameError, match=r"folder:small for frame 'drive/a' must have .*80x40, got 40x20"
        ):
            labelled(Colours(), tmp_path, labels="small@cityscapes-19")[0]
        write_maps(tmp_path / "wrong", np.full((40, 80), 77, np.uint8))
        with pytest.raises(FrameError, match=r"a\.png.*label id 77 has no class: there are 19"):
            labelled(Colours(), tmp_path, labels="wrong@cityscapes-19")[0]
        with pytest.raises(InputError, match="expected a folder of maps, found none at"):
            labelled(Colours(), tmp_path, labels="folder:nowhere")

    def test_depth_of_files_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "depth" / "drive").mkdir(parents=True)
        np.save(tmp_path / "depth" / "drive" / "a.npy", np.full((40, 80), 7.5))
        stored = np.full((40, 80), 1234, np.uint16)
        stored[0], stored[1] = 0, 65535
        cv2.imwrite(str(tmp_path / "depth" / "drive" / "b.png"), stored)
        first, second, third = labelled(Colours(), depth=str(tmp_path))
        assert first.depth is not None
        assert second.depth is not None
        assert (first.depth == 7.5).all()
        assert second.depth[2, 0] == np.float32(12.34)
        assert np.isnan(second.depth[0]).all()
        assert np.isinf(second.depth[1]).all()
        assert third.depth is None
        (tmp_path / "depth" / "drive" / "c.npy").write_bytes(b"no numbers")
        with pytest.raises(FrameError, match=r"cannot read the depth .*c\.npy"):
            labelled(Colours(), depth=str(tmp_path))[2]


class TestOrder:
    def test_the_first_that_knows_a_pixel_is_believed(self, tmp_path: Path, segmenter: Path) -> None:
        ids = np.full((40, 80), 255, np.uint8)
        ids[:20, :40] = 13
        write_maps(tmp_path / "maps", ids, ("drive/a",))
        chain = f"own,folder:maps@cityscapes-19,{segmenter}"
        first, second, _ = labelled(Colours(), tmp_path, labels=chain)
        assert first.labels is not None
        assert second.labels is not None
        assert first.labels.present() == {"vehicle": 800, "road": 800, "sky": 1600}
        assert second.labels.present() == {"road": 1600, "sky": 1600}
        assert first.metadata["labels_from"] == "folder:maps, segmenter.yaml (estimated)"
        assert second.metadata["labels_from"] == "segmenter.yaml (estimated)"

    def test_own_labels_stay_and_are_not_called_anything_else(self) -> None:
        before, after = (load("world:town", count=1, **one)[0] for one in ({}, {"labels": "own,street"}))
        assert before.labels is not None
        assert after.labels is not None
        known = before.labels.ids > 0
        assert (before.labels.ids == after.labels.ids)[known].all()
        assert ("labels_from" in after.metadata) == bool((~known).any())

    def test_none_takes_labels_away(self) -> None:
        frame = load("world:town", count=1, labels="none")[0]
        assert (frame.labels, frame.instances) == (None, None)
        assert frame.boxes is not None


class _Only:
    name = "one"
    ids = ("one",)

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def __len__(self) -> int:
        return 1

    def __getitem__(self, _: int) -> Frame:
        return self.frame.replace(id="one")

    def __iter__(self):  # type: ignore[no-untyped-def]
        yield self[0]


class TestData:
    def test_all_but_the_labels_is_that_of_the_data(self, segmenter: Path) -> None:
        data = labelled(Colours(), labels=str(segmenter))
        assert isinstance(data, LabelledDataset)
        part = data[1:]
        assert (data.name, data.ids, data.clusters) == ("colours", Colours.ids, Colours.clusters)
        assert (part.ids, part.clusters, part.signals(0)) == (Colours.ids[1:], ("d1", "d2"), 10)
        there = pickle.loads(pickle.dumps(part))
        assert [one.labels == two.labels for one, two in zip(part, there, strict=True)] == [True, True]

    def test_the_digest_has_what_labels_it_by_content(self, segmenter: Path) -> None:
        def digests() -> tuple[str | None, str]:
            data = labelled(Colours(), labels=str(segmenter))
            return digest_of_dataset(data).sha256, content_of_dataset(data)

        plain, first = digest_of_dataset(Colours()), digests()
        assert digests() == first
        assert plain.sha256 != first[0]
        file = segmenter.with_suffix(".onnx")
        content = bytearray(file.read_bytes())
        content[content.index(np.float32(1).tobytes())] ^= 1
        file.write_bytes(bytes(content))
        assert first[0] not in (found := digests())
        assert first[1] not in found

    def test_options_are_those_of_every_reader_and_others_are_refused_as_before(self) -> None:
        with pytest.raises(InputError, match="'world' has no option 'label': did you mean"):
            load("world:town", label="street")
        with pytest.raises(InputError, match=r"camera_height must be from 0\.3 to 5, got 20"):
            load("world:town", depth="street", camera_height="20")


class TestAsNeeded:
    def test_a_change_that_needs_labels_gets_them_and_one_that_needs_none_does_not_ask(self) -> None:
        plain = load("world:town", count=1, seed=5)[0].replace(
            labels=None, instances=None, boxes=None, depth=None
        )
        change = make_transform("add", element="pedestrian")
        with pytest.raises(
            NotApplicable, match="needs a label map, and the frame has none: labels=street estimates one"
        ):
            change(plain, 3)
        made = change(plain.replace(estimator=as_needed), 3)
        assert estimated_by(made.metadata) == "labels are estimated (street)"

        def never(frame: Frame, names: tuple[str, ...]) -> Frame:
            raise AssertionError(frame.id, names)

        assert "labels_from" not in make_transform("brightness")(plain.replace(estimator=never)).metadata

    def test_weather_follows_estimated_labels_and_depth_and_says_so(self) -> None:
        plain = load("world:town", count=1, seed=5)[0].replace(
            labels=None, instances=None, boxes=None, depth=None
        )
        made = make_transform("fog")(plain.replace(estimator=as_needed), measure=False)
        assert estimated_by(made.metadata) == "labels are estimated (street); depth is estimated (street)"
        assert not np.array_equal(made.image, make_transform("fog")(plain, measure=False).image)

    def test_own_labels_stay_where_only_depth_is_estimated(self) -> None:
        frame = load("world:town", count=1, seed=5)[0].replace(depth=None, estimator=as_needed)
        known = frame.with_known("labels", "depth")
        assert known.labels is frame.labels
        assert known.depth is not None
        assert np.isinf(known.depth[frame.label_map.mask("sky")]).all()

    def test_labels_that_are_known_are_not_estimated(self) -> None:
        frame = load("world:town", count=1, seed=5)[0]
        assert frame.replace(estimator=as_needed).with_known("labels").labels is frame.labels

    def test_instances_come_with_estimated_labels(self) -> None:
        frame = load("world:town", count=1, seed=5, labels="street")[0]
        assert frame.labels is not None
        assert frame.instances is not None
        things = frame.labels.mask("vehicle", "pedestrian", "bicyclist")
        assert not frame.instances[~things].any()
        assert isinstance(frame.labels, LabelMap)
