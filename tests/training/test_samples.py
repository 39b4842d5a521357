"""Data for training: what is read, how it is divided, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from roadworthy.datasets import BaseDataset, OnError, load
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.models import ImageInput
from roadworthy.training import with_history
from roadworthy.training.samples import Samples, read_samples
from roadworthy.training.tasks import DrivingTask

TASK = DrivingTask(("steering", "speed"))
TAKEN = ImageInput(width=8, height=4, color="yuv", crop=(0.25, 0))


class Drive(BaseDataset):
    """Frames whose brightness is their number, at 10 per second."""

    def __init__(
        self,
        count: int,
        *,
        sequence: Callable[[int], object] = lambda _: 0,
        broken: Sequence[int] = (),
        on_error: OnError = "raise",
    ) -> None:
        super().__init__("drive", [f"d{number}" for number in range(count)], on_error=on_error)
        self._sequence, self._broken = sequence, broken

    def read(self, number: int) -> Frame:
        if number in self._broken:
            raise InputError(f"d{number}.png is cut short")
        return Frame(
            self.all_ids[number],
            np.full((8, 16, 3), number, np.uint8),
            signals=Signals(steering=number, speed=2 * number, timestamp=number / 10),
            metadata={"sequence": self._sequence(number)},
        )


def test_images_are_what_the_network_takes() -> None:
    data = load("world:town", count=3, size="64x32")
    samples = read_samples(data, TASK, TAKEN)
    assert samples.images.shape == (3, 3, 4, 8)
    expected = TAKEN.tensor([TAKEN.view(frame) for frame in data])
    assert np.allclose(samples.images / 255, expected, atol=1e-6)
    assert samples.targets.tolist() == [
        pytest.approx([frame.signals.steering, frame.signals.speed]) for frame in data
    ]
    assert samples.windows.tolist() == [[0], [1], [2]]


def test_workers_change_nothing() -> None:
    data = load("world", count=70, size="32x16", sequence=5)
    taken = ImageInput(width=8, height=4, history=2)
    alone = read_samples(data, TASK, taken)
    seen: list[tuple[int, int]] = []
    shared = read_samples(data, TASK, taken, workers=2, progress=lambda *given: seen.append(given))
    assert alone.sha256 == shared.sha256
    assert np.array_equal(alone.drives, shared.drives)
    assert len(alone) == 70 // 5 * 3
    assert seen == [(64, 70), (70, 70)]


def test_a_drive_gives_windows_across_the_borders_of_jobs() -> None:
    samples = read_samples(Drive(150), TASK, ImageInput(width=2, height=2, history=3))
    assert samples.windows.shape == (147, 4)
    seen = samples.images[samples.windows][:, :, 0, 0, 0]
    assert np.array_equal(seen, np.arange(147)[:, None] + np.arange(4))
    assert np.array_equal(samples.targets[:, 0], np.arange(3, 150))


def test_a_window_stays_in_its_drive() -> None:
    frames = Drive(9, sequence=lambda number: f"part {number // 3}")
    assert [frame.id for frame in with_history(frames, 2)] == ["d2", "d5", "d8"]
    late = [frame.replace(signals=Signals(timestamp=2.0 * n)) for n, frame in enumerate(Drive(4))]
    assert list(with_history(late, 1)) == []
    still = [frame.replace(signals=Signals()) for frame in Drive(4)]
    assert list(with_history(still, 1)) == []
    assert len(list(with_history(still, 0))) == 4


def test_frames_that_bring_their_history_keep_it() -> None:
    data = load("world:meadow", count=3, size="32x16", history=2)
    samples = read_samples(data, TASK, ImageInput(width=8, height=4, history=2))
    assert samples.windows.shape == (3, 3)
    assert len(samples.images) == 9


class Changed(BaseDataset):
    """Frames of a drive after one before, and the same two again, all brighter: ids alone do not tell."""

    def __init__(self) -> None:
        super().__init__("changed", ["d1", "d1 brighter"])

    def read(self, number: int) -> Frame:
        before, frame = Drive(2)
        brighter = [one.replace(image=one.image + np.uint8(100 * number)) for one in (before, frame)]
        return brighter[1].replace(previous=(brighter[0],))


def test_changed_histories_are_images_of_their_own() -> None:
    samples = read_samples(Changed(), TASK, ImageInput(width=16, height=8, history=1))
    assert samples.images[samples.windows].max(axis=(2, 3, 4)).tolist() == [[0, 1], [100, 101]]


def test_no_history_is_told() -> None:
    data = load("world:meadow", count=3, size="32x16")
    with pytest.raises(
        InputError, match=r"sees 2 earlier frames, but no frame of world:meadow has them: read .*=2"
    ):
        read_samples(data, TASK, ImageInput(width=8, height=4, history=2))


def test_frames_that_cannot_be_read() -> None:
    with pytest.raises(InputError, match=r"d3\.png is cut short"):
        read_samples(Drive(6, broken=[3]), TASK, TAKEN)
    assert len(read_samples(Drive(6, broken=[3], on_error="skip"), TASK, TAKEN)) == 5
    # Also where a job begins, for a network that sees earlier frames: 61 to 63 are followed by 65.
    skipping = Drive(150, broken=[64], on_error="skip")
    samples = read_samples(skipping, TASK, ImageInput(width=2, height=2, history=3))
    assert len(samples) == 146
    assert samples.images[samples.windows][61, :, 0, 0, 0].tolist() == [61, 62, 63, 65]
    with pytest.raises(InputError, match="drive has no frame that can be read"):
        read_samples(Drive(2, broken=[0, 1], on_error="skip"), TASK, TAKEN)


def test_a_signal_that_is_not_known() -> None:
    with pytest.raises(InputError, match="frame 'd0' has no throttle to learn; leave throttle out"):
        read_samples(Drive(2), DrivingTask(("throttle",)), TAKEN)


def test_too_much_for_the_memory() -> None:
    data = load("world", count=10_000)
    complaint = r"world needs 1\.4 GiB of memory for 10000 images of 320x160, and 1 are allowed"
    with pytest.raises(InputError, match=complaint):
        read_samples(data, TASK, ImageInput(width=320, height=160), memory=1.0)


def test_frames_that_bring_their_history_need_memory_for_it() -> None:
    taken = ImageInput(width=8, height=4, history=9)
    data = load("world:meadow", count=4, size="32x16", history=9)
    one = 3 * 8 * 4 / 2**30
    with pytest.raises(InputError, match="GiB of memory for 40 images of 8x4"):
        read_samples(data, TASK, taken, memory=39 * one)
    assert len(read_samples(data, TASK, taken, memory=40 * one).images) == 40


def test_a_drive_needs_memory_for_the_frames_that_two_jobs_read() -> None:
    taken = ImageInput(width=2, height=2, history=3)
    with pytest.raises(InputError, match="GiB of memory for 73 images of 2x2"):
        read_samples(Drive(70), TASK, taken, memory=1e-9)
    assert len(read_samples(Drive(70), TASK, taken).images) == 73


def test_several_data_sets_are_joined() -> None:
    samples = read_samples([Drive(3), Drive(2)], TASK, TAKEN)
    assert samples.targets[:, 0].tolist() == [0, 1, 2, 0, 1]
    assert samples.name == "drive + drive"
    assert samples.images[samples.windows[3, 0]].max() == samples.images[0].max()


def read(data: BaseDataset, history: int = 0) -> Samples:
    return read_samples(data, TASK, ImageInput(width=2, height=2, history=history))


@pytest.mark.parametrize(
    ("frames", "history", "share", "kept"),
    # With 79 frames the cut comes where one job ends and the next begins, which has read 61 to 63 once more.
    [(40, 0, 0.25, 10), (40, 3, 0.25, 6), (79, 3, 0.2, 12), (80, 3, 0.2, 12), (200, 3, 0.5, 96)],
)
def test_one_drive_is_divided_in_time_and_shares_no_image(
    frames: int, history: int, share: float, kept: int
) -> None:
    training, validation = read(Drive(frames), history).split(share)
    assert training.targets[:, 0].max() < validation.targets[:, 0].min()
    first, second = (
        {int(one) for one in part.images[part.windows][..., 0, 0, 0].ravel()}
        for part in (training, validation)
    )
    assert not first & second
    assert len(validation) == kept


def test_drives_are_divided_between_drives() -> None:
    training, validation = read(Drive(40, sequence=lambda number: number // 16)).split(0.25)
    assert (len(training), len(validation)) == (32, 8)


def test_a_border_far_from_the_share_is_none() -> None:
    """Of a short drive and a long one, the long one must not all be held out."""
    training, validation = read(Drive(100, sequence=lambda number: number >= 10)).split(0.2)
    assert (len(training), len(validation)) == (80, 20)
    training, validation = read(Drive(100, sequence=lambda number: number >= 90)).split(0.2)
    assert (len(training), len(validation)) == (90, 10)


def test_too_little_to_divide() -> None:
    with pytest.raises(InputError, match="drive has 1 sample, too few to keep 20% for validation"):
        read(Drive(1)).split(0.2)


def test_the_hash_tells_data_apart() -> None:
    assert read(Drive(5)).sha256 == read(Drive(5)).sha256
    assert read(Drive(5)).sha256 != read(Drive(6)).sha256
    changed = read(Drive(5))
    targets = changed.targets.copy()
    targets[0, 0] += 1
    other = Samples(changed.name, changed.images, changed.windows, targets, changed.drives)
    assert other.sha256 != changed.sha256
