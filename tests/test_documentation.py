"""The Python in the documents runs as it is printed, and their links lead somewhere."""

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

import make_transforms as made
from roadworthy.cli import app
from roadworthy.registry import transforms

REPOSITORY = Path(__file__).resolve().parents[1]


DOCUMENTS = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for path in (*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"))
)
YOUR_FILES = {"docs/data.md", "docs/bring/engine.md"}  # whose examples are about files of the reader
_START = "from roadworthy._starting import spare_torch\nspare_torch()\n"  # as our programs do; saves time
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
_CONSOLE = re.compile(r"^( *)```(?:console|sh)\n(.*?)^ *```|^((?: {4}.*\n)+)", re.M | re.S)


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
    command = [sys.executable, "-W", "error", "-c", "".join((_START, *blocks))]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_to_files_lead_somewhere(document: str) -> None:
    path = REPOSITORY / document
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", path.read_text("utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def commands(document: str) -> list[str]:
    """Return the commands of ours in the console blocks and the prose of a document, each in one line."""
    text = (REPOSITORY / document).read_text("utf-8")
    found = []
    for block in _CONSOLE.finditer(text):
        whole = re.sub(r"\\\n\s*", " ", block[2] or block[3])
        lines = [line.strip().removeprefix("$ ") for line in whole.splitlines()]
        found += [line for line in lines if line.startswith("roadworthy ") and "…" not in line]
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    spans = (" ".join(span.split()) for span in re.findall(r"(?<!`)`(roadworthy [^`]*)`", prose))
    return found + [span for span in spans if "…" not in span and "|" not in span]


def test_the_tests_that_are_named_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", (REPOSITORY / "docs/tool-confidence.md").read_text("utf-8")))
    assert len(named) > 20
    files = (REPOSITORY / "tests").rglob("test_*.py")
    written = {name for file in files for name in re.findall(r"def (test_\w+)\(", file.read_text("utf-8"))}
    assert named <= written, named - written


def test_the_home_page_leads_to_every_page() -> None:
    home = (REPOSITORY / "docs/README.md").read_text("utf-8")
    lost = [name for name in DOCUMENTS if name.startswith("docs/") and name.count("/") == 1]
    assert [name for name in lost if f"]({Path(name).name}" not in home and name != "docs/README.md"] == []


@pytest.mark.parametrize(
    "document", [name for name in DOCUMENTS if name.startswith("docs/") and name != "docs/README.md"]
)
def test_a_page_says_what_to_read_next(document: str) -> None:
    lines = re.findall(r"^\*\*Next:\*\* .*\]\(([^)#]+)", (REPOSITORY / document).read_text("utf-8"), re.M)
    assert len(lines) == 1
    assert (REPOSITORY / document).parent.joinpath(lines[0]).resolve() != REPOSITORY / document


@cache
def program() -> Any:
    return typer.main.get_command(app)


def complaints(line: str) -> list[str]:
    """Return what is wrong with a command line: no such command, or options that it does not have."""
    words = shlex.split(re.split(r"\s[|>&#]", line)[0])[1:]
    command: Any = program()
    while words and hasattr(command, "commands") and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    if hasattr(command, "commands"):
        known = words[:1] in ([], ["--help"], ["-h"], ["--version"])
        return [] if known else [f"{line}: there is no such command"]
    names = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help", "-h"}
    options = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return [f"{line}: there is no {one}" for one in options if one not in names]


@pytest.mark.parametrize("document", [name for name in DOCUMENTS if commands(name)])
def test_commands_have_the_options_that_are_shown(document: str) -> None:
    assert [one for line in commands(document) for one in complaints(line)] == []


def test_a_wrong_command_is_found() -> None:
    assert complaints("roadworthy rules run --model dave2 -o count=3 | head") == []
    assert complaints("roadworthy rules run --modle dave2")[0].endswith("there is no --modle")
    assert complaints("roadworthy rulez run")[0].endswith("no such command")


def test_the_reference_of_transforms_is_what_they_declare() -> None:
    _, _, written = made.PAGE.read_text("utf-8").partition(made.START)
    assert written.strip() == made.reference().strip(), "run make docs"
    assert all(made.strip_path(name).is_file() for name in transforms.names()), "run make docs"
