"""Pages and forms, without a browser."""

from __future__ import annotations

import asyncio
import html
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.web.client import Browser, Client, finished

from roadworthy.cases import Case, RecordDrive, Requirement, Verdict
from roadworthy.models.zoo.saved import weights_folder
from roadworthy.runs import RunStore
from roadworthy.runs.store import StoredRun
from roadworthy.runs.store.digests import Digest
from roadworthy.runs.store.manifest import begin_manifest
from roadworthy.web.app import create_app
from roadworthy.web.jobs.queue import JobState, Stage, write_state
from roadworthy.web.jobs.worker import work_on
from roadworthy.web.runs import found_in
from roadworthy.web.settings import ServerSettings

NIGHT = "If the driving time changes into night, then the ego-vehicle should slow down."
ASK = {"kind": "rules", "text": NIGHT, "models": ["dave2"], "data": "world:town", "frames": 4}


def test_the_way_in_leads_to_the_runs(client: Client) -> None:
    answer = client.get("/")
    assert (answer.status, answer.headers["location"]) == (303, "/runs")


def test_models_and_data_can_be_chosen(browser: Browser) -> None:
    page = browser.page("/write").text
    assert 'value="dave2" data-outputs="steering speed"' in page
    assert 'name="detector" value="detector"' in page
    assert 'name="model" value="classifier"' not in page
    assert '<option value="world:town">' in page


def test_a_model_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    settings = ServerSettings(tmp_path, models=("onnx:missing.onnx",))
    page = Browser(Client(create_app(settings))).page("/write").text
    assert "missing.onnx" in page
    assert 'value="onnx:missing.onnx" data-outputs="" disabled' in page


def test_a_model_has_one_name_before_and_after_the_run(tmp_path: Path) -> None:
    """A description gives the model a name: what is chosen is called as it is in rows and tables."""
    card = json.loads((weights_folder() / "dave2.json").read_text())
    described = {"name": "careful", "model": f"onnx:{weights_folder() / 'dave2.onnx'}"}
    described |= {part: card[part] for part in ("input", "output")}
    (tmp_path / "model.yaml").write_text(json.dumps(described))
    reference = str(tmp_path / "model.yaml")
    settings = ServerSettings(tmp_path / "out", models=(reference,))
    folder = settings.out / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps({**ASK, "models": [reference]}))
    work_on(folder)
    browser = Browser(Client(create_app(settings)))
    row = browser.cases(folder.name, status="all")[0]
    assert row["system"] == "careful"
    assert f"<b>{row['system']}</b>" in browser.page("/write").text
    assert f'<span data-label="Models">{row["system"]}</span>' in browser.page("/runs").text
    assert f"{row['system']} on 4 frames" in browser.page(f"/runs/{folder.name}").text
    assert f"({row['system']}, {folder.name})" in browser.page("/studies").text
    assert f'value="{reference}"' in browser.page("/write").text


@pytest.mark.parametrize(
    ("text", "said"), [(NIGHT, "passed"), (f"{NIGHT[:-1]} at least 99%.", "violated"), ("nothing", "")]
)
def test_the_list_of_runs_says_what_they_found(settings: ServerSettings, text: str, said: str) -> None:
    folder = settings.out / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps({**ASK, "text": text, "allow": 0 if "%" in text else 1}))
    work_on(folder)
    page = Browser(Client(create_app(settings))).page("/runs").text
    (cell,) = re.findall(r'<p data-label="Outcome">(.*?)</p>', page)
    assert re.findall(r'class="chip (\w*)"', cell) == ([said] if said else [])
    if said:
        (number, judged) = map(int, re.findall(r"<small>(\d+) of (\d+)</small>", cell)[0])
        rows = list(StoredRun.open(folder / "run").rows())
        assert number == sum(row["status"] == "violated" for row in rows)
        assert judged == sum(row["status"] in ("violated", "passed") for row in rows)


def test_a_run_that_was_stopped_is_unfinished(settings: ServerSettings) -> None:
    folder = settings.out / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps(ASK))
    write_state(folder, JobState(Stage.CANCELLED, done=2, total=4))
    page = Browser(Client(create_app(settings))).page("/runs").text
    assert '<p data-label="Outcome"><span class="chip unfinished">unfinished</span></p>' in page


@pytest.mark.parametrize(
    "outcomes", [({"status": "flying"},), ({},), ({"status": "passed", "counts": [3]},)], ids=str
)
def test_a_run_whose_state_is_damaged_leaves_the_list_as_it_is(
    settings: ServerSettings, outcomes: tuple[dict[str, object], ...]
) -> None:
    folder = settings.out / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps(ASK))
    write_state(folder, JobState(Stage.FINISHED, done=4, total=4, outcomes=outcomes))
    answer = Browser(Client(create_app(settings))).page("/runs")
    assert answer.status == 200
    assert 'data-label="Outcome"' in answer.text


def test_where_less_is_tested_than_the_words_say_it_is_told(settings: ServerSettings) -> None:
    text = "If a red light appears, the car must stop."
    browser = Browser(Client(create_app(settings)))
    (note,) = browser.post("/write/rule", {"text": text}).json()["notes"]
    assert "tested as slowing down" in note
    assert browser.post("/write/rule", {"text": NIGHT}).json()["notes"] == []
    folder = settings.out / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps({**ASK, "text": text}))
    work_on(folder)
    page = html.unescape(browser.page(f"/runs/{folder.name}").text)
    assert f'<p role="note">{note}' in page
    (outcome,) = browser.get(f"/jobs/{folder.name}").json()["outcomes"]
    assert note in outcome["notes"]


def test_a_run_is_named_by_its_suite_and_shows_how_it_came_out(tmp_path: Path) -> None:
    pictures = [np.full((2, 2, 3), level, np.uint8) for level in (0, 90)]
    with RunStore(
        tmp_path / "r" / "runs" / "r1" / "dave2",
        Requirement("R1", "…", "rules"),
        system="dave2",
        images=tmp_path / "r" / "images",
    ) as store:
        for name, margin in (("a", 1.0), ("b", -1.0), ("c", -3.0), ("d", 2.0)):
            case = Case(name, "R1", (RecordDrive("x"),), {})
            store.append(case, Verdict.from_margin(case, margin), pictures if name == "b" else [])
    begin_manifest(tmp_path / "r", models={}, data={}, settings={"title": "Night <shift>"})
    browser = Browser(Client(create_app(ServerSettings(tmp_path / "out", (tmp_path / "r",)))))
    page = browser.page("/runs").text
    assert '<h3><a href="/runs/r">Night &lt;shift&gt;</a></h3>' in page
    assert 'aria-label="2 violated, 0 errors, 2 passed, 0 not applicable"' in page
    assert 'data-suite="Night &lt;shift&gt;"' in page
    assert html.unescape(page.partition('data-rates="')[2].partition('"')[0]) == '{"R1 on dave2": [2, 4]}'
    # Of the worst there is no picture.
    assert len(browser.get("/runs/r/worst").json()["pictures"]) == 2
    assert browser.get("/runs/nowhere/worst").status == 404


def test_look_leads_to_the_run_that_wrote_last(tmp_path: Path) -> None:
    assert Client(create_app(ServerSettings(tmp_path))).get("/look").headers["location"] == "/runs"
    folders = [tmp_path / name for name in ("a", "b c")]
    for number, folder in enumerate(folders):
        (folder / "runs").mkdir(parents=True)
        os.utime(folder, (1e9 + number, 1e9 + number))
    answer = Client(create_app(ServerSettings(tmp_path / "out", tuple(folders)))).get("/look")
    assert (answer.status, answer.headers["location"]) == (303, "/look/b-c")


def test_an_empty_page_of_runs_says_what_to_do(tmp_path: Path) -> None:
    page = Browser(Client(create_app(ServerSettings(tmp_path)))).page("/runs").text
    assert "No runs yet" in page
    assert 'href="/write"' in page


def test_a_folder_that_is_no_run_says_so(browser: Browser) -> None:
    answer = browser.page("/runs/given")
    assert answer.status == 200
    assert "must be the folder of a run" in answer.text


def test_what_a_run_found_is_shown(settings: ServerSettings) -> None:
    folder = settings.out / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps({**ASK, "text": f"{NIGHT[:-1]} at least 60%.", "name": "R7"}))
    work_on(folder)
    browser = Browser(Client(create_app(replace(settings, runs=(folder / "run",)))))
    for name in (folder.name, "run"):
        page = browser.page(f"/runs/{name}").text
        assert "The requirement is violated." in page
        assert ">Worst <details" in page.replace("\n", "")
        (cases,) = re.findall(r'data-cases="([^"]*)"', page)
        digest = json.loads(html.unescape(cases))[0]["pictures"][0]
        answer = browser.get(f"/runs/{name}/files/images/{digest[:2]}/{digest}.png")
        assert (answer.status, answer.body[:4]) == (200, b"\x89PNG")


def test_script_in_a_rule_is_text(settings: ServerSettings) -> None:
    folder = settings.out / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    evil = "If <script>alert(1)</script> appears, slow down."
    (folder / "job.json").write_text(json.dumps({**ASK, "text": evil}))
    work_on(folder)
    browser = Browser(Client(create_app(settings)))
    for path in ("/runs", f"/runs/{folder.name}"):
        page = browser.page(path).text
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page
    answer = browser.post("/write/rule", {"text": evil})
    assert answer.headers["content-type"] == "application/json"


class TestForms:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"models": ["callable:os:system"]}, "this server has no model"),
            ({"models": ["http://evil.example/predict"]}, "this server has no model"),
            ({"models": ["onnx:/etc/passwd"]}, "this server has no model"),
            ({"data": "folder:/etc"}, "this server has no data set"),
            ({"data": "world:../../x"}, "this server has no data set"),
            ({"models": []}, "models"),
            ({"frames": 0}, "frames"),
            ({"frames": 10**9}, "frames at most"),
            ({"allow": 2}, "allow"),
            ({"seed": -1}, "seed"),
            ({"name": "<script>"}, "name"),
            ({"engines": "evil.yaml"}, "engines"),
            ({"kind": "shell"}, "kind"),
            ({"text": "x" * 5_000}, "characters at most"),
        ],
    )
    @pytest.mark.parametrize("path", ["/jobs", "/write/preview"])
    def test_nothing_but_what_was_declared_can_be_asked_for(
        self, browser: Browser, settings: ServerSettings, path: str, change: dict[str, object], said: str
    ) -> None:
        asked = {**ASK, **change}
        answer = browser.post(path, asked if path == "/jobs" else {"ask": asked})
        assert answer.status == 422
        assert said in answer.json()["error"]
        assert not settings.out.exists()

    def test_sources_that_read_files_cannot_be_named(self, browser: Browser) -> None:
        binding = {"v": {"source": "table", "value": "/etc/passwd"}}
        asked = {"kind": "bbsl", "text": "", "models": ["detector"], "data": "world", "bindings": binding}
        answer = browser.post("/write/preview", {"ask": asked})
        assert answer.status == 422

    def test_a_preview_has_pictures(self, browser: Browser) -> None:
        found = browser.post("/write/preview", {"ask": ASK, "count": 1}).json()
        (digest, _) = found["frames"][0]["pictures"]
        answer = browser.get(f"/write/pictures/{digest}.png")
        assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
        assert browser.get(f"/write/pictures/{'0' * 64}.png").status == 404
        assert browser.get("/write/pictures/..%2f..%2fx.png").status == 404

    def test_no_more_frames_than_allowed_are_shown(self, browser: Browser, settings: ServerSettings) -> None:
        asked = {**ASK, "frames": 30}
        found = browser.post("/write/preview", {"ask": asked, "count": 1000}).json()
        assert len(found["frames"]) == settings.limits.preview

    def test_bodies_that_are_no_json(self, browser: Browser) -> None:
        answer = browser.post("/write/rule", None, [b"text=If it rains"])
        assert answer.status == 422
        assert answer.json()["error"]

    def test_checks_of_what_is_not_written_rightly(self, browser: Browser) -> None:
        assert browser.post("/write/check", {"text": "case"}).json()["state"] == "unchecked"


def test_jobs_that_are_none(browser: Browser) -> None:
    assert browser.get("/jobs/none").status == 422
    assert browser.get("/jobs/none/events").status == 422
    assert browser.post("/jobs/none/cancel", {}).status == 422
    assert browser.page("/runs/20261115-120000-aaaa").status == 404


def test_a_full_disk_is_not_the_end_of_the_queue(
    settings: ServerSettings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(settings)
    seen: list[int] = []

    def advance() -> None:
        seen.append(1)
        raise OSError("No space left on device")

    async def served() -> None:
        async with app.router.lifespan_context(app):
            while len(seen) < 3:
                await asyncio.sleep(0.01)

    monkeypatch.setattr("roadworthy.web.app._PAUSE", 0.0)
    monkeypatch.setattr(app.state.services.queue, "advance", advance)
    monkeypatch.setattr(app.state.services, "warm_up", lambda: None)
    finished(asyncio.wait_for(served(), 60))
    assert caplog.text.count("No space left on device") == 1


def test_more_pages_than_can_be_told_ask_again(settings: ServerSettings) -> None:
    folder = settings.out / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps(ASK))
    app = create_app(replace(settings, limits=replace(settings.limits, streams=0)))
    answer = Client(app).get(f"/jobs/{folder.name}/events")
    retry, event = answer.text.strip().split("\n")
    assert retry.startswith("retry: ")
    assert json.loads(event.removeprefix("data: "))["stage"] == "waiting"


def test_events_end_with_the_run(settings: ServerSettings) -> None:
    folder = settings.out / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps({**ASK, "text": "nothing"}))
    work_on(folder)
    client = Client(create_app(replace(settings, limits=replace(settings.limits, streams=1))))
    answer = client.get(f"/jobs/{folder.name}/events")
    # A line that has ended leaves room for the next.
    assert client.get(f"/jobs/{folder.name}/events").body == answer.body
    assert answer.headers["content-type"].startswith("text/event-stream")
    (event,) = answer.text.strip().split("\n\n")
    told = json.loads(event.removeprefix("data: "))
    assert (told["stage"], told["over"], told["can_continue"]) == ("failed", True, True)


@pytest.mark.parametrize("path", ["/runs", "/compare"])
def test_a_stored_suite_that_cannot_be_read_breaks_no_page(
    browser: Browser, settings: ServerSettings, path: str
) -> None:
    folder = settings.out / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text('{"kind": "suite", "document": {"models": 5}}')
    assert browser.get(path).status == 200


def test_what_is_wrong_with_a_suite_is_told(browser: Browser) -> None:
    answer = browser.post("/jobs", {"kind": "suite", "document": {"models": 5}})
    assert answer.status == 422
    assert answer.json()["error"].startswith("models: expected a mapping, got 5")


def test_a_trend_is_of_runs_that_asked_the_same(tmp_path: Path) -> None:
    def asked(name: str, text: str, data: str) -> str:
        folder, case = tmp_path / name, Case("a", "R1", (RecordDrive("x"),), {})
        with RunStore(
            folder / "runs" / "r1" / "dave2", Requirement("R1", text, "rules"), system="dave2"
        ) as store:
            store.append(case, Verdict.from_margin(case, 1.0), [])
        begin_manifest(
            folder, models={}, data={data: Digest("1" * 64, "the frames")}, settings={"title": "rules run"}
        )
        return found_in(folder).asked

    assert asked("one", "slow down", "town") == asked("two", "slow down", "town")
    assert (
        len(
            {
                asked("three", "stop", "town"),
                asked("four", "slow down", "meadow"),
                asked("five", "slow down", "town"),
            }
        )
        == 3
    )
