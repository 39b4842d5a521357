"""The same bytes whatever the number of processes, and what reaches a worker."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator, Mapping
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs.executing import (
    REQUIREMENT,
    Bright,
    Counted,
    Frames,
    Framewise,
    Lambdas,
    Late,
    Meter,
    NamedFrames,
    Shared,
    Sizes,
    Told,
    Unloadable,
    digests,
)

from roadworthy.cases import Requirement, Status
from roadworthy.errors import InputError, MissingExtraError, UnknownNameError
from roadworthy.frames import Frame, Signals
from roadworthy.models import callable_model, load_model
from roadworthy.models.onnx import OnnxRuntime
from roadworthy.runs import read_rows, run, run_several
from roadworthy.runs.executors import Executor, executor_for
from roadworthy.runs.executors.dispatching import Dispatcher
from roadworthy.runs.executors.pickling import Looking, Parcel, Shipment, pack, unpack
from roadworthy.runs.executors.work import WorkUnit
from roadworthy.runs.shards import Shard
from roadworthy.runs.store.digests import digest_of_model


@pytest.fixture(scope="module")
def two(several_threads: None) -> Iterator[Executor]:
    with executor_for("processes", workers=2) as executor:
        yield executor


@pytest.mark.parametrize("inline", [False, True])
def test_no_number_of_processes_changes_a_byte(tmp_path: Path, inline: bool, two: Executor) -> None:
    data = Frames(60, (40, 60))  # large enough for shared memory
    systems = [Meter("a"), Meter("b", "raises", ["f7"])]
    other = Requirement("R2", "It is bright enough", "bright")
    with executor_for("processes", workers=1) as one, executor_for("processes", workers=3) as three:
        for name, executor in {"serial": None, "1": one, "2": two, "3": three}.items():
            run_several(
                Bright(inline=inline), [REQUIREMENT, other], data, systems, out=tmp_path / name, seed=3,
                batch_size=7, passes=0.3, executor=executor,
            )  # fmt: skip
    expected = digests(tmp_path / "serial")
    assert len(expected) > 40
    for name in ("1", "2", "3"):
        assert digests(tmp_path / name) == expected, name


def test_batches_that_go_to_a_worker_together_change_no_byte(
    tmp_path: Path, two: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit, sent = Dispatcher.submit, list[int]()

    def counted(self: Dispatcher, unit: WorkUnit) -> Any:
        sent.append(max(1, len(unit.sizes)))
        return submit(self, unit)

    monkeypatch.setattr(Dispatcher, "submit", counted)
    # A case that ends its process is found among the batches that went along with its own.
    systems = [Meter("a"), Meter("b", "exits", ["f290"])]
    for name, seconds in {"apart": 0.0, "together": 60.0}.items():
        monkeypatch.setattr("roadworthy.runs.loop._MESSAGE", seconds)
        sent.clear()
        run_several(
            Bright(), [REQUIREMENT], Frames(400), systems, out=tmp_path / name, batch_size=2, executor=two
        )
        assert sum(sent) == 200
        assert (max(sent) > 4) is (name == "together"), sent
    assert digests(tmp_path / "together") == digests(tmp_path / "apart")
    with pytest.raises(KeyboardInterrupt):
        run(
            Bright(), REQUIREMENT, Frames(400), Meter("a"), out=tmp_path / "stopped", batch_size=2,
            executor=two, progress=stopped_at(100),
        )  # fmt: skip
    stored = len(list(read_rows(tmp_path / "stopped")))
    assert 100 <= stored < 400
    run(
        Bright(), REQUIREMENT, Frames(400), Meter("a"), out=tmp_path / "stopped", batch_size=2, executor=two,
        resume=True,
    )  # fmt: skip
    parts = [tmp_path / "stopped/cases", tmp_path / "apart/runs/r1/a/cases"]
    assert digests(parts[0]) == digests(parts[1])


def test_cases_that_workers_make_change_no_byte(
    tmp_path: Path, two: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit, made = Dispatcher.submit, list[WorkUnit]()

    def noted(self: Dispatcher, unit: WorkUnit) -> Any:
        made.extend([unit] if unit.stretches else [])
        return submit(self, unit)

    monkeypatch.setattr(Dispatcher, "submit", noted)
    requirements = [REQUIREMENT, Requirement("R2", "It is bright enough", "bright")]
    tested, systems = (
        (Framewise(), requirements, NamedFrames(400)),
        [Meter("a"), Meter("b", "exits", ["f290"])],
    )
    run_several(*tested, systems[:1], out=tmp_path / "serial", batch_size=4)
    # A case that ends its process is found among those that a worker made itself.
    run_several(
        *tested, systems, out=tmp_path / "workers", batch_size=4, executor=two,
        tested=lambda requirement, system: (requirement.id, system.name) != ("R2", "b"),
    )  # fmt: skip
    assert any(290 // 4 in unit.stretches for unit in made)
    assert not any(unit.cases for unit in made)
    for id in ("r1", "r2"):
        assert digests(tmp_path / f"workers/runs/{id}/a") == digests(tmp_path / f"serial/runs/{id}/a")
    good, bad = (
        {str(row["case"]): row for row in read_rows(tmp_path / f"workers/runs/r1/{name}")} for name in "ab"
    )
    assert len(good) > 500
    assert good["f137#0"]["cluster"] == "drive 13"
    assert bad["f290#0"]["status"] == "error"
    assert bad.keys() == good.keys()
    assert all(row["margin"] == good[id]["margin"] for id, row in bad.items() if not id.startswith("f290#"))
    with pytest.raises(KeyboardInterrupt):
        run_several(
            *tested, systems[:1], out=tmp_path / "stopped", batch_size=4, executor=two, progress=stopped(300)
        )
    made.clear()
    run_several(
        *tested, systems[:1], out=tmp_path / "stopped", batch_size=4, executor=two, resume=True
    )  # fmt: skip
    assert made
    assert digests(tmp_path / "stopped") == digests(tmp_path / "serial")
    for name, executor in {"serial-1": None, "workers-1": two}.items():
        run_several(
            *tested, systems[:1], out=tmp_path / name, batch_size=4, executor=executor, shard=Shard(1, 3)
        )
    assert digests(tmp_path / "workers-1") == digests(tmp_path / "serial-1")
    assert 100 < len(list(read_rows(tmp_path / "serial-1/runs/r1/a"))) < 300


def stopped(cases: int) -> Any:
    return lambda done: stopped_at(cases)({"all": done})


def stopped_at(cases: int) -> Any:
    def stop(counts: Any) -> None:
        if sum(counts.values()) >= cases:
            raise KeyboardInterrupt

    return stop


def test_a_worker_has_one_thread_and_one_copy_of_a_system(tmp_path: Path, two: Executor) -> None:
    for name in ("first", "second"):
        method, out = Told(inline=True), tmp_path / name
        run(method, REQUIREMENT, Frames(12), Counted(), out=out, batch_size=1, executor=two)
        rows = list(read_rows(tmp_path / name))
        assert {(row["measure.threads"], row["measure.omp"], row["measure.network"]) for row in rows} == {
            (1, "1", "1")
        }
        assert {row["margin"] for row in rows} == {1.0}, "it is not opened again for another run"
        assert {row["measure.writable"] for row in rows} == {False}
        assert os.getpid() not in {row["measure.pid"] for row in rows}


def test_a_bug_ends_the_run_and_what_came_before_it_is_stored(tmp_path: Path, two: Executor) -> None:
    with pytest.raises(KeyError, match="a bug in the method") as caught:
        run(Late(), REQUIREMENT, Frames(20), Meter(), out=tmp_path, batch_size=4, executor=two)
    assert "in judge" in "".join(caught.value.__notes__)
    assert [row["case"] for row in read_rows(tmp_path)] == [f"c{number}" for number in range(9)]
    # The executor is as good as before.
    result = run(Bright(), REQUIREMENT, Frames(4), Meter(), executor=two)
    assert sum(result.counts.values()) == 4


def test_what_cannot_travel_is_told(two: Executor) -> None:
    unsendable = callable_model(lambda frames: [Signals(speed=1.0) for _ in frames], name="anonymous")
    with pytest.raises(InputError, match=r"the system anonymous cannot be sent .* use --executor serial"):
        run(Bright(), REQUIREMENT, Frames(2), unsendable, executor=two)
    method = Bright()
    method.hook = lambda: None  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="the method bright cannot be sent to other processes"):
        run(method, REQUIREMENT, Frames(2), Meter(), executor=two)
    with pytest.raises(InputError, match=r"case 'c0' cannot be sent to other processes .* can be pickled"):
        run(Lambdas(), REQUIREMENT, Frames(2), Meter(), executor=two)
    with pytest.raises(InputError, match=r"a worker cannot open what it has to test .*/nowhere/net.bin"):
        run(Bright(), REQUIREMENT, Frames(2), Unloadable(), executor=two)
    assert run(Bright(), REQUIREMENT, Frames(2), unsendable).counts[Status.VIOLATED] == 2


def test_data_that_cannot_travel_is_no_matter_when_frames_come_along(two: Executor) -> None:
    data = Frames(5)
    data.reader = lambda: None  # type: ignore[attr-defined]
    assert sum(run(Bright(inline=True), REQUIREMENT, data, Meter(), executor=two).counts.values()) == 5
    with pytest.raises(InputError, match="case 'c0' cannot be sent"):
        run(Bright(), REQUIREMENT, data, Meter(), executor=two)


def test_data_and_systems_that_hold_arrays_travel(two: Executor) -> None:
    data, system = Frames(5), Meter()
    data.kept = [np.arange(6), np.arange(6).reshape(2, 3)[:, ::2]]  # type: ignore[attr-defined]
    system.weights = np.ones(1000)  # type: ignore[attr-defined]
    assert sum(run(Bright(), REQUIREMENT, data, system, executor=two).counts.values()) == 5


def test_functions_of_a_file_reach_workers(tmp_path: Path, two: Executor) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from roadworthy.frames import Signals\n"
        "def drive(frames):\n    return [Signals(speed=200.0) for _ in frames]\n"
    )
    system = load_model(f"callable:{file}:drive")
    assert run(Bright(), REQUIREMENT, Frames(3), system, executor=two).counts[Status.PASSED] == 3
    # Of the same length and within a second, so that neither size nor time of the file tells.
    file.write_text(file.read_text().replace("200.0", "100.0"))
    system = load_model(f"callable:{file}:drive")
    assert run(Bright(), REQUIREMENT, Frames(3), system, executor=two).counts[Status.VIOLATED] == 3


def constant_network(file: Path, speed: float, *, weights: str = "") -> None:
    """Write a network that answers every image with one speed, its weights into a file of that name."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    bias = numpy_helper.from_array(np.full(300, speed, np.float32), "bias")
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "h", "w"])
    answer = helper.make_tensor_value_info("speed", TensorProto.FLOAT, ["n", 1])
    zero = numpy_helper.from_array(np.array(0, np.float32), "zero")
    nodes = [
        helper.make_node("ReduceMean", ["bias"], ["mean"], axes=[0], keepdims=0),
        helper.make_node("ReduceMean", ["image"], ["level"], axes=[2, 3], keepdims=0),
        helper.make_node("ReduceMax", ["level"], ["most"], axes=[1], keepdims=1),
        helper.make_node("Mul", ["most", "zero"], ["nothing"]),
        helper.make_node("Add", ["nothing", "mean"], ["speed"]),
    ]
    graph = helper.make_graph(nodes, "constant", [image], [answer], [bias, zero])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, file, save_as_external_data=bool(weights), location=weights or None, size_threshold=100)


def test_weights_of_branches_are_among_the_files(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    outside = numpy_helper.from_array(np.ones(2, np.float32), "w")
    onnx.external_data_helper.set_external_data(outside, "w.bin")
    branch = helper.make_graph([], "branch", [], [], [outside])
    node = helper.make_node("If", ["choice"], ["y"], then_branch=branch, else_branch=branch)
    choice = helper.make_tensor_value_info("choice", TensorProto.BOOL, [])
    onnx.save(helper.make_model(helper.make_graph([node], "g", [choice], [])), tmp_path / "n.onnx")
    runtime = object.__new__(OnnxRuntime)
    object.__setattr__(runtime, "path", tmp_path / "n.onnx")
    assert runtime.files == (tmp_path / "n.onnx", tmp_path / "w.bin")


@pytest.mark.parametrize("weights", ["", "weights.bin"])
def test_a_network_that_is_overwritten_is_another(tmp_path: Path, two: Executor, weights: str) -> None:
    found, digests_of = [], set()
    for speed in (200.0, 100.0):
        for file in tmp_path.iterdir():
            file.unlink()
        constant_network(tmp_path / "net.onnx", speed, weights=weights)
        system = load_model(f"onnx:{tmp_path}/net.onnx", output={"signals": "speed"})
        digests_of.add(digest_of_model(system).sha256)
        found.append(run(Bright(), REQUIREMENT, Frames(3), system, executor=two).counts)
    assert [counts[Status.PASSED] for counts in found] == [3, 0]
    assert len(digests_of) == 2


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("serial", {"workers": 2}, "'serial' has one worker"),
        ("processes", {"workers": 0}, "workers must be 1 or more, got 0"),
        ("processes", {"timeout_s": 0}, "timeout_s must be above 0 and finite, got 0"),
        ("processes", {"timeout_s": float("inf")}, "timeout_s must be above 0 and finite, got inf"),
        ("processes", {"memory_mb": float("nan")}, "memory_mb must be above 0 and finite, got nan"),
        ("processes", {"address": "auto"}, "are for the executor 'ray'"),
    ],
)
def test_executors_that_cannot_be_had_are_told(name: str, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        executor_for(name, **options)


def test_unknown_executors_and_a_missing_extra_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'processes'"):
        executor_for("process")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'roadworthy\[ray\]'"):
        executor_for("ray")


def test_arrays_travel_beside_the_pickle_and_stay_as_writable_as_they_were() -> None:
    fixed = np.arange(30_000, dtype=np.uint8)
    fixed.setflags(write=False)
    parcel = pack({"fixed": fixed, "free": np.ones(9), "none": np.empty(0)})
    assert len(parcel.content) < 1000
    shipment = Shipment(parcel)
    try:
        assert shipment.note.segment
        with Looking(shipment.note) as seen:
            found = unpack(seen)
            assert (found["fixed"] == fixed).all()
            assert [one.flags.writeable for one in found.values()][:2] == [False, True]
            kept = found["fixed"]
            del found, seen
    finally:
        shipment.delete()
    # The memory stays for who still looks at it.
    assert int(kept.sum()) == int(fixed.sum())
    del kept
    with Looking(Shipment(Parcel(b"small")).note) as small:
        assert small.content == b"small"
    assert not Looking._kept


def test_no_segment_is_left_behind(tmp_path: Path) -> None:
    """In a process of its own, with warnings as errors: the resource tracker speaks only at the end."""
    script = tmp_path / "script.py"
    script.write_text(
        # Others of this machine have segments as well, so it tells which are its own.
        "from multiprocessing import shared_memory\n"
        "made = []\n"
        "class Noted(shared_memory.SharedMemory):\n"
        "    def __init__(self, *args, **options):\n"
        "        super().__init__(*args, **options)\n"
        "        made.append(self.name)\n"
        "shared_memory.SharedMemory = Noted\n"
        "from tests.runs.executing import REQUIREMENT, Bright, Frames, Meter\n"
        "from roadworthy.runs import run\n"
        "from roadworthy.runs.executors import executor_for\n"
        "if __name__ == '__main__':\n"
        "    with executor_for('processes', workers=2) as executor:\n"
        "        run(Bright(inline=True), REQUIREMENT, Frames(40, (60, 80)), Meter(), batch_size=4,\n"
        "            executor=executor)\n"
        "    print(*made)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])},
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    made = ended.stdout.split()
    assert len(made) >= 10  # one for each batch at least
    for name in made:
        with pytest.raises(FileNotFoundError):
            SharedMemory(name)


def test_an_executor_serves_run_after_run(tmp_path: Path, two: Executor) -> None:
    for number in range(3):
        result = run(
            Bright(), REQUIREMENT, Frames(10 + number), Meter(f"m{number}"), batch_size=3, executor=two
        )
        assert sum(result.counts.values()) == 10 + number


def test_cases_that_share_a_frame_still_do_in_a_worker(tmp_path: Path, two: Executor) -> None:
    run(Shared(), REQUIREMENT, Frames(8), Sizes(), out=tmp_path, batch_size=4, executor=two)
    assert {row["measure.speed"] for row in read_rows(tmp_path)} == {4.0}
    assert len(list(read_rows(tmp_path))) == 80


class Watched(Frames):
    """Knows which of its frames are alive."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.alive: weakref.WeakSet[Frame] = weakref.WeakSet()

    def __getitem__(self, index: int, /) -> Frame:
        frame = super().__getitem__(index)
        self.alive.add(frame)
        return frame


def test_the_driver_lets_go_of_frames_when_their_rows_are_stored(two: Executor) -> None:
    data = Watched(200)
    most = 0

    def look(counts: Mapping[Status, int]) -> None:
        nonlocal most
        most = max(most, len(data.alive))

    gc.collect()
    gc.disable()
    try:
        run(Bright(inline=True), REQUIREMENT, data, Meter(), batch_size=4, executor=two, progress=look)
    finally:
        gc.enable()
    # Of each worker two batches and one that waits, the batch just stored and the one being filled.
    assert most <= (2 * 3 + 2) * 4 + 1
    assert not data.alive
