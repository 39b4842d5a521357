"""What is built, and what others build from: pins, images, actions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from packaging.requirements import Requirement

REPOSITORY = Path(__file__).parents[1]
DOCKERFILE = REPOSITORY / "Dockerfile"


def lines_of(name: str) -> list[str]:
    lines = (REPOSITORY / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_english_pipeline_is_pinned_by_content() -> None:
    (line,) = lines_of("english-pipeline.txt")
    pin, _, digest = line.partition(" --hash=sha256:")
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert pin in lines_of("constraints.txt")


def test_whoever_installs_us_pins_everything() -> None:
    for name in ("Dockerfile", "action.yml", "Makefile", "scripts/build_dist.sh"):
        text = (REPOSITORY / name).read_text("utf-8")
        assert "--requirement" in text, name
        assert "english-pipeline.txt" in text, name
        assert "constraints.txt" in text, name


def test_the_dockerfile_copies_what_is_there() -> None:
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE.read_text("utf-8"), re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert "constraints.txt" in names
    for name in names:
        assert (REPOSITORY / name).exists(), name


def test_the_devcontainer_uses_what_is_there() -> None:
    container = json.loads((REPOSITORY / ".devcontainer/devcontainer.json").read_text("utf-8"))
    known = {"name", "image", "postCreateCommand", "forwardPorts", "portsAttributes", "customizations"}
    assert set(container) == known
    settings = container["customizations"]["vscode"]["settings"]
    for schema in settings["yaml.schemas"]:
        assert (REPOSITORY / schema).exists()
    targets = re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text("utf-8"), re.MULTILINE)
    asked = re.findall(r"make ([a-z-]+)", container["postCreateCommand"])
    assert asked
    assert set(asked) <= set(targets)


def test_the_action_never_puts_an_input_into_a_script() -> None:
    """What comes from outside reaches the shell as a variable, never as text of the script."""
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text("utf-8"))
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert len(scripts) >= 3
    assert not [script for script in scripts if "${{" in script]
    named = set(re.findall(r"inputs\.([\w-]+)", json.dumps(action)))
    assert named == set(action["inputs"])


def test_tools_for_building_are_exact() -> None:
    for line in lines_of("scripts/dist-tools.txt"):
        assert [one.operator for one in Requirement(line).specifier] == ["=="], line


@pytest.fixture
def package() -> Any:
    """What the build reads of the project."""
    return ProjectMetadata(str(REPOSITORY), PluginManager())


_FENCED = re.compile(r"^```.*?^```\n", re.M | re.S)


def test_the_readme_of_the_package_needs_no_file_beside_it(package: Any) -> None:
    text = package.core.readme
    assert package.core.readme_content_type == "text/markdown"
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert len(targets) > 5
    assert [one for one in targets if not one.startswith("https://")] == []
    assert "![" not in text
    assert "from the\nsecond command" not in text, "a caption stands there without its picture"
    assert "$ pip install roadworthy && roadworthy demo\n$ roadworthy rules run" in text
    assert "sets up `.venv`" not in text
    # Everything else is as it was: commands, code and the rows of tables.
    whole = (REPOSITORY / "README.md").read_text("utf-8")
    assert _FENCED.findall(text)[1:] == _FENCED.findall(whole)[1:]
    assert len(re.findall(r"^\|", text, re.M)) == len(re.findall(r"^\|", whole, re.M))


def test_with_an_address_of_the_documentation_links_lead_into_the_site(package: Any) -> None:
    package.config["project"]["urls"] = {"Documentation": "https://docs.example/"}
    text = package.core.readme
    assert "![The report of a run](https://docs.example/pictures/report.jpg)" in text
    assert "](https://docs.example/tutorial.html)" in text
    assert "](https://docs.example/rules.html#are-the-verdicts-true)" in text
    assert "](https://docs.example/index.html)" in text
    assert "](https://docs.example/files/examples/index.html)" in text
    assert "](https://docs.example/files/action.yml.html)" in text
    assert not re.search(r"\]\((?!https://)", text)


def test_the_site_has_the_files_that_the_readme_links_to() -> None:
    """The site has a page for what its own pages link to, and for what those link to."""
    links = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
    shown: set[Path] = set()
    waiting = [*(REPOSITORY / "docs").rglob("*.md")]
    while waiting:
        page = waiting.pop()
        for link in links.findall(page.read_text("utf-8")):
            target = (page.parent / link).resolve()
            if target not in shown and target.suffix == ".md" and target.is_file():
                waiting.append(target)
            shown.add(target)
    asked = links.findall((REPOSITORY / "README.md").read_text("utf-8"))
    assert [link for link in asked if not link.startswith("docs/") and REPOSITORY / link not in shown] == []
