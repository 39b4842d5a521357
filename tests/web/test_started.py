"""Runs that were started from the page: listed, watched, stopped and compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kept import as_kept
from tests.report.runs_for_reports import add, requirement_of
from tests.report.test_kept_run import everything
from tests.studies.planned import clip_study, glance_experiment
from tests.web.client import Browser, Client, finished
from tests.web.jobs.test_queue import FIRST, SECOND, THIRD, put
from tests.web.test_drives import lap
from tests.web.test_kept import told

from roadworthy.driving.drives.readers import write_drive
from roadworthy.errors import InputError
from roadworthy.reliability.human import SimulatedHumans, estimate_threshold
from roadworthy.report.results import Standing
from roadworthy.runs.store import StoredRun
from roadworthy.web import runs
from roadworthy.web.app import create_app
from roadworthy.web.jobs.queue import JobState, Stage, read_job, write_state
from roadworthy.web.services import Services
from roadworthy.web.settings import ServerLimits, ServerSettings
from roadworthy.web.thresholds import threshold_chart

KEPT = Path(__file__).with_name("kept")
OUTCOMES = (
    {"requirement": "rule", "system": "dave2", "status": "passed", "summary": "fine", "notes": [],
     "counts": {"passed": 4, "violated": 0, "error": 1, "not applicable": 9}},
    {"requirement": "rule", "system": "epoch", "status": "violated", "summary": "3 fail", "notes": [],
     "counts": {"passed": 2, "violated": 3, "error": 0, "not applicable": 1}},
)  # fmt: skip
STAGES: dict[str, tuple[Stage, dict[str, Any]]] = {
    "20261115-120001-aaaa": (
        Stage.FINISHED,
        {"done": 6, "total": 6, "outcomes": OUTCOMES, "exit_code": 1, "seconds": 61.5, "notes": ("a <b>",)},
    ),
    "20261115-120002-aaaa": (Stage.FAILED, {"message": "no <model>", "exit_code": 2, "seconds": 3.0}),
    "20261115-120003-aaaa": (Stage.CANCELLED, {"done": 3, "total": 6, "message": "Stopped."}),
    "20261115-120004-aaaa": (Stage.RUNNING, {"done": 2, "total": 6, "seconds": 1.0}),
    "20261115-120005-aaaa": (Stage.WAITING, {}),
}


@pytest.fixture
def services(tmp_path: Path) -> Services:
    out = tmp_path / "pages0" / "out"
    for id, (stage, known) in STAGES.items():
        put(out, id, stage, **known)
    made: Services = create_app(ServerSettings(out)).state.services
    made.queue._goes_on = lambda job: True  # type: ignore[method-assign]
    made.queue.advance = lambda: None  # type: ignore[method-assign]
    return made


@pytest.fixture
def browser(services: Services) -> Browser:
    app = create_app(services.settings)
    app.state.services = services
    return Browser(Client(app))


def test_pages_of_runs_at_every_stage_are_as_kept(browser: Browser) -> None:
    pages = ["/runs", *(f"/runs/{id}" for id in STAGES)]
    texts = [f"=== {page}\n{told(browser.page(page).text)}" for page in pages]
    as_kept(KEPT / "started.html", "\n".join(texts) + "\n")


def test_how_far_a_run_has_come_is_told_to_scripts(browser: Browser, services: Services) -> None:
    first = browser.get(f"/jobs/{FIRST}").json()
    assert first == {
        "id": FIRST,
        "url": f"/runs/{FIRST}",
        "folder": str(services.settings.out / FIRST / "run"),
        "stage": "finished",
        "done": 6,
        "total": 6,
        "message": "",
        "seconds": 61.5,
        "outcomes": json.loads(json.dumps(OUTCOMES)),
        "notes": ["a <b>"],
        "exit_code": 1,
        "over": True,
        "can_continue": False,
    }
    assert browser.get("/jobs/none").status in (404, 422)
    stopped = browser.post(f"/jobs/{THIRD}/resume", {}).json()
    assert (stopped["stage"], stopped["done"], stopped["over"]) == ("waiting", 3, False)
    refused = browser.post(f"/jobs/{FIRST}/resume", {})
    assert refused.status == 422
    assert "only a stopped run can be resumed; this one is finished" in refused.text
    waits = browser.post("/jobs/20261115-120005-aaaa/cancel", {}).json()
    assert (waits["stage"], waits["message"], waits["can_continue"]) == (
        "cancelled",
        "Stopped before it started.",
        True,
    )
    ask = json.loads((services.settings.out / FIRST / "job.json").read_text())
    started = browser.post("/jobs", ask)
    assert (started.status, started.json()["stage"]) == (201, "waiting")


def test_a_finished_run_has_what_its_trend_is_drawn_of(browser: Browser, services: Services) -> None:
    everything(services.settings.out / FIRST / "run")
    listed = browser.page("/runs").text
    assert listed.count("data-asked=") == 1
    states = [row["status"] for row in StoredRun.open(services.settings.out / FIRST / "run").rows()]
    judged = [one for one in states if one in ("passed", "violated", "error")]
    assert "error" in judged
    assert f"<small>{judged.count('violated')} of {len(judged)}</small>" in listed
    assert 'data-suite="Night drives"' in listed.split(f'data-job="{FIRST}"')[0].rpartition("<article")[2]
    assert f'<a href="/runs/{FIRST}">Night drives</a>' in browser.page(f"/look/{FIRST}").text


@pytest.mark.parametrize(
    ("outcomes", "stage", "done", "standing"),
    [
        (OUTCOMES, Stage.FINISHED, 6, Standing.VIOLATED),
        (OUTCOMES[:1], Stage.FINISHED, 6, Standing.PASSED),
        ((), Stage.CANCELLED, 3, Standing.UNFINISHED),
        ((), Stage.CANCELLED, 0, None),
        ((), Stage.RUNNING, 3, None),
        (({"status": "odd", "counts": "x"},), Stage.FINISHED, 1, None),
    ],
    ids=str,
)
def test_what_a_started_run_found(
    tmp_path: Path, outcomes: Any, stage: Stage, done: int, standing: Any
) -> None:
    job = read_job(put(tmp_path, FIRST, stage, done=done))
    job.__dict__["state"] = JobState(stage, done, outcomes=outcomes)
    assert runs._Started(job, ()).standing == standing


class _Request:
    """A page that stays open for so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    async def is_disconnected(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def told_events(services: Services, id: str, looks: int = 99) -> list[str]:
    async def collect() -> list[str]:
        return [one async for one in runs._events(_Request(looks), services, id)]  # type: ignore[arg-type]

    return finished(collect())


def test_a_page_is_told_what_changes_until_it_is_over(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    folder = services.settings.out / "20261115-120004-aaaa"

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            write_state(folder, JobState(Stage.RUNNING, 4, 6))
        if len(slept) == 70:
            write_state(folder, JobState(Stage.FINISHED, 6, 6))

    monkeypatch.setattr("asyncio.sleep", sleep)
    events = told_events(services, folder.name)
    done = [json.loads(one[6:])["done"] for one in events if one.startswith("data: ")]
    assert done == [2, 4, 6]
    # After fifteen seconds of silence a sign of life.
    assert events.index(": still there\n\n") == 2
    assert events.count(": still there\n\n") == 1
    assert set(slept) == {0.25}
    assert all(one.endswith("\n\n") for one in events)
    assert services.streams == 0
    assert told_events(services, folder.name, looks=0) == []


def test_a_run_that_is_gone_is_told(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(id: str) -> Any:
        raise InputError("there is no run")

    monkeypatch.setattr(services.queue, "job", gone)
    assert told_events(services, FIRST) == ['event: gone\ndata: {"error": "there is no run"}\n\n']


@pytest.mark.parametrize(("streams", "told_once"), [(1, False), (2, True), (3, True)])
def test_of_too_many_pages_the_last_ask_again(
    services: Services, monkeypatch: pytest.MonkeyPatch, streams: int, told_once: bool
) -> None:
    settings = ServerSettings(services.settings.out, limits=ServerLimits(streams=2))
    monkeypatch.setattr(services, "settings", settings)
    services.streams = streams
    (event,) = told_events(services, FIRST)
    assert event.startswith("retry: 2000\ndata: {" if told_once else "data: {")
    assert services.streams == streams


def test_the_pages_that_say_more_about_a_folder(tmp_path: Path) -> None:
    rules = add(tmp_path / "rules", [("a", 1.0, {}, {})]).folder
    searched = requirement_of("C", method="coverage")
    search = add(tmp_path / "search", [("a", 1.0, {}, {})], requirement=searched).folder

    def links(name: str, folder: Path) -> list[tuple[str, str]]:
        found, _ = runs._summary(folder)
        return [(one.path, one.words) for one in runs._links(name, folder, found)]

    assert links("a b", rules) == [("/studies?run=a%20b", "Let people judge its pairs")]
    assert links("s", search) == [("/coverage/s", "Coverage")]
    assert links("c", clip_study(tmp_path / "clips")) == [("/studies/c/itself", "The study")]
    assert links("g", glance_experiment(tmp_path / "glances")) == [
        ("/studies/g/itself", "The study"),
        ("/thresholds/g", "Thresholds"),
    ]
    for name in ("one", "two/x"):
        (tmp_path / "drives" / name).mkdir(parents=True)
        write_drive(lap(), tmp_path / "drives" / name / "drive.parquet")
        first = [("/drives/d?drive=one", "The drive")] if name == "one" else [("/drives", "2 drives")]
        assert links("d", tmp_path / "drives") == first
    assert links("n", tmp_path / "none") == []
    assert runs._summary(tmp_path / "none")[0] is None
    empty = add(tmp_path / "empty", [], concluded=False).folder
    assert runs._summary(empty)[1] in ("nothing has been judged yet", "")
    given = runs._Given.of("d", tmp_path / "drives")
    assert (given.problem, len(given.links)) == ("", 1)
    assert runs._Given.of("n", tmp_path / "none").problem


def test_files_of_a_run_are_shown_or_kept(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    for name in ("report.html", "a.png", "rows.csv", "other.html"):
        (folder / name).write_bytes(b"x")
    browser = Browser(Client(create_app(ServerSettings(tmp_path / "out", (folder,)))))
    report = browser.get("/runs/given/files/report.html")
    assert report.headers["content-type"].startswith("text/html")
    assert "sandbox" in report.headers["content-security-policy"]
    assert browser.get("/runs/given/files/a.png").headers["content-type"] == "image/png"
    for name in ("rows.csv", "other.html"):
        kept = browser.get(f"/runs/given/files/{name}")
        assert kept.headers["content-type"] == "application/octet-stream"
        assert kept.headers["content-disposition"] == f'attachment; filename="{name}"'
    missing = browser.get("/runs/given/files/none.png")
    assert (missing.status, "This run has no such file." in missing.text) == (404, True)


def test_two_runs_are_chosen_before_they_are_compared(tmp_path: Path) -> None:
    for name in ("a", "b"):
        add(tmp_path / name, [("x", 1.0, {}, {})])
    browser = Browser(Client(create_app(ServerSettings(tmp_path / "out", (tmp_path / "a", tmp_path / "b")))))
    for query in ("", "?first=a", "?second=b"):
        page = browser.settled(f"/compare{query}")
        assert page.status == 200
        assert "No regression" not in page.text
    assert "No regression" in browser.settled("/compare?first=a&second=b").text
    for query in ("&old=dave2", "&new=dave2"):
        text = browser.settled(f"/compare?first=a&second=b{query}").text
        assert "Choose a model for both runs, or for neither to compare models of the same name." in text
        assert "No regression" not in text
    assert "No regression" in browser.settled("/compare?first=a&second=b&old=dave2&new=dave2").text
    assert browser.page("/compare?first=none&second=b").status == 404


@pytest.mark.parametrize(
    ("requirement", "words"), [("correctness", "right answers"), ("prediction", "answers as to the original")]
)
def test_a_chart_says_what_people_were_asked(requirement: str, words: str) -> None:
    found = estimate_threshold(SimulatedHumans(threshold=0.6).answer(seed=1), samples=0)
    found.bins.__dict__["requirement"] = requirement
    chart = str(threshold_chart(found))
    assert words in chart
    assert ("right answers" in chart) is (requirement == "correctness")
    assert np.isfinite(found.value)


def test_a_started_run_is_found_by_its_name(services: Services) -> None:
    assert services.run_of(SECOND)[1] is not None
    assert services.run_of(SECOND)[0] == services.settings.out / SECOND / "run"
