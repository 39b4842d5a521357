"""Whether a bound over blocks of a real drive is true, where one that takes frames for independent is not."""

from __future__ import annotations

from pathlib import Path

from benchmarks.statistics import real_blocks

from roadworthy.selftest.simulating import LEAST


def test_bounds_over_blocks_of_five_seconds_hold_on_a_real_drive(real_data: Path) -> None:
    found = real_blocks(real_data / "udacity_ch2", 100, (2.0, 8.0))
    assert [one.model for one in found[::2]] == ["komanda", "rambo", "autumn"]
    for one in found:
        assert one.correlation > 0.05, one
        assert one.over_frames < 0.8, one
        assert one.over_clusters >= LEAST, one
