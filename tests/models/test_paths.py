"""Models that plan paths: arrays, recorded files, Python functions, HTTP, and the network that ships."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Prediction
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Frame, PlannedPath
from roadworthy.models import load_model
from roadworthy.models.description import described
from roadworthy.models.function import callable_model
from roadworthy.world import add, careful_path, frame_of, make_scene

FRAME = Frame("a", np.zeros((40, 80, 3), np.uint8))


def asked(model: Any) -> PlannedPath:
    (answer,) = model.predict([FRAME])
    assert isinstance(answer, PlannedPath)
    return answer


@pytest.mark.parametrize(
    ("order", "row"),
    [
        ("ahead,right", [5, 1, 10, 2]),
        ("ahead,left", [5, -1, 10, -2]),
        ("right,ahead", [1, 5, 2, 10]),
        ("left,ahead", [-1, 5, -2, 10]),
    ],
)
def test_numbers_are_points_in_any_order(order: str, row: list[float]) -> None:
    def network(images: Any) -> Any:
        return np.array([row] * len(images), np.float32)

    output = {"task": "path", "times": [0.5, 1.0], "order": order}
    path = asked(callable_model(network, spec=described({"output": output}).spec))
    assert path.points.tolist() == [[5, 1], [10, 2]]
    assert path.times.tolist() == [0.5, 1.0]


def test_the_path_of_a_rear_axle_is_that_of_the_camera() -> None:
    """On a circle of 20 m round the axle the camera, 1.5 m before it, is on a larger one."""
    angles = np.arange(1, 41) * 0.02
    axle = np.stack([20 * np.sin(angles), 20 * (1 - np.cos(angles))], axis=1)
    camera = axle + 1.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1) - [1.5, 0]
    output = {"task": "path", "times": angles.tolist(), "behind": 1.5}
    spec = described({"output": output}).spec
    model = callable_model(lambda images: np.array([axle.ravel()] * len(images)), spec=spec)
    assert asked(model).points == pytest.approx(camera, abs=0.02)


def test_too_few_numbers_are_told() -> None:
    spec = described({"output": {"task": "path", "times": [1, 2]}}).spec
    model = callable_model(lambda images: np.zeros((len(images), 3)), spec=spec)
    with pytest.raises(SystemUnderTestError, match="expected 4 numbers per image"):
        model.predict([FRAME])


def test_times_must_rise() -> None:
    with pytest.raises(InputError, match="times must be seconds above 0 that rise"):
        described({"output": {"task": "path", "times": [1, 1]}})


def test_a_function_answers_with_paths() -> None:
    def plan(frames: list[Frame]) -> list[Prediction]:
        return [PlannedPath([[1, 0]], [1]) for _ in frames]

    assert asked(callable_model(plan)).points.tolist() == [[1, 0]]


def test_recorded_paths(tmp_path: Path) -> None:
    file = tmp_path / "plans.json"
    file.write_text(json.dumps({"times": [0.5, 1], "paths": {"a": [[4, 0], [8, 1]]}}), "utf-8")
    assert asked(load_model(f"recorded:{file}")).points.tolist() == [[4, 0], [8, 1]]
    left = load_model(f"recorded:{file}", output={"task": "path", "times": [0.5, 1], "order": "ahead,left"})
    assert asked(left).points.tolist() == [[4, 0], [8, -1]]
    file.write_text(json.dumps({"times": [1, 0.5], "paths": {"a": [[4, 0], [8, 1]]}}), "utf-8")
    with pytest.raises(InputError, match=r"'a'.*rise"):
        load_model(f"recorded:{file}")
    file.write_text(json.dumps({"plans": {}}), "utf-8")
    with pytest.raises(InputError, match="must hold planned paths"):
        load_model(f"recorded:{file}")


def test_the_shipped_network_plans_as_the_careful_driver_does() -> None:
    """On a straight road it drives on; before somebody in its lane it plans to go less far."""
    model = load_model("path")
    free = make_scene("coast", s=60, seed=3, traffic=0)
    walker = add(free, "pedestrian", ahead=14, place="lane")
    plans = model.predict([frame_of(free), frame_of(walker)])
    ends = [one.points[-1, 0] for one in plans if isinstance(one, PlannedPath)]
    true = [careful_path(one).points[-1, 0] for one in (free, walker)]
    assert ends[0] > 1.5 * ends[1]
    assert ends[0] == pytest.approx(true[0], rel=0.4)
