"""Previews show what the run will find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.web.client import Browser, Client

from roadworthy.errors import InputError
from roadworthy.images import write_image
from roadworthy.runs.store import StoredRun, image_path
from roadworthy.web.app import create_app
from roadworthy.web.jobs.asks import BbslAsk, Binding, RulesAsk
from roadworthy.web.jobs.worker import work_on
from roadworthy.web.pages import PictureCache
from roadworthy.web.previews import preview
from roadworthy.web.settings import ServerSettings

CLOSER = (
    "If a pedestrian appears on the roadside, then the ego-vehicle should slow down. "
    "If he gets closer to the ego-vehicle, then the speed should decrease more."
)
SPEC = """exfunction v(): bb near(): interval endexfunction
case stop PROJ_y(v()) ~ near() or PROJ_y(v()) < near() endcase
case NOT stop PROJ_y(v()) > near() endcase"""
BINDINGS = {"v": Binding(source="object"), "near": Binding(source="value", value="100, 160")}


def run(ask: RulesAsk | BbslAsk, folder: Path) -> StoredRun:
    (folder / "job.json").write_text(ask.model_dump_json())
    work_on(folder)
    return StoredRun.open(folder / "run")


def test_the_run_finds_what_the_preview_showed(tmp_path: Path) -> None:
    ask = RulesAsk(text=CLOSER, models=("dave2",), data="world:town", frames=8, seed=7)
    pictures = PictureCache()
    shown = preview(ask, 8, pictures)
    assert (shown["of"], shown["model"]) == (8, "dave2")
    stored = run(ask, tmp_path)
    rows = {row["case"]: row for row in stored.rows()}
    assert set(rows) == {one["frame"] for one in shown["frames"]}
    seen = {"passed": 0, "violated": 0, "not applicable": 0}
    for one in shown["frames"]:
        row = rows[one["frame"]]
        seen[one["status"]] += 1
        assert (one["status"], one["reason"], one["margin"]) == (row["status"], row["reason"], row["margin"])
        for number, answer in enumerate(one["answers"], 1):
            assert answer["after"] == row[f"measure.after.{number}"]
        if one["status"] == "violated":
            kept = [image_path(stored.folder / "images", digest) for digest in str(row["images"]).split()]
            assert [pictures.get(digest) for digest in one["pictures"]] == [
                file.read_bytes() for file in kept
            ]
    assert seen["passed"]
    assert seen["violated"]


def test_a_frame_that_does_not_qualify_is_shown_with_the_reason() -> None:
    ask = RulesAsk(
        text="If the traffic lights are removed, the steering should stay the same.",
        models=("dave2",),
        data="world:meadow",
        frames=4,
    )
    (one,) = preview(ask, 1, PictureCache())["frames"]
    assert (one["status"], one["reason"]) == ("not applicable", "there is no traffic light in the frame")
    assert len(one["pictures"]) == 1


def test_who_labels_is_chosen() -> None:
    chosen: Any = {"text": CLOSER, "models": ("dave2",), "data": "world:town", "frames": 4}
    (seen,) = preview(RulesAsk(**chosen, labels="street"), 1, PictureCache())["frames"]
    assert seen["estimated"] == "labels are estimated (street)"
    (unseen,) = preview(RulesAsk(**chosen, labels="none"), 1, PictureCache())["frames"]
    assert (unseen["status"], len(unseen["pictures"])) == ("not applicable", 1)


def test_objects_are_judged_as_the_run_judges_them(tmp_path: Path) -> None:
    ask = BbslAsk(text=SPEC, models=("detector",), data="world:town", frames=4, bindings=BINDINGS)
    shown = preview(ask, 4, PictureCache())["frames"]
    assert any(one["boxes"] for one in shown)
    rows = [(row["status"], row["measure.expected"], row["margin"]) for row in run(ask, tmp_path).rows()]
    assert [(row["status"], row["expected"], row["margin"]) for one in shown for row in one["rows"]] == rows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": ("dave2",)}, "choose a detector"),
        ({"bindings": {"v": BINDINGS["v"]}}, "near"),
        ({"bindings": {**BINDINGS, "near": Binding(source="value", value="far")}}, "near: a value is"),
        ({"bindings": {**BINDINGS, "near": Binding(source="value", value="inf, 1")}}, "near: a value is"),
        ({"bindings": {**BINDINGS, "other": Binding(source="object")}}, "no external function 'other'"),
        ({"bindings": {**BINDINGS, "near": Binding(source="signal", value=" ")}}, "near: name a signal"),
        ({"bindings": {"near": Binding(source="object"), "v": BINDINGS["v"]}, "text": SPEC}, "near"),
        ({"classes": "unicorn"}, "unicorn"),
        ({"text": SPEC.replace("near() endcase", "near()")}, "expected"),
    ],
)
def test_what_cannot_be_used_is_said(change: dict[str, object], message: str) -> None:
    ask = BbslAsk(text=SPEC, models=("detector",), data="world:town", frames=2, bindings=BINDINGS)
    with pytest.raises(InputError, match=message):
        preview(ask.model_copy(update=change), 1, PictureCache())


def test_data_without_boxes_is_refused(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", np.zeros((160, 320, 3), np.uint8))
    ask = BbslAsk(text=SPEC, models=("detector",), data=f"folder:{tmp_path}", bindings=BINDINGS)
    with pytest.raises(InputError, match="has no boxes: choose data with ground truth"):
        preview(ask, 1, PictureCache())


def test_over_several_frames_there_is_no_preview() -> None:
    text = "exfunction v(): bb endexfunction case lost previous (PROJ_y(v()) ~ [0, 9]) endcase"
    ask = BbslAsk(text=text, models=("detector",), data="world:town", bindings={"v": BINDINGS["v"]})
    with pytest.raises(InputError, match="several frames"):
        preview(ask, 1, PictureCache())


def write_network(file: Path, speed: float) -> None:
    """Write a network that answers every image with one speed."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "h", "w"])
    answer = helper.make_tensor_value_info("speed", TensorProto.FLOAT, ["n", 1])
    weights = numpy_helper.from_array(np.zeros((3, 1), np.float32), "weights")
    bias = numpy_helper.from_array(np.array([speed], np.float32), "bias")
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["colour"], axes=[2, 3], keepdims=0),
        helper.make_node("Gemm", ["colour", "weights", "bias"], ["speed"]),
    ]
    graph = helper.make_graph(nodes, "constant", [image], [answer], [weights, bias])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), file)


def test_a_model_that_is_overwritten_is_another_here_too(tmp_path: Path) -> None:
    description = tmp_path / "model.yaml"
    description.write_text("model: onnx:net.onnx\nname: mine\noutput: {signals: speed}\n")
    settings = ServerSettings(tmp_path / "out", models=(str(description),))
    browser = Browser(Client(create_app(settings)))
    assert "cannot read the ONNX network" in browser.page("/write").text
    ask = RulesAsk(text=CLOSER, models=(str(description),), data="world:town", frames=8, seed=7)
    for speed in (8.0, 3.0):
        write_network(tmp_path / "net.onnx", speed)
        shown = browser.post("/write/preview", {"ask": ask.model_dump(), "count": 8}).json()
        answers = {answer["before"] for one in shown["frames"] for answer in one["answers"]}
        assert answers == {speed}
        assert "cannot read the ONNX network" not in browser.page("/write").text
    description.write_text(description.read_text().replace("mine", "ours"))
    assert "<b>ours</b>" in browser.page("/write").text
