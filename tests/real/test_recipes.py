"""The recipes of docs/bring/networks.md, run with the real libraries.

No library is a dependency of the project: they lie in a folder that only the recipes see, where ``make
test-slow`` installs recipes.txt. Trained weights would have to be downloaded, so networks are built without.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/bring/networks.md"
LIBRARIES = Path(os.environ.get("ROADWORTHY_RECIPES", Path(sys.prefix, "recipes")))
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
STARTED = "import cpu_torchvision\n"
COMMAND = "import sys; sys.argv = ['roadworthy', *{}]; from roadworthy.cli import main; main()"


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
def test_a_recipe_leads_to_a_picture_and_to_a_run_on_real_frames(
    title: str, library: str, real_data: Path, tmp_path: Path
) -> None:
    if not (LIBRARIES / library).is_dir():
        pytest.skip(f"{library} is not in {LIBRARIES}: make test-slow installs it where it can be had")
    blocks = _BLOCK.findall(dict(_SECTION.findall(PAGE.read_text("utf-8")))[title])
    assert {kind for kind, _ in blocks} == {"py", "console"}
    for kind, text in blocks:
        if kind == "py":
            for written, here in UNTRAINED.items():
                text = text.replace(written, here)
            done(tmp_path, text)
            continue
        for line in text.splitlines():
            command = shlex.split(line.removeprefix("$ roadworthy "))
            told = done(tmp_path, COMMAND.format(command))
            assert "Recognised as" in told
            assert "Wrote try-" in told
            model = command[command.index("try") + 1]
            frames = ["--data", f"folder:{real_data / 'udacity_ch2/frames'}", "--sample", "2"]
            asked = [
                "reliability",
                "check",
                "--model",
                model,
                "-t",
                "jpeg",
                "--preserve",
                "prediction",
                "--versions",
                "1",
            ]
            told = done(
                tmp_path,
                COMMAND.format([*asked, *frames, "--executor", "serial", "--json"]),
                allowed=(0, 1, 3),
            )
            assert json.loads(told)["results"]


def done(folder: Path, code: str, allowed: tuple[int, ...] = (0,)) -> str:
    seen = [str(HERE), str(LIBRARIES), os.environ.get("PYTHONPATH", "")]
    # Ultralytics would install what it misses, and write into the home folder.
    others = {"YOLO_AUTOINSTALL": "false", "YOLO_CONFIG_DIR": str(folder), "HF_HUB_OFFLINE": "1"}
    shown = subprocess.run(
        [sys.executable, "-c", STARTED + code],
        cwd=folder,
        env={**os.environ, **others, "PYTHONPATH": os.pathsep.join(filter(None, seen))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode in allowed, shown.stdout + shown.stderr
    return shown.stdout
