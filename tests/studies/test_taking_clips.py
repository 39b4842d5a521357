"""Clips of drives: a questionnaire each, every person in another order, read by the driving room."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.studies.planned import clip_study
from tests.web.client import Browser, Client

from roadworthy.errors import InputError
from roadworthy.studies import open_study, studies_in
from roadworthy.studies.clip_results import ClipStudy, read_clip_ratings
from roadworthy.studies.clips import ClipPlan
from roadworthy.studies.pairs import PairStudy
from roadworthy.web.app import create_app
from roadworthy.web.settings import ServerSettings


@pytest.fixture
def study(tmp_path: Path) -> ClipStudy:
    found = open_study(clip_study(tmp_path / "study"), "itself")
    assert isinstance(found, ClipStudy)
    return found


def rate(study: ClipStudy, rater: str) -> list[str]:
    kinds = {id: clip.kind for id, clip in ClipPlan.read(study.folder).clips.items()}
    items = [one["id"] for one in study.begin(rater)["items"]]
    for id in items:
        study.answer(rater, id, {"score": {"good": 5, "poor": 2, "attention": 1}[kinds[id]]})
    return items


def test_the_reader_takes_what_the_page_writes(study: ClipStudy) -> None:
    orders = [rate(study, rater) for rater in ("ann", "bob", "cem", "dee")]
    assert len({tuple(one) for one in orders}) == 4
    ratings = read_clip_ratings(ClipPlan.read(study.folder), study.answers.paths)
    assert {id: set(raters) for id, raters in ratings.scores.items()} == {
        "Q01": {"ann", "cem"},
        "Q02": {"bob", "dee"},
    }
    assert [(one.raters, one.wanted) for one in study.parts()] == [(2, 2), (2, 2)]
    assert study.begin("eve")["items"] == []


def test_whoever_began_and_went_does_not_block_the_study(study: ClipStudy) -> None:
    for number in range(6):
        assert study.begin(f"gone-{number}")["items"]
    for rater in ("ann", "bob", "cem", "dee"):
        assert rate(study, rater)
    ratings = read_clip_ratings(ClipPlan.read(study.folder), study.answers.paths)
    assert [len(raters) for raters in ratings.scores.values()] == [2, 2]


def test_a_sitting_goes_on_where_it_stopped(study: ClipStudy) -> None:
    dealt = study.begin("ann")
    study.answer("ann", dealt["items"][0]["id"], {"score": 4})
    again = study.begin("ann")
    assert [one["given"] for one in again["items"]] == [4, None, None, None, None]
    assert [one["id"] for one in again["items"]] == [one["id"] for one in dealt["items"]]


@pytest.mark.parametrize("score", [0, 6, None, "3", 3.0, True])
def test_scores_that_are_none(study: ClipStudy, score: Any) -> None:
    item = study.begin("ann")["items"][0]["id"]
    with pytest.raises(InputError, match="must be a whole number from 1 to 5"):
        study.answer("ann", item, {"score": score})


@pytest.mark.parametrize(
    "said",
    [
        {"rater": "ann" * 100_000},
        {"rater": "../key"},
        {"item": "x" * 200_000},
        {"values": {"score": "5" * 200_000}},
        {"values": {str(number): number for number in range(9)}},
        {"values": {"score": [5]}},
        {"values": {"score": 10**300}},
    ],
)
def test_answers_that_are_none_leave_nothing_behind(study: ClipStudy, said: dict[str, Any]) -> None:
    browser = Browser(Client(create_app(ServerSettings(study.folder.parent / "out", (study.folder,)))))
    item = browser.post("/studies/study/itself/begin", {"rater": "ann"}).json()["items"][0]["id"]
    before = {path: path.read_bytes() for path in study.folder.rglob("*") if path.is_file()}
    answer = {"rater": "ann", "item": item, "values": {"score": 5}, **said}
    assert browser.post("/studies/study/itself/answer", answer).status in (413, 422)
    assert {path: path.read_bytes() for path in study.folder.rglob("*") if path.is_file()} == before


def test_pages(study: ClipStudy) -> None:
    folder = study.folder
    browser = Browser(Client(create_app(ServerSettings(folder.parent / "out", (folder,)))))
    assert "licence" in browser.page("/studies/study/itself/take").text
    dealt = browser.post("/studies/study/itself/begin", {"rater": "Ann"}).json()
    shown = browser.get(f"/studies/study/itself/shown/{dealt['items'][0]['file']}")
    assert (shown.status, shown.headers["content-type"], shown.body) == (200, "video/webm", b"film")
    for path in ("key.json", "README.md", "answers.csv"):
        assert browser.get(f"/studies/study/itself/shown/{path}").status == 404
    for rater in ("ann", "bob", "cem", "dee"):
        rate(study, rater)
    page = browser.page("/studies/study/itself/results").text
    assert "almost perfect" in page
    assert '<td class="number">5.00</td><td class="number">0 · 0 · 0 · 0 · 2</td>' in page


@pytest.mark.parametrize("id", ["study-1/../../..", "study-", "study-01", "../study-1", "study-1x", ""])
def test_an_id_that_is_none_leads_nowhere(tmp_path: Path, id: str) -> None:
    with (
        patch.object(PairStudy, "is_in", return_value=True),
        pytest.raises(InputError, match="there is no such study here"),
    ):
        open_study(tmp_path, id)


def test_results_are_of_the_page_and_of_the_table_that_is_filled_in_by_hand(study: ClipStudy) -> None:
    rate(study, "ann")
    assert [one.raters for one in study.result().questionnaires] == [1, 0]
    table = study.folder / "answers.csv"
    plan = ClipPlan.read(study.folder)
    first = plan.questionnaires[0]
    scores = {"good": 4, "poor": 2, "attention": 1}
    table.write_text(
        "questionnaire,rater,clip,score\n"
        + "".join(f"{first.id},paper,{id},{scores[plan.clips[id].kind]}\n" for id in first.clips)
    )
    found = study.result()
    assert [one.raters for one in found.questionnaires] == [2, 0]
    assert {one.raters for one in found.clips} == {2}
    table.unlink()
    assert [one.raters for one in study.result().questionnaires] == [1, 0]


def test_studies_are_found_by_their_plans(study: ClipStudy, tmp_path: Path) -> None:
    assert studies_in(study.folder) == ["itself"]
    assert studies_in(tmp_path) == []
    for name in ("study-10", "study-2", "study-0", "other"):
        (tmp_path / "studies" / name).mkdir(parents=True)
    assert studies_in(tmp_path) == ["study-2", "study-10"]
    for text in ("{broken", "[]", '{"other": 1}'):
        (tmp_path / "plan.json").write_text(text)
        assert studies_in(tmp_path) == ["study-2", "study-10"]
        with pytest.raises(InputError, match="there is no such study here: all studies are on the page"):
            open_study(tmp_path)
    with patch.object(PairStudy, "is_in", return_value=True):
        assert studies_in(tmp_path)[0] == "itself"
