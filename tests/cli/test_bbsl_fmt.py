"""Specifications in canonical form, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from roadworthy.cli import app

ROUGH = "case go 1∈[0,2]and(true) // sure\nendcase\n"
FINE = """precondition
  [none]
endprecondition

case go
  1 ∈ [0, 2] and true  // sure
endcase
"""
PLAIN = FINE.replace("1 ∈ [0, 2]", "(1 in [0, 2])")


def run(*args: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, ["bbsl", "fmt", *args], input=given, env={"COLUMNS": "100"})


def test_files_are_rewritten_once(tmp_path: Path) -> None:
    path = tmp_path / "a.bbsl"
    path.write_text(ROUGH, "utf-8")
    result = run(str(path))
    assert result.exit_code == 0
    assert "is rewritten" in result.output
    assert path.read_text("utf-8") == FINE
    assert "1 file in canonical form already" in run(str(path)).output
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.bbsl"]


def test_links_and_permissions_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "a.bbsl", tmp_path / "link.bbsl"
    path.write_text(ROUGH, "utf-8")
    path.chmod(0o640)
    link.symlink_to(path)
    assert run(str(link)).exit_code == 0
    assert link.is_symlink()
    assert path.read_text("utf-8") == FINE
    assert path.stat().st_mode & 0o777 == 0o640


def test_ascii(tmp_path: Path) -> None:
    path = tmp_path / "a.bbsl"
    path.write_text(ROUGH, "utf-8")
    assert run("--ascii", str(path)).exit_code == 0
    assert path.read_text("ascii") == PLAIN


def test_check_changes_nothing_and_ends_with_one(tmp_path: Path) -> None:
    rough, fine = tmp_path / "rough.bbsl", tmp_path / "fine.bbsl"
    rough.write_text(ROUGH, "utf-8")
    fine.write_text(FINE, "utf-8")
    result = run("--check", str(rough), str(fine))
    assert result.exit_code == 1
    assert f"{rough} is not in canonical form" in result.output.replace("\n", "")
    assert rough.read_text("utf-8") == ROUGH
    assert run("--check", str(fine)).exit_code == 0


def test_for_scripts(tmp_path: Path) -> None:
    path = tmp_path / "a.bbsl"
    path.write_text(ROUGH, "utf-8")
    assert json.loads(run("--json", str(path)).stdout) == [{"file": str(path), "changed": True}]


def test_standard_input() -> None:
    assert run("-", given=ROUGH).output == FINE
    assert run("--check", "-", given=ROUGH).exit_code == 1
    assert run("--check", "-", given=FINE).exit_code == 0
    assert run("-", "more.bbsl", given=ROUGH).exit_code == 2


def test_a_mistake_is_shown_and_no_file_is_touched(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.bbsl", tmp_path / "bad.bbsl"
    good.write_text(ROUGH, "utf-8")
    bad.write_text("case go\n  (a\nendcase\n", "utf-8")
    result = run(str(good), str(bad))
    assert result.exit_code == 2
    assert "bad.bbsl:2:3: this '(' is never closed" in result.output
    assert good.read_text("utf-8") == ROUGH
    assert run(str(tmp_path / "missing.bbsl")).exit_code == 2
