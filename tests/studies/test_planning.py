"""Studies planned from data sets and recorded drives, without a command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.readers import write_drive
from roadworthy.errors import InputError
from roadworthy.reliability import transformation_named
from roadworthy.studies.clips import ClipDesign, ClipPlan, Lengths
from roadworthy.studies.glances import GlanceDesign
from roadworthy.studies.planning import GlanceExperiment, RatingStudy


def test_an_experiment_is_made_of_a_data_set(tmp_path: Path) -> None:
    design = GlanceDesign(("car", "not car"), batch=6, raters=2, checks=1, practice=1)
    experiment = GlanceExperiment("car", [transformation_named("jpeg")], 3, design, seed=1)
    assert (experiment.pictures, experiment.frames_needed) == (3, 5)
    seen: list[int] = []
    data = load("world-crops", count=30)
    written = experiment.write(data, tmp_path / "experiment", seen.append)
    document = written.document()
    assert (
        document["images"] == len(list((tmp_path / "experiment/images").iterdir())) - 1 - document["checks"]
    )
    assert seen == list(range(1, document["images"] + 1))
    assert (document["images"], document["answers"], document["skipped"]) == (6, 12, {})
    assert sum(document["choices"].values()) == 6
    several = replace(written, plan=replace(written.plan, tracks=3)).document()
    assert (several["tracks"], several["raters_per_batch"], several["fewest_people"]) == (3, 2, 6)
    first, few, last = written.lines()
    assert first.startswith("6 images in ")
    assert few.startswith("These are 0.06 answers for each interval")
    assert str(tmp_path / "experiment") in last


def recorded(folder: Path, name: str, wobble: float) -> Path:
    time = np.arange(300) / 10
    offset = wobble * np.sin(time)
    signals = {"speed": np.full(300, 10.0), "lane_offset": offset, "steering": offset}
    drive = Drive(name, time, signals).cut_by_time(10)
    (folder / name).mkdir(parents=True)
    write_drive(drive, folder / name / "drive.parquet")
    return folder / name


def test_clips_of_recorded_drives_are_dealt_and_filmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Camera:
        def write_plain(self, path: Path, first: float, last: float, *, width: int) -> None:
            path.write_text(f"{first:g} to {last:g}, {width} wide")

    opened: list[Path] = []

    def film_of(_: Drive, folder: Path) -> Camera:
        opened.append(folder)
        return Camera()

    monkeypatch.setattr("roadworthy.studies.planning.film_of", film_of)
    good, poor = recorded(tmp_path, "good", 0.1), recorded(tmp_path, "poor", 0.9)
    design = ClipDesign(good=1, poor=1, attention=0, raters=2, mixed=True)
    how: dict[str, Any] = {"design": design, "lengths": Lengths(5, 15)}
    study = RatingStudy.of([good], [poor], **how)
    assert study.counts == {"good": 3, "poor": 3, "attention": 0}
    filmed: list[int] = []
    study.write(tmp_path / "study", ending=".gif", width=64, filmed=filmed.append)
    assert filmed == list(range(1, len(study.plan.clips) + 1))
    assert opened == [good, poor], "a drive is opened once, however many clips it has"
    assert ClipPlan.read(tmp_path / "study") == study.plan
    films = {one.stem: one.read_text() for one in (tmp_path / "study/clips").iterdir()}
    assert films == {id: f"{one.first:g} to {one.last:g}, 64 wide" for id, one in study.plan.clips.items()}
    assert json.loads(json.dumps(study.document()))["clips_found"] == study.counts
    assert [row[1:] for row in study.table().rows] == [("mixed", "2", "2")] * 3
    with pytest.raises(InputError, match="0 poor"):
        RatingStudy.of([good], **how)
