"""The Python in the documents runs as it is printed, and their links lead somewhere."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from roadworthy.registry import transforms

REPOSITORY = Path(__file__).resolve().parents[1]


DOCUMENTS = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for path in (*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md"))
)
YOUR_FILES = {"docs/data.md"}  # whose examples read data that only the reader has
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


@pytest.mark.parametrize(
    "document",
    [
        name
        for name in DOCUMENTS
        if name not in YOUR_FILES and _PYTHON.search((REPOSITORY / name).read_text("utf-8"))
    ],
)
def test_the_examples_run(document: str, tmp_path: Path) -> None:
    blocks = _PYTHON.findall((REPOSITORY / document).read_text("utf-8"))
    # In a process of their own, because they register things.
    command = [sys.executable, "-W", "error", "-c", "".join(blocks)]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_to_files_lead_somewhere(document: str) -> None:
    path = REPOSITORY / document
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", path.read_text("utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_the_reference_of_transforms_is_what_they_declare() -> None:
    spec = importlib.util.spec_from_file_location("make_transforms", REPOSITORY / "docs/make_transforms.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    _, _, written = made.PAGE.read_text("utf-8").partition(made.START)
    assert written.strip() == made.reference().strip(), "run make docs"
    assert all(made.strip_path(name).is_file() for name in transforms.names()), "run make docs"
