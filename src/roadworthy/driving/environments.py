"""The built-in world as environments of Gymnasium, for training and testing elsewhere.

::

    import gymnasium
    import roadworthy.driving.environments

    env = gymnasium.make("Roadworthy/Town-v0", weather="rainy")

Needs the extra `gymnasium`.
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from roadworthy import world
from roadworthy.driving.simulators import Controls, Situation, WorldSimulator
from roadworthy.errors import InputError
from roadworthy.world.driver import MAX_STEERING

_CRASH = -100.0  # as much as 100 metres
_SECONDS = 100

Image = NDArray[np.uint8]


class WorldEnvironment(gymnasium.Env[Image, NDArray[np.float32]]):
    """A drive on a built-in track.

    What is seen is the camera's image. An action is the steering, from -1 to 1 for 25 degrees to the left and
    to the right, and the pedals, from -1 for the full brake to 1 for full throttle. The reward is the metres
    driven along the track in the step, nothing for steps on a line, and -100 for a crash, which ends the
    episode. `info` has the signals that are known and all events of the drive, what the careful
    driver would do among them.

    Args:
        track: Its name.
        render_mode: "rgb_array" draws the camera's image, too.
        options: Those of `WorldSimulator`: weather, level, time, season, traffic, scenery, fps, start.

    Raises:
        InputError: There is no such track or render mode, or an option cannot be used.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(self, track: str, *, render_mode: str | None = None, **options: Any) -> None:
        if render_mode not in (None, "rgb_array"):
            raise InputError(f"render_mode must be 'rgb_array' or None, got {render_mode!r}")
        self.render_mode = render_mode
        self._track, self._options = track, options
        self._simulator = WorldSimulator(track, **options)
        self._image, self._metres = self._seen(self._simulator.reset())
        self.observation_space = gymnasium.spaces.Box(0, 255, self._image.shape, np.uint8)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Image, dict[str, Any]]:
        """Start an episode; its seed chooses the traffic, and options are those of this episode alone."""
        super().reset(seed=seed)
        chosen = {**self._options, "seed": int(self.np_random.integers(2**31)), **(options or {})}
        self._simulator = WorldSimulator(self._track, **chosen)
        situation = self._simulator.reset()
        self._image, self._metres = self._seen(situation)
        return self._image, _told(situation)

    def step(self, action: NDArray[np.float32]) -> tuple[Image, float, bool, bool, dict[str, Any]]:
        """Drive one step."""
        steering, pedal = (float(one) for one in action)
        situation = self._simulator.step(Controls(steering * MAX_STEERING, throttle=pedal))
        before = self._metres
        self._image, self._metres = self._seen(situation)
        crash = situation.events["crash"]
        driven = 0.0 if situation.events["line crossing"] else self._metres - before
        return self._image, _CRASH if crash else driven, crash, False, _told(situation)

    def render(self) -> Image | None:
        """Return the camera's image where that was asked for."""
        return None if self.render_mode is None else self._image

    def _seen(self, situation: Situation) -> tuple[Image, float]:
        return np.array(situation.frame.image), self._simulator.along


def _told(situation: Situation) -> dict[str, Any]:
    known = {name: value for name, value in situation.signals.items() if math.isfinite(value)}
    return {**known, **situation.events, "sector": situation.sector, "laps": situation.laps}


for _name in (*world.TRACK_NAMES, *world.HELD_OUT_TRACK_NAMES):
    gymnasium.register(
        f"Roadworthy/{_name.title()}-v0",
        entry_point=WorldEnvironment,  # type: ignore[arg-type]
        kwargs={"track": _name},
        max_episode_steps=_SECONDS * WorldEnvironment.metadata["render_fps"],
    )
