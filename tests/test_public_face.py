from __future__ import annotations

import subprocess
import sys

import pytest

import roadworthy as rw

HEAVY = [
    "torch",
    "spacy",
    "ray",
    "fastapi",
    "cv2",
    "pyarrow",
    "duckdb",
    "scipy",
    "onnxruntime",
    "pydantic",
    "yaml",
]


def test_everything_that_is_promised_is_there() -> None:
    for name in rw.__all__:
        assert getattr(rw, name) is not None
        assert name in dir(rw)
    assert rw.load("world:town", count=1).name == "world:town"
    assert rw.load_model("truth").name == "truth"
    assert rw.world.TRACK_NAMES == ("meadow", "town", "mountain")


def test_rules_are_reached_from_the_package_alone() -> None:
    code = "import roadworthy; print(roadworthy.rules.parse('If it rains, slow down.'))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "rainy" in result.stdout


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        rw.laod  # type: ignore[attr-defined]  # noqa: B018


# Readers of files and images are part of a run; the rest is loaded by those who use it.
@pytest.mark.parametrize(
    ("module", "needed"), [("roadworthy", set()), ("roadworthy.runs.executors", {"cv2", "pydantic", "yaml"})]
)
def test_importing_it_loads_no_heavy_library(module: str, needed: set[str]) -> None:
    heavy = [name for name in HEAVY if name not in needed]
    code = f"import sys, {module}; print(*[name for name in {heavy!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []
