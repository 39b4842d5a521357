"""The world as environments of Gymnasium, held against Gymnasium's own checker and the closed loop."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from roadworthy import world
from roadworthy.driving.environments import WorldEnvironment
from roadworthy.driving.simulators import Controls, WorldSimulator
from roadworthy.errors import InputError, SceneError

STRAIGHT = np.array([0.0, 0.4], np.float32)


def test_gymnasium_finds_nothing_wrong() -> None:
    made = gymnasium.make("Roadworthy/Town-v0", render_mode="rgb_array")
    check_env(made.unwrapped)
    made.close()


def test_every_track_is_registered() -> None:
    names = {*world.TRACK_NAMES, *world.HELD_OUT_TRACK_NAMES}
    assert {one for one in gymnasium.registry if one.startswith("Roadworthy/")} == {
        f"Roadworthy/{name.title()}-v0" for name in names
    }


def test_a_step_is_that_of_the_simulator() -> None:
    made = gymnasium.make("Roadworthy/Meadow-v0", weather="foggy", traffic=2.0).unwrapped
    seen, told = made.reset(seed=5, options={"seed": 11, "start": 40.0})
    beside = WorldSimulator("meadow", weather="foggy", traffic=2.0, seed=11, start=40.0)
    expected = beside.reset()
    np.testing.assert_array_equal(seen, expected.frame.image)
    for _ in range(5):
        seen, reward, terminated, truncated, told = made.step(np.array([0.1, 0.4], np.float32))
        expected = beside.step(Controls(2.5, throttle=float(np.float32(0.4))))
        np.testing.assert_array_equal(seen, expected.frame.image)
        assert told["speed"] == expected.signals["speed"]
        assert (terminated, truncated) == (False, False)
        assert 0.3 < float(reward) < 1.2  # metres in a fifteenth of a second


def test_leaving_the_road_costs_and_ends_the_episode() -> None:
    made: Any = gymnasium.make("Roadworthy/Meadow-v0", traffic=0)
    made.reset(seed=1)
    rewards, crossing, terminated = [], False, False
    while not terminated:
        _, reward, terminated, truncated, told = made.step(np.array([0.3, 0.5], np.float32))
        assert not truncated
        crossing |= told["line crossing"] and not terminated
        rewards.append(reward if not told["line crossing"] or terminated else ("on a line", reward))
    assert rewards[-1] == -100.0
    assert crossing
    assert all(one[1] == 0.0 for one in rewards if isinstance(one, tuple))


def test_an_episode_ends_after_a_hundred_seconds_and_seeds_choose_the_traffic() -> None:
    made: Any = gymnasium.make("Roadworthy/Town-v0")
    assert made.spec.max_episode_steps == 1500
    first, again, other = (made.reset(seed=one)[0] for one in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_several_at_once() -> None:
    several = gymnasium.make_vec("Roadworthy/Town-v0", num_envs=2, vectorization_mode="sync")
    seen, _ = several.reset(seed=3)
    assert seen.shape == (2, 160, 320, 3)
    _, rewards, *_ = several.step(np.stack([STRAIGHT, STRAIGHT]))
    assert (rewards > 0).all()
    several.close()


def test_what_makes_no_sense() -> None:
    with pytest.raises(InputError, match="render_mode must be 'rgb_array' or None, got 'human'"):
        WorldEnvironment("town", render_mode="human")
    with pytest.raises(SceneError, match="unknown track 'twon'"):
        WorldEnvironment("twon")
