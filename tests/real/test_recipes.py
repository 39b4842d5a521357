"""The recipes of docs/bring/networks.md, run with the real libraries where these are installed.

No library is a dependency of the project, and trained weights would have to be downloaded: networks are built
without them. They run in an environment into which somebody installs ultralytics, torchvision, timm and
transformers.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/bring/networks.md"
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.M | re.S)
_BLOCK = re.compile(r"^```(py|console)\n(.*?)^```", re.M | re.S)
UNTRAINED = {
    'YOLO("yolov8n.pt")': 'YOLO("yolov8n.yaml")',
    "imgsz=640": "imgsz=320",
    'weights="DEFAULT"': "weights=None, weights_backbone=None",
    "pretrained=True": "pretrained=False",
    "import SegformerForS": "import SegformerConfig, SegformerForS",
    "SegformerForSemanticSegmentation.from_pretrained(name)": (
        "SegformerForSemanticSegmentation(SegformerConfig(num_labels=19))"
    ),
    "SegformerImageProcessor.from_pretrained(name)": "SegformerImageProcessor()",
}
"""What is changed in a recipe, so that nothing is downloaded."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "library"),
    [
        ("Ultralytics", "ultralytics"),
        ("torchvision", "torchvision"),
        ("timm", "timm"),
        ("Hugging Face", "transformers"),
    ],
)
def test_a_recipe_leads_to_a_picture(title: str, library: str, tmp_path: Path) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    start = os.environ.get("ROADWORTHY_RECIPE_START", "")  # code that a repaired environment needs first
    blocks = _BLOCK.findall(dict(_SECTION.findall(PAGE.read_text("utf-8")))[title])
    assert {kind for kind, _ in blocks} == {"py", "console"}
    for kind, text in blocks:
        if kind == "py":
            for written, here in UNTRAINED.items():
                text = text.replace(written, here)
            done(tmp_path, [sys.executable, "-c", f"{start}\n{text}"])
            continue
        for line in text.splitlines():
            command = shlex.split(line.removeprefix("$ roadworthy "))
            run = (
                f"import sys; sys.argv = ['roadworthy', *{command}]; from roadworthy.cli import main; main()"
            )
            told = done(tmp_path, [sys.executable, "-c", f"{start}\n{run}"])
            assert "Recognised as" in told
            assert "Wrote try-" in told


def done(folder: Path, command: list[str]) -> str:
    shown = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    return shown.stdout
