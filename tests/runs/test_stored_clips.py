"""What stored clips are shown by, and what they are not used for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from roadworthy.cases import Requirement, Scalar
from roadworthy.datasets import WorldDataset
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.report.rules import shrunk_violations
from roadworthy.rules.method import RulesMethod
from roadworthy.rules.shrinking import Violation
from roadworthy.runs import read_rows, run
from roadworthy.runs.changed_images import stored_images
from roadworthy.runs.comparison import compare
from roadworthy.runs.sinks.fiftyone_groups import export_fiftyone
from roadworthy.runs.store import StoredRun, clip_images, shown_images

RULE = Requirement("R", "If it rains, the ego-vehicle should slow down within 1 s.", "rules")
DATA = WorldDataset("town", count=1, size="96x48", fps=10)


CLIP: dict[str, Scalar] = {
    "images": "a0 a1 b0 b1 c0 c1", "param.change.1": "rain", "param.change.2": None, "param.clip": 1.5,
    "measure.decides": 1,
}  # fmt: skip


def test_the_images_of_a_clip_are_those_of_each_of_its_frames() -> None:
    assert clip_images(CLIP) == [["a0", "a1"], ["b0", "b1"], ["c0", "c1"]]
    assert clip_images({**CLIP, "param.change.2": "night"}) == [["a0", "a1", "b0"], ["b1", "c0", "c1"]]
    assert clip_images({**CLIP, "param.clip": None}) == [["a0", "a1", "b0", "b1", "c0", "c1"]]


def test_a_clip_is_shown_by_the_frame_that_decides_and_a_single_frame_by_all() -> None:
    assert shown_images(CLIP) == ["b0", "b1"]
    assert shown_images({**CLIP, "measure.decides": 0}) == ["a0", "a1"]
    assert shown_images({**CLIP, "measure.decides": None}) == ["a0", "a1"]
    assert shown_images({"images": "a0 a1"}) == ["a0", "a1"]
    # Of what passes no images are kept.
    assert shown_images({**CLIP, "images": "", "measure.decides": 0}) == []
    assert shown_images({"images": None}) == []


class Driver:
    """Slows down for what is changed up to some time of a clip; below 0 it fails in its midst."""

    name = "driver"

    def __init__(self, ends: float) -> None:
        self.ends = ends

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        if self.ends < 0 and any((one.signals.timestamp or 0.0) > 0.5 for one in frames):
            raise RuntimeError("too late")
        slow = ("~" in one.id and (one.signals.timestamp or 0.0) <= self.ends for one in frames)
        return [Signals(speed=8.0 if one else 10.0, steering=0.0) for one in slow]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a run that passes and one that forgets too soon, of one clip."""
    folder = tmp_path_factory.mktemp("runs")
    for name, ends in (("first", 9.0), ("second", 0.5)):
        run(RulesMethod(), RULE, DATA, Driver(ends), out=folder / name, images="all")
    return folder / "first", folder / "second"


def test_a_clip_is_compared_by_the_frame_that_decides(stored: tuple[Path, Path]) -> None:
    first, second = stored
    (row,) = read_rows(second)
    assert int(str(row["measure.decides"])) > 0
    (difference,) = compare(StoredRun.open(first), StoredRun.open(second)).differences
    (case,) = difference.examples_broken
    assert case.images_after.split() == shown_images(row) != clip_images(row)[0]
    (passed,) = read_rows(first)
    assert case.images_before.split() == shown_images(passed)


def test_a_clip_is_exported_by_the_frame_that_decides(stored: tuple[Path, Path], tmp_path: Path) -> None:
    export_fiftyone(StoredRun.open(stored[1]), tmp_path / "out")
    samples = json.loads((tmp_path / "out" / "samples.json").read_text())["samples"]
    (row,) = read_rows(stored[1])
    assert [Path(one["filepath"]).stem for one in samples] == shown_images(row)


def test_clips_are_no_material_for_training(stored: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="has no images of changed frames"):
        stored_images(stored[1])


def test_clips_are_not_shrunk(stored: tuple[Path, Path]) -> None:
    (row,) = read_rows(stored[1])
    violation = Violation(str(row["param.frame"]), int(str(row["param.seed"])))
    with pytest.raises(InputError, match="looked for in single frames, and this rule is tried on clips"):
        shrunk_violations(RulesMethod().plan(RULE), RULE, DATA, Driver(0.5), [violation])


def test_a_clip_without_a_verdict_is_a_clip_as_well(stored: tuple[Path, Path], tmp_path: Path) -> None:
    run(RulesMethod(), RULE, DATA, Driver(-1.0), out=tmp_path / "fails", images="all")
    (row,) = read_rows(tmp_path / "fails")
    assert (row["status"], row.get("measure.decides")) == ("error", None)
    assert len(clip_images(row)) > 2
    assert shown_images(row) == clip_images(row)[0]
    with pytest.raises(InputError, match="has no images of changed frames"):
        stored_images(tmp_path / "fails")
    (difference,) = compare(StoredRun.open(stored[0]), StoredRun.open(tmp_path / "fails")).differences
    (case,) = difference.examples_broken
    assert case.images_after.split() == shown_images(row)
