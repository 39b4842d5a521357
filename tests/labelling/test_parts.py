"""The parts of labelling, each by itself: chains of sources, folders, geometry, and what is written."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.cases import InverseDepth
from roadworthy.datasets import ChosenFrames, load
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.labelling import cache, chain, estimated_by, fit
from roadworthy.labelling.chain import (
    OWN,
    Labelling,
    LabelSource,
    Opinion,
    OtherNetwork,
    _packed,
    _unpacked,
    sources_named,
)
from roadworthy.labelling.dataset import labelled, unlabelled
from roadworthy.labelling.fit import Misfit, misfit_of
from roadworthy.labelling.folder import LabelFolder
from roadworthy.labelling.geometry import boxes_of, focal_of, instances_of, metric_depth
from roadworthy.labelling.writing import write_labels

SHAPE = (10, 20)
VEHICLE, ROAD, SKY = 12, 1, 15


def flat(value: float, dtype: Any = np.float32) -> NDArray[Any]:
    return np.full(SHAPE, value, dtype)


def plain(id: str = "a", **known: Any) -> Frame:
    return Frame(id, np.zeros((*SHAPE, 3), np.uint8), **known)


@dataclass(frozen=True)
class Said(LabelSource):
    """Says the same of all frames, and counts how often it is asked."""

    opinion: Opinion = field(default_factory=Opinion, compare=False)
    asked: list[int] = field(default_factory=list, compare=False)

    @property
    def identity(self) -> str:
        return f"said {self.name}"

    def opinions(self, frames: Sequence[Frame]) -> list[Opinion]:
        self.asked.append(len(frames))
        return [self.opinion] * len(frames)


def says(name: str, *, estimates: bool = True, **opinion: Any) -> Said:
    return Said(name, f"{name} (told)", estimates, Opinion(**opinion))


def half_void() -> LabelMap:
    ids = flat(ROAD, np.uint8)
    ids[:, 10:] = 0
    return LabelMap(ids)


class TestChains:
    def test_later_sources_fill_only_what_is_void_and_are_asked_once(self) -> None:
        first = says("first", estimates=False, labels=half_void(), instances=flat(0, np.uint16))
        second = says("second", labels=LabelMap(flat(1, np.uint8), ("road", "lane")))
        third = says("third", labels=LabelMap(flat(SKY, np.uint8)))
        found = Labelling(labels=(says("silent"), first, second, third)).applied([plain(), plain("b")])
        for frame in found:
            assert frame.label_map.present() == {"road": 100, "lane": 100}
            assert frame.metadata["labels_from"] == "first, second (estimated)"
            assert frame.instances is not None
        assert (first.asked, second.asked, third.asked) == ([2], [2], []), "nothing was left to say"

    def test_void_is_void_whatever_its_number(self) -> None:
        ids = flat(0, np.uint8)
        ids[:, 10:] = 1
        known = says("known", labels=LabelMap(ids, ("road", "void")))
        whole = says("whole", labels=LabelMap(flat(0, np.uint8), ("sky", "road")))
        (frame,) = Labelling(labels=(known, whole)).applied([plain()])
        assert frame.label_map.present() == {"road": 100, "sky": 100}
        (frame,) = Labelling(labels=(whole, known)).applied([plain()])
        assert frame.label_map.present() == {"sky": 200}
        assert frame.metadata["labels_from"] == "whole (estimated)"

    def test_single_things_are_told_apart_in_estimated_labels_only(self) -> None:
        cars = LabelMap(flat(VEHICLE, np.uint8))
        for source, things in (
            (says("guess", labels=cars), 1),
            (says("map", estimates=False, labels=cars), None),
        ):
            (frame,) = Labelling(labels=(source,)).applied([plain()])
            assert (None if frame.instances is None else int(frame.instances.max())) == things

    def test_own_labels_have_no_other_name(self) -> None:
        own = plain(labels=half_void())
        (frame,) = Labelling(labels=(OWN, says("silent"))).applied([own])
        assert "labels_from" not in frame.metadata
        (frame,) = Labelling(labels=(OWN, says("other", labels=LabelMap(flat(SKY, np.uint8))))).applied([own])
        assert frame.metadata["labels_from"] == "own, other (estimated)"
        (frame,) = Labelling(labels=()).applied([own.replace(metadata={"weather": "rainy"})])
        assert (frame.labels, frame.instances, dict(frame.metadata)) == (None, None, {"weather": "rainy"})

    def test_depth_is_filled_where_it_is_unknown(self) -> None:
        half = flat(5)
        half[:, :10] = np.nan
        first, second, third = (
            says("first", depth=half),
            says("second", estimates=False, depth=flat(7)),
            says("third", depth=flat(9)),
        )
        (frame,) = Labelling(depth=(says("silent"), first, second, third)).applied([plain()])
        assert frame.depth is not None
        assert (frame.depth[:, 10:] == 5).all()
        assert (frame.depth[:, :10] == 7).all()
        assert frame.metadata == {"depth_from": "first (estimated), second"}
        assert third.asked == []
        (frame,) = Labelling(depth=(OWN,), labels=(says("silent"),)).applied([plain(depth=flat(3))])
        assert frame.depth is not None
        assert frame.metadata == {}
        (frame,) = Labelling(depth=(OWN, first)).applied([plain(depth=flat(3))])
        assert "depth_from" not in frame.metadata

    def test_relative_depth_becomes_metres_by_the_height_of_the_camera(self) -> None:
        rows = np.repeat(np.arange(100, dtype=np.float32)[:, None], 60, axis=1)
        labels = LabelMap(np.where(rows < 40, SKY, ROAD).astype(np.uint8))
        inverse = (np.maximum(rows + 0.5 - 40, 0) * 0.01).astype(np.float32)
        camera = {"intrinsic": {"fy": 80.0}, "extrinsic": {"z": 3.0}}
        image = np.zeros((100, 60, 3), np.uint8)
        frame = Frame("a", image, labels=labels)
        for known, height, focal in (
            ({}, 2.0, 30 / math.tan(math.radians(36))),
            ({"camera": camera}, 3.0, 80.0),
        ):
            (found,) = Labelling(depth=(says("d", inverse=inverse),), camera_height=2.0).applied(
                [frame.replace(metadata=known)]
            )
            assert found.depth is not None
            assert found.depth[79, 0] == pytest.approx(focal * height / 39.5, rel=1e-3)
            assert np.isinf(found.depth[:40]).all()
            assert found.depth[40, 0] <= 400
        own = says("d", inverse=inverse, labels=LabelMap(np.full((100, 60), SKY, np.uint8)))
        (found,) = Labelling(depth=(own,)).applied([frame])
        assert found.depth is not None, "what the frame knows to be road is believed first"
        assert found.metadata["depth_from"] == "d (estimated)"

    def test_boxes_come_from_boxes_or_from_single_things(self) -> None:
        cars = flat(0, np.uint8)
        cars[2:6, 3:9] = VEHICLE
        boxes = Boxes([[0, 0, 1, 1]], ["tree"])
        things = flat(0, np.uint16)
        things[2:6, 3:5], things[2:6, 5:9] = 4, 7
        for source, corners in (
            (says("boxes", boxes=boxes, labels=LabelMap(cars)), [[0, 0, 1, 1]]),
            (says("labels", labels=LabelMap(cars)), [[3, 2, 9, 6]]),
            (says("things", labels=LabelMap(cars), instances=things), [[3, 2, 5, 6], [5, 2, 9, 6]]),
        ):
            (frame,) = Labelling(boxes=(says("silent"), source)).applied([plain()])
            assert frame.boxes is not None
            assert frame.boxes.xyxy.tolist() == corners
            assert frame.metadata == {"boxes_from": f"{source.name} (estimated)"}
        with_labels = plain(labels=LabelMap(cars))
        (frame,) = Labelling(boxes=(OWN, says("silent"))).applied([with_labels])
        assert frame.boxes is None, "own labels are no own boxes"
        (frame,) = Labelling(boxes=(OWN, source)).applied([with_labels.replace(boxes=boxes)])
        assert frame.boxes is boxes
        assert frame.metadata == {}

    def test_a_map_of_another_size_names_who_said_it(self) -> None:
        small = LabelMap(np.zeros((5, 20), np.uint8))
        with pytest.raises(
            FrameError,
            match=r"the label map of odd for frame 'a' must have the size of its image, 20x10, got 20x5",
        ):
            Labelling(labels=(says("odd", labels=small),)).applied([plain()])
        with pytest.raises(FrameError, match=r"the depth of odd for frame 'a' .*, 20x10, got 5x10"):
            Labelling(depth=(says("odd", depth=np.ones((10, 5), np.float32)),)).applied([plain()])

    def test_a_chain_says_what_it_is(self) -> None:
        first, second = says("first", estimates=False), says("second")
        asked = Labelling(labels=(OWN, first), depth=(), boxes=(OWN,), camera_height=2.0)
        assert str(asked) == "labels by own,first (told), depth by none"
        assert not asked.estimates
        assert asked.identity == "labels=['own', 'said first'] depth=[] boxes=['own'] camera_height=2.0"
        chains = Labelling((second,)), Labelling(depth=(second,)), Labelling(boxes=(second,))
        assert all(one.estimates for one in chains)

    def test_what_is_estimated_is_told_with_its_verb(self) -> None:
        known = {
            "x_labels_from": "own, street (estimated)",
            "x_depth_from": "net (estimated)",
            "x_boxes_from": "folder:a",
        }
        assert estimated_by(known, "x_") == "labels are estimated (own, street); depth is estimated (net)"
        assert (
            estimated_by({"boxes_from": "net (estimated)", "labels_from": None})
            == "boxes are estimated (net)"
        )
        assert estimated_by(known) == ""

    def test_names_may_have_blanks_and_none_is_nobody(self) -> None:
        assert [one.name for one in sources_named("labels", " own , none,, street ")] == ["own", "street"]
        assert sources_named("depth", "none") == sources_named("depth", "") == ()

    def test_opinions_are_kept_whole(self) -> None:
        boxes = Boxes([[0, 0, 2, 2], [1, 1, 2, 3]], ["truck", "person"], scores=[0.25, 1.0])
        for said in (
            Opinion(labels=half_void(), inverse=flat(0.5)),
            Opinion(depth=flat(12.5)),
            Opinion(boxes=boxes),
            Opinion(boxes=Boxes.empty()),
            Opinion(boxes=boxes.replace(scores=None)),
            Opinion(),
        ):
            again = _unpacked(_packed(said))
            assert (again.labels, again.boxes) == (said.labels, said.boxes)
            for name in ("inverse", "depth"):
                one, two = getattr(said, name), getattr(again, name)
                assert (one is None) == (two is None)
                assert one is None or (two.dtype == np.float32 and (one == two).all())


class Net:
    """A network that answers with what it is told to, and counts."""

    name = "net"
    files: tuple[Path, ...] = ()
    history = 0

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked = 0

    def predict(self, frames: Sequence[Frame]) -> list[Any]:
        self.asked += len(frames)
        return [self.answer] * len(frames)


class TestNetworks:
    def test_answers_are_kept_where_image_and_files_decide_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(chain, "history_of", lambda system: system.history)
        weights = tmp_path / "weights"
        weights.write_bytes(b"1")
        frame = plain("kept")
        frame = frame.replace(image=np.full((*SHAPE, 3), 77, np.uint8))
        for files, history, asked in (((), 0, 2), ((weights,), 1, 2), ((weights,), 0, 1)):
            net: Any = Net(half_void())
            net.files, net.history = files, history
            for _ in range(2):
                source = OtherNetwork("net", "net", True, net)
                assert source.opinions([frame])[0].labels == half_void()
            assert net.asked == asked, (files, history)
        before = OtherNetwork("net", "net", True, net).identity
        weights.write_bytes(b"2")
        assert OtherNetwork("net", "net", True, net).identity != before

    def test_every_kind_of_answer_is_an_opinion(self) -> None:
        def said(answer: Any) -> Opinion:
            net: Any = Net(answer)
            return OtherNetwork("net", "net", True, net).opinions([plain()])[0]

        boxes = Boxes([[0, 0, 1, 1]], ["car"])
        assert said(boxes) == Opinion(boxes=boxes)
        relative, metric = (said(InverseDepth(flat(0.5), metric=metric)) for metric in (False, True))
        assert relative.inverse is not None
        assert (relative.depth, metric.inverse) == (None, None)
        assert metric.depth is not None
        assert (metric.depth == 2).all()
        with pytest.raises(
            InputError, match=r"net must answer frame 'a' with a label map, boxes or depth, got float"
        ):
            said(1.5)


class TestFolders:
    def write(self, path: Path, value: int, dtype: Any = np.uint8) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), flat(value, dtype))

    def test_maps_are_found_by_id_its_last_part_and_usual_endings(self, tmp_path: Path) -> None:
        (tmp_path / "classes.txt").write_text("\ufeffsky\nRoad\nwall\ncar\n", "utf-8")
        folder = LabelFolder.opened(tmp_path)
        assert folder.classes == ("sky", "road", "void", "vehicle")
        names = (
            "whole/a.png",
            "b.png",
            "c_L.png",
            "d_labelIds.png",
            "e_gtFine_labelIds.png",
            "f_train_id.png",
        )
        for number, name in enumerate(names):
            self.write(tmp_path / name, number % 4)
        found = [folder.labels(plain(f"whole/{one}")) for one in "abcdefg"]
        assert [one and next(iter(one.present())) for one in found] == [
            "sky", "road", "void", "vehicle", "sky", "road", None
        ]  # fmt: skip
        assert folder.depth(plain("b")) is None, "maps that lie there are label maps"
        self.write(tmp_path / "labels" / "b.png", 3)
        self.write(tmp_path / "instances" / "b.png", 300, np.uint16)
        assert (folder.labels(plain("c")), folder.instances(plain("c"))) == (None, None)
        labels, things = folder.labels(plain("b")), folder.instances(plain("x/b"))
        assert labels is not None
        assert labels.present() == {"vehicle": 200}
        assert things is not None
        assert (things == 300).all()

    def test_names_of_usual_lists_are_known(self, tmp_path: Path) -> None:
        (tmp_path / "classes.txt").write_text("Road\nCurb\ntrain\nplant\nwall\n")
        opened = LabelFolder.opened(tmp_path)
        assert (opened.classes, opened.notes) == (("road", "sidewalk", "vehicle", "tree", "void"), ())

    @pytest.mark.parametrize("file", ["classes.txt", "class_dict.csv", "labelling.json"])
    def test_names_that_nobody_knows_are_void_and_told(self, tmp_path: Path, file: str) -> None:
        text = {
            "classes.txt": "road\ntoastr\nskyy\n",
            "class_dict.csv": "name,r,g,b\nroad,1,1,1\ntoastr,2,2,2\nskyy,3,3,3\n",
            "labelling.json": '{"classes": ["road", "toastr", "skyy"]}',
        }[file]
        (tmp_path / file).write_text(text)
        opened = LabelFolder.opened(tmp_path)
        assert [*(opened.classes or opened.colors.values())] == ["road", "void", "void"]
        assert opened.notes == ("unknown classes are void: 'skyy' (did you mean 'sky'?), 'toastr'",)

    def test_depth_may_lie_in_the_folder_itself(self, tmp_path: Path) -> None:
        self.write(tmp_path / "a.png", 250, np.uint16)
        found = LabelFolder.opened(tmp_path, flat="depth").depth(plain())
        assert found is not None
        assert (found == 2.5).all()
        assert LabelFolder.opened(tmp_path, flat="depth").labels(plain()) is None

    def test_numbers_without_a_class_and_those_of_two_bytes(self, tmp_path: Path) -> None:
        (tmp_path / "classes.txt").write_text("road\nsky\n")
        folder = LabelFolder.opened(tmp_path)
        self.write(tmp_path / "a.png", 255)
        self.write(tmp_path / "b.png", 1, np.uint16)
        self.write(tmp_path / "c.png", 2)
        (void, sky) = (folder.labels(plain(one)) for one in "ab")
        assert void is not None
        assert sky is not None
        assert (void.present(), sky.present()) == ({"void": 200}, {"sky": 200})
        with pytest.raises(FrameError, match=r"c\.png: label id 2 has no class: there are 2 classes"):
            folder.labels(plain("c"))

    def test_a_folder_says_what_made_it(self, tmp_path: Path) -> None:
        assert LabelFolder.opened(tmp_path).made_by == ""
        assert not LabelFolder.opened(tmp_path).estimated
        empty = LabelFolder.opened(tmp_path).identity
        record = tmp_path / "labelling.json"
        record.write_text(json.dumps({"made_by": "me", "estimated": True, "classes": ["void", "road"]}))
        folder = LabelFolder.opened(tmp_path)
        assert (folder.made_by, folder.estimated, folder.classes) == (", made by me", True, ("void", "road"))
        assert folder.identity != empty
        (source,) = sources_named("labels", tmp_path.name, tmp_path.parent)
        assert (source.told, source.estimates) == (f"folder:{tmp_path.name}, made by me", True)
        assert LabelFolder.opened(tmp_path, "cityscapes-19").classes != folder.classes
        record.write_text("[]")
        with pytest.raises(
            InputError, match=r"labelling.json must be a JSON object, as `roadworthy data label`"
        ):
            LabelFolder.opened(tmp_path)
        with pytest.raises(InputError, match="expected a folder of maps, found a file at"):
            LabelFolder.opened(record)

    def test_the_table_of_colours_may_lie_beside_the_folder(self, tmp_path: Path) -> None:
        (tmp_path / "maps").mkdir()
        (tmp_path / "class_dict.csv").write_text("name,r,g,b\nroad,1,2,3\nwall,4,5,6\n")
        assert LabelFolder.opened(tmp_path / "maps").colors == {(1, 2, 3): "road", (4, 5, 6): "void"}
        assert LabelFolder.opened(tmp_path / "maps", "cityscapes-19").colors == {}
        (tmp_path / "class_dict.csv").write_text("name,r,g\nroad,1,2\n")
        with pytest.raises(InputError, match="expected the columns name, r, g, b, missing b"):
            LabelFolder.opened(tmp_path / "maps")


class TestGeometry:
    def test_specks_are_no_things_and_numbers_go_on_over_classes(self) -> None:
        ids = np.zeros((100, 200), np.uint8)
        ids[10:20, 10:20] = VEHICLE
        ids[50, 50:53], ids[60, 60:62] = VEHICLE, VEHICLE  # 3 of 20,000 pixels are the least
        ids[70:80, 70:80] = 11
        labels = LabelMap(ids)
        found = instances_of(labels)
        assert found.max() == 3
        assert not found[60].any()
        boxes = boxes_of(found, labels)
        assert boxes.classes == ("vehicle", "vehicle", labels.classes[11])
        assert boxes.xyxy.tolist() == [[10, 10, 20, 20], [50, 50, 53, 51], [70, 70, 80, 80]]

    def test_a_box_has_the_class_that_most_of_its_thing_has(self) -> None:
        ids = flat(VEHICLE, np.uint8)
        ids[:, :6] = ROAD
        things = flat(0, np.uint16)
        things[:, :9] = 2
        found = boxes_of(things, LabelMap(ids))
        assert found.classes == ("road",)
        assert found.track_ids is not None
        assert found.track_ids.tolist() == [2]
        assert len(boxes_of(flat(0, np.uint16), LabelMap(ids))) == 0

    def test_the_camera_of_the_data_is_used_as_far_as_it_is_known(self) -> None:
        assert focal_of(plain()) == (None, None)
        assert focal_of(plain(metadata={"camera": "front"})) == (None, None)
        assert focal_of(plain(metadata={"camera": {"intrinsic": {"fy": 9.0}}})) == (9.0, None)
        assert focal_of(plain(metadata={"camera": {"extrinsic": {"z": 1.2}, "intrinsic": None}})) == (
            None,
            1.2,
        )

    @pytest.mark.parametrize(
        ("road_from", "columns", "slope", "known"),
        [
            (40, 60, 0.01, True),
            (40, 60, -0.01, False),
            (92, 60, 0.01, False),
            (40, 2, 0.01, True),
            (40, 1, 0.01, False),
        ],
    )
    def test_metres_need_a_road_that_is_a_plane(
        self, road_from: int, columns: int, slope: float, known: bool
    ) -> None:
        rows = np.repeat(np.arange(100, dtype=np.float32)[:, None], 60, axis=1)
        ids = np.zeros((100, 60), np.uint8)
        ids[:20], ids[road_from:, :columns] = SKY, ROAD
        inverse = (np.maximum(rows + 0.5 - 30, 0) * slope).astype(np.float32)
        assert (metric_depth(inverse, LabelMap(ids)) is not None) == known

    def test_a_horizon_below_the_road_or_far_above_the_image_contradicts_it(self) -> None:
        rows = np.repeat(np.arange(100, dtype=np.float32)[:, None], 60, axis=1)
        labels = LabelMap(np.where(rows < 40, SKY, ROAD).astype(np.uint8))
        for sky, known in ((-0.1, True), (0.05, True), (0.5, False), (-0.88, True), (-0.95, False)):
            inverse = np.where(rows < 40, sky, (rows + 0.5 - 40) * 0.01).astype(np.float32)
            assert (metric_depth(inverse, labels) is not None) == known, sky

    def test_unknown_places_stay_unknown_and_do_not_count(self) -> None:
        rows = np.repeat(np.arange(100, dtype=np.float32)[:, None], 60, axis=1)
        labels = LabelMap(np.where(rows < 40, SKY, ROAD).astype(np.uint8))
        inverse = (np.maximum(rows + 0.5 - 40, 0) * 0.01).astype(np.float32)
        inverse[:, :20] = np.nan
        inverse[70:90, 20:30] = 3  # something on the road that the label map does not know
        depth = metric_depth(inverse, labels, focal=80.0, camera_height=1.5)
        assert depth is not None
        assert np.isnan(depth[40:, :20]).all()
        assert depth[79, 40] == pytest.approx(80 * 1.5 / 39.5, rel=0.03)


def test_a_misfit_says_where_the_map_would_fit() -> None:
    assert str(Misfit("a", None, 0.4567)) == (
        "a: its label map seems to be of another image: the street network agrees on 46% of its pixels"
    )
    assert str(Misfit("a", (12, -3), 1.0)) == (
        "a: its label map seems shifted; 12 pixels to the right and 3 up it would fit better, and the street "
        "network agrees on 100% of its pixels"
    )
    assert "12 pixels to the left and 3 down" in str(Misfit("a", (-12, 3), 1.0))


@pytest.mark.parametrize("agreeing", [5, 6, 7, 9])
def test_a_map_without_edges_under_its_borders_is_believed_where_street_agrees(
    agreeing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = flat(SKY, np.uint8)
    ids[5:], ids[9] = ROAD, 0
    seen = ids.copy()
    seen[agreeing:9], seen[9] = VEHICLE, SKY
    seen[0] = 0  # what one of both does not know does not count: eight rows are left
    street = says("street", labels=LabelMap(seen))
    monkeypatch.setattr(fit, "STREET_SOURCE", street)
    found = misfit_of(plain(labels=LabelMap(ids)))
    expected = None if (agreeing - 1) / 8 >= 0.7 else Misfit("a", None, (agreeing - 1) / 8)
    assert found == expected
    assert misfit_of(plain(labels=LabelMap(flat(ROAD, np.uint8)))) is None, "nothing can be told"
    assert misfit_of(plain(labels=LabelMap(ids), metadata={"labels_from": "x (estimated)"})) is None
    assert street.asked == [1]


@pytest.mark.parametrize(
    ("moved", "here", "best", "shift"),
    [((0, 0), 5.47, 5.47, (-1, 0)), ((8, 0), 3.03, 5.73, (-9, 0)), ((-5, 6), -0.08, 5.58, (4, -6))],
)
def test_borders_are_sought_where_the_edges_are(
    moved: tuple[int, int], here: float, best: float, shift: tuple[int, int]
) -> None:
    image = np.full((100, 200, 3), 90.0)
    image[30:70, 60:120], image[60:90, 140:180] = 200, (20, 60, 120)
    image += np.random.default_rng(3).normal(0, 6, image.shape)
    ids = np.full((100, 200), ROAD, np.uint8)
    ids[30:70, 60:120], ids[60:90, 140:180] = VEHICLE, SKY
    labels = LabelMap(np.roll(ids, moved[::-1], (0, 1)))
    found = fit._peak(Frame("a", np.clip(image, 0, 255).astype(np.uint8), labels=labels))
    assert found is not None
    assert found[:2] == pytest.approx((here, best), abs=0.02)
    assert found[2] == shift, "to the right and down, in pixels of the image"


def test_a_labelled_data_set_leaves_out_what_its_data_leaves_out() -> None:
    data: Any = labelled(Drive(), labels="none")
    assert [one.id for one in data] == list("abdefghi")
    assert data.skipped == {"c": "cut short"}
    assert data[1:3].clusters == ("b", "c")
    assert data.on_error == "skip"
    for name in ("boxes", "nothing", "_private"):
        with pytest.raises(AttributeError):
            getattr(data, name)


class Drive:
    """Nine frames, of which the third cannot be read."""

    name = "drive"
    on_error = "skip"

    def __init__(self, ids: tuple[str, ...] | None = tuple("abcdefghi")) -> None:
        if ids is not None:
            self.ids = ids

    def __len__(self) -> int:
        return 9

    def __getitem__(self, index: int) -> Frame:
        if index == 2:
            raise FrameError("cut short")
        return plain("abcdefghi"[index])

    def __iter__(self) -> Any:
        return (self[index] for index in range(9) if index != 2)


class TestWriting:
    def test_depth_is_in_centimetres_with_unknown_and_infinite(self, tmp_path: Path) -> None:
        depth = flat(1.234)
        depth[0], depth[1], depth[2], depth[3], depth[4] = np.nan, np.inf, 0.0, 655.34, 9999
        source = says("net", depth=depth, labels=LabelMap(flat(0, np.uint8), ("tree", "sky")))
        labelling = Labelling(labels=(source,), depth=(source,), camera_height=1.5)
        told: list[tuple[int, int]] = []
        done = write_labels(Drive(), labelling, tmp_path / "x" / "out", lambda *at: told.append(at))
        assert (done.frames, done.before, done.without_depth, done.skipped) == (8, 0, (), {"c": "cut short"})
        assert told == [(9, 9)]
        stored = cv2.imread(str(tmp_path / "x" / "out" / "depth" / "a.png"), cv2.IMREAD_UNCHANGED)
        assert stored is not None
        assert stored.dtype == np.uint16
        assert stored[:6, 0].tolist() == [0, 65535, 1, 65534, 65534, 123]
        ids = cv2.imread(str(tmp_path / "x" / "out" / "labels" / "i.png"), cv2.IMREAD_UNCHANGED)
        assert ids is not None
        assert LabelMap(np.asarray(ids, np.uint8)).present() == {"tree": 200}
        record = json.loads((tmp_path / "x" / "out" / "labelling.json").read_text())
        assert {key: record[key] for key in ("made_by", "estimated", "data", "camera_height")} == {
            "made_by": "labels by net (told), depth by net (told)",
            "estimated": True,
            "data": "drive",
            "camera_height": 1.5,
        }
        again = write_labels(Drive(), labelling, tmp_path / "x" / "out")
        assert (again.frames, again.before) == (8, 8)

    def test_frames_without_depth_are_named_and_batches_are_of_eight(self, tmp_path: Path) -> None:
        source = says("net", labels=LabelMap(flat(1, np.uint8)))
        told: list[tuple[int, int]] = []
        data = Drive(None)
        done = write_labels(
            data, Labelling((source,), (source,)), tmp_path / "out", lambda *at: told.append(at)
        )
        assert done.without_depth == tuple("abdefghi")
        assert done.skipped == {"2": "cut short"}
        assert source.asked == [8]
        data.on_error = "raise"
        with pytest.raises(FrameError, match="cut short"):
            write_labels(data, Labelling((source,)), tmp_path / "other")
        done = write_labels(Drive(), Labelling((source,), ()), tmp_path / "third")
        assert done.without_depth == (), "nobody asked for depth"

    def test_another_labelling_is_named(self, tmp_path: Path) -> None:
        source, other = (says(one, labels=LabelMap(flat(1, np.uint8))) for one in ("net", "other"))
        write_labels(Drive(), Labelling((source,)), tmp_path)
        told = (
            r"holds maps made by labels by net \(told\), and now it is labels by other \(told\): choose a new"
        )
        with pytest.raises(InputError, match=told):
            write_labels(Drive(), Labelling((other,)), tmp_path)

    def test_a_folder_that_cannot_be_made_or_read_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match=r"cannot make the folder .*file: File exists"):
            write_labels(Drive(), Labelling(), tmp_path / "file")
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "labelling.json").write_text('"odd"')
        with pytest.raises(InputError, match="holds maps made by odd, and now it is labels by none: choose"):
            write_labels(Drive(), Labelling(labels=()), tmp_path / "out")


def test_the_cache_lies_where_the_system_keeps_such_things(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value, folder in (
        (cache.FOLDER, "/mine", Path("/mine/labels")),
        (cache.FOLDER, "OFF", None),
        (cache.FOLDER, "", Path("/xdg/roadworthy/labels")),
        ("XDG_CACHE_HOME", "", Path.home() / ".cache/roadworthy/labels"),
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
        monkeypatch.setenv(variable, value)
        assert cache._folder() == folder


def test_data_without_what_labels_it_has_the_same_frames() -> None:
    inner: Any = load("world:town", count=4)
    assert unlabelled(inner) == (inner, None)
    data: Any = labelled(inner, labels="none")
    ids = inner.ids
    assert unlabelled(data)[0] is inner
    part, labelling = unlabelled(data[1:3])
    assert labelling is not None
    assert [one.id for one in part] == list(ids[1:3])
    chosen, labelling = unlabelled(ChosenFrames("some", data, (3, 0)))
    assert str(labelling) == "labels by none"
    assert all(one.labels is not None for one in chosen)


def test_the_height_of_a_camera_has_borders() -> None:
    data = load("world:town", count=1)
    for height in (0.3, 5.0):
        labelled(data, labels="none", camera_height=height)
    for height in (0.29, 5.01, math.nan):
        with pytest.raises(InputError, match=r"camera_height must be from 0\.3 to 5, got"):
            labelled(data, labels="none", camera_height=height)
