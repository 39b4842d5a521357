from __future__ import annotations

import pickle

import numpy as np
import pytest

from roadworthy.cases import Dataset
from roadworthy.datasets import BaseDataset, OnError
from roadworthy.datasets.summary import DatasetSummary
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals


class Counting(BaseDataset):
    """Frames whose pixels are their number; remembers what was read."""

    def __init__(self, count: int) -> None:
        super().__init__("counting", [f"frame-{number}" for number in range(count)])
        self.read_numbers: list[int] = []

    def read(self, number: int) -> Frame:
        self.read_numbers.append(number)
        return Frame(self.all_ids[number], np.full((2, 2, 3), number, np.uint8))


def values(data: BaseDataset) -> list[int]:
    return [int(frame.image[0, 0, 0]) for frame in data]


def test_nothing_is_read_before_it_is_asked_for() -> None:
    data = Counting(100)
    part = data[20:80:2]
    assert (len(data), len(part), part.ids[0]) == (100, 30, "frame-20")
    assert data.read_numbers == []
    assert data[np.int64(7)].id == "frame-7"
    assert data.read_numbers == [7]


def test_it_is_a_data_set() -> None:
    assert isinstance(Counting(3), Dataset)


@pytest.mark.parametrize(("index", "id"), [(0, "frame-0"), (9, "frame-9"), (-1, "frame-9"), (-10, "frame-0")])
def test_negative_indices_count_back(index: int, id: str) -> None:
    assert Counting(10)[index].id == id


@pytest.mark.parametrize("index", [10, -11])
def test_an_index_outside_says_how_many_frames_there_are(index: int) -> None:
    with pytest.raises(IndexError, match=f"counting has 10 frames, got index {index}"):
        Counting(10)[index]


@pytest.mark.parametrize(
    "cut", [slice(2, 5), slice(None, None, -1), slice(-3, None), slice(8, 2, -2), slice(5, 5), slice(0, 99)]
)
def test_slices_are_those_of_a_list(cut: slice) -> None:
    numbers = list(range(10))
    part = Counting(10)[cut]
    assert values(part) == numbers[cut]
    assert values(part[1:]) == numbers[cut][1:]
    assert list(part.ids) == [f"frame-{number}" for number in numbers[cut]]
    if numbers[cut]:
        assert part[-1].id == f"frame-{numbers[cut][-1]}"


def test_a_slice_says_in_its_name_what_it_holds() -> None:
    data = Counting(10)
    assert data.name == data[:].name == "counting"
    assert data[2:8].name == "counting[2:8]"
    assert data[2:8][::2].name == "counting[2:8:2]"
    assert data[::-1].name == "counting[9::-1]"
    assert repr(data[2:8]) == "Counting('counting[2:8]', 6 frames)"


def test_a_slice_travels_to_another_process() -> None:
    part = pickle.loads(pickle.dumps(Counting(10)[3:6]))
    assert values(part) == [3, 4, 5]


class Holed(Counting):
    """Frames of which every third cannot be read."""

    def __init__(self, count: int, on_error: OnError = "raise") -> None:
        super().__init__(count)
        BaseDataset.__init__(self, "holed", self.all_ids, on_error=on_error)
        self.mended = False

    def read(self, number: int) -> Frame:
        if number % 3 == 0 and not self.mended:
            raise FrameError(f"{number}.png is cut short")
        return super().read(number)


def test_a_frame_that_cannot_be_read_ends_iteration() -> None:
    data = Holed(5)
    with pytest.raises(FrameError, match=r"0\.png is cut short"):
        list(data)
    assert data.skipped == {}


def test_iteration_can_leave_out_and_count_what_cannot_be_read() -> None:
    data = Holed(8, "skip")
    assert data.skipped == {}
    assert values(data) == values(data) == [1, 2, 4, 5, 7]
    assert data.skipped == {
        "frame-0": "0.png is cut short",
        "frame-3": "3.png is cut short",
        "frame-6": "6.png is cut short",
    }
    assert len(data) == 8
    with pytest.raises(FrameError, match=r"3\.png is cut short"):
        data[3]


def test_a_slice_knows_which_of_its_own_frames_were_skipped() -> None:
    data = Holed(8, "skip")
    part = data[2:5]
    assert values(part) == [2, 4]
    assert list(part.skipped) == ["frame-3"]
    assert list(data.skipped) == ["frame-3"]
    assert list(data[4:].skipped) == []
    assert values(data[::-1]) == [7, 5, 4, 2, 1]
    assert list(data[::-1].skipped) == ["frame-6", "frame-3", "frame-0"]


def test_a_frame_that_can_be_read_again_is_no_longer_skipped() -> None:
    data = Holed(4, "skip")
    list(data)
    data.mended = True
    assert values(data) == [0, 1, 2, 3]
    assert data.skipped == {}


def test_what_was_skipped_travels_with_the_data_set() -> None:
    data = Holed(4, "skip")
    list(data)
    assert pickle.loads(pickle.dumps(data)).skipped == data.skipped


def test_on_error_is_raise_or_skip() -> None:
    with pytest.raises(InputError, match="on_error must be one of raise, skip, got 'ignore'"):
        Holed(3, "ignore")  # type: ignore[arg-type]


def test_ids_must_differ() -> None:
    class Twins(Counting):
        def __init__(self) -> None:
            BaseDataset.__init__(self, "twins", ["a", "b", "a"])

    with pytest.raises(InputError, match="twins: ids of frames must differ, got 2 frames with the id 'a'"):
        Twins()


def test_a_summary_counts_each_thing_among_the_frames_that_tell_it() -> None:
    grey = np.zeros((4, 6, 3), np.uint8)
    half = LabelMap(np.repeat(np.array([[1], [2]], np.uint8), 3, axis=1))
    frames = [
        Frame("a", grey, signals=Signals(speed=4.0), metadata={"weather": "rainy"}),
        Frame(
            "b", grey, signals=Signals(speed=8.0, steering=-1.0), boxes=Boxes([[0, 0, 2, 2]] * 3, ["car"] * 3)
        ),
        Frame("c", np.zeros((2, 3, 3), np.uint8), labels=half, boxes=Boxes.empty()),
    ]
    told = DatasetSummary.of(frames).document()
    assert told["sizes"] == {"6x4": 2, "3x2": 1}
    assert told["frames_with"] == {"boxes": 2, "labels": 1}
    assert told["boxes"] == {"car": 3}
    assert told["signals"] == {
        "speed": {"frames": 2, "min": 4.0, "mean": 6.0, "max": 8.0},
        "steering": {"frames": 1, "min": -1.0, "mean": -1.0, "max": -1.0},
    }
    assert told["conditions"] == {"weather": {"rainy": 1}}
    labels = told["labels"]
    assert isinstance(labels, dict)
    assert list(labels.values()) == [0.5, 0.5]
