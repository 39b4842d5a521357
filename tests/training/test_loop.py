"""The loop of a training: the same for the same seed, resumable, and it stops when it should."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from roadworthy.errors import InputError
from roadworthy.models import ImageInput
from roadworthy.models.zoo import architecture
from roadworthy.models.zoo.driving_networks import Head
from roadworthy.training import Settings, Watcher
from roadworthy.training.loop import EpochResult, Fitted
from roadworthy.training.samples import SampleFeed, Samples
from roadworthy.training.tasks import DrivingTask
from roadworthy.training.train import fit

TASK = DrivingTask(("steering", "speed"))
VARIANT = architecture("epoch").variant(
    options={"width": 16, "height": 8, "channels": (4, 4, 4), "hidden": 8, "dropout": (0.1, 0.1)}
)
QUICK = Settings(epochs=4, batch=8, learning_rate=0.01, patience=10, device="cpu")


def samples(seed: int, count: int = 24) -> Samples:
    """Pictures with a bright column that says where to steer, as bright as the drive is fast."""
    rng = np.random.default_rng(seed)
    images = np.zeros((count, 3, 8, 16), np.uint8)
    where, light = rng.integers(0, 16, count), rng.integers(100, 256, count)
    images[np.arange(count), :, :, where] = light[:, None, None]
    targets = np.stack([where - 7.5, light / 20], axis=1).astype(np.float32)
    return Samples(f"columns {seed}", images, np.arange(count)[:, None], targets, np.zeros(count, np.int64))


def fresh(seed: int = 0) -> torch.nn.Module:
    module = VARIANT.build(seed)
    TASK.prepare(module, samples(1).targets)
    return module


def trained(module: torch.nn.Module, settings: Settings = QUICK, **options: Any) -> Fitted:
    return fit(module, TASK, samples(1), samples(2, 10), VARIANT.spec.input, settings, **options)


def equal(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    first, second = one.state_dict(), other.state_dict()
    return all(torch.equal(first[name], second[name]) for name in first)


class Stop(Watcher):
    """Interrupts a training after some epochs."""

    def __init__(self, after: int) -> None:
        self.after = after

    def epoch(self, result: EpochResult) -> None:
        if result.epoch > self.after:
            raise KeyboardInterrupt


def test_it_learns_and_leaves_the_best_weights() -> None:
    module = fresh()
    fitted = trained(module, dataclasses.replace(QUICK, epochs=30, mirror=0.0, brightness=0.0))
    losses = [one.validation_loss for one in fitted.curve]
    assert losses[fitted.best_epoch - 1] == min(losses) < 0.75 * losses[0]
    assert not module.training
    feed = SampleFeed(samples(2, 10), VARIANT.spec.input, TASK, QUICK, torch.device("cpu"))
    images, targets = feed.plain(np.arange(10))
    with torch.inference_mode():
        assert float(TASK.loss(module, module(images), targets)) == pytest.approx(min(losses))
    assert fitted.stopped == "all 30 epochs are over"
    assert fitted.curve[-1].measures[0].name == "steering MAE"


def test_mixed_precision_learns_much_the_same() -> None:
    module = fresh()
    half = trained(module, dataclasses.replace(QUICK, precision="bfloat16"))
    whole = trained(fresh())
    assert half.curve[-1].loss == pytest.approx(whole.curve[-1].loss, rel=0.05)
    assert half.curve[-1].loss != whole.curve[-1].loss
    assert all(one.dtype == torch.float32 for one in module.parameters())


def test_the_same_seed_gives_the_same_weights() -> None:
    one, two, other = fresh(), fresh(), fresh()
    torch.manual_seed(1)
    trained(one)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    trained(two)
    assert torch.equal(torch.get_rng_state(), before)
    trained(other, dataclasses.replace(QUICK, seed=9))
    assert equal(one, two)
    assert not equal(one, other)


@pytest.mark.parametrize("decay", ["none", "cosine"])
def test_a_training_that_was_interrupted_goes_on_as_if_it_had_not_been(tmp_path: Path, decay: str) -> None:
    settings = dataclasses.replace(QUICK, decay=decay)  # type: ignore[arg-type]
    whole, broken, again = fresh(), fresh(), fresh(seed=5)
    expected = trained(whole, settings)
    file = tmp_path / "deep" / "checkpoint.pt"
    with pytest.raises(KeyboardInterrupt):
        trained(broken, settings, checkpoint=file, watcher=Stop(2))
    found = trained(again, settings, checkpoint=file, resume=True)
    assert equal(whole, again)
    assert [one.loss for one in found.curve] == [one.loss for one in expected.curve]
    assert found.curve[0].measures == expected.curve[0].measures
    assert [one.name for one in file.parent.iterdir()] == ["checkpoint.pt"]
    assert found.seconds == pytest.approx(sum(one.seconds for one in found.curve)), "of all epochs"


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.pt"
    trained(
        fresh(), dataclasses.replace(QUICK, epochs=1), checkpoint=file, identity={"seed": 1, "network": "a"}
    )
    complaint = r"belongs to another training: seed was 1 and is 2\. Start again in another folder"
    with pytest.raises(InputError, match=complaint):
        trained(fresh(), checkpoint=file, resume=True, identity={"seed": 2, "network": "a"})
    known = {"seed": 1, "network": "a", "training data": "b"}
    with pytest.raises(InputError, match="another training: training data was None and is 'b'"):
        trained(fresh(), checkpoint=file, resume=True, identity=known)


def test_a_checkpoint_that_is_missing_broken_or_evil(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no training to resume"):
        trained(fresh(), checkpoint=tmp_path / "none.pt", resume=True)
    with pytest.raises(InputError, match="resume needs the folder"):
        trained(fresh(), resume=True)
    trained(fresh(), dataclasses.replace(QUICK, epochs=1), checkpoint=tmp_path / "whole.pt")
    whole = (tmp_path / "whole.pt").read_bytes()
    (tmp_path / "cut.pt").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "nothing.pt").touch()
    torch.save({"module": Path}, tmp_path / "evil.pt")
    torch.save({"module": {}}, tmp_path / "empty.pt")
    for name in ("cut", "nothing", "evil", "empty"):
        with pytest.raises(InputError, match=rf"{name}\.pt is not a complete training checkpoint"):
            trained(fresh(), checkpoint=tmp_path / f"{name}.pt", resume=True)


def test_a_checkpoint_that_cannot_be_written_ends_it(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*checkpoint\.pt: Is a directory"):
        trained(fresh(), checkpoint=tmp_path / "checkpoint.pt")
    assert [one.name for one in tmp_path.iterdir()] == ["checkpoint.pt"]


class Normed(torch.nn.Module):
    """Normalises what is one number per channel of an image."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(384, 2), torch.nn.BatchNorm1d(2)
        )
        self.head = Head(2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        answers: torch.Tensor = self.head(self.layers(images))
        return answers


def test_layers_that_normalise_over_a_batch_need_more_than_one_image() -> None:
    trained(Normed(), dataclasses.replace(QUICK, epochs=1, batch=2))
    with pytest.raises(
        InputError, match="normalise over a batch, which needs more than 1 image: use a larger"
    ):
        trained(Normed(), dataclasses.replace(QUICK, epochs=1, batch=1))


@pytest.mark.parametrize("signal", [0, 1])
def test_signals_that_no_vehicle_has_are_refused(signal: int) -> None:
    targets = samples(1).targets.copy()
    targets[3, signal] = 1e30
    name = TASK.signals[signal]
    with pytest.raises(
        InputError, match=f"{name} in the training data has a spread of (inf|2e[+]29); expected"
    ):
        TASK.prepare(VARIANT.build(), targets)


def test_it_stops_when_the_validation_loss_does_not_fall() -> None:
    fitted = trained(fresh(), dataclasses.replace(QUICK, epochs=50, learning_rate=1e-9, patience=3))
    assert fitted.stopped == "the validation loss did not get smaller for 3 epochs"
    assert len(fitted.curve) == fitted.best_epoch + 3


def test_it_stops_in_time() -> None:
    fitted = trained(fresh(), dataclasses.replace(QUICK, epochs=10_000, patience=10_000, minutes=0.01))
    assert fitted.stopped == "0.01 minutes were over"
    assert 1 <= len(fitted.curve) < 10_000


def test_a_loss_that_is_no_number_ends_it() -> None:
    bad = dataclasses.replace(samples(1), targets=np.full((24, 2), 1e38, np.float32))
    with pytest.raises(
        InputError, match=r"the loss became (inf|nan) in epoch 1: the training diverged\. Use a smal"
    ):
        fit(fresh(), TASK, bad, samples(2), VARIANT.spec.input, QUICK)


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(InputError, match="device 'cuda:7' cannot be used"):
        trained(fresh(), dataclasses.replace(QUICK, device="cuda:7"))
    with pytest.raises(InputError, match="device 'gpu' cannot be used"):
        trained(fresh(), dataclasses.replace(QUICK, device="gpu"))
    with pytest.raises(InputError, match="device 'meta' cannot be used"):
        trained(fresh(), dataclasses.replace(QUICK, device="meta"))


def test_the_watcher_is_told_of_every_step() -> None:
    told: list[tuple[int, float]] = []

    class Listener(Watcher):
        def step(self, step: int, progress: float) -> None:
            told.append((step, progress))

    trained(fresh(), dataclasses.replace(QUICK, epochs=2), watcher=Listener())
    assert [step for step, _ in told] == [1, 2, 3, 4, 5, 6], "three batches in each epoch"
    assert [progress for _, progress in told] == pytest.approx([step / 6 for step in range(6)])


@pytest.mark.parametrize(
    "taken",
    [
        ImageInput(width=16, height=8, range=(-1, 1), color="yuv"),
        ImageInput(width=16, height=8, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.4)),
        ImageInput(width=16, height=8, mean=(0.4, 0.5, 0.6), history=2, stacking="channels"),
        ImageInput(width=16, height=8, history=2),
    ],
)
def test_batches_are_what_the_adapters_give(taken: ImageInput) -> None:
    from roadworthy.datasets import load
    from roadworthy.training.samples import read_samples

    data = load("world:town", count=2, size="32x16", history=taken.history)
    found, _ = SampleFeed(read_samples(data, TASK, taken), taken, TASK, QUICK, torch.device("cpu")).plain(
        np.arange(2)
    )
    assert np.allclose(found.numpy(), taken.tensor([taken.view(frame) for frame in data]), atol=1e-6)


def test_mirrored_images_are_steered_to_the_other_side() -> None:
    settings = dataclasses.replace(QUICK, mirror=1.0, brightness=0.0)
    feed = SampleFeed(samples(1), VARIANT.spec.input, TASK, settings, torch.device("cpu"))
    plain, truth = feed.plain(np.arange(4))
    images, targets = feed.changed(np.arange(4), np.random.default_rng(0))
    assert torch.equal(images, plain.flip(-1))
    assert torch.equal(targets, truth * torch.tensor([-1.0, 1.0]))


@pytest.mark.parametrize("color", ["rgb", "yuv"])
def test_brightness_moves_all_colours_together(color: Any) -> None:
    grey = np.full((1, 3, 4, 4), 100, np.uint8)
    if color == "yuv":
        grey[:, 1:] = 128
    one = Samples(
        "grey", grey, np.zeros((1, 1), np.int64), np.zeros((1, 2), np.float32), np.zeros(1, np.int64)
    )
    taken = ImageInput(width=4, height=4, color=color, range=(0, 255))
    settings = dataclasses.replace(QUICK, mirror=0.0, brightness=0.2)
    feed = SampleFeed(one, taken, TASK, settings, torch.device("cpu"))
    images, _ = feed.changed(np.arange(1), np.random.default_rng(3))
    values = images[0, :, 0, 0].tolist()
    assert 80 <= values[0] <= 120
    assert values[0] != 100
    assert values[1:] == pytest.approx([values[0]] * 2 if color == "rgb" else [128, 128])


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"epochs": 0}, "epochs must be 1 or more, got 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0 and finite, got nan"),
        ({"mirror": 2}, "mirror must be from 0 to 1, got 2"),
        ({"validation_share": 1}, "validation_share must be between 0 and 1, got 1"),
        ({"decay": "linear"}, "decay must be one of none, cosine, got 'linear'"),
        ({"precision": "int8"}, "precision must be one of auto, float32, bfloat16, got 'int8'"),
        ({"weight_decay": -1}, "weight_decay must be 0 or more, got -1"),
        ({"minutes": 0}, "minutes must be above 0 and finite, got 0"),
    ],
)
def test_settings_that_cannot_be_used(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Settings(**given)


def test_the_learning_rate_falls_along_a_cosine() -> None:
    settings = Settings(learning_rate=0.2, decay="cosine")
    assert [settings.rate(share) for share in (0, 0.5, 1)] == pytest.approx([0.2, 0.1, 0])
    assert Settings(learning_rate=0.2).rate(0.9) == 0.2


def test_hashes_are_told_by_their_start_and_memory_that_is_too_small(tmp_path: Path) -> None:
    file, known = tmp_path / "checkpoint.pt", {"training data": "a" * 64, "name": "b" * 63}
    trained(fresh(), dataclasses.replace(QUICK, epochs=1), checkpoint=file, identity=known)
    other = {"training data": "c" * 64, "name": "d" * 63}
    told = f"training data was {'a' * 12}… and is {'c' * 12}…; name was '{'b' * 63}' and is '{'d' * 63}'"
    with pytest.raises(InputError, match=told):
        trained(fresh(), checkpoint=file, resume=True, identity=other)

    class Large(Normed):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            raise torch.OutOfMemoryError("tried to allocate")

    with pytest.raises(
        InputError, match="cpu has too little memory for batches of 8 images: use smaller ones"
    ):
        trained(Large())

    class Odd(Normed):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            raise ValueError("something else")

    with pytest.raises(ValueError, match="something else"):
        trained(Odd())


def test_an_epoch_is_not_begun_that_would_not_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from roadworthy.training import loop

    assert loop.Learner.room(None, 3) == 0.0  # type: ignore[arg-type]
    assert loop.Learner.stopped(None) == ""  # type: ignore[arg-type]
    now = iter(float(second) for second in range(0, 10**6, 10))
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    fitted = trained(fresh(), dataclasses.replace(QUICK, epochs=1000, patience=1000, minutes=10.0))
    # By this clock an epoch takes 40 s, and 50 or more with all around it: after 560 s there is no room.
    assert [one.seconds for one in fitted.curve] == [40.0] * 10
    assert fitted.stopped == "10 minutes were over"
    with pytest.raises(InputError, match=r"0\.001 minutes are too few for one epoch: allow more"):
        trained(fresh(), dataclasses.replace(QUICK, minutes=0.001))


def test_the_rate_falls_within_an_epoch_and_the_last_images_wait_for_the_next() -> None:
    rates: list[float] = []

    class Noting(torch.optim.SGD):
        def step(self, closure: Any = None) -> None:  # type: ignore[override]
            rates.append(self.param_groups[0]["lr"])

    settings = dataclasses.replace(QUICK, epochs=2, batch=10, decay="cosine", learning_rate=0.2)
    trained(fresh(), settings, optimizer=lambda parameters, settings: Noting(parameters, lr=1.0))
    # 24 images make two batches of ten.
    assert rates == pytest.approx([settings.rate(share) for share in (0, 0.25, 0.5, 0.75)])
