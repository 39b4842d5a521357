"""The commands of the tutorial, the how-to pages and the page on confidence print what the pages say."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
FILES = {
    "docs/tutorial.md": ("model.yaml", "first.suite.yaml"),
    "docs/howto/stop-in-time.md": ("at50.yaml",),
    "docs/howto/rules-of-the-road.md": (),
    "docs/howto/never-tried.md": (),
    "docs/howto/bad-camera.md": (),
    "docs/howto/new-version.md": ("old.suite.yaml",),
    "docs/safety-case.md": ("release.suite.yaml",),
    "docs/statistics.md": (),
}
"""The pages, with the names under which a reader saves their YAML blocks."""
_BLOCK = re.compile(r"^ *```(yaml|console)\n(.*?)^ *```", re.M | re.S)
_OURS = ("roadworthy ", "python ")


def transcript(block: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block, each with the lines that it prints."""
    told: list[tuple[str, list[str]]] = []
    for line in dedent(re.sub(r"\\\n\s*", " ", block)).splitlines():
        if line.startswith("$ "):
            told.append((line[2:], []))
        elif said := line.strip(" …"):
            told[-1][1].append(said)
    return told


def test_a_transcript_has_commands_and_what_they_print() -> None:
    block = "$ roadworthy a \\\n    --b\nfirst\n…\n… last\n$ make demo\n"
    assert transcript(block) == [("roadworthy a  --b", ["first", "last"]), ("make demo", [])]
    assert transcript("    $ roadworthy a\n    first\n") == [("roadworthy a", ["first"])]


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("page", FILES)
def test_they_print_what_the_page_says(page: str, tmp_path: Path) -> None:
    follow((REPOSITORY / page).read_text("utf-8"), FILES[page], tmp_path)


@pytest.mark.slow
def test_the_first_failure_of_the_readme(tmp_path: Path) -> None:
    first, _, _ = (REPOSITORY / "README.md").read_text("utf-8").partition("\n## What you get\n")
    follow(first, (), tmp_path)
    assert [path.name for path in (tmp_path / "brakes/sheets").iterdir()] == ["rule-1-dave2.png"]


def follow(text: str, files: Sequence[str], folder: Path) -> None:
    """Do what a page says, as a reader who saves its YAML under these names, and compare what is printed."""
    (folder / "examples").symlink_to(REPOSITORY / "examples")
    names = iter(files)
    settings = {"COLUMNS": "250", "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for kind, block in _BLOCK.findall(text):
        if kind == "yaml":
            name = next(names)
            (folder / name).write_text(block, "utf-8")
            if name == "old.suite.yaml":
                (folder / "new.suite.yaml").write_text(block.replace("dave2", "epoch"), "utf-8")
            continue
        for command, lines in transcript(block):
            if not command.startswith(_OURS):
                continue
            done = subprocess.run(
                shlex.split(command),
                cwd=folder,
                env=os.environ | settings,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode in (0, 1, 3), f"{command}\n{done.stderr}"
            printed = squeezed(done.stdout)
            assert [one for one in lines if squeezed(one) not in printed] == [], command
    assert list(names) == []
