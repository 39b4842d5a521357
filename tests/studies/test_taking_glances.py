"""Glances at images: dealt by track, answered once, read by the reliability room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.studies.planned import glance_experiment
from tests.web.client import Browser, Client

from roadworthy._files import read_json
from roadworthy.errors import InputError
from roadworthy.studies import open_study
from roadworthy.studies.glances import GlancePlan, GlanceStudy, collect
from roadworthy.web.app import create_app
from roadworthy.web.settings import ServerSettings


@pytest.fixture
def experiment(tmp_path: Path) -> GlanceStudy:
    found = open_study(glance_experiment(tmp_path / "experiment"), "itself")
    assert isinstance(found, GlanceStudy)
    return found


def truths(experiment: GlanceStudy) -> dict[str, str]:
    plan = GlancePlan.read(experiment.folder)
    return {id: one.truth for id, one in (*plan.items.items(), *plan.checks.items())}


def sit(experiment: GlanceStudy, rater: str) -> list[str]:
    right = truths(experiment)
    items = [one["id"] for one in experiment.begin(rater)["items"]]
    for id in items:
        experiment.answer(rater, id, {"answer": right[id], "time": 0.4})
    return items


def test_the_reader_takes_what_the_page_writes(experiment: GlanceStudy) -> None:
    for rater in ("ann", "bob"):
        while sit(experiment, rater):
            pass
    collected = collect(experiment.folder, experiment.answers.paths)
    assert (collected.raters, collected.left_out, collected.missing) == (2, {}, 0)
    assert len(collected.answers) == 16
    assert all(one.answer == one.truth and one.time == 0.4 for one in collected.answers)


def test_a_person_stays_in_one_track_and_sees_no_picture_twice(experiment: GlanceStudy) -> None:
    plan = GlancePlan.read(experiment.folder)
    seen: list[str] = []
    while items := sit(experiment, "ann"):
        seen += items
    images = [plan.items[id].image for id in seen if id in plan.items]
    assert len(images) == len(set(images)) == 8
    asked = {id for id in seen if id in plan.items}
    assert len({batch.track for batch in plan.batches if set(batch.items) & asked}) == 1
    other = next(id for id in plan.items if id not in asked)
    with pytest.raises(InputError, match="stays in one track"):
        experiment.answer("ann", other, {"answer": "car", "time": 0.4})


def test_practice_comes_once_and_first(experiment: GlanceStudy) -> None:
    dealt = experiment.begin("ann")
    assert len(dealt["practice"]) == 2
    experiment.answer("ann", dealt["items"][0]["id"], {"answer": "", "time": None})
    again = experiment.begin("ann")
    assert again["practice"] == []
    assert again["items"] == dealt["items"][1:]


def test_the_first_answer_counts(experiment: GlanceStudy) -> None:
    item = experiment.begin("ann")["items"][0]["id"]
    experiment.answer("ann", item, {"answer": "car", "time": 0.5})
    experiment.answer("ann", item, {"answer": "not car", "time": 0.1})
    assert experiment.answers.read("ann") == [
        {"item": item, "rater": "ann", "answer": "car", "time": "0.500"}
    ]


def test_the_key_is_not_dealt(experiment: GlanceStudy) -> None:
    dealt = experiment.begin("ann")
    assert all(set(one) == {"id", "file", "image_ms"} for one in dealt["items"])


@pytest.mark.parametrize(
    "values",
    [
        {"answer": "truck", "time": 0.4},
        {"time": 0.4},
        {"answer": "car", "time": -1},
        {"answer": "car", "time": "fast"},
        {"answer": "car", "time": float("nan")},
        {"answer": "car", "time": 1e9},
    ],
)
def test_answers_that_are_none(experiment: GlanceStudy, values: dict[str, Any]) -> None:
    item = experiment.begin("ann")["items"][0]["id"]
    with pytest.raises(InputError, match="must be"):
        experiment.answer("ann", item, values)


def test_batches_that_have_enough_people_are_dealt_no_more(experiment: GlanceStudy) -> None:
    for rater in ("ann", "bob", "cem", "dee"):
        while sit(experiment, rater):
            pass
    assert all(one.raters == one.wanted == 2 for one in experiment.parts())
    assert experiment.begin("eve")["items"] == []


def test_pages(experiment: GlanceStudy) -> None:
    folder = experiment.folder
    browser = Browser(Client(create_app(ServerSettings(folder.parent / "out", (folder,)))))
    assert "What people still see at a glance" in browser.page("/studies").text
    assert "flash" in browser.page("/studies/experiment/itself/take").text
    mask = read_json(folder / "plan.json")["masks"][0]
    assert browser.get(f"/studies/experiment/itself/shown/{mask}").headers["content-type"] == "image/png"
    for path in ("key.json", "plan.json", "../experiment/key.json"):
        assert browser.get(f"/studies/experiment/itself/shown/{path}").status == 404


def test_a_plan_that_is_broken_says_so(experiment: GlanceStudy) -> None:
    (experiment.folder / "plan.json").write_text('{"tracks": [{}]}')
    folder = experiment.folder
    browser = Browser(Client(create_app(ServerSettings(folder.parent / "out", (folder,)))))
    assert "must be the plan of" in browser.page("/studies").text
