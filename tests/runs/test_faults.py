"""Systems that hang, explode or end their process, and processes that are killed: what each costs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from tests.runs.executing import REQUIREMENT, Bright, Frames, Hostile, Leaking, Meter, Parent, digests

from roadworthy.cases import Case, RecordDrive, Requirement, Status
from roadworthy.errors import InputError
from roadworthy.runs import read_rows, run, run_several
from roadworthy.runs.executors import executor_for
from roadworthy.runs.executors.dispatching import Dispatcher, Hand
from roadworthy.runs.executors.faults import TRIES, Limits, Ticket
from roadworthy.runs.executors.processes import ProcessExecutor
from roadworthy.runs.executors.work import BatchJob, WorkUnit

REASONS = {
    "hangs": "meter gave no answer within 1 s, tried alone; its process was ended",
    "explodes": "meter took more than 400 MB of memory, tried alone; its process was ended",
    "crashes": "the process of meter died, tried alone 3 times: "
    "a crash, an exit, or killed for want of memory",
}


@pytest.mark.parametrize("fault", REASONS)
def test_a_fault_costs_the_case_it_is_met_on(tmp_path: Path, fault: str) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    run(Bright(), REQUIREMENT, Frames(20), Meter(), out=tmp_path / "good", batch_size=8, images="all")
    limits: Any = {"timeout_s": 1.0 if fault == "hangs" else 60, "memory_mb": 400}
    with executor_for("processes", workers=2, **limits) as executor:
        result = run(
            Bright(), REQUIREMENT, Frames(20), Meter("meter", fault, ["f11"], seen), out=tmp_path / "bad",
            batch_size=8, images="all", executor=executor,
        )  # fmt: skip
    good, bad = (list(read_rows(tmp_path / name)) for name in ("good", "bad"))
    assert (bad[11]["status"], bad[11]["reason"]) == ("error", REASONS[fault])
    # Its image is there, though nobody could answer for it.
    assert bad[11]["images"] == good[11]["images"]
    assert bad[:11] + bad[12:] == good[:11] + good[12:]
    assert result.counts[Status.ERROR] == 1
    times = {"hangs": range(2, 3), "explodes": range(2, 5), "crashes": range(5, 6)}[fault]
    assert len(list(seen.iterdir())) in times, "in its batch, then alone"


def test_the_fault_of_one_system_is_not_another_ones(tmp_path: Path) -> None:
    systems = [Meter("a"), Meter("b", "exits", ["f2"]), Meter("c")]
    other = Requirement("R2", "It is bright enough", "bright")
    with executor_for("processes", workers=2) as executor:
        found = run_several(
            Bright(), [REQUIREMENT, other], Frames(8), systems, out=tmp_path / "out", executor=executor,
            batch_size=4, tested=lambda one, system: (one.id, system.name) != ("R2", "b"),
        )  # fmt: skip
    assert ("R2", "b") not in found.results
    errors = {pair: result.counts[Status.ERROR] for pair, result in found.results.items()}
    assert errors == {("R1", "a"): 0, ("R1", "b"): 1, ("R1", "c"): 0, ("R2", "a"): 0, ("R2", "c"): 0}
    assert all(sum(result.counts.values()) == 8 for result in found.results.values())


def test_a_worker_that_leaks_is_replaced_and_no_case_is_to_blame(tmp_path: Path) -> None:
    run(Bright(), REQUIREMENT, Frames(60), Meter(), out=tmp_path / "good", batch_size=4)
    with executor_for("processes", workers=1, memory_mb=400) as executor:
        data, out = Frames(60), tmp_path / "leaks"
        run(Bright(), REQUIREMENT, data, Leaking(), out=out, batch_size=4, executor=executor)
    good, leaks = (list(read_rows(tmp_path / name)) for name in ("good", "leaks"))
    assert [{**row, "system": ""} for row in good] == [{**row, "system": ""} for row in leaks]


class NoCrew:
    """Workers that nobody asks for anything."""

    size = depth = 1
    hands: ClassVar[list[Hand]] = []
    known: ClassVar[dict[int, str]] = {}


def test_memory_that_batches_before_left_is_not_blamed_on_a_case() -> None:
    case = Case("c0", "R1", (RecordDrive("oval"),))
    (piece,) = Ticket(WorkUnit((case,), ("meter",))).pieces
    job = BatchJob(Bright(), {}, frozenset({("R1", "meter")}), 1)
    dispatcher = Dispatcher(cast(Any, NoCrew()), job, Limits(megabytes=400))
    assert dispatcher._after(piece, "memory", fresh=False) == [piece]
    assert (piece.wants_fresh, piece.unit.blame) == (True, "")
    assert dispatcher._after(piece, "memory", fresh=True) == [piece]
    assert piece.unit.blame == "meter took more than 400 MB of memory, tried alone; its process was ended"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(("leaves", "ends"), [(False, False), (True, False), (True, True)])
def test_what_a_system_started_ends_with_its_worker(tmp_path: Path, leaves: bool, ends: bool) -> None:
    with executor_for("processes", workers=1) as executor:
        run(Bright(), REQUIREMENT, Frames(1), Parent(tmp_path, leaves=leaves, ends=ends), executor=executor)
        children = [int(path.name) for path in tmp_path.iterdir()]
        assert len(children) == (TRIES if ends else 1)
        assert ends or all(map(is_alive, children))
    assert all_end(children)


THREADED = """
import sys
import threading
import time
from pathlib import Path
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()  # as some libraries do when imported
from tests.runs.executing import REQUIREMENT, Bright, Frames, Parent
from roadworthy.runs import run
from roadworthy.runs.executors import executor_for
if __name__ == "__main__":
    with executor_for("processes", workers=1) as executor:
        parent = Parent(Path(sys.argv[1]), leaves=True, ends=False, hangs=sys.argv[2] == "hangs")
        run(Bright(), REQUIREMENT, Frames(1), parent, executor=executor)
    print("closed")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("how", ["answers", "hangs"])
def test_what_a_system_started_ends_also_where_the_script_has_threads(tmp_path: Path, how: str) -> None:
    """A script's own libraries are imported by each worker too; a driver may be killed while one hangs."""
    script, seen = tmp_path / "script.py", tmp_path / "seen"
    script.write_text(THREADED)
    seen.mkdir()
    driver = started(script, str(seen), how)
    while not (children := [int(path.name) for path in seen.iterdir()]) and driver.poll() is None:
        time.sleep(0.01)
    if how == "hangs":
        driver.kill()
    assert driver.communicate(timeout=60) == (("", "") if how == "hangs" else ("closed\n", ""))
    assert len(children) == 1
    assert all_end(children)


def test_a_script_that_starts_a_run_wherever_it_is_imported_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(THREADED.replace('__name__ == "__main__"', "True"))
    told = started(script, str(tmp_path), "answers").communicate(timeout=60)[1]
    assert "a script that starts a run must do so under if __name__ == '__main__'" in told


def all_end(pids: Sequence[int]) -> bool:
    for _ in range(100):
        if not any(map(is_alive, pids)):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="SIGCHLD")
@pytest.mark.parametrize("ends", [False, True])
def test_workers_are_let_go_where_nobody_is_told_that_a_process_has_ended(tmp_path: Path, ends: bool) -> None:
    """As where a library lets the process ignore how its children end."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with executor_for("processes", workers=1, timeout_s=60) as executor:
            parent = Parent(tmp_path, leaves=True, ends=ends)
            result = run(Bright(), REQUIREMENT, Frames(1), parent, executor=executor)
            pids = [*getattr(executor, "pids", ()), *(int(path.name) for path in tmp_path.iterdir())]
        assert len(pids) == (TRIES + 1 if ends else 2)
        assert all_end(pids)
        assert result.counts[Status.ERROR] == ends
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_workers_outlive_the_thread_that_hired_them() -> None:
    with executor_for("processes", workers=1) as executor:
        asked = {"executor": executor}
        thread = threading.Thread(target=run, args=(Bright(), REQUIREMENT, Frames(1), Meter()), kwargs=asked)
        thread.start()
        thread.join()
        assert isinstance(executor, ProcessExecutor)
        (pid,) = executor.pids
        time.sleep(1.5)
        assert is_alive(pid)


def test_systems_that_cannot_be_opened_without_dying_end_the_run() -> None:
    with (
        executor_for("processes", workers=2) as executor,
        pytest.raises(InputError, match="workers died one after the other while they opened"),
    ):
        run(Bright(), REQUIREMENT, Frames(2), Hostile(), executor=executor)


def test_a_worker_that_is_killed_costs_nothing(tmp_path: Path) -> None:
    run(Bright(), REQUIREMENT, Frames(4000), Meter(), out=tmp_path / "good", batch_size=4)
    executor = executor_for("processes", workers=2)
    assert isinstance(executor, ProcessExecutor)
    killed: set[int] = set()

    def kill(counts: Mapping[Status, int]) -> None:
        done = sum(counts.values())
        living = [pid for pid in executor.pids if pid not in killed]
        if living and len(killed) < 4 and done > 100 * (len(killed) + 1):
            killed.add(living[-1])
            os.kill(living[-1], signal.SIGKILL)

    with executor:
        run(
            Bright(), REQUIREMENT, Frames(4000), Meter(), out=tmp_path / "kills", batch_size=4,
            executor=executor, progress=kill,
        )  # fmt: skip
    assert len(killed) == 4
    assert digests(tmp_path / "good") == digests(tmp_path / "kills")


SCRIPT = """
import signal
import sys
from pathlib import Path
from tests.runs.executing import REQUIREMENT, Bright, Frames, Slow
from roadworthy.runs import run
from roadworthy.runs.executors import executor_for
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in what they start with &
    name, out, cases = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    workers = {} if name == "serial" else {"workers": 2}
    with executor_for(name, **workers) as executor:
        print("ready", flush=True)
        print(*getattr(executor, "pids", ()), flush=True)
        run(Bright(), REQUIREMENT, Frames(cases), Slow("meter"), out=out, batch_size=4, executor=executor,
            progress=lambda counts: print(*getattr(executor, "pids", ()), flush=True), resume=True)
"""


STOPPED = 2000  # cases, whose lines do not fit into the pipe


def start(folder: Path, name: str, cases: int) -> subprocess.Popen[str]:
    script = folder / "script.py"
    script.write_text(SCRIPT)
    return started(script, name, str(folder / "out"), str(cases))


def started(script: Path, *words: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path.cwd()), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(script), *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
        pipesize=4096,  # it waits for whoever reads, so it is never through before it is stopped
    )  # fmt: skip


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_a_driver_that_is_stopped_leaves_no_workers_and_is_resumed(tmp_path: Path, how: str) -> None:
    run(Bright(), REQUIREMENT, Frames(STOPPED), Meter(), out=tmp_path / "good", batch_size=4)
    driver = start(tmp_path, "processes", STOPPED)
    assert driver.stdout is not None
    assert driver.stderr is not None
    lines = iter(driver.stdout)
    pids: list[int] = []
    for _ in range(20):
        pids = [int(pid) for pid in next(lines).split() if pid.isdecimal()] or pids
    if how == "SIGINT":
        # As a terminal sends Ctrl-C: to all of them.
        os.killpg(driver.pid, signal.SIGINT)
    else:
        driver.kill()
    told = driver.communicate()[1]
    if how == "SIGINT":
        # Ctrl-C: the driver alone says something.
        assert told.strip().endswith("KeyboardInterrupt")
        assert told.count("Traceback") == 1
    assert len(pids) == 2
    assert all_end(pids)
    assert 0 < len(list(read_rows(tmp_path / "out"))) < STOPPED
    again = start(tmp_path, "processes", STOPPED)
    assert again.communicate()[1] == ""
    assert digests(tmp_path / "out") == digests(tmp_path / "good")
