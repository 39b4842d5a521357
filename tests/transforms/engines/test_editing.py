"""Engines put into files that people wrote: what they wrote stays."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from roadworthy.errors import InputError
from roadworthy.transforms import read_engines
from roadworthy.transforms.engines.files import put_engine

ERASER = {"command": ["erase", "{image}"], "supports": [{"operation": "remove", "element": "line"}]}
ANY = "supports: [{operation: remove, element: line}]"


def names(path: Path) -> list[str]:
    return [one.name for one in read_engines(path)]


def test_a_file_that_does_not_exist_is_made(tmp_path: Path) -> None:
    path = tmp_path / "engines.yaml"
    assert put_engine(path, "eraser", ERASER) is False
    assert names(path) == ["eraser"]


def test_a_new_one_comes_first_and_comments_stay(tmp_path: Path) -> None:
    path = tmp_path / "engines.yaml"
    text = dedent(
        f"""\
        # Ours.

        engines:  # in this order
            # The painter of the first floor.
            painter:
                entry: a:b   # slow
                {ANY}

            # Not in use: old
            other: {{entry: c:d, {ANY}}}
        # The end.
        """
    )
    path.write_text(text)
    assert put_engine(path, "eraser", ERASER) is False
    assert names(path) == ["eraser", "painter", "other"]
    new = path.read_text()
    assert new.startswith("# Ours.\n\nengines:  # in this order\n    eraser:\n      command: [erase, ")
    # All that was written is there, in its order.
    written = iter(new.splitlines())
    assert all(line in written for line in text.splitlines())


@pytest.mark.parametrize("end", ["# The end.", "# The end.\n", "", "\n"])
@pytest.mark.parametrize("name", ["painter", "other", "last"])
def test_one_of_the_same_name_is_replaced_where_it_stands(tmp_path: Path, name: str, end: str) -> None:
    path = tmp_path / "engines.yaml"
    text = dedent(
        f"""\
        engines:
          painter:
            entry: a:b
            {ANY}

          # About the other.
          other: {{entry: c:d, {ANY}}}
          last:
            entry: e:f
            supports:
              - {{operation: remove, element: line}}
        """
    )
    text += end
    path.write_text(text)
    assert put_engine(path, name, ERASER) is True
    assert names(path) == ["painter", "other", "last"]
    assert {one.name for one in read_engines(path) if one.backend.does == "runs a command"} == {name}
    new = path.read_text()
    assert "# About the other." in new
    assert new.endswith(end)
    put_engine(path, name, ERASER)
    assert path.read_text() == new


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("engines: {}\n", ["eraser"]),
        ("engines:\n", ["eraser"]),
        ("engines:", ["eraser"]),
        (f"engines: {{a: {{entry: 'x:y', {ANY}}}}}\n# end\n", ["eraser", "a"]),
        (f"engines: {{eraser: {{entry: 'x:y', {ANY}}}, a: {{entry: 'x:y', {ANY}}}}}\n", ["eraser", "a"]),
    ],
)
def test_other_ways_to_write_it(tmp_path: Path, text: str, expected: list[str]) -> None:
    path = tmp_path / "engines.yaml"
    path.write_text(text)
    put_engine(path, "eraser", ERASER)
    assert names(path) == expected
    assert read_engines(path)[0].backend.does == "runs a command"


def test_a_file_is_never_left_broken(tmp_path: Path) -> None:
    path = tmp_path / "engines.yaml"
    path.write_text(f"engines:\n  a:\n    entry: x:y\n    {ANY}\n")
    before = path.read_text()
    with pytest.raises(InputError, match=r"engines\.yaml:3: there is no folder .*nowhere"):
        put_engine(path, "b", {"learned": "nowhere"})
    assert path.read_text() == before
    assert [one.name for one in tmp_path.iterdir()] == ["engines.yaml"]
    path.write_text("engines: [")
    with pytest.raises(InputError, match="broken YAML"):
        put_engine(path, "b", ERASER)


def test_words_that_yaml_would_read_as_something_else(tmp_path: Path) -> None:
    path = tmp_path / "engines.yaml"
    for name in ("no", "1.5", "a: b", "ü {x}", "'"):
        put_engine(path, name, {**ERASER, "command": [name.replace("{x}", ""), "- x", "#1", "{seed}"]})
    assert names(path) == ["'", "ü {x}", "a: b", "1.5", "no"]
