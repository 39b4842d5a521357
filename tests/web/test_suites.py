"""The page Suites: checks with their places, what may not be said, and the start of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.web.client import Browser, Client

from roadworthy.web.app import create_app
from roadworthy.web.jobs.queue import ProcessQueue
from roadworthy.web.settings import ServerSettings
from roadworthy.web.write import examples

SUITE = """\
models: [dave2, detector]
data: {town: {data: world:town, sample: 8}}
requirements:
  night: If the driving time changes into night, then the ego-vehicle should slow down.
  shift:
    reliability: brightness
"""


def check(browser: Browser, text: str) -> Any:
    return browser.post("/suites/check", {"text": text}).json()


def test_a_suite_is_read_with_the_lines_of_its_parts(browser: Browser) -> None:
    found = check(browser, SUITE)
    assert (found["state"], found["troubles"]) == ("read", [])
    assert found["lines"] == {"models": 1, "data": 2, "requirements": 3}
    assert found["entries"] == {"night": 4, "shift": 5}
    assert found["said"]["data"] == {"town": {"data": "world:town", "sample": 8}}
    assert check(browser, " \n")["state"] == "empty"


@pytest.mark.parametrize("example", [one["text"] for one in examples() if one["kind"] == "suite"])
def test_examples_of_the_page_can_be_run(browser: Browser, example: str) -> None:
    assert check(browser, example)["troubles"] == []


@pytest.mark.parametrize(
    ("old", "new", "words", "told"),
    [
        ("driving time", "driving thyme", "driving thyme", "cannot be changed in a scene"),
        ("reliability: brightness", "reliability: brihgtness", "brihgtness", "did you mean 'brightness'"),
        ("sample: 8", "sampel: 8", "sampel", "sample"),
        ("requirements:", "requirments:", "", "requirements"),
        ("[dave2, detector]", "[dave2, dave3]", "models", "this server has no model 'dave3'"),
        (
            "data: world:town, sample",
            "data: folder:/etc, sample",
            "{data: folder",
            "no data set 'folder:/etc'",
        ),
        (", sample: 8", "", "{data", "say with sample how many frames"),
        ("reliability: brightness", "reliability: [", "", "broken YAML"),
        ("sample: 8", "sample: 99999", "{town", "frames at most here"),
        ("reliability: brightness", "bbsl: stop.bbsl", "shift", "may name no files"),
        (
            "reliability: brightness",
            "driving: {}\n    simulator: donkey:127.0.0.1:1",
            "shift",
            "other machines",
        ),
        ("reliability: brightness", "rules: mine.rules", "shift", "may name no files"),
        ("models: [dave2", "gate: callable:os:system\nmodels: [dave2", "callable:os", "may name no files"),
        ("data: {town: {", "data: {town: {options: {size: 9x9}, ", "{options", "may name no files"),
    ],
)
def test_what_is_wrong_is_told_at_its_place_and_cannot_be_run(
    browser: Browser, settings: ServerSettings, old: str, new: str, words: str, told: str
) -> None:
    assert old in SUITE
    text = SUITE.replace(old, new)
    found = check(browser, text)
    told_all = [one["message"] for one in found["troubles"]]
    assert found["state"] == "refused"
    assert browser.post("/suites/start", {"text": text}).status == 422
    one = next(one for one in found["troubles"] if told in one["message"])
    line = (*text.splitlines(), "")[one["line"] - 1] if one["line"] else ""
    assert line[one["column"] : one["column"] + one["width"]].startswith(words), told_all
    assert "/tmp" not in one["message"]
    assert not settings.out.exists()


def test_several_things_are_told_at_once(browser: Browser) -> None:
    text = SUITE.replace("brightness", "brihgtness").replace("night, then", "nihgt, then")
    assert [one["line"] for one in check(browser, text)["troubles"]] == [4, 6]


def test_frames_of_the_built_in_world_may_be_of_one_kind_and_as_many_as_one_run_has(browser: Browser) -> None:
    for options, fine in (
        ("weather: foggy, time: night, level: heavy", True),
        ("weather: [foggy]", False),
        ("weather: foggy, size: 9x9", False),
        ("count: '9'", False),
        ("count: 60, seed: 3", True),
        ("count: true", False),
        ("count: 10001", False),
    ):
        text = SUITE.replace("sample: 8", f"sample: 8, options: {{{options}}}")
        assert (check(browser, text)["state"] == "read") is fine, options


HOSTILE = {
    "aliases": "a: &a [x]\nmodels: *a\n",
    "a bomb of aliases": "a: &a [x, x]\nb: &b [*a, *a]\nmodels: [*b, *b]\n",
    "deep": "models: " + "[" * 5000,
    "a tag": "models: !!python/object/apply:os.system [ls]\n",
    "a number": "models: dave2\nseed: " + "9" * 5000,
    "not finite": "models: dave2\nrequirements: {a: {coverage: neuron, tries: .nan, seconds: .inf}}\n",
    "keys": "? [a]\n: 1\n2026-01-01: x\ntrue: y\n",
    "a list": "- 1\n",
    "bytes": "models: !!binary aGk=\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_whatever_is_typed_gets_an_answer(browser: Browser, text: str) -> None:
    answer = browser.post("/suites/check", {"text": text})
    assert (answer.status, answer.json()["state"]) == (200, "refused")


def test_a_long_text_is_refused_before_it_is_read(browser: Browser, settings: ServerSettings) -> None:
    text = SUITE + "#" * settings.limits.suite
    assert "characters at most" in check(browser, text)["troubles"][0]["message"]
    assert browser.post("/suites/start", {"text": text}).status == 422


def test_what_is_typed_is_run_as_it_is(
    browser: Browser, settings: ServerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProcessQueue, "_began", lambda *_: False)
    job = browser.post("/suites/start", {"text": "suite: Night\n" + SUITE}).json()
    assert (job["stage"], job["url"]) == ("waiting", f"/runs/{job['id']}")
    page = browser.page("/runs").text
    assert "Night: night, shift" in page
    assert f'data-job="{job["id"]}" data-stage="waiting"' in page
    assert browser.post(f"/jobs/{job['id']}/cancel", {}).json()["stage"] == "cancelled"
    assert 'data-do="resume"' in browser.page("/runs").text


class TestUnder:
    @pytest.fixture
    def browser(self, settings: ServerSettings, tmp_path: Path) -> Browser:
        under = tmp_path / "suites"
        under.mkdir()
        (under / "night.suite.yaml").write_text(SUITE)
        (under / "other.yaml").write_text("password: secret")
        (under / "long.suite.yaml").write_text("#" * 1_000_000)
        (tmp_path / "secret.suite.yaml").write_text("password: secret")
        (under / "link.suite.yaml").symlink_to(tmp_path / "secret.suite.yaml")
        return Browser(Client(create_app(replace(settings, under=(under,)))))

    def test_suites_below_a_folder_can_be_opened(self, browser: Browser) -> None:
        assert browser.post("/suites/open", {"path": "suites/night.suite.yaml"}).json()["text"] == SUITE
        found = browser.post("/added/below", {"path": "suites"}).json()["suites"]
        assert "suites/night.suite.yaml" in found
        assert 'id="open"' in browser.page("/suites").text

    @pytest.mark.parametrize(
        "path",
        [
            "suites/other.yaml",
            "suites/long.suite.yaml",
            "suites/link.suite.yaml",
            "suites/../secret.suite.yaml",
            "suites/x\x00.suite.yaml",
            "suites",
            "/etc/passwd",
            "",
        ],
    )
    def test_and_nothing_else(self, browser: Browser, path: str) -> None:
        answer = browser.post("/suites/open", {"path": path})
        assert (answer.status, "secret" in answer.text.replace("secret.suite", "")) == (422, False)
