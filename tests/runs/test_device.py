"""Networks on a device: one process holds them for all workers. No GPU is needed: the device is pretended."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Listener
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.runs.executing import REQUIREMENT, Bright, Frames, digests

from roadworthy.cases import Status
from roadworthy.errors import DeviceError, InputError
from roadworthy.frames import Frame
from roadworthy.models import Network, load_model
from roadworthy.models.description import described
from roadworthy.models.network import Tensor, device_of
from roadworthy.runs import run
from roadworthy.runs.executors import executor_for
from roadworthy.runs.executors.device import _connected
from roadworthy.runs.store import read_manifest, read_verdicts
from roadworthy.runs.suites import run_suite, suite_of

COUNT = 24
LAST: list[Any] = []
BROKEN: list[bool] = []


@dataclass(frozen=True)
class Pretended:
    """Answers with the mean of an image plus what its file says, and notes which process did."""

    folder: Path
    device: str = "pretended"
    room: int = 10**6
    fatal: float = -1.0
    fault: str = ""
    input: Tensor | None = None
    outputs: tuple[Tensor, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.folder / "weights",)

    @property
    def is_gone(self) -> bool:
        return self.fault == "goes" and (self.folder / "gone").exists()

    @property
    def opened(self) -> None:
        if self.is_gone:
            raise RuntimeError("No CUDA GPUs are available")

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> dict[str, NDArray[Any]]:
        with (self.folder / "asked").open("a") as asked:
            asked.write(f"{os.getpid()} {len(images)}\n")
        if BROKEN or self.is_gone:
            raise RuntimeError("CUDA error: unknown error\nCompile with TORCH_USE_CUDA_DSA")
        if len(images) > self.room:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        means = images.mean((1, 2, 3), dtype=np.float64)
        if np.abs(means - self.fatal).min() < 1e-6:
            if self.fault == "hangs":
                time.sleep(600)
            if self.fault in ("breaks", "goes"):
                # What a process computes after such an error fails, too.
                BROKEN.append(True)
                (self.folder / "gone").write_text(self.fault)
                raise RuntimeError("CUDA error: device-side assert triggered")
            if self.fault == "raises":
                raise FileNotFoundError("anchors.npy is missing")
            os._exit(7)
        if self.fault == "remembers":
            # As a module does that keeps something on itself.
            LAST[:] = [means]
            time.sleep(0.2)
            (means,) = LAST
        added = float(self.files[0].read_text())
        return {"speed": (means * 255 + added).astype(np.float32)[:, None]}


def network(folder: Path, added: float = 0.0, **options: Any) -> Network[Any]:
    (folder / "weights").write_text(str(added))
    spec = described({"output.signals": "speed", "input.width": 12, "input.height": 8}).spec
    return Network("net", Pretended(folder, **options), spec)


def asked(folder: Path) -> list[tuple[int, int]]:
    rows = [line.split() for line in (folder / "asked").read_text().splitlines()]
    return [(int(process), int(count)) for process, count in rows]


def test_one_process_answers_for_all_workers(tmp_path: Path) -> None:
    here = run(Bright(), REQUIREMENT, Frames(COUNT), network(tmp_path), out=tmp_path / "here", batch_size=4)
    (tmp_path / "asked").unlink()
    with executor_for("processes", workers=2) as executor:
        there = run(
            Bright(), REQUIREMENT, Frames(COUNT), network(tmp_path), out=tmp_path / "there",
            executor=executor, batch_size=4,
        )  # fmt: skip
        workers = set(executor.pids)  # type: ignore[attr-defined]
    assert there.counts == here.counts
    rows = [
        {name: one for name, one in digests(tmp_path / folder).items() if name.endswith(".parquet")}
        for folder in ("here", "there")
    ]
    assert rows[0]
    assert rows[0] == rows[1]
    (holder,) = {process for process, _ in asked(tmp_path)}
    assert holder not in {*workers, os.getpid()}
    assert sum(count for _, count in asked(tmp_path)) == COUNT


def test_a_frame_that_ends_the_holder_is_the_only_error(tmp_path: Path) -> None:
    fatal = brightness(5)
    with executor_for("processes", workers=2) as executor:
        found = run(
            Bright(), REQUIREMENT, Frames(COUNT), network(tmp_path, fatal=fatal), out=tmp_path / "run",
            executor=executor, batch_size=4,
        )  # fmt: skip
    assert found.counts[Status.ERROR] == 1
    assert found.counts[Status.PASSED] + found.counts[Status.VIOLATED] == COUNT - 1
    (error,) = [one for one in read_verdicts(tmp_path / "run") if one.status is Status.ERROR]
    assert error.case_id == "c5"
    assert "ended its process on pretended" in error.reason


def brightness(number: int) -> float:
    """Return the mean by which a frame is known to the network."""
    return float((Frames(COUNT)[number].image.astype(np.float32) / 255).mean(dtype=np.float64))


def test_two_workers_never_ask_at_once(tmp_path: Path) -> None:
    here = run(Bright(), REQUIREMENT, Frames(8), network(tmp_path), out=tmp_path / "here", batch_size=2)
    with executor_for("processes", workers=2) as executor:
        run(
            Bright(), REQUIREMENT, Frames(8), network(tmp_path, fault="remembers"), out=tmp_path / "there",
            executor=executor, batch_size=2,
        )  # fmt: skip
    margins = [[one.margin for one in read_verdicts(tmp_path / name)] for name in ("here", "there")]
    assert here.counts[Status.ERROR] == 0
    assert margins[0] == margins[1]


def test_what_the_network_raises_is_told(tmp_path: Path) -> None:
    with executor_for("processes", workers=1) as executor:
        run(
            Bright(), REQUIREMENT, Frames(4), network(tmp_path, fatal=brightness(2), fault="raises"),
            out=tmp_path / "run", executor=executor,
        )  # fmt: skip
    (error,) = [one for one in read_verdicts(tmp_path / "run") if one.status is Status.ERROR]
    assert error.case_id == "c2"
    assert "FileNotFoundError" in error.reason
    assert "anchors.npy is missing" in error.reason


def test_a_frame_that_hangs_costs_itself_and_the_holder_is_replaced(tmp_path: Path) -> None:
    with executor_for("processes", workers=1, timeout_s=15) as executor:
        run(
            Bright(), REQUIREMENT, Frames(4), network(tmp_path, fatal=brightness(1), fault="hangs"),
            out=tmp_path / "run", executor=executor,
        )  # fmt: skip
    found = {one.case_id: one for one in read_verdicts(tmp_path / "run")}
    assert [id for id, one in found.items() if one.status is Status.ERROR] == ["c1"]
    assert len({process for process, _ in asked(tmp_path)}) > 1


def test_a_frame_that_breaks_the_device_is_the_only_error(tmp_path: Path) -> None:
    with executor_for("processes", workers=1) as executor:
        run(
            Bright(), REQUIREMENT, Frames(4), network(tmp_path, fatal=brightness(3), fault="breaks"),
            out=tmp_path / "run", executor=executor, batch_size=4,
        )  # fmt: skip
    (error,) = [one for one in read_verdicts(tmp_path / "run") if one.status is Status.ERROR]
    assert error.case_id == "c3"
    assert "CUDA error: device-side assert triggered" in error.reason


def test_a_device_that_is_gone_ends_the_run_which_goes_on_when_it_is_back(tmp_path: Path) -> None:
    def carried_out(name: str, **options: Any) -> None:
        run(
            Bright(), REQUIREMENT, Frames(12), network(tmp_path, **options), out=tmp_path / name,
            executor=executor, batch_size=1, resume=True,
        )  # fmt: skip

    told = r"no process can open it on pretended, .* give the same command again"
    with executor_for("processes", workers=1) as executor, pytest.raises(DeviceError, match=told):
        carried_out("run", fatal=brightness(6), fault="goes")
    executor = executor_for("serial")
    stored = list(read_verdicts(tmp_path / "run"))
    assert len(stored) < 12
    assert not [one.reason for one in stored if one.status not in (Status.PASSED, Status.VIOLATED)]
    carried_out("run")
    carried_out("whole")
    assert digests(tmp_path / "run") == digests(tmp_path / "whole")


def test_a_holder_that_is_ending_is_not_asked(tmp_path: Path) -> None:
    with Listener(str(tmp_path / "socket"), "AF_UNIX") as ending:
        taken = threading.Thread(target=lambda: ending.accept().close())
        taken.start()
        assert _connected(tmp_path / "socket") is None
        taken.join()
    assert _connected(tmp_path / "socket") is None


def test_a_device_that_is_gone_ends_a_run_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "gone").touch()
    with pytest.raises(DeviceError, match=r"net can use pretended no more in this process \(CUDA error: unk"):
        run(Bright(), REQUIREMENT, Frames(2), network(tmp_path, fault="goes"), out=tmp_path / "run")


def test_a_network_that_is_overwritten_is_held_anew(tmp_path: Path) -> None:
    with executor_for("processes", workers=1) as executor:
        counts = [
            run(Bright(), REQUIREMENT, Frames(4), network(tmp_path, added), executor=executor).counts
            for added in (500.0, -500.0)
        ]
    assert [one[Status.PASSED] for one in counts] == [4, 0]


def test_without_room_the_batch_is_halved_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    system = network(tmp_path, room=5)
    frames = list(Frames(16))
    found = system.predict(frames)
    whole = network(tmp_path).predict(frames)
    assert [one.speed for one in found] == [one.speed for one in whole]
    assert "net: pretended has no room for 16 images at a time, and gets 8" in caplog.messages
    assert "and gets 4" in caplog.messages[-1]
    (tmp_path / "asked").unlink()
    system.predict(frames)
    assert [count for _, count in asked(tmp_path)] == [4, 4, 4, 4]


def test_one_image_without_room_is_an_error_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="CUDA out of memory"):
        network(tmp_path, room=0).predict(list(Frames(2)))


def test_a_run_tells_where_its_models_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = {
        "suite": "fog",
        "models": {"net": "dave2"},
        "data": {"town": {"data": "world:town", "sample": 4}},
        "requirements": {"fog": {"rule": "If it is foggy, slow down."}},
    }
    real = load_model("dave2")
    monkeypatch.setattr("roadworthy.runs.suites.opening.load_model", lambda *_, **__: elsewhere(real))
    run_suite(suite_of(suite, tmp_path / "run"), tmp_path / "run")
    manifest = read_manifest(tmp_path / "run") or {}
    assert manifest["settings"]["devices"] == {"net": "pretended"}
    (notes,) = manifest["notes"]["models"]["net"].values()
    assert "net: it ran on pretended; 4 of 4 answers are those of the CPU to rounding" in "; ".join(notes)
    assert any("rounding may turn" in one for one in notes)


def elsewhere(system: Any) -> Any:
    """Return a network of ONNX that says it is on a device; copies of it for the CPU are what they were."""
    runtime = system.runtime
    system.runtime = type("Elsewhere", (type(runtime),), {})(runtime.path, "cpu", 1)
    object.__setattr__(system.runtime, "device", "pretended")
    return system


@pytest.mark.parametrize("reference", ["onnx", "torch"])
def test_the_device_of_the_environment_counts_where_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    monkeypatch.setenv("ROADWORTHY_DEVICE", "tpu")
    with pytest.raises(InputError, match="tpu"):
        open_one(tmp_path, reference)
    monkeypatch.setenv("ROADWORTHY_DEVICE", "cuda")
    with pytest.raises(InputError, match="cuda"):
        open_one(tmp_path, reference)
    assert device_of(open_one(tmp_path, reference, device="cpu")) == "cpu"
    monkeypatch.delenv("ROADWORTHY_DEVICE")
    assert device_of(open_one(tmp_path, reference)) == "cpu", "there is no GPU here"


def open_one(folder: Path, kind: str, **options: Any) -> Any:
    if kind == "onnx":
        return load_model("dave2", **options)
    (folder / "net.py").write_text("import torch\n\n\ndef net():\n    return torch.nn.Identity()\n")
    return load_model(f"torch:{folder}/net.py:net", output={"signals": "speed"}, **options)
