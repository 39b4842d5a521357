"""Answers of people, and the studies that they answer."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.files import seed_of
from tests.fuzz.harness import Target
from tests.fuzz.mutating import mutated_csv, mutated_json

__all__ = ["TARGETS"]


def _answers(folder: Path) -> None:
    from roadworthy.reliability.human.answers import read_human

    read_human(folder / "answers.csv")


def _bins(folder: Path) -> None:
    from roadworthy.reliability.human.answers import read_human

    read_human(folder)


def _experiment(folder: Path) -> None:
    from roadworthy.studies import read_human_answers

    read_human_answers(folder)


def _rules_study(folder: Path) -> None:
    from roadworthy.studies.pairs import PairPlan

    PairPlan.read(folder)


def _rules_ratings(folder: Path) -> None:
    from roadworthy.studies.pairs import read_ratings

    read_ratings(folder / "ratings.csv")


def _driving_study(folder: Path) -> None:
    from roadworthy.studies.clip_results import read_clip_ratings
    from roadworthy.studies.clips import ClipPlan

    read_clip_ratings(ClipPlan.read(folder), [folder / "answers.csv"])


TARGETS = (
    Target("answers", "answers.csv", _answers, mutated_csv),
    Target("binned-answers", "fog.csv", _bins, mutated_csv),
    Target(
        "experiment-key",
        "key.json",
        _experiment,
        mutated_json,
        {"answers.csv": seed_of("experiment-answers")},
    ),
    Target(
        "experiment-answers", "answers.csv", _experiment, mutated_csv, {"key.json": seed_of("experiment-key")}
    ),
    Target("rules-study", "key.json", _rules_study, mutated_json),
    Target("rules-ratings", "ratings.csv", _rules_ratings, mutated_csv),
    Target(
        "driving-study", "key.json", _driving_study, mutated_json, {"answers.csv": seed_of("driving-ratings")}
    ),
    Target(
        "driving-ratings", "answers.csv", _driving_study, mutated_csv, {"key.json": seed_of("driving-study")}
    ),
)
