"""Who is let in, and what is served."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.web.client import HOST, Browser, Client, finished

import roadworthy.web
from roadworthy.cases import Case, RecordDrive, Requirement, Verdict
from roadworthy.errors import InputError
from roadworthy.runs import RunStore
from roadworthy.studies.study import AnswerFiles
from roadworthy.web.app import create_app
from roadworthy.web.jobs.queue import ProcessQueue
from roadworthy.web.security import SESSION_COOKIE, TOKEN_COOKIE, AccessGate, Sessions
from roadworthy.web.settings import ServerSettings
from roadworthy.web.wall import CaseMark, add_marks

RULE = {"text": "If it rains, slow down."}
ASK = {**RULE, "kind": "rules", "models": ["dave2"], "data": "world:town", "frames": 2}


@pytest.mark.parametrize("host", ["127.0.0.1:8321", "localhost:1", "[::1]:8321", "LOCALHOST"])
def test_names_of_this_machine_are_answered(client: Client, host: str) -> None:
    assert client.get("/runs", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8321",
        "192.168.0.7",
        "",
        "[::1",
        "[::1].evil.example",
        "[::1]:80.evil.example",
        "localhost:80:evil.example",
        "localhost:evil.example",
        "localhost:",
        "evil.example@localhost",
        "localhost/evil.example",
        "localhost, evil.example",
        "localhost\x00.evil.example",
        "\u0130localhost",
    ],
)
def test_a_foreign_host_is_refused(client: Client, host: str) -> None:
    answer = client.get("/runs", host=host)
    assert (answer.status, answer.json()["code"]) == (421, "host")


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "http://127.0.0.1:9999", "http://127.0.0.1:8321.evil.example"],
)
def test_a_foreign_origin_is_refused(browser: Browser, origin: str) -> None:
    answer = browser.post("/write/rule", RULE, origin=origin)
    assert (answer.status, answer.json()["code"]) == (403, "origin")
    assert browser.get("/runs", origin=origin).status == 403


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_own_origin_is_answered_before_and_behind_a_proxy(browser: Browser, scheme: str) -> None:
    origin = f"{scheme}://{HOST}"
    assert browser.get("/runs", origin=origin).status == 200
    assert browser.post("/write/rule", RULE, origin=origin).status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_says_comes_from_elsewhere_is_refused(browser: Browser, site: str) -> None:
    assert browser.post("/write/rule", RULE, sec_fetch_site=site).status == 403
    assert browser.post("/write/rule", RULE, sec_fetch_site=site, sec_fetch_mode="navigate").status == 403
    assert browser.get("/static/web.css", sec_fetch_site=site).status == 403
    assert browser.get("/runs", sec_fetch_site=site, sec_fetch_mode="navigate").status == 200


def test_what_changes_anything_needs_the_token_of_the_session(browser: Browser, client: Client) -> None:
    assert browser.post("/write/rule", RULE).status == 200
    for token in ("", "0" * 64, Sessions().token(client.cookies[SESSION_COOKIE])):
        answer = browser.post("/write/rule", RULE, x_csrf_token=token)
        assert (answer.status, answer.json()["code"]) == (403, "session")
    client.cookies.clear()
    assert browser.post("/write/rule", RULE).status == 403


@pytest.mark.parametrize("other", ['{"a": 1, "b": [2]}', "a b,c", 'half "quoted', ""])
def test_cookies_of_other_servers_of_this_machine_do_no_harm(
    browser: Browser, client: Client, other: str
) -> None:
    client.cookies = {"other": other, **client.cookies}
    assert browser.post("/write/rule", RULE).status == 200


UNREADABLE = {
    "half a character": rb'{"text": "If it \ud800 rains, slow down."}',
    "half a character as a key": rb'{"\udfff": 1}',
    "no UTF-8": b'{"text": "\xff"}',
    "NaN": b'{"frames": NaN}',
    "Infinity": b'{"frames": -Infinity}',
    "infinite all the same": b'{"frames": 1e999}',
    "brackets": b"[" * 100_000 + b"]" * 100_000,
    "braces": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "a number of 10,000 digits": b"1" * 10_000,
    "no JSON": b"text=1",
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_what_could_not_be_written_again_is_refused_in_words(
    browser: Browser, settings: ServerSettings, body: bytes
) -> None:
    for path in routes("POST"):
        answer = browser.post(path, None, [body])
        assert answer.status == 422, path
        assert "invalid character" in answer.json()["error"]
    assert not settings.out.exists()


def test_an_answer_about_a_fault_of_ours_is_sealed_as_well(client: Client) -> None:
    def broken() -> None:
        raise ZeroDivisionError("<script>")

    client.app.add_api_route("/broken", broken)
    with pytest.raises(ZeroDivisionError):
        client.get("/broken", accept="text/html")
    (answer,) = client.answers
    assert answer.status == 500
    assert "<script>" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_cookies_are_for_this_page_alone(client: Client) -> None:
    cookie = client.get("/runs").headers["set-cookie"]
    assert cookie.startswith(SESSION_COOKIE)
    for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
        assert part in cookie


@pytest.mark.parametrize("path", ["/runs", "/write", "/static/web.css", "/static/tokens.css", "/nowhere"])
def test_every_answer_says_what_it_may_load(browser: Browser, path: str) -> None:
    headers = browser.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/runs", "/write", "/suites", "/runs/given", "/nowhere"])
def test_pages_have_no_inline_script_or_style_and_name_no_other_host(browser: Browser, path: str) -> None:
    text = browser.page(path).text
    assert "<main" in text
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text)
    assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", text)


def test_own_files_name_no_other_host() -> None:
    folder = Path(roadworthy.web.__file__).with_name("static")
    for file in filter(Path.is_file, folder.rglob("*")):
        text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        text = re.sub(
            r"^\s*(//|\*|/\*).*", "", text, flags=re.MULTILINE
        )  # a library's comments ask for nothing
        assert not re.search(r"https?://|@import|url\(", text), file.name


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json"])
def test_there_are_no_pages_of_the_framework(browser: Browser, path: str) -> None:
    assert browser.get(path).status == 404


def routes(method: str) -> list[str]:
    """Return an address for every page or form that there is, whoever adds one."""
    found = []
    for module in pkgutil.walk_packages(roadworthy.web.__path__, "roadworthy.web."):
        router = getattr(importlib.import_module(module.name), "router", None)
        if router is None:
            continue
        found += [re.sub(r"\{[^}]*\}", "x", one.path) for one in router.routes if method in one.methods]
    return found


class TestEveryPage:
    """What holds for one page holds for all of them."""

    def test_there_are_many(self) -> None:
        assert len(routes("POST")) > 8
        assert len(routes("GET")) > 20

    def test_a_foreign_host_is_refused(self, client: Client) -> None:
        for path in routes("GET"):
            assert client.get(path, host="evil.example").status == 421, path

    def test_a_foreign_origin_is_refused(self, browser: Browser) -> None:
        for method in ("POST", "PUT"):
            for path in routes(method):
                answer = browser.post(path, {}, method=method, origin="http://evil.example")
                assert (answer.status, answer.json()["code"]) == (403, "origin"), path

    def test_a_form_without_the_token_is_refused(self, browser: Browser) -> None:
        for method in ("POST", "PUT"):
            for path in routes(method):
                assert browser.post(path, {}, method=method, x_csrf_token="").status == 403, path

    def test_files_are_sent_in_one_place(self) -> None:
        """Nothing else is excused from the size of a request: see tests/web/test_added.py for this one."""
        assert routes("PUT") == ["/added/files/x"]
        assert not [*routes("DELETE"), *routes("PATCH")]

    def test_a_large_body_is_refused(self, browser: Browser, settings: ServerSettings) -> None:
        body = {"text": "x" * settings.limits.body}
        for path in routes("POST"):
            assert browser.post(path, body).status == 413, path

    @pytest.mark.parametrize("name", ["..", "%2e%2e", "given%2f..", "..%2f..%2fetc", "%00", "x" * 3000])
    def test_a_name_that_leads_elsewhere_is_none(self, browser: Browser, name: str) -> None:
        for page in ("/runs", "/look", "/coverage", "/drives", "/thresholds"):
            assert browser.get(f"{page}/{name}").status == 404, page
        for rest in ("table", "kinds", "case?requirement=a&system=b&case=c"):
            assert browser.get(f"/look/{name}/{rest}").status == 404, rest
        assert browser.get(f"/runs/{name}/worst").status == 404
        case = {"requirement": "a", "system": "b", "case": "c"}
        for rest in ("cases", "test"):
            assert browser.post(f"/look/{name}/{rest}", {"cases": [case]}).status == 404, rest
        for rest in ("least", "attention", "seen"):
            assert browser.post(f"/look/{name}/{rest}", case).status == 404, rest

    @pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py"])
    def test_own_files_are_those_of_one_folder(self, browser: Browser, path: str) -> None:
        assert browser.get(path).status == 404


class TestToken:
    @pytest.fixture
    def open_client(self, settings: ServerSettings) -> Client:
        open_to_others = replace(settings, token="geheim", any_address=True, names=frozenset({"bench.local"}))
        return Client(create_app(open_to_others), "192.168.0.7:8321")

    def test_without_it_nothing_is_served(self, open_client: Client) -> None:
        for path in ("/runs", "/write", "/runs/given/files/a.png", "/jobs/x"):
            assert open_client.get(path).status == 401
        for wrong in ("/runs?token=falsch", "/runs?token="):
            assert open_client.get(wrong).status == 401
        assert open_client.get("/static/web.css").status == 200
        assert open_client.get("/static-else").status == 401

    def test_a_token_that_is_empty_lets_nobody_in(self, settings: ServerSettings) -> None:
        assert Client(create_app(replace(settings, token=""))).get("/runs").status == 401

    def test_the_printed_address_leads_in_and_leaves_no_token_behind(self, open_client: Client) -> None:
        answer = open_client.get("/runs?token=geheim&kind=bbsl")
        assert (answer.status, answer.headers["location"]) == (303, "/runs?kind=bbsl")
        assert "HttpOnly" in answer.headers["set-cookie"]
        assert "SameSite=Strict" in answer.headers["set-cookie"]
        assert open_client.cookies[TOKEN_COOKIE] == "geheim"
        assert open_client.get("/runs").status == 200

    @pytest.mark.parametrize(
        ("path", "target"),
        [
            ("//evil.example/", "/evil.example/"),
            ("/%2F/evil.example/", "/evil.example/"),
            ("/%5Cevil.example/", "/%5Cevil.example/"),
            ("/%5C%5Cevil.example/", "/%5C%5Cevil.example/"),
            ("/%09/evil.example/", "/%09/evil.example/"),
            ("/x%0D%0AX-Evil:%201", "/x%0D%0AX-Evil%3A%201"),
            ("/runs/%E2%82%AC", "/runs/%E2%82%AC"),
            ("http://evil.example/", "/http%3A//evil.example/"),
        ],
    )
    def test_the_way_in_leads_to_no_other_host(self, open_client: Client, path: str, target: str) -> None:
        answer = open_client.get(f"{path}?token=geheim")
        assert (answer.status, answer.headers["location"]) == (303, target)

    def test_no_referrer_tells_it(self, open_client: Client) -> None:
        for path in ("/runs?token=geheim", "/runs?token=falsch", "/nowhere", "/static/web.css"):
            assert open_client.get(path).headers["referrer-policy"] == "no-referrer"

    def test_no_time_tells_how_much_of_it_is_right(
        self, open_client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        compared: list[tuple[bytes, bytes]] = []

        def compare(first: bytes, second: bytes) -> bool:
            compared.append((first, second))
            return False

        monkeypatch.setattr("hmac.compare_digest", compare)
        assert open_client.get("/runs", authorization="Bearer geheim").status == 401
        assert (b"geheim", b"geheim") in compared

    @pytest.mark.parametrize(
        "path", ["/static/../runs", "/static/%2e%2e/runs", "/static/..%2fruns", "/static//runs"]
    )
    def test_what_needs_none_leads_to_nothing_else(self, open_client: Client, path: str) -> None:
        assert open_client.get(path).status == 404

    @pytest.mark.parametrize("token", ["falsch", "x%0d%0aX-Evil:%201", "%E2%82%AC"])
    @pytest.mark.parametrize("path", ["/static/web.css", "/runs"])
    def test_only_the_token_is_kept(self, open_client: Client, path: str, token: str) -> None:
        for given in ({}, {"authorization": "Bearer geheim"}):
            answer = open_client.get(f"{path}?token={token}", **given)
            assert answer.status == (200 if path.startswith("/static") or given else 401)
            assert TOKEN_COOKIE not in open_client.cookies

    def test_scripts_may_send_it_in_a_header(self, open_client: Client) -> None:
        assert open_client.get("/runs", authorization="Bearer geheim").status == 200

    def test_numbers_and_given_names_are_answered_but_no_other_names(self, open_client: Client) -> None:
        for host, status in (("10.0.0.1:8321", 200), ("bench.local", 200), ("evil.example", 421)):
            assert open_client.get("/runs", authorization="Bearer geheim", host=host).status == status


@pytest.mark.parametrize("name", ["x-http-method-override", "x-http-method", "x-method-override"])
def test_no_header_makes_another_method(browser: Browser, name: str) -> None:
    assert browser.get("/jobs?_method=POST", **{name: "POST"}).status == 405


class TestSizes:
    def test_a_large_body_is_refused(self, browser: Browser, settings: ServerSettings) -> None:
        answer = browser.post("/write/rule", {"text": "x" * settings.limits.body})
        assert (answer.status, answer.json()["code"]) == (413, "size")

    def test_also_one_that_does_not_say_its_length(self, browser: Browser, settings: ServerSettings) -> None:
        pieces = [b'{"text": "', *[b"x" * 1024] * (1 + settings.limits.body // 1024), b'"}']
        answer = browser.post("/write/rule", None, pieces)
        assert (answer.status, answer.json()["code"]) == (413, "size")

    @pytest.mark.parametrize("length", ["-1", "\xb2", "ten", "9" * 30])
    def test_lengths_that_are_none(self, browser: Browser, length: str) -> None:
        answer = browser.post("/write/rule", None, [b"{}"], content_length=length)
        assert answer.status == 413

    def test_one_that_does_not_arrive_is_not_waited_for(self, settings: ServerSettings) -> None:
        hasty = replace(settings, limits=replace(settings.limits, body_seconds=0.05))
        client = Client(create_app(hasty))
        client.stays_open_after = 1
        answer = Browser(client).post("/write/rule", None, [b'{"text": "If it', b' rains, slow down."}'])
        assert (answer.status, answer.json()["code"]) == (408, "time")

    def test_a_long_text_is_refused_before_it_is_read(
        self, browser: Browser, settings: ServerSettings
    ) -> None:
        limits = settings.limits
        for path, most in (("rule", limits.rule), ("spec", limits.spec), ("check", limits.spec)):
            answer = browser.post(f"/write/{path}", {"text": "x" * (most + 1)})
            assert answer.status == 422
            assert "characters at most" in answer.json()["error"]
        assert browser.post("/write/rule", {"text": "x" * limits.rule}).status == 200


class TestFiles:
    @pytest.fixture
    def folder(self, settings: ServerSettings, tmp_path: Path) -> Path:
        (folder,) = settings.runs
        (folder / "images").mkdir()
        (folder / "images" / "a.png").write_bytes(b"\x89PNG")
        (folder / "page.html").write_text("<script>alert(1)</script>")
        (tmp_path / "secret.txt").write_text("secret")
        (folder / "link.png").symlink_to(tmp_path / "secret.txt")
        (folder / "up").symlink_to(tmp_path)
        return folder

    def test_pictures_of_a_run_are_shown(self, browser: Browser, folder: Path) -> None:
        answer = browser.get("/runs/given/files/images/a.png")
        assert (answer.status, answer.headers["content-type"]) == (200, "image/png")

    @pytest.mark.parametrize(
        "path",
        [
            "../secret.txt",
            "%2e%2e/secret.txt",
            "images/../../secret.txt",
            "..%2fsecret.txt",
            "..%5csecret.txt",
            "%2fetc%2fpasswd",
            "/etc/passwd",
            "link.png",
            "up/secret.txt",
            "images",
            "",
            "a%00.png",
            "images/a.png%00.txt",
            "x" * 5000,
        ],
    )
    def test_nothing_outside_of_it_is(self, browser: Browser, folder: Path, path: str) -> None:
        answer = browser.get(f"/runs/given/files/{path}")
        assert answer.status == 404
        assert "secret" not in answer.text.replace("secret.txt", "")

    @pytest.mark.parametrize("name", ["..", "%2e%2e", "other", "20261115-120000-abcd", "given%2f.."])
    def test_nor_of_folders_that_were_not_given(self, browser: Browser, folder: Path, name: str) -> None:
        assert browser.get(f"/runs/{name}/files/secret.txt").status == 404

    def test_what_is_no_picture_is_never_shown(self, browser: Browser, folder: Path) -> None:
        answer = browser.get("/runs/given/files/page.html")
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        (folder / "film.webm").write_bytes(b"film")
        film = browser.get("/runs/given/files/film.webm")
        assert film.headers["content-disposition"].startswith("attachment")


class TestLinks:
    """Folders that lead elsewhere: runs are copied from machine to machine."""

    @pytest.mark.parametrize("link", ["", "run"])
    def test_a_job_that_lies_elsewhere_is_none(
        self, browser: Browser, settings: ServerSettings, tmp_path: Path, link: str
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        (elsewhere / "run").mkdir(parents=True)
        (elsewhere / "run" / "secret.png").write_text("secret")
        (elsewhere / "job.json").write_text(json.dumps(ASK))
        folder = settings.out / "20261115-120000-aaaa"
        if link:
            folder.mkdir(parents=True)
            (folder / "job.json").write_text(json.dumps(ASK))
        else:
            settings.out.mkdir()
        (folder / link).symlink_to(elsewhere / link)
        assert browser.get("/runs/20261115-120000-aaaa/files/secret.png").status == 404
        assert "20261115-120000-aaaa" not in browser.page("/runs").text

    def test_marks_are_not_written_elsewhere(self, tmp_path: Path) -> None:
        victim, folder = tmp_path / "victim.txt", tmp_path / "run"
        victim.write_text("mine")
        folder.mkdir()
        (folder / "marks.jsonl").symlink_to(victim)
        with pytest.raises(InputError, match="cannot write"):
            add_marks(folder, [CaseMark("R1", "dave2", "a", "fault")])
        assert victim.read_text() == "mine"

    def test_answers_are_not_written_elsewhere(self, tmp_path: Path) -> None:
        elsewhere, folder = tmp_path / "elsewhere", tmp_path / "study"
        elsewhere.mkdir()
        folder.mkdir()
        (folder / "answers").symlink_to(elsewhere)
        with pytest.raises(InputError, match="leads elsewhere"):
            AnswerFiles(folder, ("item",)).write("ann", [{"item": "a"}])
        assert not list(elsewhere.iterdir())

    def test_names_that_are_no_text_break_no_list(self, browser: Browser, settings: ServerSettings) -> None:
        drive = settings.runs[0] / os.fsdecode(b"drive-\xff")
        drive.mkdir()
        (drive / "drive.parquet").write_bytes(b"")
        for path in ("/runs", "/runs/given", "/drives", "/studies"):
            assert browser.page(path).status == 200, path

    def test_nor_is_such_a_folder_taken_for_new_runs(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="--out must have a name that is text"):
            ServerSettings(tmp_path / os.fsdecode(b"out-\xff"))


def test_only_so_many_runs_wait(settings: ServerSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProcessQueue, "_began", lambda *_: False)
    few = replace(settings, limits=replace(settings.limits, jobs=2))
    browser = Browser(Client(create_app(few)))
    answers = [browser.post("/jobs", ASK) for _ in range(4)]
    assert [one.status for one in answers] == [201, 201, 422, 422]
    assert "cancel some" in answers[-1].json()["error"]
    assert len(list(settings.out.iterdir())) == 2


SCRIPT = "<img src=x onerror=alert(1)>\"'"


def test_script_in_what_a_run_holds_is_text(browser: Browser, settings: ServerSettings) -> None:
    folder = settings.runs[0]
    requirement = Requirement(f"R {SCRIPT}", f"Slow down {SCRIPT}", "rules", tags=(SCRIPT,))
    with RunStore(folder / "runs" / "r" / "m", requirement, system=SCRIPT, images=folder / "images") as store:
        case = Case(SCRIPT, requirement.id, (RecordDrive("x"),), {"change.1": SCRIPT, "frame": SCRIPT})
        store.append(case, Verdict.from_margin(case, -1.0), [store.add_image(np.zeros((8, 8, 3), np.uint8))])
        case = Case("b", requirement.id, (RecordDrive("x"),))
        store.append(case, Verdict.not_applicable(case, SCRIPT))
    pages = ["/runs", "/runs/given", "/look", "/look/given", "/compare", "/studies", "/coverage", "/drives"]
    texts = [browser.page(path).text for path in pages]
    assert not [path for path, text in zip(pages, texts, strict=True) if "<img src=x" in text]
    assert "&lt;img src=x" in texts[1]


def test_script_in_what_is_asked_for_is_text(
    settings: ServerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProcessQueue, "_began", lambda *_: False)
    hostile = replace(settings, models=(SCRIPT,), data=(SCRIPT,))
    browser = Browser(Client(create_app(hostile)))
    job = browser.post("/jobs", {**ASK, "text": SCRIPT, "models": [SCRIPT], "data": SCRIPT}).json()
    for path in ("/write", "/runs", job["url"]):
        text = browser.page(path).text
        assert "<img src=x" not in text
        assert "&lt;img src=x" in text


def test_nothing_but_http_is_let_in(settings: ServerSettings) -> None:
    async def never(*_: object) -> Any:
        raise AssertionError

    gate = AccessGate(never, settings, Sessions())
    finished(gate({"type": "websocket", "headers": [], "path": "/"}, never, never))


def test_a_folder_that_is_called_as_a_run_of_this_server_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "20261115-120000-aaaa"
    (folder / "images").mkdir(parents=True)
    (folder / "images" / "a.png").write_bytes(b"\x89PNG")
    browser = Browser(Client(create_app(ServerSettings(tmp_path / "out", (folder,)))))
    assert "/runs/20261115-120000-aaaa-2" in browser.page("/runs").text
    assert browser.get("/runs/20261115-120000-aaaa-2/files/images/a.png").status == 200


def test_script_in_a_name_is_text(tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    folder.mkdir()
    text = Browser(Client(create_app(ServerSettings(tmp_path / "out", (folder,))))).page("/runs").text
    assert "<img src=x" not in text
    assert "&lt;img src=x" in text


def test_script_in_an_address_is_text(browser: Browser) -> None:
    answer = browser.page("/runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert answer.status == 404
    assert "<script>alert" not in answer.text


def test_a_report_is_shown_and_can_do_nothing(browser: Browser, settings: ServerSettings) -> None:
    (settings.runs[0] / "report.html").write_text("<style>p {}</style><p>found</p><script>alert(1)</script>")
    answer = browser.page("/runs/given/files/report.html")
    assert answer.headers["content-type"].startswith("text/html")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-same-origin; default-src 'none'")
    assert "script" not in policy
