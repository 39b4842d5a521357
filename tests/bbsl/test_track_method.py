"""Tests over tracks: a vehicle that is seen in the stopping zone must not be lost."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from roadworthy.bbsl import Spec, parse
from roadworthy.bbsl.method import BbslTrackMethod
from roadworthy.bbsl.testing import ObjectRole, Outside, find_role, row_of
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
    folder: Path, found: Sequence[list[list[int]]], spec: Spec = SPEC, outside: Outside = "fail"
) -> dict[str, tuple[bool | None, str]]:
    role = ObjectRole("vehicle", ("vehicleExists",))
    method = BbslTrackMethod(spec, {"near": [275, 375]}, role=role, outside=outside)
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


ONLY_SEEN = parse(
    """
    exfunction vehicleExists(): bool vehicle(): bb near(): interval endexfunction
    precondition [vehicleExists() = true] endprecondition
    case stop eventually[0, 1] (PROJ_y(vehicle()) ~ near()) endcase
    """
)
ONLY_SEEN_NOW = parse(ONLY_SEEN.source.replace("[0, 1]", "[0, 0]"))


@pytest.mark.parametrize(("outside", "passed"), [("fail", False), ("apart", None)])
def test_a_track_out_of_scope_fails_or_stands_apart(
    tmp_path: Path, outside: Outside, passed: bool | None
) -> None:
    judged = rows(tmp_path / "run", [[NEAR]] * 4 + [[]] + [[NEAR]], ONLY_SEEN, outside)
    assert judged["track 7"] == (passed, "f4")


def test_a_passed_track_shows_the_frame_with_the_smallest_margin(tmp_path: Path) -> None:
    """The lower edge ends 10 pixels inside the zone in frame 2, more in the others."""
    bottoms = [300, 310, 285, 320, 300, 300]
    found = [[[600, 180, 700, bottom]] for bottom in bottoms]
    judged = rows(tmp_path / "run", found, ONLY_SEEN_NOW)
    assert judged["track 7"] == (True, "f2")


def test_settings_that_cannot_be_used() -> None:
    role = ObjectRole("vehicle", ("vehicleExists",))
    for setting, message in (
        ({"matching": "x"}, "matching must be one of"),
        ({"outside": "x"}, "outside must be one of"),
        ({"ends": "x"}, "ends must be one of"),
    ):
        with pytest.raises(InputError, match=message):
            BbslTrackMethod(SPEC, {"near": [275, 375]}, role=role, **setting)  # type: ignore[arg-type]


def test_data_without_tracks_are_refused() -> None:
    method = BbslTrackMethod(SPEC, {"near": [275, 375]}, role=ObjectRole("vehicle", ("vehicleExists",)))
    frame = Frame("f0", np.zeros((375, 1242, 3), np.uint8), boxes=Boxes([NEAR], ["car"]))
    detector = Recorded("r", "detection", {}, "a list")
    with pytest.raises(InputError, match="have no track ids: use data with tracks"):
        run(method, Requirement("R", "not lost", "bbsl"), Listed([frame]), detector)
    with pytest.raises(InputError, match="bound to near"):
        BbslTrackMethod(SPEC, {}, role=ObjectRole("vehicle", ("vehicleExists",)))
    role = find_role(SPEC, ["near"])
    assert role == ObjectRole("vehicle", ("vehicleExists",))
