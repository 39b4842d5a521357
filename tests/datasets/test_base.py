from __future__ import annotations

import pickle

import numpy as np
import pytest

from roadworthy.cases import Dataset
from roadworthy.datasets import BaseDataset
from roadworthy.frames import Frame


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
