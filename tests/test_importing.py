"""Classes and functions that the user names, and packages that may be missing."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from roadworthy._importing import NotRunError, imported, is_of_file, module_name, only_looking, required
from roadworthy.errors import InputError, MissingExtraError


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text("class Net:\n    def run(self):\n        return 1\ndef answer():\n    return 42\n")
    return path


def test_a_name_in_a_file_is_found(code: Path) -> None:
    assert imported(f"{code}:answer", "callable:", "function")() == 42
    assert imported(f"{code}:Net.run", "callable:", "function").__qualname__ == "Net.run"
    assert imported(f"{code}:Net", "", "class") is imported(f"{code}:Net", "", "class")
    assert is_of_file(module_name(code))
    assert not is_of_file("json")
    assert not is_of_file("no_such_module")


@pytest.mark.parametrize("reference", ["mine.py", ":answer", "mine.py:", ""])
def test_a_reference_has_two_parts(reference: str) -> None:
    with pytest.raises(
        InputError, match=r"expected callable:package.module:function or callable:file.py:function"
    ):
        imported(reference, "callable:", "function")


@pytest.mark.parametrize("looking", [False, True])
@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("mine.py:anser", "mine.py has no 'anser'; did you mean 'answer'?"),
        ("none.py:answer", "there is no file none.py"),
        ("broken.py:answer", "cannot import broken.py: SyntaxError"),
        ("zeros.py:answer", r"cannot import zeros.py: (Value|Syntax)Error: .*null bytes"),
        ("no_such_module:answer", "there is no module 'no_such_module', neither in .* nor installed"),
        ("json.no_such:answer", "there is no module 'json.no_such'"),
    ],
)
def test_what_is_not_there_is_told_alike_where_it_is_only_looked_at(
    code: Path, reference: str, told: str, looking: bool
) -> None:
    (code.parent / "broken.py").write_text("def answer(:\n")
    (code.parent / "zeros.py").write_bytes(b"answer = 1\0")
    with only_looking() if looking else nullcontext(), pytest.raises(InputError, match=told):
        imported(reference, "callable:", "function")


def test_looking_runs_nothing(code: Path) -> None:
    code.write_text("raise SystemExit(0)\nanswer = 1\nfrom json import loads as more\n")
    with only_looking() as seen:
        found = imported("mine.py:answer", "callable:", "function")
        imported("mine.py:more", "callable:", "function")
        imported("json:loads", "callable:", "function")
    assert seen == ["mine.py:answer", "mine.py:more", "json:loads"]
    with pytest.raises(NotRunError, match=r"mine.py:answer is code, which is only looked at here"):
        found()
    with pytest.raises(InputError, match=r"cannot import mine.py: SystemExit: 0"):
        imported("mine.py:answer", "callable:", "function")
    assert module_name(code) not in sys.modules, "what failed is not kept"


@pytest.mark.parametrize(
    "body", ["from os import *", "def __getattr__(name): ...", "try:\n    any = 1\nfinally: ..."]
)
def test_a_file_that_may_give_any_name_is_not_refused_by_looking(code: Path, body: str) -> None:
    code.write_text(body)
    with only_looking():
        imported("mine.py:any", "callable:", "function")


def test_an_edited_file_is_read_again_and_an_edited_module_is_refused(code: Path) -> None:
    assert imported("mine.py:answer", "", "function")() == 42
    times = code.stat()
    code.write_text(code.read_text().replace("42", "43"))
    os.utime(code, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert imported("mine.py:answer", "", "function")() == 43
    module = code.parent / "mine_by_name.py"
    module.write_text("def answer():\n    return 1\n")
    assert imported("mine_by_name:answer", "", "function")() == 1
    module.write_text("def answer():\n    return 2\n")
    with pytest.raises(InputError, match="was edited after it was imported as mine_by_name: start again"):
        imported("mine_by_name:answer", "", "function")


def test_two_files_of_one_stem_are_two_modules(code: Path) -> None:
    other = code.parent / "other" / "mine.py"
    other.parent.mkdir()
    other.write_text(code.read_text())
    assert module_name(other) != module_name(code)
    assert module_name(code).startswith("mine_")


def test_a_package_that_is_missing_names_its_extra(code: Path) -> None:
    assert required("json", extra="x", purpose="y").loads("1") == 1
    with pytest.raises(
        MissingExtraError, match=r"nosuch is needed to fly .* pip install 'roadworthy\[wings\]'"
    ):
        required("nosuch.part", extra="wings", purpose="fly")
    (code.parent / "lacking.py").write_text("import nosuch\n")
    sys.path.insert(0, str(code.parent))
    try:
        with pytest.raises(ModuleNotFoundError, match="nosuch"):
            required("lacking", extra="wings", purpose="fly")
    finally:
        sys.path.remove(str(code.parent))


@pytest.mark.parametrize("reference", ["mine.py:answer", "leaves_oddly:answer"])
def test_no_way_out_of_an_import_is_a_way_out_of_the_program(code: Path, reference: str) -> None:
    body = "class Odd(BaseException): ...\nraise {}\ndef answer(): ...\n"
    for way in ("GeneratorExit", "Odd"):
        for path in (code, code.parent / "leaves_oddly.py"):
            path.write_text(body.format(way))
        with pytest.raises(InputError, match=rf"^cannot import {reference.partition(':')[0]}: {way}: $"):
            imported(reference, "", "function")
    for path in (code, code.parent / "leaves_oddly.py"):
        path.write_text(body.format("KeyboardInterrupt"))
    with pytest.raises(KeyboardInterrupt):
        imported(reference, "", "function")


def test_a_module_that_cannot_be_imported_says_what_it_lacks(code: Path) -> None:
    for name, body in (("lacks_one", "import nosuch_one"), ("ends_at_once", "raise SystemExit(3)")):
        (code.parent / f"{name}.py").write_text(f"{body}\ndef answer(): ...\n")
    with pytest.raises(InputError, match=r"^cannot import lacks_one: No module named 'nosuch_one'$"):
        imported("lacks_one:answer", "", "function")
    with pytest.raises(InputError, match=r"^cannot import ends_at_once: SystemExit: 3$"):
        imported("ends_at_once:answer", "", "function")
    assert next(imported("itertools:count", "", "function")(3)) == 3, "what is built in has no file"
    (code.parent / "bare_folder").mkdir()
    with pytest.raises(InputError, match="bare_folder has no 'answer'; no names are known"):
        imported("bare_folder:answer", "", "function")
    with only_looking():
        imported("math:nothing_is_read", "", "function")


def test_only_public_names_are_suggested_and_parts_are_looked_up(code: Path) -> None:
    code.write_text("_answers = 1\nclass Net:\n    size = 3\n")
    for looking in (False, True):
        with (
            only_looking() if looking else nullcontext(),
            pytest.raises(InputError, match=r"mine.py has no 'answers'; known names are Net$"),
        ):
            imported("mine.py:answers", "", "function")
    assert imported("mine.py:Net.size", "", "function") == 3
    with pytest.raises(InputError, match=r"mine.py has no 'Net.width'"):
        imported("mine.py:Net.width", "", "function")


def test_looking_ends_with_its_block(code: Path) -> None:
    with pytest.raises(KeyError), only_looking():
        raise KeyError
    assert imported("mine.py:answer", "", "function")() == 42


def test_names_that_a_file_only_uses_are_not_there(code: Path) -> None:
    code.write_text(
        "import os.path as where, json.decoder\nprint(used)\na, (b, *c) = {}\nclass Inner:\n    own = 1\n"
    )
    with only_looking():
        for name in ("where", "json", "a", "b", "c", "Inner", "Inner.own", "Inner.no"):
            imported(f"mine.py:{name}", "callable:", "function")
        for name in ("used", "print", "own", "os", "decoder"):
            with pytest.raises(InputError, match=f"mine.py has no '{name}'"):
                imported(f"mine.py:{name}", "callable:", "function")


def test_a_module_without_source_is_believed_where_it_is_looked_at(code: Path) -> None:
    package = code.parent / "pack"
    (package / "bare").mkdir(parents=True)
    (package / "__init__.py").write_text("inside = 1\n")
    (package / "bare/deep").mkdir()
    (package / "bare/deep/net.py").write_text("drive = 1\n")
    with only_looking():
        imported("pack:inside", "callable:", "function")
        imported("pack.bare:anything", "callable:", "function")
        imported("pack.bare.deep.net:drive", "callable:", "function")
        with pytest.raises(InputError, match="pack has no 'outside'"):
            imported("pack:outside", "callable:", "function")
