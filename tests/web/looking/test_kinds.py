"""Kinds of failures: what looks alike and was changed alike comes together."""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.web.client import Browser, Client

from roadworthy.cases import Case, RecordDrive, Requirement, Verdict
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.images import Image
from roadworthy.report.kinds import _look as look
from roadworthy.report.kinds import failures_of, kinds_among, kinds_of
from roadworthy.runs import RunStore
from roadworthy.runs.store import StoredRun
from roadworthy.web.app import create_app
from roadworthy.web.settings import ServerSettings
from roadworthy.web.working import Progress


def put(image: Image, left: int) -> Image:
    """Place something dark, 20 pixels wide."""
    changed = image.copy()
    changed[80:120, left : left + 20] = 0
    return changed


def darkened(image: Image) -> Image:
    return np.asarray(image // 4, np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    frames = [frame.image for frame in load("world:town", count=6)]
    changes: dict[str, tuple[str, Callable[[Image], Image]]] = {
        "left": ("add(element=pedestrian, x=1.5)", lambda image: put(image, 20)),
        "right": ("add(element=pedestrian, x=2.5)", lambda image: put(image, 280)),
        "dark": ("night(amount=0.5)", darkened),
    }
    requirement = Requirement("R1", "…", "rules")
    place = tmp_path / "run" / "runs" / "r1" / "dave2"
    with RunStore(place, requirement, system="dave2", images=tmp_path / "run" / "images") as store:
        for name, (words, change) in changes.items():
            for number, frame in enumerate(frames):
                case = Case(f"{name}-{number}", "R1", (RecordDrive("x"),), {"change.1": words})
                store.append(case, Verdict.from_margin(case, -1.0 - number), [frame, change(frame)])
        held = Case("holds", "R1", (RecordDrive("x"),), {"change.1": "night(amount=0.1)"})
        store.append(held, Verdict.from_margin(held, 1.0), [frames[0], frames[0]])
        bare = Case("bare", "R1", (RecordDrive("x"),), {})
        store.append(bare, Verdict.from_margin(bare, -1.0))
    return tmp_path / "run"


def found(folder: Path) -> dict[str, Any]:
    run = StoredRun.open(folder)
    return kinds_of(run, failures_of(run)[0], Progress())


def test_failures_that_look_alike_and_were_changed_alike_are_of_one_kind(folder: Path) -> None:
    kinds = found(folder)
    names = [case for _, _, case in kinds["cases"]]
    # Neither what holds nor what has no picture.
    assert len(names) == 18
    numbered = list(zip(names, kinds["kinds"], strict=True))
    of = {one: {kind for name, kind in numbered if name.startswith(one)} for one in ("left", "right", "dark")}
    assert [len(one) for one in of.values()] == [1, 1, 1]
    assert len(set.union(*of.values())) == 3
    sides = {name.partition("-")[0]: side for name, side in zip(names, kinds["sides"], strict=True)}
    assert sides == {"left": "left", "right": "right", "dark": ""}
    assert all(one for one, side in zip(kinds["against"], kinds["sides"], strict=True) if side)
    assert np.isfinite(kinds["map"]).all()
    assert found(folder) == kinds
    # By its features, what is nearest to each is of its own kind.
    parts = np.frombuffer(b64decode(kinds["parts"]), "<f4").reshape(len(names), -1)
    apart = ((parts[:, None] - parts) ** 2).sum(axis=2) + np.diag(np.full(len(names), np.inf))
    assert [names[one].partition("-")[0] for one in apart.argmin(axis=1)] == [
        name.partition("-")[0] for name in names
    ]


def test_a_pair_that_several_models_fail_on_is_looked_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    monkeypatch.setattr(
        "roadworthy.report.kinds._look",
        lambda *args: looked.append(args[1]) or look(*args),  # type: ignore[func-returns-value]
    )
    monkeypatch.setenv("ROADWORTHY_THREADS", "1")
    run = StoredRun.open(folder)
    rows, _ = failures_of(run)
    twice = [*rows, *({**row, "system": "epoch"} for row in rows)]
    kinds = kinds_of(run, twice, Progress())
    assert len(kinds["kinds"]) == 36
    assert len(looked) == 18


def test_the_same_failures_have_the_same_content_and_others_another(folder: Path, tmp_path: Path) -> None:
    _, content = failures_of(StoredRun.open(folder))
    assert failures_of(StoredRun.open(folder.rename(tmp_path / "moved")))[1] == content
    with RunStore(
        tmp_path / "moved" / "runs" / "r1" / "epoch",
        Requirement("R1", "…", "rules"),
        system="epoch",
        images=tmp_path / "moved" / "images",
    ) as store:
        case = Case("more", "R1", (RecordDrive("x"),), {})
        store.append(case, Verdict.from_margin(case, -1.0), [np.zeros((9, 9, 3), np.uint8)] * 2)
    assert failures_of(StoredRun.open(tmp_path / "moved"))[1] != content


def test_what_kinds_cannot_be_told_of(folder: Path, tmp_path: Path) -> None:
    run = StoredRun.open(folder)
    rows, _ = failures_of(run)
    with pytest.raises(InputError, match="of 6 failures with pictures or more; this run has 5"):
        kinds_of(run, rows[:5], Progress())
    cancelled = Progress()
    cancelled.cancel()
    with pytest.raises(InputError, match="cancelled"):
        kinds_of(run, rows, cancelled)
    (folder / "images").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="cannot be read: were they moved"):
        kinds_of(run, rows, Progress())


def test_a_page_waits_for_the_kinds_of_a_run(folder: Path, tmp_path: Path) -> None:
    browser = Browser(Client(create_app(ServerSettings(tmp_path / "out", (folder,)))))
    end = time.monotonic() + 120
    while (answer := browser.get("/look/run/kinds").json())["found"] is None:
        assert answer["problem"] == ""
        assert browser.get(f"/working/{answer['work']}").status == 200
        assert time.monotonic() < end, "it took too long"
    assert len(answer["found"]["kinds"]) == 18


@pytest.mark.parametrize("count", [6, 7, 40, 4000])
def test_every_failure_has_a_kind_the_largest_first(count: int) -> None:
    rng = np.random.default_rng(3)
    parts = rng.normal(size=(count, 5)).astype(np.float32) + 40 * (np.arange(count) % 4)[:, None]
    kinds = kinds_among(parts)
    sizes = np.bincount(kinds)
    assert sizes.sum() == count
    assert sizes.tolist() == sorted(sizes, reverse=True)
    if count > 7:
        assert len(sizes) == 4


def test_equal_failures_have_a_kind(folder: Path) -> None:
    assert set(kinds_among(np.zeros((8, 3), np.float32))) <= set(range(8))
