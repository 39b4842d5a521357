"""Handing out batches, without any process: who gets what, and what becomes of workers that fail."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.runs.executing import Bright, frame_of

from roadworthy.cases import Case, Predict, Status, Verdict
from roadworthy.errors import InputError
from roadworthy.runs.executors import cluster, default_executor, dispatching, executor_for, faults
from roadworthy.runs.executors.cluster import RayExecutor, received, sent
from roadworthy.runs.executors.dispatching import Crew, CrewExecutor, Dispatcher, Event, Hand
from roadworthy.runs.executors.faults import Limits, Piece, Ticket, divided, machine_megabytes, unmade
from roadworthy.runs.executors.pickling import Parcel, pack
from roadworthy.runs.executors.processes import ProcessExecutor
from roadworthy.runs.executors.work import BatchJob, BatchResult, Done, WorkUnit


def now() -> float:
    """What the clock of the dispatcher says."""
    time: Any = vars(dispatching)["time"]
    return float(time.monotonic())


class FakeCrew(Crew[Hand]):
    """Workers who do what a test says."""

    def __init__(self, size: int = 2) -> None:
        super().__init__(size)
        self.events: list[Event] = []
        self.used: dict[int, float | None] = {}
        self.reason = ""
        self.hired = 0
        self.dismissed: list[Hand] = []
        self.opened: list[Hand] = []
        self.waited: list[float] = []

    def ship(self, parcel: Parcel) -> Any:
        return parcel

    def open(self, hand: Hand) -> None:
        self.opened.append(hand)

    def hire(self) -> None:
        self.hired += 1
        self.hands.append(Hand(pid=self.hired))

    def give(self, hand: Hand, piece: Piece) -> None:
        if len(hand.pieces) == 1:
            hand.since = now()

    def wait(self, seconds: float) -> Sequence[Event]:
        self.waited.append(seconds)
        found, self.events = self.events, []
        return found

    def dismiss(self, hand: Hand) -> None:
        self.hands.remove(hand)
        self.dismissed.append(hand)

    def lost(self) -> str:
        return self.reason

    def megabytes(self, hand: Hand) -> float | None:
        return self.used.get(hand.pid)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that a test sets."""
    now = SimpleNamespace(at=1000.0)
    monkeypatch.setattr(dispatching, "time", SimpleNamespace(monotonic=lambda: now.at))
    return now


def case(number: int) -> Case:
    return Case(f"c{number}", "R1", (Predict((frame_of(number),)),))


def unit(*numbers: int, systems: tuple[str, ...] = ("a",)) -> WorkUnit:
    return WorkUnit(tuple(map(case, numbers)), systems)


JOB = BatchJob(Bright(), {}, frozenset({("R1", "a"), ("R1", "b")}), 8)


def begun(crew: FakeCrew, **limits: float) -> Dispatcher:
    return Dispatcher(crew, JOB, Limits(**limits))


def opened(crew: FakeCrew) -> None:
    crew.events += [Event(hand, "opened") for hand in crew.hands]


def test_as_many_are_hired_as_there_is_work_and_each_holds_two(clock: SimpleNamespace) -> None:
    crew = FakeCrew(3)
    dispatcher = begun(crew)
    assert dispatcher.ahead == 9
    dispatcher.submit(unit(0))
    assert crew.hired == 1
    for number in range(1, 9):
        dispatcher.submit(unit(number))
    assert crew.hired == 3
    assert not any(hand.pieces for hand in crew.hands), "none has opened the systems"
    opened(crew)
    dispatcher._turn(0)
    held = [[piece.unit.cases[0].id for piece in hand.pieces] for hand in crew.hands]
    assert held == [["c0", "c3"], ["c1", "c4"], ["c2", "c5"]], "each gets one before any gets two"
    assert len(dispatcher._waiting) == 3
    crew.events = [Event(crew.hands[1], "returned", Done())]
    dispatcher._turn(0)
    assert [piece.unit.cases[0].id for piece in crew.hands[1].pieces] == ["c4", "c6"]
    assert crew.hands[1].served == 1
    assert crew.hands[1].since is None


def test_a_result_is_waited_for(clock: SimpleNamespace) -> None:
    crew = FakeCrew(1)
    dispatcher = begun(crew)
    wait = dispatcher.submit(unit(0))
    opened(crew)
    dispatcher._turn(0)
    crew.waited.clear()
    done = Done([BatchResult(0, "a", Verdict.from_margin(case(0), 1.0))])
    crew.events = [Event(crew.hands[0], "started"), Event(crew.hands[0], "returned", done)]
    clock.at += 7
    assert wait() is done
    assert crew.waited == [0.1, 0], "it waits for something to happen, then looks once more"
    gone = Hand()
    crew.events = [Event(gone, "died")]
    dispatcher._turn(0)
    assert crew.dismissed == [], "one that was dismissed has nothing to say"


@pytest.mark.parametrize(
    ("reason", "advice"), [("no file", "use --executor serial"), ("std::bad_alloc", "memory")]
)
def test_a_worker_that_cannot_open_the_systems_ends_the_run(
    clock: SimpleNamespace, reason: str, advice: str
) -> None:
    crew = FakeCrew(1)
    dispatcher = begun(crew)
    dispatcher.submit(unit(0))
    crew.events = [Event(crew.hands[0], "refused", reason)]
    with pytest.raises(InputError, match=rf"cannot open what it has to test \({reason}\): .*{advice}"):
        dispatcher._turn(0)


def test_six_that_die_before_they_have_opened_anything_end_the_run(clock: SimpleNamespace) -> None:
    crew = FakeCrew(1)
    dispatcher = begun(crew)
    dispatcher.submit(unit(0))
    for _ in range(5):
        crew.events = [Event(crew.hands[0], "died")]
        dispatcher._turn(0)
    opened(crew)
    dispatcher._turn(0)
    crew.hands[0].is_open = False
    for _ in range(5):  # it began anew with the one that opened
        crew.events = [Event(crew.hands[0], "died")]
        dispatcher._turn(0)
    crew.events = [Event(crew.hands[0], "died")]
    with pytest.raises(
        InputError,
        match="6 workers died one after the other while they opened what they have to test: if memory is",
    ):
        dispatcher._turn(0)


def test_those_that_die_as_they_begin_stop_nothing_while_another_answers(clock: SimpleNamespace) -> None:
    """As on nodes that die again and again, on a machine so busy that no worker there begins in time."""
    crew = FakeCrew(2)
    dispatcher = begun(crew)
    for number in range(40):
        dispatcher.submit(unit(number))
    crew.events = [Event(crew.hands[0], "opened")]
    dispatcher._turn(0)
    for _ in range(8):
        busy, other = crew.hands
        crew.events = [Event(busy, "returned"), Event(other, "died")]
        dispatcher._turn(0)
    assert crew.hands[0].served == 8


def test_a_batch_that_kills_workers_is_tried_again_then_taken_apart(clock: SimpleNamespace) -> None:
    crew = FakeCrew(1)
    dispatcher = begun(crew)
    dispatcher.submit(unit(0, 1, systems=("a", "b")))
    dispatcher.submit(unit(2))
    for deaths in (1, 2):
        opened(crew)
        dispatcher._turn(0)
        (first, second) = crew.hands[0].pieces
        assert (first.deaths, second.deaths) == (deaths - 1, 0)
        crew.events = [Event(crew.hands[0], "died")]
        dispatcher._turn(0)
    waiting = [
        (one.unit.cases[0].id, one.unit.systems, one.places, one.deaths) for one in dispatcher._waiting
    ]
    assert waiting == [
        ("c0", ("a",), (0,), 0), ("c1", ("a",), (1,), 0), ("c0", ("b",), (0,), 0), ("c1", ("b",), (1,), 0),
        ("c2", ("a",), (0,), 0),
    ]  # fmt: skip


def test_a_case_that_a_worker_died_on_is_tried_by_one_that_has_met_no_other_system(
    clock: SimpleNamespace,
) -> None:
    crew = FakeCrew(2)
    dispatcher = begun(crew)
    for number in range(4):
        dispatcher.submit(unit(number))
    opened(crew)
    dispatcher._turn(0)
    first, second = crew.hands
    guilty, innocent = first.pieces
    crew.events = [Event(second, "returned", Done()), Event(second, "returned", Done()), Event(first, "died")]
    dispatcher._turn(0)
    # A model may have left something in its process that ends it later: that is not for the guilty one.
    assert list(second.pieces) == [innocent]
    opened(crew)
    dispatcher._turn(0)
    assert (crew.hands[-1].pieces[0], crew.hands[-1].served) == (guilty, 0)


def test_who_needs_a_new_worker_and_has_none_to_come_is_not_passed_over_for_ever(
    clock: SimpleNamespace,
) -> None:
    crew = FakeCrew(2)
    dispatcher = begun(crew)
    for number in range(6):
        dispatcher.submit(unit(number))
    opened(crew)
    dispatcher._turn(0)
    first, second = crew.hands
    fresh, other = dispatcher._waiting
    fresh.wants_fresh = True
    crew.events = [Event(one, "returned", Done()) for one in (first, second)]
    dispatcher._turn(0)
    assert list(dispatcher._waiting) == [fresh, other], "both have met a system, and one has to end"
    crew.events = [Event(first, "returned", Done())]
    dispatcher._turn(0)
    assert (crew.dismissed, other in second.pieces) == ([first], True)
    opened(crew)
    dispatcher._turn(0)
    assert list(crew.hands[-1].pieces) == [fresh]


@pytest.mark.parametrize("fault", ["died", "hangs", "memory"])
def test_one_case_is_to_blame_after_three_deaths_or_at_once(clock: SimpleNamespace, fault: Any) -> None:
    dispatcher = begun(FakeCrew(1), seconds=60, megabytes=400)
    (piece,) = Ticket(unit(0)).pieces
    tries = 0
    while not piece.unit.blame:
        assert dispatcher._after(piece, fault, fresh=True) == [piece]
        tries += 1
    assert tries == (3 if fault == "died" else 1)
    told = {
        "died": "the process of a died, tried alone 3 times: a crash, an exit, or killed for want of memory",
        "hangs": "a gave no answer within 60 s, tried alone; its process was ended",
        "memory": "a took more than 400 MB of memory, tried alone; its process was ended",
    }
    assert piece.unit.blame == told[fault]
    # Then no system was there, and it is what makes the frames.
    assert dispatcher._after(piece, fault, fresh=True) == []
    assert piece.result is not None
    ((found,),) = (piece.result.results,)
    assert (found.place, found.system, found.verdict.status) == (0, "a", Status.ENGINE_ERROR)
    assert found.verdict.reason == (
        "what makes its frames hangs, crashes or takes too much memory, with no model in the process"
    )
    many = Ticket(unit(0, 1))
    if fault != "died":
        assert len(dispatcher._after(many.pieces[0], fault, fresh=True)) == 2, "it is taken apart at once"


def test_who_hangs_or_takes_too_much_is_replaced_and_others_are_not(clock: SimpleNamespace) -> None:
    crew = FakeCrew(2)
    dispatcher = begun(crew, seconds=60, megabytes=400)
    for number in range(2):
        dispatcher.submit(unit(number))
    opened(crew)
    dispatcher._turn(0)
    first, second = crew.hands
    clock.at += 60
    crew.used = {1: 400.0, 2: None}
    dispatcher._turn(0)
    assert crew.dismissed == [], "exactly as much as it may take"
    clock.at += 0.05
    dispatcher._turn(0)
    assert crew.dismissed == [], "nobody looks ten times in a second"
    clock.at += 0.06
    second.since = clock.at
    dispatcher._turn(0)
    assert crew.dismissed == [first]
    assert len(crew.hands) == 2
    crew.used = {2: 400.5}
    clock.at += 1
    dispatcher._turn(0)
    assert crew.dismissed == [first, second]


def test_memory_between_two_batches_is_nobodys_fault(clock: SimpleNamespace) -> None:
    crew = FakeCrew(1)
    dispatcher = begun(crew, megabytes=400)
    dispatcher.submit(unit(0))
    opened(crew)
    dispatcher._turn(0)
    (hand,) = crew.hands
    crew.used = {1: 900.0}
    hand.since = None
    clock.at += 1
    dispatcher._turn(0)
    assert crew.dismissed == [], "it has work that it has not begun"
    hand.pieces.clear()
    clock.at += 1
    dispatcher._turn(0)
    assert crew.dismissed == [hand]
    assert not dispatcher._waiting


def test_a_case_that_wants_a_worker_of_its_own_gets_one_that_did_nothing_before(
    clock: SimpleNamespace,
) -> None:
    crew = FakeCrew(1)
    dispatcher = begun(crew)
    dispatcher.submit(unit(0))
    opened(crew)
    dispatcher._turn(0)
    (old,) = crew.hands
    crew.events = [Event(old, "returned", Done())]
    dispatcher._turn(0)
    (piece,) = Ticket(unit(1)).pieces
    piece.wants_fresh = True
    dispatcher._waiting.append(piece)
    dispatcher._turn(0)
    assert crew.dismissed == [old]
    (new,) = crew.hands
    assert not new.pieces
    dispatcher._turn(0)
    assert crew.hands == [new], "one that opens the systems is not dismissed"
    opened(crew)
    dispatcher._turn(0)
    assert list(new.pieces) == [piece]


def test_no_worker_for_long_is_told(clock: SimpleNamespace) -> None:
    crew = FakeCrew(1)
    dispatcher = begun(crew)
    dispatcher.submit(unit(0))
    clock.at += 600
    crew.reason = "the cluster broke down"
    dispatcher._turn(0)  # none has ever opened anything, so the crew is not asked
    clock.at += 1
    with pytest.raises(InputError, match="no worker has opened what it has to test for 601 s: see whether"):
        dispatcher._turn(0)
    patient = begun(FakeCrew(1), seconds=1000)
    clock.at += 1000
    patient._turn(0)
    served = begun(crew)
    crew.hands[0].is_open = True
    clock.at += 1
    served._turn(0)
    crew.hands.clear()
    clock.at += 20
    served._turn(0)
    clock.at += 1
    crew.reason = ""
    served._turn(0)
    crew.reason = "the cluster broke down"
    clock.at += 1
    with pytest.raises(InputError, match=r"^the cluster broke down$"):
        served._turn(0)


def test_a_crew_forgets_its_job_and_who_is_not_ready(clock: SimpleNamespace) -> None:
    crew = FakeCrew(3)
    idle, opening = Hand(is_open=True), Hand(pid=7)
    busy = Hand(is_open=True, pieces=deque(Ticket(unit(0)).pieces))
    crew.hands = [idle, busy, opening]
    executor = CrewExecutor(crew, Limits(5))
    assert executor.workers == 3
    assert executor.pids == (7,)
    with executor.session(JOB) as session:
        assert isinstance(session, Dispatcher)
        assert crew.opened == [idle, busy, opening]
        assert crew.job is not None
    assert crew.job is None
    assert crew.hands == [idle]
    assert not idle.is_open
    executor.__exit__()
    assert crew.hands == []


def test_pieces_of_a_batch_come_together_in_their_order() -> None:
    ticket = Ticket(unit(0, 1, systems=("a", "b", "c")))
    (whole,) = ticket.pieces
    assert not whole.is_single
    parts = divided(whole, JOB)
    assert [(one.unit.systems, one.places, one.is_single) for one in parts] == [
        (("a",), (0,), True), (("a",), (1,), True), (("b",), (0,), True), (("b",), (1,), True),
    ]  # fmt: skip
    assert ticket.pieces == parts
    assert not ticket.is_done
    verdict = Verdict.from_margin(case(0), 1.0)
    for number, part in enumerate(parts):
        name = part.unit.systems[0]
        result = BatchResult(0, name, verdict, images=("both",) if number else ("first", "both"))
        images = {one: f"{number}-{one}".encode() for one in result.images}
        part.result = Done([result], images=images, seconds=1.0)
        part.result.spent |= {("R1", 0): 2.0**number, ("R1", name): 1.0}
        part.result.rows["R1", name].add({"case": f"c{number}", "status": "passed"})
    assert ticket.is_done
    parts[2].result.error = failure = KeyError("bug")
    found = ticket.done()
    assert [(one.place, one.system, one.images) for one in found.results] == [
        (0, "a", ("first", "both")), (1, "a", ("both",)), (0, "b", ("both",)),
    ]  # fmt: skip
    assert found.images == {"first": b"0-first", "both": b"2-both"}
    assert found.spent == {("R1", 0): 1.0 + 2.0 + 4.0, ("R1", "a"): 2.0, ("R1", "b"): 1.0}
    assert {pair: rows.content().count(b"\n") for pair, rows in found.rows.items()} == {
        ("R1", "a"): 2, ("R1", "b"): 1,
    }  # fmt: skip
    assert (found.error, found.seconds) == (failure, 3.0)
    assert ticket.pieces == []
    assert unmade(parts[0], JOB).results[0].place == 0
    assert not Ticket(unit(0, systems=("a", "b"))).pieces[0].is_single


def test_batches_that_went_together_are_tried_apart_before_their_cases_are() -> None:
    cases = tuple(map(case, range(5)))
    ticket = Ticket(WorkUnit(cases, ("a", "b"), sizes=(2, 3)))
    parts = divided(ticket.pieces[0], JOB)
    assert [(one.unit.cases, one.places) for one in parts] == [(cases[:2], (0, 1)), (cases[2:], (0, 1, 2))]
    assert ticket.pieces == parts
    assert [len(divided(one, JOB)) for one in parts] == [4, 6], "one for each case and system"
    assert [piece.unit.cases[0] for piece in ticket.pieces] == [*cases[:2] * 2, *cases[2:] * 2]


def test_memory_of_a_machine_is_that_of_its_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_megabytes()
    assert machine is not None
    monkeypatch.setattr(faults, "_LIMITS", (str(tmp_path / "none"), str(tmp_path / "limit")))
    physical = machine_megabytes()
    (tmp_path / "limit").write_text("max\n")
    assert machine_megabytes() == physical
    (tmp_path / "limit").write_text(f"{64 * 2**20}\n")
    assert machine_megabytes() == 64
    (tmp_path / "limit").write_text(f"{2**62}\n")
    assert machine_megabytes() == physical
    assert faults.process_megabytes(2**30) is None
    monkeypatch.setattr(os, "sysconf", lambda _: (_ for _ in ()).throw(ValueError))
    assert machine_megabytes() is None


def test_processes_that_are_started_find_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with faults.environment():
        assert {os.environ[name] for name in faults.ENVIRONMENT} == {"1"}
    assert os.environ["OMP_NUM_THREADS"] == "8"
    assert "MKL_NUM_THREADS" not in os.environ


def test_workers_share_four_fifths_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "machine_megabytes", lambda: 1000.0)
    assert ProcessExecutor(4)._limits == Limits(600.0, 200.0)
    assert ProcessExecutor(4, timeout_s=None, memory_mb=50)._limits == Limits(None, 50)
    monkeypatch.setattr(faults, "machine_megabytes", lambda: None)
    assert ProcessExecutor(1)._limits == Limits(600.0, None)


def test_an_executor_is_made_as_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    with executor_for("processes", timeout_s=5, memory_mb=70) as three:
        assert (three.name, three.workers) == ("processes", 3)
        assert three._limits == Limits(5, 70)  # type: ignore[attr-defined]
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert executor_for("processes").workers == 1
    assert executor_for("serial", workers=1).name == "serial"
    monkeypatch.setenv("ROADWORTHY_EXECUTOR", "")
    assert (default_executor().name, default_executor().workers) == ("processes", 1)
    monkeypatch.setenv("ROADWORTHY_EXECUTOR", "serial")
    assert default_executor().name == "serial"
    for options, told in [
        ({"workers": True}, "workers must be 1 or more, got True"),
        ({"workers": 1.5}, "workers must be 1 or more, got 1.5"),
        ({"gpus": 0.5}, "address and gpus are for the executor 'ray': use --executor ray"),
        ({"memory_mb": -1}, "memory_mb must be above 0 and finite, got -1"),
    ]:
        with pytest.raises(InputError, match=told):
            executor_for("processes", **options)  # type: ignore[arg-type]


class FakeRay:
    """Ray, as far as it is asked for here."""

    class exceptions:  # noqa: N801 - as there
        RayError = RuntimeError

    def __init__(self, running: bool = False, **resources: float) -> None:
        self.running = running
        self.resources = resources
        self.began: list[dict[str, Any]] = []
        self.killed: list[Any] = []
        self.answers: dict[Any, Any] = {}
        self.remotes: list[dict[str, Any]] = []

    def is_initialized(self) -> bool:
        return self.running

    def init(self, **options: Any) -> None:
        self.began.append(options)
        self.running = True

    def shutdown(self) -> None:
        self.running = False

    def cluster_resources(self) -> dict[str, float]:
        return self.resources

    def remote(self, **options: Any) -> Any:
        self.remotes.append(options)
        return lambda kind: SimpleNamespace(remote=lambda: FakeActor(self))

    def put(self, content: Any) -> Any:
        return ("put", content)

    def kill(self, actor: Any, *, no_restart: bool) -> None:
        assert no_restart
        self.killed.append(actor)

    def wait(self, refs: Sequence[Any], *, num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
        ready = [one for one in refs if one in self.answers]
        return ready[:num_returns], []

    def get(self, ref: Any) -> Any:
        answer = self.answers.pop(ref)
        if isinstance(answer, Exception):
            raise answer
        return answer


class FakeActor:
    def __init__(self, ray: FakeRay) -> None:
        self.asked: list[tuple[str, tuple[Any, ...]]] = []
        self.open, self.carry = (self._method(name) for name in ("open", "carry"))
        self.megabytes = SimpleNamespace(options=lambda **group: self._method(f"megabytes {group}"))

    def _method(self, name: str) -> Any:
        def remote(*arguments: Any) -> Any:
            self.asked.append((name, arguments))
            return (name, id(self), len(self.asked))

        return SimpleNamespace(remote=remote)


def on(ray: FakeRay, monkeypatch: pytest.MonkeyPatch, *arguments: Any, **options: Any) -> RayExecutor:
    monkeypatch.setattr(cluster, "required", lambda name, **_: ray)
    return RayExecutor(*arguments, **options)


@pytest.mark.parametrize(
    ("options", "resources", "workers", "cpus"),
    [
        ({}, {"CPU": 8}, 8, None),
        ({}, {}, 1, None),
        ({"workers": 3}, {"CPU": 8}, 3, 3),
        ({"gpus": 0.5}, {"CPU": 8, "GPU": 2}, 4, None),
        ({"gpus": 0.125}, {"CPU": 8, "GPU": 2}, 8, None),
        ({"gpus": 2}, {"CPU": 8, "GPU": 2}, 1, None),
        ({"gpus": 1, "workers": 5}, {"CPU": 8, "GPU": 2}, 5, 5),
    ],
)
def test_workers_fit_into_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    resources: dict[str, float],
    workers: int,
    cpus: int | None,
) -> None:
    ray = FakeRay(False, **resources)
    executor = on(ray, monkeypatch, timeout_s=60, memory_mb=90, **options)
    assert executor.workers == workers
    assert executor._limits == Limits(60, 90)
    ((began),) = ray.began
    assert (began["address"], began["num_cpus"], began["include_dashboard"]) == ("local", cpus, False)
    assert began["log_to_driver"] is False
    (worker,) = ray.remotes
    assert (worker["num_cpus"], worker["num_gpus"]) == (1, options.get("gpus", 0.0))
    assert worker["max_restarts"] == worker["max_task_retries"] == 0
    assert worker["concurrency_groups"] == {"questions": 1}
    assert worker["runtime_env"] == {"env_vars": faults.ENVIRONMENT}
    executor.__exit__()
    assert not ray.running, "a cluster of its own ends with it"


def test_a_cluster_of_somebody_else_stays_and_an_address_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = FakeRay(running=True, CPU=2)
    on(theirs, monkeypatch, timeout_s=None).__exit__()
    assert theirs.running
    assert theirs.began == []
    far = FakeRay(CPU=2)
    on(far, monkeypatch, address="ray://head:10001")
    assert far.began[0]["address"] == "ray://head:10001"
    assert "num_cpus" not in far.began[0]
    poor = FakeRay(CPU=2, GPU=0.25)
    with pytest.raises(InputError, match=r"each worker was to get 0.5 GPU, but the cluster has 0.25: leave"):
        on(poor, monkeypatch, gpus=0.5)
    assert not poor.running
    assert on(FakeRay(CPU=2, GPU=0.5), monkeypatch, gpus=0.5).workers == 1


@pytest.mark.parametrize(
    ("address", "error", "told"),
    [
        (
            None,
            OSError("no room\nat all"),
            r"^Ray does not start here \(no room\); start one with: ray start",
        ),
        ("auto", ValueError(), r"^no Ray cluster answers at auto \(ValueError\); start one with"),
    ],
)
def test_a_cluster_that_does_not_answer_is_told(
    monkeypatch: pytest.MonkeyPatch, address: str | None, error: Exception, told: str
) -> None:
    ray = FakeRay()
    monkeypatch.setattr(ray, "init", lambda **_: (_ for _ in ()).throw(error))
    with pytest.raises(InputError, match=told):
        on(ray, monkeypatch, address=address)


def test_actors_open_carry_and_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay(CPU=4)
    monkeypatch.setattr(cluster, "time", now := SimpleNamespace(monotonic=lambda: 9.0, sleep=lambda _: None))
    crew: Any = on(ray, monkeypatch, 1, timeout_s=60)._crew
    assert crew.wait(0.0) == []
    crew.begin(JOB)
    crew.hire()
    (hand,) = crew.hands
    assert hand.actor.asked[0][1][1] == str(Path.cwd())
    ray.answers[hand.opening] = ("", 77)
    assert [(one.what, one.content) for one in crew.wait(0.1)] == [("opened", "")]
    assert (hand.pid, hand.opening) == (77, None)
    (whole,), (single,) = Ticket(unit(0, 1)).pieces, Ticket(unit(2)).pieces
    hand.pieces.append(whole)
    crew.give(hand, whole)
    assert hand.since == 9.0
    hand.since = None
    hand.pieces.append(single)
    crew.give(hand, single)
    assert hand.since is None, "it works on the first"
    assert [name for name, _ in hand.actor.asked[1:]] == ["carry", "carry"]
    ray.answers[hand.results[0]] = sent(pack(Done()))
    assert [one.what for one in crew.wait(0.1)] == ["returned", "started"]
    assert len(hand.results) == 1
    assert crew.megabytes(hand) is None
    (question,) = hand.actor.asked[3:]
    assert question[0] == "megabytes {'concurrency_group': 'questions'}"
    ray.answers[hand.question] = 12.5
    assert crew.wait(0.1) == []
    assert crew.megabytes(hand) == 12.5
    assert hand.question is None, "it was asked a moment ago"
    now.monotonic = lambda: 9.6
    crew.megabytes(hand)
    assert hand.question is not None
    ray.answers[hand.results[0]] = RuntimeError("the node is gone")
    assert [one.what for one in crew.wait(0.1)] == ["died"]
    crew.dismiss(hand)
    assert ray.killed == [hand.actor]
    assert crew.hands == []
    crew.hire()
    refused = crew.hands[0]
    ray.answers[refused.opening] = ("no file", 78)
    assert [(one.what, one.content) for one in crew.wait(0.1)] == [("refused", "no file")]
    assert crew.lost() == ""
    ray.resources = {"CPU": 0.5}
    assert crew.lost().startswith("the Ray cluster broke down: no node with a CPU is left")
    crew.close()
    assert crew.hands == []
    assert ray.killed[1:] == [refused.actor]


def test_arrays_in_the_object_store_stay_as_writable_as_they_were() -> None:
    fixed, free = np.arange(5, dtype=np.uint8), np.arange(3, dtype=np.float64)
    fixed.setflags(write=False)
    packed = sent(Parcel(b"pickle", [fixed.data, free.data, b""]))
    assert packed.fixed == (True, False, True)
    assert [len(one) for one in packed.arrays] == [5, 24, 0]
    found = received(packed)
    assert [memoryview(one).readonly for one in found.buffers] == [True, False, True]
    assert bytes(found.buffers[1]) == free.tobytes()
    copied = received(packed, copied=True)
    assert copied.content == b"pickle"
    assert bytes(copied.buffers[0]) == fixed.tobytes()


def test_a_cluster_is_asked_for_with_all_options(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr(cluster, "RayExecutor", lambda *given, **named: asked.append((given, named)))
    executor_for("ray", workers=3, address="auto", timeout_s=None, memory_mb=90, gpus=0.5)
    executor_for("ray")
    assert asked == [
        ((3,), {"address": "auto", "timeout_s": None, "memory_mb": 90, "gpus": 0.5}),
        ((None,), {"address": None, "timeout_s": 600.0, "memory_mb": None, "gpus": 0.0}),
    ]
