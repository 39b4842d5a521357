"""The proof of a driving network is a lap; it has a file of its own because it takes long."""

from __future__ import annotations

import pytest

from roadworthy.models import load_model
from roadworthy.training import drive_lap


@pytest.mark.slow
def test_a_network_that_comes_with_the_package_keeps_the_easiest_track_for_a_whole_lap() -> None:
    lap = drive_lap(load_model("dave2", threads=1), "meadow")
    assert (lap.ended, lap.share) == ("lap complete", 1.0)
    assert lap.largest_offset < 0.5
