"""YAML that is written is read as it was."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, model_validator

from roadworthy._yaml import (
    _DEEPEST,
    _LARGEST,
    FileProblem,
    FileSpan,
    check_form,
    read_form,
    read_yaml,
    yaml_text,
)
from roadworthy.errors import FrameError, InputError

_WORDS = st.text(
    st.sampled_from(list("ab0 \t\n\r\x85\u2028\u2029\ufeff\x00:#'\"-|>%&*!,[]{}~?@`")), max_size=12
)


@given(_WORDS, st.text(max_size=8))
def test_text_is_read_as_it_was_written(odd: str, other: str) -> None:
    document = {"words": [odd, other, f"{odd}\n{other}"], "again": [odd]}
    with TemporaryDirectory() as folder:
        path = Path(folder, "written.yaml")
        path.write_text(yaml_text(document), "utf-8", newline="")
        assert read_yaml(path, "file", "words").data == document


def test_what_is_wrong_is_marked_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("made: 2026-01-01\nended: 2026-99-99 # soon\n")
    with pytest.raises(InputError) as caught:
        read_yaml(path, "file", "words")
    first, line, marks = str(caught.value).splitlines()
    assert first.startswith(f"{path}:2:8: ")
    marked = line[marks.index("^") : marks.rindex("^") + 1]
    assert marked == "2026-99-99"


class Inner(BaseModel, extra="forbid"):
    width: int
    signals: tuple[int, int] = (0, 0)
    word: str = ""


class Outer(BaseModel, extra="forbid"):
    inner: Inner
    others: dict[str, Inner | None] = {}
    listed: list[Inner] = []
    given: int = Field(0, alias="as")


def refused(path: Path, text: str, form: type[BaseModel] = Outer) -> list[str]:
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_form(path, form, "outer file", "'inner:'")
    return str(caught.value).removeprefix(f"{path}:").split(f"\n{path}:")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("inner: {wdth: 1}", "1: inner needs the key 'width'\n1: unknown key 'wdth': did you mean 'width'?"),
        ("inner: {width: 1}\nothers:\n  a: {width: 1, wrd: x}", "3: unknown key 'wrd': did you mean 'word'?"),
        ("inner: {width: 1}\nlisted:\n- {width: 1, as: x}", "3: unknown key 'as': known names are signals"),
        ("inner: {width: 1}\ngiven: 3", "2: unknown key 'given': known names are as, inner, listed, others"),
        ("as: 1", " the file needs the key 'inner'"),
        ("inner: {width: 1, signals: [1]}", "1: inner > signals needs 2 values"),
        ("inner:\n  width: wide", "2: inner > width: expected a whole number, .*, got 'wide'"),
        ("inner: {width: 1, word: on}", "1: inner > word: expected text, got True: .*such a word in quotes"),
    ],
)  # fmt: skip
def test_a_form_says_what_it_expects_and_where(tmp_path: Path, text: str, told: str) -> None:
    found = refused(tmp_path / "a.yaml", text)
    for line, expected in zip(found, told.splitlines(), strict=True):
        assert re.match(expected.replace("?", r"\?"), line), line


def test_a_form_inside_of_a_file_counts_from_there() -> None:
    with pytest.raises(InputError, match=r"^models > a: unknown key 'wdth': did you mean 'width'") as caught:
        check_form(
            Inner, {"width": 1, "wdth": 1}, lambda *place: " > ".join(place[:2]), inside=("models", "a")
        )
    assert "needs" not in str(caught.value)


def test_every_doubled_key_names_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\nb: 2\na: 3\na: 4\n")
    twice: list[FileProblem] = []
    assert read_yaml(path, "file", "a", twice=twice).data == {"a": 4, "b": 2}
    assert [(one.line, one.message) for one in twice] == [
        (line, "'a' is written twice, first on line 1: merge the two") for line in (3, 4)
    ]
    with pytest.raises(InputError, match="3:1: 'a' is written twice"):
        read_yaml(path, "file", "a")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the model description is empty: expected 'model:'"),
        ("- a", ":1: expected a mapping with 'model:', got a list"),
        ("a", ":1: expected a mapping with 'model:', got a single value"),
        ("a: &x 1\nb: *x", "anchors and aliases"),
        ("a: " + "[" * 60 + "]" * 60, "nested too deeply"),
        ("a: " + "1" * 400, "the number is too large"),
        ("? [a]\n: 1", "expected a word as key, got a list or mapping"),
        ("a: [1\nb: 2", "broken YAML: .* on line "),
    ],
)
def test_what_is_no_such_file(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(InputError, match=told):
        read_yaml(tmp_path / "a.yaml", "model description", "'model:'")


def test_a_place_is_where_it_is_written_or_the_nearest_around_it(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a:\n  b:\n  - c\n  - d\n")
    file = read_yaml(path, "file", "a")
    assert [file.where(*place) for place in (("a", "b", "1"), ("a", "b", "9", "x"), ("a",), ("x",))] == [
        *(f"{path}:4", f"{path}:2", f"{path}:1", str(path))
    ]
    assert (file.line(2), file.line(9)) == ("  b:", "")
    shown = file.problem("no", FileSpan(3, 4, 3, 5)).shown
    assert shown == f"{path}:3:5: no\n  3 |   - c\n    |     ^"


def test_what_cannot_be_read_is_told_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with path.open("wb") as file:
        file.truncate(_LARGEST + 1)
    megabytes = _LARGEST >> 20
    with pytest.raises(
        InputError, match=rf"a.yaml: an outer file must have at most {megabytes} MiB, got \d+: is it"
    ):
        read_yaml(path, "outer file", "'a:'")
    with pytest.raises(InputError, match=r"b.yaml: cannot read the file: No such file"):
        read_yaml(tmp_path / "b.yaml", "file", "'a:'")
    with pytest.raises(InputError, match=r"^'a\\x00b': cannot read the file: "):
        read_yaml(Path("a\0b"), "file", "'a:'")
    path.write_bytes(b"a: \xff")
    with pytest.raises(FrameError, match=r"a.yaml: a file must be UTF-8 text, got invalid start byte"):
        read_yaml(path, "file", "'a:'", FrameError)
    path.write_bytes(b"\xef\xbb\xbfa: 1")
    assert read_yaml(path, "file", "'a:'").data == {"a": 1}


def test_a_date_that_is_none_is_marked_inside_of_lists(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("days:\n- 2026-01-01\n- {2026-99-99: x}\n")
    with pytest.raises(InputError, match=r"a.yaml:3:4: broken YAML: .*: put it in quotes"):
        read_yaml(path, "file", "'days:'")


def test_nesting_is_counted_by_depth_not_by_number(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: [" + "[1], " * 100 + "]")
    assert len(read_yaml(path, "file", "'a:'").data["a"]) == 100
    path.write_text("a: " + "[" * (_DEEPEST - 1) + "]" * (_DEEPEST - 1))
    read_yaml(path, "file", "'a:'")
    path.write_text("a: " + "[" * _DEEPEST + "]" * _DEEPEST)
    with pytest.raises(InputError, match=r"a.yaml:1:\d+: broken YAML: nested too deeply"):
        read_yaml(path, "file", "'a:'")


class Checked(BaseModel, extra="forbid"):
    inner: Annotated[Inner | None, Field()] = None
    low: int = Field(1, ge=1, le=9)
    text: Annotated[str, Field(min_length=1)] = "a"
    names: list[int] = Field([1], min_length=1)

    @model_validator(mode="after")
    def _fits(self) -> Checked:
        if self.low == 7:
            raise ValueError("seven is not allowed")
        return self


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("low: 0", "1: low: expected at least 1, got 0"),
        ("low: 10", "1: low: expected at most 9, got 10"),
        ("text: ''", "1: text: expected some text, got ''"),
        ("names: []", "1: names: expected at least one, got []"),
        ("names: 3", "1: names: expected a list, got 3"),
        ("low: 7", " seven is not allowed"),
        ("inner: {width: 1, widht: 2}", "1: unknown key 'widht': did you mean 'width'?"),
        ("text: true", "1: text: expected text, got True: YAML takes on, off, yes and no for true and false, "
         "so write such a word in quotes"),
        ("text: 3", "1: text: expected text, got 3"),
    ],
)  # fmt: skip
def test_complaints_are_in_our_words(tmp_path: Path, text: str, told: str) -> None:
    assert refused(tmp_path / "a.yaml", text, Checked) == [told]


def test_an_entry_starts_at_its_key(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a:\n  b\nc:\n- d\n")
    places = read_yaml(path, "file", "a").places
    assert [(place, node.line) for place, node in places.items()] == [
        (("a",), 1),
        (("c",), 3),
        (("c", "0"), 4),
    ]
    assert places["a",].value == FileSpan(2, 2, 2, 3)
    assert yaml_text({"b": ["x"], "a": "é", "c": "x\ny"}) == "b:\n- x\na: é\nc: |-\n  x\n  y\n"


def test_long_text_is_broken_at_a_hundred_letters() -> None:
    text = yaml_text({"a": "x " * 200})
    assert [len(line) for line in text.splitlines()[:3]] == [101, 101, 101]
    assert len(yaml_text({"a": "xy " * 200}).splitlines()[1]) == 103
