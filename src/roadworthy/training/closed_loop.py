"""Letting a network drive: a lap of a built-in track, and how well it was kept."""

from __future__ import annotations

from dataclasses import dataclass

from roadworthy.models.protocols import Driver, SystemUnderTest
from roadworthy.world import Conditions, Observation, Simulation
from roadworthy.world.track import LANE_WIDTH

_LONGEST_STOP = 30.0  # seconds; the traffic lights of the world are not longer red


@dataclass(frozen=True)
class Lap:
    """How a lap went.

    Attributes:
        track: The track.
        traffic: How much traffic there was.
        share: How much of the lap was driven before the middle of the vehicle left its lane, a crash, or a
            stop without end; 1 is the whole lap.
        largest_offset: The largest distance from the middle of the lane, in metres.
        mean_offset: The mean distance.
        seconds: How long it took, in the world.
        ended: Why it ended: "lap complete", "left the lane", "crash", "stopped" or "time over".
    """

    track: str
    traffic: float
    share: float
    largest_offset: float
    mean_offset: float
    seconds: float
    ended: str

    def __str__(self) -> str:
        return (
            f"{self.share:.0%} of a lap of {self.track} with traffic {self.traffic:g} in "
            f"{self.seconds:.0f} s, {self.ended}; from the middle of the lane at most "
            f"{self.largest_offset:.2f} m, on average {self.mean_offset:.2f} m"
        )


def drive_lap(
    system: SystemUnderTest,
    track: str = "meadow",
    *,
    seed: int = 0,
    traffic: float = 0.0,
    conditions: Conditions | None = None,
    scenery: int = 0,
    minutes: float = 10.0,
) -> Lap:
    """Let a model drive a lap of a built-in track.

    A model that answers steering alone gets the speed of the careful driver, and one that answers speed alone
    its steering. One that sees earlier frames sees the first frame several times at the start.

    Args:
        system: The model.
        track: The track; "meadow" is the easiest.
        seed: Chooses the traffic and the camera noise.
        traffic: How much traffic, from 0 to 5.
        conditions: Weather, time of day and season; a clear summer day when left out.
        scenery: Which of the track's furnishings.
        minutes: In the world, after which the drive ends.

    Raises:
        SystemUnderTestError: The model failed, or answered with neither steering nor speed.

    Example:
        >>> from roadworthy.models import Truth
        >>> lap = drive_lap(Truth(), minutes=0.1)
        >>> lap.ended, lap.largest_offset < 0.2
        ('time over', True)
    """
    simulation = Simulation(track, seed=seed, traffic=traffic, conditions=conditions, scenery=scenery)
    driver = Driver(system)
    seen = simulation.reset()
    offsets = [abs(seen.lane_offset)]
    distance = standing = 0.0
    ended = "time over"
    while seen.time < 60 * minutes:
        # The world's frames carry what the careful driver would do.
        action = driver.answer(seen.frame, otherwise=seen.frame.signals)
        before, seen = seen, simulation.step(action.steering or 0.0, action.speed or 0.0)
        offsets.append(abs(seen.lane_offset))
        standing = standing + seen.time - before.time if seen.state.speed < 0.1 else 0.0
        if failure := _failure(seen, standing):
            ended = failure
            break
        distance += simulation.track.ahead(before.scene.s, seen.scene.s)
        if seen.laps:
            ended = "lap complete"
            break
    share = 1.0 if seen.laps else min(1.0, max(0.0, distance / simulation.track.length))
    return Lap(track, traffic, share, max(offsets), sum(offsets) / len(offsets), seen.time, ended)


def _failure(seen: Observation, standing: float) -> str:
    """Return why a drive cannot go on; nothing if it can."""
    if "crash" in seen.events:
        return "crash"
    if abs(seen.lane_offset) > LANE_WIDTH / 2:
        return "left the lane"
    return "stopped" if standing > _LONGEST_STOP else ""
