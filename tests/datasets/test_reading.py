"""What readers of data share: names of classes and files, signals beside a camera, and some of the frames."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from roadworthy.datasets import BaseDataset, ChosenFrames, load
from roadworthy.datasets._base import (
    class_names_of,
    classes_by_color,
    existing_folder,
    file_names,
    is_film,
    named_meaning,
    natural_order,
    placed,
    stem_of,
    telling,
)
from roadworthy.datasets._load import fitting_options, reader_for, sample_of, shuffled_clusters, spread
from roadworthy.datasets._recordings import SignalTracks, track_of, turned_wheels
from roadworthy.datasets.summary import DatasetSummary, frame_facts, spread_frames
from roadworthy.errors import FrameError, InputError, OntologyError, UnknownNameError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals, SignalUnits

GREY = np.zeros((4, 6, 3), np.uint8)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (None, {}),
        ("", {}),
        (
            " rider = bicyclist , dog=none,cat=,x=VOID,",
            {"rider": "bicyclist", "dog": None, "cat": None, "x": None},
        ),
        ({"rider": "cyclist", "dog": None, "x": "void"}, {"rider": "cyclist", "dog": None, "x": None}),
    ],
)
def test_class_names_are_said_in_text_or_in_a_mapping(given: Any, names: dict[str, str | None]) -> None:
    assert class_names_of(given) == names


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("rider", "class_names must be like rider=bicyclist,van=vehicle, got 'rider'"),
        ("=car", "class_names must be like rider=bicyclist,van=vehicle, got '=car'"),
        (["rider"], r"class_names must map names to words of the ontology, got \['rider'\]"),
        ({3: "car"}, "class_names must map names to words of the ontology, got 3: 'car'"),
        ({"van": 3}, "class_names must map names to words of the ontology, got 'van': 3"),
        ("van=vehikle", r"class_names\['van'\]: 'vehikle' is not in the ontology: did you mean 'vehicle"),
    ],
)
def test_other_class_names_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        class_names_of(given)


def test_the_user_goes_before_the_format_and_the_format_before_the_ontology() -> None:
    known = {"van": ("vehicle", {"type": "box"}), "car": ("tree", {})}
    assert named_meaning("van", {"van": "truck"}, known) == ("vehicle", {"type": "truck"})
    assert named_meaning("van", {"van": None}, known) is None
    assert named_meaning("van", {"car": "truck"}, known) == ("vehicle", {"type": "box"})
    assert named_meaning("van", {}, {}) == ("vehicle", {"type": "van"})
    with pytest.raises(OntologyError, match="'vna' is not in the ontology"):
        named_meaning("vna", {}, known)


def test_colours_need_a_class_that_is_known() -> None:
    colors = {(1, 2, 3): "Car", (4, 5, 6): "Dog"}
    known = {"Car": "vehicle", "Dog": "tree"}
    assert classes_by_color(Path("a"), colors, known, "Dog=none") == {(1, 2, 3): "vehicle", (4, 5, 6): None}
    with pytest.raises(
        InputError,
        match=r"^list.txt: the class 'Dog' of colour \(4, 5, 6\) is unknown: say what it means with "
        r"class_names=Dog=..., or Dog=none for void$",
    ):
        classes_by_color(Path("list.txt"), colors, {"Car": "vehicle"}, None)


def test_boxes_are_cut_off_only_where_they_reach_far_beyond() -> None:
    near = Boxes([[-1, -1, 7, 5]], ["car"])
    assert placed(near, 6, 4, "error") == (near, {})
    far = Boxes([[0.0, 0, 1, 1], [0.0, 0, 7.5, 4], [-9.0, 0, 3, 4]], ["car", "tree", "car"])
    with pytest.raises(
        FrameError,
        match=r"box 1 \(tree\) at \(0, 0, 7.5, 4\) reaches beyond the image of 6x4: .* outside=clip",
    ):
        placed(far, 6, 4, "error")
    cut, told = placed(far, 6, 4, "clip")
    assert cut.xyxy.tolist() == [[0, 0, 1, 1], [0, 0, 6, 4], [0, 0, 3, 4]]
    assert told == {"clipped_boxes": 2}


def test_files_come_in_natural_order_without_hidden_ones(tmp_path: Path) -> None:
    for name in (
        "b/10.PNG",
        "b/9.png",
        "a2.jpg",
        "A10.jpeg",
        ".hidden.png",
        "a2.txt",
        ".git/x.png",
        "b/c/1.bmp",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert file_names(tmp_path) == ["a2.jpg", "A10.jpeg"]
    assert file_names(tmp_path, recursive=True) == ["a2.jpg", "A10.jpeg", "b/9.png", "b/10.PNG", "b/c/1.bmp"]
    assert file_names(tmp_path, (".txt",)) == ["a2.txt"]
    assert sorted(["a01", "A1", "a1", "1a", "a"], key=natural_order) == ["1a", "a", "A1", "a01", "a1"]
    assert [stem_of(one) for one in ("a/b.c.png", r"a\b", ".hidden", "b")] == ["b.c", "b", ".hidden", "b"]
    (tmp_path / "a.MP4").touch()
    assert is_film(tmp_path / "a.MP4")
    assert not is_film(tmp_path / "b.mp4")
    assert not is_film(tmp_path / "a2.txt")


def test_a_folder_that_is_none_says_what_lies_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for name, came in (("file", "a file"), ("none", "nothing")):
        with pytest.raises(InputError, match=f"^the data must be a folder, found {came} at .*{name}$"):
            existing_folder(tmp_path / name, "the data")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert existing_folder("~", "the data") == tmp_path


def test_what_goes_wrong_in_a_file_is_told_with_the_file() -> None:
    path = Path("log.bag")

    def told(error: Exception) -> str:
        with pytest.raises(InputError) as caught, telling(path, "is it a bag?"):
            raise error
        return f"{type(caught.value).__name__} {caught.value}"

    assert told(FrameError("line 3")) == "FrameError log.bag: line 3"
    assert told(FrameError("log.bag: line 3")) == "FrameError log.bag: line 3"
    assert told(ValueError("a\nb")) == "InputError log.bag cannot be read: ValueError: a; is it a bag?"
    assert len(told(ValueError("x" * 500))) < 260
    with pytest.raises(UnknownNameError), telling(path, ""):
        raise UnknownNameError("in log.bag")


class TestTracks:
    UNITS = SignalUnits("km/h", "deg", "left", 2.0)

    def read(self, folder: Path, text: str, unit: Any = "ms", offset: float = 1.0) -> SignalTracks:
        (folder / "signals.csv").write_text(text)
        return SignalTracks.read(folder / "signals.csv", self.UNITS, unit, offset)

    def test_signals_lie_between_values_that_are_near(self, tmp_path: Path) -> None:
        tracks = self.read(
            tmp_path, "time,steering,speed,x\n3000,4,,1\n1000,8,36,1\n2000,,72,1\n4001,4,72,1\n9000,,,1\n"
        )
        assert set(tracks.tracks) == {"speed", "steering"}
        assert tracks.at(0.0) == Signals(speed=10.0, steering=-4.0, timestamp=0.0)
        assert tracks.at(0.5) == Signals(speed=15.0, timestamp=0.5), "steering is 2 s away"
        assert tracks.at(1.0) == Signals(speed=20.0, timestamp=1.0)
        assert tracks.at(2.5).steering is None, "1.001 s are too much"
        assert tracks.at(2.0).steering == -2.0
        for time in (-0.1, 3.1, 99.0):
            assert tracks.at(time) == Signals(timestamp=time)
        assert tracks.at(None) == Signals()

    def test_files_without_what_is_needed_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="expected the columns time, missing time; got speed"):
            self.read(tmp_path, "speed\n1\n")
        with pytest.raises(
            InputError, match="needs a column speed or steering or acceleration or throttle or brake"
        ):
            self.read(tmp_path, "time,gear\n1,2\n")
        with pytest.raises(FrameError, match="line 2: time must be a finite number, got ''"):
            self.read(tmp_path, "time,speed\n,2\n")

    def test_values_are_sorted_by_time_and_unknown_ones_left_out(self) -> None:
        times, values = track_of([3, 1, 2, 2], [30.0, None, 20.0, 21.0])
        assert (times.tolist(), values.tolist()) == ([2, 2, 3], [20, 21, 30])

    def test_the_wheels_turn_as_the_vehicle_does(self) -> None:
        right = turned_wheels(10.0, -0.2, 2.7)
        assert right == pytest.approx(math.degrees(math.atan(0.054)))
        assert right is not None
        assert turned_wheels(10.0, 0.2, 2.7) == -right
        assert turned_wheels(-10.0, 0.2, 2.7) == right
        assert turned_wheels(1.0, 0.0, 2.7) == 0
        assert turned_wheels(0.99, 0.1, 2.7) is None


class Numbers(BaseDataset):
    def __init__(self, count: int = 5, on_error: Any = "raise") -> None:
        super().__init__("numbers", [f"n{number}" for number in range(count)], on_error=on_error)

    def read(self, number: int) -> Frame:
        if number == 3:
            raise FrameError("n3 is cut short")
        return Frame(self.all_ids[number], GREY, signals=Signals(timestamp=number / 10))


class TestSome:
    def test_frames_are_spread_evenly(self) -> None:
        assert spread(10, 3) == [0, 3, 6]
        assert spread(3, 3) == [0, 1, 2]
        assert spread(0, 3) == spread(3, 0) == []
        data = Numbers()
        assert sample_of(data, None) is sample_of(data, 5) is data
        some = sample_of(data, 2)
        assert (some.name, len(some), [one.id for one in some]) == ("2 frames of numbers", 2, ["n0", "n2"])
        with pytest.raises(InputError, match="numbers has no frames"):
            sample_of(Numbers(0), 2)

    def test_frames_are_chosen_by_id_in_the_order_of_the_data(self) -> None:
        chosen = ChosenFrames.named("mine", Numbers(), ["n4", "n1", "n4"])
        assert (chosen.name, chosen.ids, len(chosen)) == ("mine", ("n1", "n4"), 2)
        assert chosen.sampled(1).ids == ("n1",)
        assert chosen.units is None
        with pytest.raises(
            InputError, match="numbers has 5 frames, and none is 'n9': known names are n0, n1"
        ):
            ChosenFrames.named("mine", Numbers(), ["n9"])

        class Nameless:
            name = "nameless"

        nameless: Any = Nameless()
        with pytest.raises(
            InputError, match="nameless does not list frame ids, so frames cannot be chosen by id"
        ):
            ChosenFrames.named("mine", nameless, ["n1"])
        with pytest.raises(
            InputError, match="nameless lists no frames beforehand, so a run cannot end early"
        ):
            shuffled_clusters(nameless, np.random.default_rng(0))

    def test_what_cannot_be_read_is_left_out_only_where_the_data_says_so(self) -> None:
        assert [one.id for one in ChosenFrames("x", Numbers(on_error="skip"), [4, 3, 2])] == ["n4", "n2"]
        with pytest.raises(FrameError, match="n3 is cut short"):
            list(ChosenFrames("x", Numbers(), [4, 3, 2]))

    def test_only_frames_that_lack_something_are_given_somebody_who_estimates(self) -> None:
        def estimator(frame: Frame, names: tuple[str, ...]) -> Frame:
            return frame

        labels = LabelMap(np.zeros((4, 6), np.uint8))
        known = Frame("known", GREY, labels=labels, depth=np.ones((4, 6), np.float32))
        before = Frame("before", GREY)
        data: Any = [Frame("a", GREY, previous=[before]), known]
        first, second = ChosenFrames("x", data, [0, 1], estimator=estimator)
        assert (first.estimator, first.previous[0].estimator) == (estimator, estimator)
        assert second.estimator is None
        flat = Frame("flat", GREY, labels=labels)
        assert ChosenFrames("x", cast(Any, [flat]), [0], estimator=estimator)[0].estimator is estimator
        assert ChosenFrames("x", data, [0])[0].estimator is None

    def test_data_that_is_made_is_hashed_as_a_whole(self) -> None:
        world = load("world:town", count=3)
        assert ChosenFrames("x", world, [1]).hashed is world
        numbers = ChosenFrames("x", Numbers(), [1], history=2, together="data").hashed
        assert isinstance(numbers, ChosenFrames)
        assert (numbers.indices, numbers.history, numbers.together) == ([1], 0, "data")


@pytest.mark.parametrize(
    ("name", "format"), [("a.json", "coco"), ("a.yaml", "yolo"), ("a.csv", "table"), ("a.xyz", "format")]
)
def test_a_path_that_several_readers_know_names_the_likely_one(
    tmp_path: Path, name: str, format: str
) -> None:
    (tmp_path / name).touch()
    with pytest.raises(
        UnknownNameError, match=f"is a path: write the format .* such as '{format}:{tmp_path}"
    ):
        reader_for(str(tmp_path / name))


def test_a_reference_has_a_name_and_options_are_those_of_its_reader() -> None:
    with pytest.raises(
        InputError, match="a data set is written name or name:path, such as 'world:town', got ':a'"
    ):
        reader_for(":a")
    with pytest.raises(UnknownNameError, match="there is no data set 'wrold'; did you mean 'world'"):
        reader_for("wrold:town")
    assert fitting_options("world", count=0, seed=None, nosuch=1) == {"count": 0}


def test_a_whole_summary() -> None:
    many = Counter({f"place {number:02}": 1 for number in range(14)})
    frames = [
        Frame(
            f"f{number}",
            GREY,
            boxes=Boxes([[0, 0, 1, 1]] * 2, ["truck", "person"]) if number else None,
            labels=LabelMap(np.repeat(np.arange(4, dtype=np.uint8)[:, None], 6, axis=1))
            if number == 1
            else None,
            signals=Signals(
                speed=number / 3, brake=0.5, timestamp=1e9 + number / 2, steering=7.0 if number < 2 else None
            ),
            metadata={"place": place, "lap": number, "clipped_boxes": 2 if number == 3 else "?"},
        )
        for number, place in enumerate(many)
    ]
    summary = DatasetSummary.of(frames)
    assert summary.lines() == {
        "sizes": "6x4 14",
        "frames with": "boxes 13, labels 1",
        "place": ", ".join(f"place {number:02} 1" for number in range(12)) + ", and 2 more",
        "clipped_boxes": "? 13",
        "boxes": "truck 13, pedestrian 13",
        "clipped": "boxes 2",
        "pixels": ", ".join(f"{name} 25.0%" for name in LabelMap(np.zeros((1, 1), np.uint8)).classes[:4]),
        "signals": "speed 0 to 4.33, steering 7 in 2 frames, brake 0.5, timestamp over 6.5 s",
    }
    assert summary.document()["frames_with"] == {"boxes": 13, "labels": 1}
    assert frame_facts(frames[0]) == {
        "id": "f0",
        "size": [6, 4],
        "signals": {"speed": 0.0, "brake": 0.5, "timestamp": 1e9, "steering": 7.0},
        "boxes": None,
        "metadata": {"place": "place 00", "lap": 0, "clipped_boxes": "?"},
    }
    assert frame_facts(frames[1])["boxes"] == {"truck": 1, "pedestrian": 1}
    alone = DatasetSummary.of([Frame("a", GREY, signals=Signals(timestamp=3.0))])
    assert alone.lines() == {"sizes": "6x4 1", "signals": "timestamp 3"}


def test_a_reader_that_cannot_skip_gives_no_such_advice() -> None:
    class Fixed(BaseDataset):
        def __init__(self, path: str = "") -> None:
            super().__init__("fixed", ["a"])

        def read(self, number: int) -> Frame:
            raise FrameError("a is cut short")

    with pytest.raises(FrameError, match=r"^a is cut short$"):
        spread_frames(Fixed(), 1, lambda items, _: items)
