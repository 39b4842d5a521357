"""Blind studies: drawn from a run, rated on the page, summed up as the command sums them up."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.report.runs_for_reports import picture, requirement_of
from tests.studies.planned import rule_run
from tests.web.client import Browser, Client

from roadworthy.cases import Case, RecordDrive, Status, Verdict
from roadworthy.errors import InputError
from roadworthy.runs.store import RunStore, StoredRun
from roadworthy.studies.pairs import PairPlan, PairStudy, draw_pairs, evaluate_pairs, pairs_of, read_ratings
from roadworthy.web.app import create_app
from roadworthy.web.settings import ServerSettings, file_below


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return rule_run(tmp_path / "run", rules=("R1", "R2"))


@pytest.fixture
def study(run: Path) -> PairStudy:
    return PairStudy(run / "studies" / draw_pairs(run, "dave2", count=16, groups=2, raters=2))


def rate(study: PairStudy, rater: str, score: int = 5) -> None:
    for item in study.begin(rater)["items"]:
        study.answer(rater, item["id"], {"authenticity": score, "reasonability": score})


def test_a_plan_is_balanced_and_the_same_for_a_seed(run: Path, study: PairStudy) -> None:
    plan = PairPlan.read(study.folder)
    for rule in ("R1", "R2"):
        verdicts = [item.violated for item in plan.items if item.rule == rule]
        assert verdicts.count(True) == verdicts.count(False) == 4
    again = run / "studies" / draw_pairs(run, "dave2", count=16, groups=2, raters=2)
    assert again.name == "study-2"
    assert PairPlan.read(again) == plan
    other = run / "studies" / draw_pairs(run, "dave2", count=16, groups=2, raters=2, seed=1)
    assert PairPlan.read(other).items != plan.items


def test_nothing_that_people_get_tells_what_violates(study: PairStudy) -> None:
    dealt = json.dumps(study.begin("ann"))
    for word in ("violat", "R1", "R2", "town-", "margin", "status"):
        assert word not in dealt


def test_people_are_dealt_the_group_that_has_fewest(study: PairStudy) -> None:
    assert study.begin("ann")["group"] == 1
    rate(study, "ann")
    assert study.begin("bob")["group"] == 2
    # Whoever has finished a group may go on with another one.
    assert study.begin("ann")["group"] == 2
    rate(study, "ann")
    assert study.begin("ann")["items"] == []


def test_a_sitting_goes_on_where_it_stopped(study: PairStudy) -> None:
    first = study.begin("ann")["items"][0]["id"]
    study.answer("ann", first, {"authenticity": 6, "reasonability": 2})
    again = PairStudy(study.folder).begin("ann")
    assert again["items"][0]["given"] == {"authenticity": 6, "reasonability": 2}
    assert again["items"][1]["given"] == {"authenticity": None, "reasonability": None}


def test_a_full_group_is_dealt_no_more(study: PairStudy) -> None:
    for rater in ("ann", "bob", "cem", "dee"):
        rate(study, rater)
    assert study.begin("eve")["items"] == []
    assert [(one.raters, one.wanted) for one in study.parts()] == [(2, 2), (2, 2)]


def test_results_are_those_of_the_command(study: PairStudy) -> None:
    for rater, score in (("ann", 6), ("bob", 3), ("cem", 7)):
        rate(study, rater, score)
    ratings = read_ratings(*study.answers.paths)
    assert len(ratings) == 24
    assert study.result() == evaluate_pairs(PairPlan.read(study.folder), ratings)


@pytest.mark.parametrize("score", [0, 8, None, "5", 5.0, True])
def test_scores_that_are_none(study: PairStudy, score: Any) -> None:
    item = study.begin("ann")["items"][0]["id"]
    with pytest.raises(InputError, match="from 1 to 7"):
        study.answer("ann", item, {"authenticity": score, "reasonability": 4})


def test_what_was_not_asked_is_not_answered(study: PairStudy) -> None:
    study.begin("ann")
    with pytest.raises(InputError, match="was not asked"):
        study.answer("ann", "pair-9999", {"authenticity": 4, "reasonability": 4})


def test_only_what_was_judged_is_shown(tmp_path: Path) -> None:
    folder, requirement = tmp_path / "run", requirement_of("R1")
    measures = {"before.1": 0.0, "after.1": 9.0}
    place = folder / "runs" / "R1" / "dave2"
    with RunStore(place, requirement, system="dave2", images=folder / "images") as store:
        for status in Status:
            case = Case(str(status), "R1", (RecordDrive("-"),), {"output.1": "speed"})
            margin = {Status.PASSED: 1.0, Status.VIOLATED: -1.0}.get(status)
            verdict = Verdict(case.id, "R1", status, margin, "it stood", measures)
            store.append(case, verdict, [picture(60), picture(60, mark=True)])
    shown = {pair.case: pair.violated for pair in pairs_of(StoredRun.open(folder), "dave2")}
    assert shown == {"passed": False, "violated": True}


def test_a_run_with_violations_only_says_what_to_do(tmp_path: Path) -> None:
    run = rule_run(tmp_path / "run", passes=0)
    with pytest.raises(InputError, match="--images all"):
        draw_pairs(run, "dave2")
    assert list((run).glob("studies/*")) == []


def test_the_whole_way_by_the_pages(run: Path) -> None:
    browser = Browser(Client(create_app(ServerSettings(run.parent / "out", (run,)))))
    assert "Draw a blind study" in browser.page("/studies").text
    asked = {"run": "run", "system": "dave2", "pairs": 8, "groups": 1, "raters": 2}
    url = browser.post("/studies/draw", asked).json()["url"]
    assert browser.page(url).status == 200
    assert "nobody has answered yet" in browser.page(f"{url}/results").text
    for rater, score in (("ann", 2), ("bob", 3)):
        dealt = browser.post(f"{url}/begin", {"rater": rater}).json()
        for number, item in enumerate(dealt["items"]):
            values = {"authenticity": score, "reasonability": 1 + number % 7}
            said = {"rater": rater, "item": item["id"], "values": values}
            assert browser.post(f"{url}/answer", said).status == 201
    shown = browser.get(f"{url}/shown/{dealt['items'][0]['changed']}")
    assert (shown.status, shown.headers["content-type"]) == (200, "image/png")
    page = browser.page(f"{url}/results").text
    assert page.count('class="box plain"') == 2
    assert page.count('class="box bad"') == page.count('class="box good"') == 2
    # Both put all pairs in the same order, and one pair of answers is one apart everywhere.
    assert '<td class="number">1.00</td>' in page
    assert "2 of 2 sittings done" in browser.page(url).text


@pytest.mark.parametrize(
    "path", ["../key.json", "plan.json", "ratings.csv", "..%2fkey.json", "images/none.png"]
)
def test_only_what_the_plan_shows_is_served(study: PairStudy, path: str) -> None:
    run = study.folder.parents[1]
    browser = Browser(Client(create_app(ServerSettings(run.parent / "out", (run,)))))
    assert browser.get(f"/studies/run/{study.folder.name}/shown/{path}").status == 404


@pytest.mark.parametrize("rater", ["", "../key", "a b", "x" * 41, "ä", ".hidden", "con/x", "-"])
def test_names_that_could_be_no_file(study: PairStudy, rater: str) -> None:
    run = study.folder.parents[1]
    browser = Browser(Client(create_app(ServerSettings(run.parent / "out", (run,)))))
    answer = browser.post(f"/studies/run/{study.folder.name}/begin", {"rater": rater})
    assert answer.status == 422
    assert not (study.folder / "answers").exists()


def test_studies_that_are_none(run: Path) -> None:
    browser = Browser(Client(create_app(ServerSettings(run.parent / "out", (run,)))))
    for id in ("itself", "study-7", "..", "study-1%2f..", "answers"):
        assert browser.page(f"/studies/run/{id}").status == 404
    assert browser.post("/studies/draw", {"run": "none", "system": "dave2"}).status == 404
    assert browser.post("/studies/draw", {"run": "run", "system": "epoch"}).status == 422


def test_two_windows_of_one_person_lose_nothing(study: PairStudy) -> None:
    items = [item["id"] for item in study.begin("ann")["items"]]

    def rated(item: str) -> None:
        PairStudy(study.folder).answer("ann", item, {"authenticity": 4, "reasonability": 4})

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(rated, items))
    assert study.begin("ann")["group"] == 2
    assert len(read_ratings(study.answers.paths[0])) == len(items)


def test_two_browsers_draw_at_once(run: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda seed: draw_pairs(run, "dave2", count=16, seed=seed), range(4)))
    assert sorted(drawn) == ["study-1", "study-2", "study-3", "study-4"]
    for one in drawn:
        study = PairStudy(run / "studies" / one)
        assert all(file_below(study.home, path) is not None for path in study.shown_files)
    assert [one.name for one in (run / "studies").iterdir() if one.name.startswith(".")] == []


def test_pictures_that_the_plan_does_not_show_stay_where_they_are(run: Path) -> None:
    study = PairStudy(run / "studies" / draw_pairs(run, "dave2", count=16))
    shown = study.folder / "raters" / sorted(study.shown_files)[0]
    other = shown.with_name("other.png")
    other.write_bytes(shown.read_bytes())
    browser = Browser(Client(create_app(ServerSettings(run.parent / "out", (run,)))))
    url = f"/studies/run/{study.folder.name}/shown/images"
    assert browser.get(f"{url}/{shown.name}").body == shown.read_bytes()
    assert browser.get(f"{url}/{other.name}").status == 404
