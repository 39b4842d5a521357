"""The loop: resumable to the last bit, within its time, with a history and sheets."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scripts.engines.paired import PairedMethod
from scripts.engines.recipes import PairedWeights

from roadworthy.errors import InputError
from roadworthy.images import read_image
from roadworthy.training.engine_networks.settings import NetworkInputs, network_for, seeded
from roadworthy.training.engines.feed import Batch, PictureFeed
from roadworthy.training.engines.method import HISTORY, SHEETS, FittedEngine, fit_engine
from roadworthy.training.engines.pictures import Pictures
from roadworthy.training.engines.settings import EngineSettings
from roadworthy.training.loop import CHECKPOINT, StepResult, Watcher

SETTINGS: dict[str, Any] = {
    "steps": 8,
    "batch": 4,
    "learning_rate": 3e-3,
    "device": "cpu",
    "save_every": 2,
    "sheet_every": 4,
    "average": 0.5,
}


def pictures(count: int = 8, seed: int = 0) -> Pictures:
    """Images, and the same ones darker and turned to blue."""
    image = np.random.default_rng(seed).integers(0, 255, (count, 2, 4, 3)).astype(np.uint8)
    image = image.repeat(16, axis=1).repeat(16, axis=2)
    return Pictures("darker", {"image": image, "truth": (image * [0.2, 0.2, 0.5]).astype(np.uint8)})


def trained(
    folder: Path | None = None,
    *,
    watcher: Watcher | None = None,
    resume: bool = False,
    weights: PairedWeights | None = None,
    **changes: Any,
) -> tuple[PairedMethod, FittedEngine]:
    settings = EngineSettings(**{**SETTINGS, **changes})
    with seeded(1):
        network = network_for("small-translation", {"width": 8, "noise": 1}, seed=1)
        method = PairedMethod(
            settings, network, inputs=NetworkInputs(noise=1), weights=weights, discriminator=4
        )
    device = torch.device("cpu")
    feeds = PictureFeed([pictures()], device, seed=1, mirror=0.5), PictureFeed([pictures(5, 1)], device)
    identity = {"rate": settings.learning_rate}
    fitted = fit_engine(method, *feeds, folder=folder, resume=resume, identity=identity, watcher=watcher)
    return method, fitted


class Stopped(Watcher):
    def __init__(self, at: int) -> None:
        self.at = at

    def step(self, step: int, progress: float) -> None:
        if step == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("weights", [PairedWeights(), PairedWeights(adversarial=0.1, matching=1.0)])
def test_a_training_that_was_stopped_comes_out_the_same_to_the_last_bit(
    tmp_path: Path, weights: PairedWeights
) -> None:
    whole, result = trained(tmp_path / "whole", weights=weights)
    with pytest.raises(KeyboardInterrupt):
        # One step after a checkpoint: that step is lost and done again.
        trained(tmp_path / "stopped", weights=weights, watcher=Stopped(5))
    resumed, again = trained(tmp_path / "stopped", weights=weights, resume=True)
    ours, theirs = (one.networks["generator"].state_dict() for one in (whole, resumed))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert [one.losses for one in result.history] == [one.losses for one in again.history]
    assert [one.measures for one in result.history] == [one.measures for one in again.history]


def test_the_loss_falls_and_is_written_down(tmp_path: Path) -> None:
    _, result = trained(tmp_path, steps=24, save_every=6, sheet_every=12)
    first, last = result.losses["look"]["first"], result.losses["look"]["last"]
    assert last < 0.7 * first
    assert result.steps == 24
    assert result.stopped == "all 24 steps are over"
    header, *rows = (tmp_path / HISTORY).read_text("utf-8").splitlines()
    assert header.startswith("step,seconds,loss look,loss plain")
    assert [row.split(",")[0] for row in rows] == ["6", "12", "18", "24"]
    measures = result.history[-1].measures
    assert measures["look"] < measures["look, unchanged"]
    assert [one.step for one in result.history if one.measures] == [12, 24]
    sheets = sorted((tmp_path / SHEETS).iterdir())
    assert [one.name for one in sheets] == ["0000012.png", "0000024.png"]
    # Three columns of 64 pixels, five rows of 32, gaps and titles.
    assert read_image(sheets[0]).shape == (18 + 5 * 36, 3 * 68 - 4, 3)


def test_the_last_step_is_saved_though_no_checkpoint_falls_on_it(tmp_path: Path) -> None:
    _, result = trained(tmp_path, steps=5, save_every=2, sheet_every=4)
    assert result.steps == 5
    assert [one.step for one in result.history] == [2, 4, 5]
    assert result.history[-1].measures
    _, more = trained(tmp_path, steps=6, save_every=2, sheet_every=4, resume=True)
    assert [one.step for one in more.history] == [2, 4, 5, 6]


def test_it_ends_when_its_time_is_over_and_can_go_on(tmp_path: Path) -> None:
    _, result = trained(tmp_path, steps=10_000, minutes=1e-9)
    assert result.steps == 1
    assert "minutes were over" in result.stopped
    _, result = trained(tmp_path, steps=10_000, minutes=0.005)
    assert 0 < result.steps < 10_000
    assert result.history[-1].measures
    _, more = trained(tmp_path, steps=result.steps + 2, resume=True)
    assert more.steps == result.steps + 2


def test_the_end_is_measured_also_if_time_runs_out_while_a_checkpoint_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(10_000))  # each look at the clock takes a second
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(now)))
    _, result = trained(tmp_path, steps=50, save_every=3, sheet_every=50, minutes=4 / 60)
    # Started at 0; 1, 2 and 3 after the steps; 4 after the checkpoint.
    assert result.steps == 3
    (row,) = result.history
    assert row.measures["look"] > 0
    assert (tmp_path / HISTORY).read_text("utf-8").splitlines()[-1].count(",") == 2 + 1 + len(row.measures)
    assert len(list((tmp_path / SHEETS).iterdir())) == 1


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    trained(tmp_path, steps=2)
    with pytest.raises(InputError, match=r"to another training: rate was 0\.003 and is 0\.1"):
        trained(tmp_path, resume=True, learning_rate=0.1)
    (tmp_path / CHECKPOINT).write_bytes(b"broken")
    with pytest.raises(InputError, match="not a complete training checkpoint"):
        trained(tmp_path, resume=True)
    with pytest.raises(InputError, match="needs the folder"):
        trained(resume=True)


def test_a_training_that_diverges_says_so() -> None:
    class Broken(PairedMethod):
        def step(self, batch: Batch) -> dict[str, torch.Tensor]:
            return {"look": torch.tensor(float("nan"))}

    settings = EngineSettings(**SETTINGS)
    network = network_for("small-translation", {"width": 8})
    method = Broken(settings, network, inputs=NetworkInputs())
    feed = PictureFeed([pictures()], torch.device("cpu"))
    with pytest.raises(InputError, match="'look' became nan by step 2: the training diverged"):
        fit_engine(method, feed, feed)


def test_the_average_is_what_comes_out() -> None:
    seen: list[torch.Tensor] = []

    class Weights(Watcher):
        def step(self, step: int, progress: float) -> None:
            seen.append(next(method.networks["generator"].parameters()).detach().clone())

    settings = EngineSettings(**{**SETTINGS, "steps": 3, "average": 0.999})
    method = PairedMethod(settings, network_for("small-translation", {"width": 8}), inputs=NetworkInputs())
    learning = method.networks["generator"]
    average = next(method.networks["generator"].parameters()).detach().clone()
    feed = PictureFeed([pictures()], torch.device("cpu"))
    fit_engine(method, feed, feed, watcher=Weights())
    for step, one in enumerate(seen):
        share = (1 + step) / (10 + step)  # smaller than 0.999 at first
        average = share * average + (1 - share) * one
    assert torch.allclose(next(method.networks["generator"].parameters()), average, atol=1e-6)
    assert not method.networks["generator"].training
    # What norms know of the data is not averaged, but taken as it is.
    known = dict(method.networks["generator"].named_buffers())
    assert known
    assert all(torch.equal(one, known[name]) for name, one in learning.named_buffers())


def test_the_rate_falls_in_a_straight_line() -> None:
    rates: list[float] = []

    class Rates(Watcher):
        def step(self, step: int, progress: float) -> None:
            rates.append(method.optimizers["generator"].param_groups[0]["lr"])

    settings = EngineSettings(**{**SETTINGS, "steps": 4, "learning_rate": 1e-3, "decay_from": 0.5})
    method = PairedMethod(settings, network_for("small-translation", {"width": 8}), inputs=NetworkInputs())
    feed = PictureFeed([pictures()], torch.device("cpu"))
    fit_engine(method, feed, feed, watcher=Rates())
    assert rates == pytest.approx([1e-3, 1e-3, 1e-3, 0.5e-3])


def test_the_rate_falls_as_well_when_the_time_runs_out_first(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(10_000))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(now)))
    shares: list[float] = []

    class Shares(Watcher):
        def step(self, step: int, progress: float) -> None:
            shares.append(progress)

    trained(watcher=Shares(), steps=1000, save_every=1000, minutes=4 / 60)
    assert shares == pytest.approx([0.0, 0.25, 0.5, 0.75])


def test_watchers_are_told() -> None:
    class Told(Watcher):
        steps: list[int] = []  # noqa: RUF012
        rows: list[StepResult] = []  # noqa: RUF012

        def step(self, step: int, progress: float) -> None:
            self.steps.append(step)

        def measured(self, result: StepResult) -> None:
            self.rows.append(result)

    watcher = Told()
    trained(watcher=watcher, steps=4)
    assert watcher.steps == [1, 2, 3, 4]
    assert [one.step for one in watcher.rows] == [2, 4]
