"""Who may label frames: what a server offers, what is asked of it by HTTP, and what is refused."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.labelling.conftest import network
from tests.web.client import Browser, Client

from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.images import write_image
from roadworthy.labelling.chain import Labelling, sources_named
from roadworthy.labelling.writing import write_labels
from roadworthy.runs.store import StoredRun
from roadworthy.web.app import create_app
from roadworthy.web.declared import Declared
from roadworthy.web.jobs.asks import SuiteAsk
from roadworthy.web.jobs.worker import work_on
from roadworthy.web.services import check_ask
from roadworthy.web.settings import ServerLimits, ServerSettings

RULE = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down."
FOG = "If it becomes foggy, then the ego-vehicle should slow down."
ASK: dict[str, Any] = {"kind": "rules", "text": RULE, "models": ["dave2"], "data": "world:town", "frames": 2}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with maps, networks, and what must not be offered."""
    networks = tmp_path / "networks" / "yolox-nano"
    networks.mkdir(parents=True)
    (networks / "yolox_nano.onnx").touch()
    monkeypatch.setenv("ROADWORTHY_NETWORKS", str(networks.parent))
    root = tmp_path / "root"
    write_labels(load("world:town", count=2), Labelling(sources_named("labels", "street")), root / "written")
    network(root / "depth.onnx", np.array([[10.0, 0, 0]]))
    (root / "depth.yaml").write_text("model: onnx:depth.onnx\noutput: {task: depth, values: metres}\n")
    (root / "empty").mkdir()
    (root / "notes.txt").write_text("no network")
    secret, picture = tmp_path / "secret", np.zeros((2, 2, 3), np.uint8)
    secret.mkdir()
    write_image(secret / "a.png", picture)
    (root / "out").symlink_to(secret)
    (root / "a,b").mkdir()
    write_image(root / "a,b" / "a.png", picture)
    return root


@pytest.fixture
def browser(root: Path, settings: ServerSettings) -> Browser:
    return Browser(Client(create_app(replace(settings, labels=(str(root),)))))


def offered(page: str, what: str) -> list[str]:
    """Return whom the page offers to be asked first."""
    (options,) = re.findall(rf'<select id="{what}">(.*?)</select>', page, re.DOTALL)
    return [html.unescape(one) for one in re.findall(r'<option value="([^"]*)">', options)]


def test_the_page_offers_what_can_say_each_thing(browser: Browser, root: Path) -> None:
    page, maps = browser.page("/write").text, f"folder:{root}/written"
    assert offered(page, "labels") == ["own", "street", "none", maps]
    assert offered(page, "depth") == ["own", "street", "none", f"{root}/depth.yaml", maps]
    assert offered(page, "boxes") == ["own", "street", "none", maps, "yolox-nano", "detector"]


def test_what_comes_into_the_folder_is_offered_and_what_goes_is_not(browser: Browser, root: Path) -> None:
    (root / "written").rename(root / "renamed")
    assert f"folder:{root}/renamed" in offered(browser.page("/write").text, "labels")
    answer = browser.post("/write/preview", {"ask": {**ASK, "labels": f"folder:{root}/written"}})
    assert (answer.status, "this server cannot ask" in answer.json()["error"]) == (422, True)


REFUSED = (
    ({"labels": "folder:/etc"}, "labels: this server cannot ask 'folder:/etc'"),
    ({"labels": "own,folder:{root}"}, "cannot ask 'folder:"),
    ({"labels": "folder:{root}/out"}, "cannot ask"),
    ({"labels": "folder:{root}/written/../../secret"}, "cannot ask"),
    ({"labels": "{root}/written"}, "cannot ask"),
    ({"labels": "folder:{root}/written@cityscapes-19"}, "cannot ask"),
    ({"labels": "folder:{root}/a,b"}, "cannot ask"),
    ({"labels": "{root}/depth.yaml"}, "labels: this server cannot ask"),
    ({"depth": "callable:os:system"}, "depth: this server cannot ask 'callable:os:system'"),
    ({"depth": "onnx:{root}/depth.onnx"}, "cannot ask"),
    ({"boxes": "http://evil.example/predict"}, "boxes: this server cannot ask"),
    ({"boxes": "dave2"}, "cannot ask 'dave2'"),
    ({"labels": "own,,street"}, "cannot ask ''"),
    ({"labels": ",".join(["own"] * 9)}, "labels: at most 8 can be asked in turn, got 9"),
)


def test_nobody_else_is_asked(browser: Browser, root: Path, settings: ServerSettings) -> None:
    for change, said in REFUSED:
        options = {what: who.replace("{root}", str(root)) for what, who in change.items()}
        suite = {"models": "dave2", "requirements": {"R": RULE}}
        suite |= {"data": {"d": {"data": "world:town", "sample": 1, "options": options}}}
        for path, asked in (
            ("/jobs", {**ASK, **options}),
            ("/jobs", {"kind": "suite", "document": suite}),
            ("/write/preview", {"ask": {**ASK, **options}}),
        ):
            answer = browser.post(path, asked)
            assert (answer.status, said in answer.json()["error"]) == (422, True), answer.json()
    assert not settings.out.exists()


def test_a_chain_labels_the_preview_and_the_run(browser: Browser, root: Path, tmp_path: Path) -> None:
    declared = Declared((), (), (str(root),))
    chain = f"folder:{root}/written,street"
    for change, told in (
        ({"labels": chain}, "labels are estimated (folder:written, street)"),
        ({"depth": f"own,{root}/depth.yaml"}, ""),
        ({"depth": f"{root}/depth.yaml", "text": FOG}, "depth is estimated (depth.yaml)"),
    ):
        seen = browser.post("/write/preview", {"ask": {**ASK, **change}, "count": 2}).json()["frames"]
        assert {one["estimated"] for one in seen if len(one["pictures"]) > 1} == {told}
    document: dict[str, Any] = {"models": "dave2", "requirements": {"R": {"rule": RULE}}}
    options = {"labels": chain}
    document |= {"data": {"d": {"data": "world:town", "sample": 2, "options": {"track": "town", **options}}}}
    with pytest.raises(InputError, match="may name no files, programs or other machines, few options"):
        check_ask(SuiteAsk(document=document), declared, ServerLimits())
    document["data"]["d"]["options"] = options
    check_ask(SuiteAsk(document=document), declared, ServerLimits())
    (tmp_path / "job.json").write_text(json.dumps({**ASK, **options}))
    work_on(tmp_path)
    sources = {row["measure.labels_from"] for row in StoredRun.open(tmp_path / "run").rows() if row["images"]}
    assert sources == {"folder:written (estimated), street (estimated)"}


def test_names_with_commas_cannot_be_declared() -> None:
    with pytest.raises(InputError, match=r"--labels must name one folder or network .* got 'own,street'$"):
        Declared((), (), ("own,street",))


def test_a_folder_of_maps_and_a_network_are_declared_by_themselves(root: Path) -> None:
    maps, missing = f"{root}/written@cityscapes-19", "onnx:missing.onnx"
    declared = Declared((), (), (maps, f"{root}/depth.yaml", missing))
    known = {one.reference: one for one in declared.labellers()}
    assert known[f"folder:{maps}"].says == ("labels", "depth", "boxes")
    assert known[f"{root}/depth.yaml"].says == ("depth",)
    assert "missing.onnx" in known[missing].problem
    declared.check_labels("labels", f"own,folder:{maps},street")
    # What is in a folder of maps is its own; what lies beside pictures is offered with them.
    write_image(root / "seen.png", np.zeros((2, 2, 3), np.uint8))
    both = [one.reference for one in Declared((), (), (str(root),)).labellers() if "labels" in one.says]
    assert both == ["own", "street", "none", f"folder:{root}", f"folder:{root}/written"]
    with pytest.raises(InputError, match=r"cannot ask 'onnx:missing\.onnx'"):
        declared.check_labels("labels", missing)
