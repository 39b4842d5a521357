"""Tests over tracks: a vehicle that is seen in the stopping zone must not be lost."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from roadworthy.bbsl import parse
from roadworthy.bbsl.testing import ObjectRole, find_role, row_of
from roadworthy.bbsl.track_method import BbslTrackMethod
from roadworthy.cases import Requirement
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame
from roadworthy.models.recorded import Recorded
from roadworthy.runs import run
from roadworthy.runs.store import read_verdicts

SPEC = parse(
    """
    exfunction vehicleExists(): bool vehicle(): bb near(): interval endexfunction
    case kept
      not (vehicleExists() = true and PROJ_y(vehicle()) ~ near()) or always[0, 3] (vehicleExists() = true)
    endcase
    """
)
NEAR, FAR = [600, 180, 700, 300], [100, 100, 150, 150]


class Listed(list[Frame]):
    name = "a drive"


def drive(count: int = 6) -> Listed:
    """Track 7 is near in all frames, track 9 far in frames 1 to 3."""
    black = np.zeros((375, 1242, 3), np.uint8)
    frames = Listed()
    for number in range(count):
        rows, tracks = ([NEAR, FAR], [7, 9]) if 1 <= number <= 3 else ([NEAR], [7])
        frames.append(Frame(f"f{number}", black, boxes=Boxes(rows, ["car"] * len(rows), track_ids=tracks)))
    return frames


def rows(
    folder: Path, found: Sequence[list[list[int]]], spec: object = SPEC
) -> dict[str, tuple[bool | None, str]]:
    method = BbslTrackMethod(SPEC, {"near": [275, 375]}, role=ObjectRole("vehicle", ("vehicleExists",)))
    records = {
        f"f{number}": Boxes(np.array(boxes).reshape(-1, 4), ["car"] * len(boxes), scores=[0.9] * len(boxes))
        for number, boxes in enumerate(found)
    }
    detector = Recorded("r", "detection", records, "a list")
    run(method, Requirement("R", "not lost", "bbsl"), drive(), detector, out=folder, images="none")
    judged = {verdict.case_id: row_of(verdict) for verdict in read_verdicts(folder)}
    return {id: (row.passed, row.frame) for id, row in judged.items() if row is not None}


def test_a_vehicle_that_is_always_detected_is_kept(tmp_path: Path) -> None:
    judged = rows(tmp_path / "run", [[NEAR, FAR]] * 6)
    assert {id: passed for id, (passed, _) in judged.items()} == {"track 7": True, "track 9": True}


def test_a_vehicle_that_is_lost_for_one_frame_fails_where_it_was_last_safe(tmp_path: Path) -> None:
    judged = rows(tmp_path / "run", [[NEAR]] * 4 + [[]] + [[NEAR]])
    # In frame 1 it is seen and lost within three frames, in frame 4; track 9, far away, may be missed.
    assert judged == {"track 7": (False, "f1"), "track 9": (True, "f1")}


def test_data_without_tracks_are_refused() -> None:
    method = BbslTrackMethod(SPEC, {"near": [275, 375]}, role=ObjectRole("vehicle", ("vehicleExists",)))
    frame = Frame("f0", np.zeros((375, 1242, 3), np.uint8), boxes=Boxes([NEAR], ["car"]))
    detector = Recorded("r", "detection", {}, "a list")
    with pytest.raises(InputError, match="have no track ids, so nobody knows which belong together"):
        run(method, Requirement("R", "not lost", "bbsl"), Listed([frame]), detector)
    with pytest.raises(InputError, match="bound to near"):
        BbslTrackMethod(SPEC, {}, role=ObjectRole("vehicle", ("vehicleExists",)))
    role = find_role(SPEC, ["near"])
    assert role == ObjectRole("vehicle", ("vehicleExists",))
