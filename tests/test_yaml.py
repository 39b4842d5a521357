"""YAML that is written is read as it was."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy._yaml import read_yaml, yaml_text
from roadworthy.errors import InputError

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
