"""The changed images of a run, and whether data are those that it searched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.runs_for_reports import add, picture, requirement_of

from roadworthy.cases import Case, RecordDrive, Status, Verdict
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.images import read_image
from roadworthy.runs.changed_images import ChangedImages, check_searched, stored_images
from roadworthy.runs.store import RunStore


class Data:
    name = "world:town"

    def __init__(self, grey: int = 90) -> None:
        self.grey, self.ids = grey, ["a", "b"]

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Frame:
        return Frame(self.ids[index], picture(self.grey + index))

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))


def test_the_last_image_of_each_failing_case_is_the_changed_one(tmp_path: Path) -> None:
    rows: list[Any] = [("one", -1.0, {"frame": "a~rain(amount=1)"}, {}), ("two", "error", {"frame": "b"}, {})]
    add(tmp_path, [*rows, ("three", 1.0, {"frame": "c"}, {}), ("four", -2.0, {}, {})])
    first, last = stored_images(tmp_path)
    assert (first.case, first.original, first.failing) == ("one", "a", True)
    assert (last.case, last.original) == ("four", "four"), "without a frame it is the case itself"
    assert read_image(first.file).max() == 255, "the marked one, not the original"
    images = ChangedImages(tmp_path)
    assert (len(images), images.name) == (2, f"the images of {tmp_path}")
    assert [one.id for one in images] == ["one", "four"]
    np.testing.assert_array_equal(images[1].image, read_image(last.file))
    # Images may lie above, where several requirements share them.
    assert len(stored_images(next((tmp_path / "runs").glob("*/*")))) == 2


def test_a_run_without_images_says_how_to_get_them(tmp_path: Path) -> None:
    add(tmp_path, [("one", -1.0, {}, {})], images=False)
    with pytest.raises(InputError, match="has no images of changed frames: run it again with images"):
        stored_images(tmp_path)


def test_data_must_be_those_that_were_searched(tmp_path: Path) -> None:
    requirement = requirement_of("C1", method="coverage")
    place = tmp_path / "runs" / "c1" / "net"
    with RunStore(place, requirement, system="net", images=tmp_path / "images") as store:
        case = Case("original 1", "C1", (RecordDrive("-"),), {"frame": "b"}, cluster="b")
        verdict = Verdict("original 1", "C1", Status.NOT_APPLICABLE, reason="an original")
        store.append(case, verdict, [picture(91)])
    check_searched(tmp_path, Data())
    with pytest.raises(InputError, match="frame 'b' of world:town is another image than the one that"):
        check_searched(tmp_path, Data(95))
    (tmp_path / "search.json").write_text('{"data": "3 frames of world:town[0:9]"}')
    check_searched(tmp_path, Data())
    (tmp_path / "search.json").write_text('{"data": "3 frames of world:meadow"}')
    with pytest.raises(InputError, match="is a search on 3 frames of world:meadow, not on world:town"):
        check_searched(tmp_path, Data())
