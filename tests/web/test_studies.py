"""The page Studies: drawing one, answering it, and what people think."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.kept import as_kept
from tests.studies.planned import clip_study, glance_experiment, rule_run
from tests.web.client import Browser, Client
from tests.web.test_kept import told

from roadworthy.errors import InputError
from roadworthy.web import drives, studies, thresholds
from roadworthy.web.app import create_app
from roadworthy.web.compare import systems_of
from roadworthy.web.services import Services
from roadworthy.web.settings import ServerSettings

KEPT = Path(__file__).with_name("kept")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    rule_run(made / "a run")
    clip_study(made / "clips")
    glance_experiment(made / "glances")
    return made


@pytest.fixture(scope="module")
def browser(folder: Path) -> Browser:
    runs = tuple(folder / name for name in ("a run", "clips", "glances"))
    return Browser(Client(create_app(ServerSettings(folder / "out", runs))))


def test_a_study_is_drawn_as_it_was_asked_for(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def draw(*given: Any, **how: Any) -> str:
        asked.append((given[0].name, *given[1:], how))
        return "study-7"

    monkeypatch.setattr(studies, "draw_pairs", draw)
    drawn = browser.post("/studies/draw", {"run": "a-run", "system": "dave2"})
    assert (drawn.status, drawn.json()) == (201, {"url": "/studies/a-run/study-7"})
    full = {"pairs": 9, "groups": 3, "raters": 4, "balanced": False, "seed": 5}
    browser.post("/studies/draw", {"run": "a-run", "system": "dave2", **full})
    usual = {"count": None, "groups": 1, "raters": 8, "balanced": True, "seed": 0}
    given = {"count": 9, "groups": 3, "raters": 4, "balanced": False, "seed": 5}
    assert asked == [("a run", "dave2", usual), ("a run", "dave2", given)]
    assert browser.post("/studies/draw", {"run": "none", "system": "dave2"}).status == 404


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({"pairs": 2}, {"pairs": 1}),
        ({"pairs": 2000}, {"pairs": 2001}),
        ({"groups": 100}, {"groups": 101}),
        ({"groups": 1}, {"groups": 0}),
        ({"raters": 2}, {"raters": 1}),
        ({"raters": 100}, {"raters": 101}),
        ({"seed": 2**31 - 1}, {"seed": 2**31}),
        ({"seed": 0}, {"seed": -1}),
        ({"system": "x" * 500}, {"system": "x" * 501}),
        ({"run": "x" * 200}, {"run": "x" * 201}),
        ({}, {"more": 1}),
    ],
    ids=str,
)
def test_what_may_be_asked_of_a_study(good: dict[str, Any], bad: dict[str, Any]) -> None:
    studies._Draw(**{"run": "a", "system": "b", **good})
    with pytest.raises(ValueError, match=next(iter(bad))):
        studies._Draw(**{"run": "a", "system": "b", **bad})


def test_people_answer_a_study_and_see_what_they_think(browser: Browser, folder: Path) -> None:
    asked = {"run": "a-run", "system": "dave2", "pairs": 4, "raters": 2, "seed": 3}
    url = browser.post("/studies/draw", asked).json()["url"]
    parts = [told(browser.page(url).text), told(browser.page(f"{url}/take").text)]
    none = browser.page(f"{url}/results")
    parts.append(told(none.text))
    for rater, score in ((" Ann ", 1), ("Bob", 2)):
        begun = browser.post(f"{url}/begin", {"rater": rater})
        assert begun.status == 200
        assert begun.json()["rater"] == rater.strip().lower()
        for item in begun.json()["items"]:
            key = next(name for name in item if name in ("item", "id", "pair"))
            values = dict.fromkeys(_asked(folder), score)
            said = browser.post(
                f"{url}/answer", {"rater": rater.strip().lower(), "item": item[key], "values": values}
            )
            assert (said.status, said.json()) == (201, {"item": item[key]}), said.text
    parts += [told(browser.page(place).text) for place in (url, f"{url}/results", "/studies")]
    page = "\n".join(parts)
    as_kept(KEPT / "answered.html", re.sub(r"\d{4}-\d\d-\d\d[T \d:.+-]*", "NOW", page) + "\n")
    assert browser.post(f"{url}/answer", {"rater": "Zoe", "item": "1", "values": {}}).status == 422
    assert browser.post(f"{url}/begin", {"rater": "x" * 81}).status == 422
    many = {str(number): 1 for number in range(9)}
    assert browser.post(f"{url}/answer", {"rater": "Ann", "item": "1", "values": many}).status == 422


def _asked(folder: Path) -> tuple[str, ...]:
    from roadworthy.studies import open_study, studies_in

    (id,) = studies_in(folder / "a run")
    return tuple(open_study(folder / "a run", id).asked)


def test_clips_and_glances_have_pages_of_their_own(browser: Browser) -> None:
    pages = [
        f"/studies/{name}/itself/{page}" for name in ("clips", "glances") for page in ("take", "results")
    ]
    texts = [f"=== {page}\n{told(browser.page(page).text)}" for page in pages]
    as_kept(KEPT / "taken.html", "\n".join(texts) + "\n")
    assert "on the page Thresholds" in texts[-1]


def test_only_what_a_study_shows_is_handed_out(browser: Browser, folder: Path) -> None:
    from roadworthy.studies import open_study

    task = open_study(folder / "clips", "itself")
    film = sorted(task.shown_files)[0]
    answer = browser.get(f"/studies/clips/itself/shown/{film}")
    assert (answer.status, answer.body) == (200, b"film")
    for path in ("key.json", "plan.json", "../glances/key.json", f"../clips/{film}", "none"):
        refused = browser.get(f"/studies/clips/itself/shown/{path}")
        assert refused.status == 404
        assert refused.body != b"film"
    assert browser.get("/studies/clips/none").status == 404
    assert browser.get("/studies/none/itself").status == 404


def test_a_study_that_cannot_be_opened_is_listed_with_the_reason(tmp_path: Path) -> None:
    clip_study(tmp_path / "clips")
    (tmp_path / "clips" / "plan.json").write_text('{"study": "clips"')
    listed = studies._listed("a", tmp_path / "clips", "itself")
    assert (listed["run"], listed["id"], listed["url"]) == ("a", "itself", "/studies/a/itself")
    assert listed["task"] is None
    assert listed["problem"] == "there is no such study here: all studies are on the page Studies"


def test_runs_that_cannot_be_read_have_no_models_and_say_why(tmp_path: Path) -> None:
    (tmp_path / "runs" / "x").mkdir(parents=True)
    (tmp_path / "requirements.jsonl").write_text("{")
    assert systems_of(tmp_path) == ()


def test_no_more_drives_are_found_than_a_page_can_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("c", "a", "b", "images"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "drive.parquet").write_bytes(b"")
    assert list(drives.find_drives(tmp_path)) == ["a", "b", "c"]
    monkeypatch.setattr(drives, "_MOST", 2)
    assert list(drives.find_drives(tmp_path)) == ["a", "b"]


def test_what_the_first_page_would_wait_for_is_loaded_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services: Services = create_app(ServerSettings(tmp_path)).state.services
    asked: list[str] = []

    def read(text: str) -> dict[str, str]:
        asked.append(text)
        return {}

    monkeypatch.setattr("roadworthy.web.services._read_rule", read)
    monkeypatch.setattr(services.declared, "models", lambda: asked.append("models"))
    services.warm_up()
    assert asked[1:] == ["models"]
    assert asked[0].startswith("If a pedestrian appears")

    def broken() -> None:
        raise OSError("gone")

    monkeypatch.setattr(services.declared, "models", broken)
    services.warm_up()


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ((), False),
        (("plan.json",), False),
        (("plan.json", "key.json"), False),
        (("plan.json", "key.json", "masks/"), True),
        (("plan.json", "fog_c_p_1.csv"), False),
        (("fog_c_p_1.csv",), True),
        (("fog_p_p_1.csv",), True),
        (("fog.csv",), False),
    ],
)
def test_which_folders_hold_answers(tmp_path: Path, files: tuple[str, ...], found: bool) -> None:
    for name in files:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).touch()
    assert thresholds.has_answers(tmp_path) is found


def test_answers_that_cannot_be_counted_are_told(tmp_path: Path) -> None:
    glance_experiment(tmp_path / "glances")
    with pytest.raises(InputError) as refused:
        thresholds.find_thresholds(tmp_path / "glances", rule="careful", samples=0, width=0.1)
    assert str(refused.value)


def test_how_thresholds_are_asked_for(
    browser: Browser, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def find(place: Path, **how: Any) -> Any:
        asked.append((place.name, how["rule"], how["samples"], how["width"]))
        raise InputError("no answers yet")

    monkeypatch.setattr(thresholds, "find_thresholds", find)
    browser.settled("/thresholds/glances")
    browser.settled("/thresholds/glances?rule=text&samples=7&width=0.05")
    (folder / "a run" / "fog_c_p_1.csv").touch()
    page = browser.settled("/thresholds/a-run").text
    (folder / "a run" / "fog_c_p_1.csv").unlink()
    assert "No answers yet." in page
    assert asked == [
        ("glances", "careful", 200, 0.01),
        ("glances", "text", 7, 0.05),
        ("a run", "imagenet", 200, None),
    ]
    for query in ("samples=-1", "samples=2001", "width=0", "width=0.6", f"rule={'x' * 41}"):
        assert browser.page(f"/thresholds/glances?{query}").status == 422
    assert json.dumps(asked)
