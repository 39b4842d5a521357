"""Options of readers and models: what their signature declares, converted and checked at the door."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Optional

import pytest

from roadworthy._options import Option, checked_options, options_of, takes_path, unknown_option
from roadworthy.errors import InputError


def reader(
    path: str,
    count: int,
    *,
    rate: float = 0.5,
    fast: bool = False,
    kind: Literal["a", "b", 3] = "a",
    weights: Path | None = None,
    size: Optional[int] = None,  # noqa: UP045 - users write this, too
    name: str | int = "x",
    shape: tuple[int, ...] = (),
    file: str | Path = "",
    either: Literal["a", "b"] | Literal["b", "c"] | None = None,
    **rest: Any,
) -> None: ...


def no_path(*, level: int = 1) -> None: ...


def maybe_path(path: str = "") -> None: ...


def test_options_are_what_the_signature_says_but_the_path() -> None:
    told = [str(option) for option in options_of(reader)]
    assert told == [
        "count", "rate=0.5", "fast=False", "kind=a", "weights=None", "size=None", "name=x", "shape=()",
        "file=", "either=None",
    ]  # fmt: skip
    assert [option.name for option in options_of(reader) if option.required] == ["count"]
    assert not Option("a", int, None).required, "None is a default"
    assert [str(option) for option in options_of(no_path)] == ["level=1"]
    assert options_of(maybe_path) == ()
    assert [takes_path(one) for one in (reader, no_path, maybe_path)] == ["always", "never", "maybe"]
    assert takes_path(lambda path, /: None) == "always"


@pytest.mark.parametrize(
    ("option", "given", "meant"),
    [
        ("count", "12", 12),
        ("count", 12, 12),
        ("count", "-3", -3),
        ("rate", "1e-3", 0.001),
        ("rate", 2, 2.0),
        ("fast", "YES", True),
        ("fast", "on", True),
        ("fast", "1", True),
        ("fast", "true", True),
        ("fast", "No", False),
        ("fast", "off", False),
        ("fast", "0", False),
        ("fast", "false", False),
        ("fast", True, True),
        ("kind", "b", "b"),
        ("kind", "3", 3),
        ("kind", 3, 3),
        ("weights", "net.onnx", Path("nets/net.onnx")),
        ("weights", Path("/net.onnx"), Path("/net.onnx")),
        ("weights", "None", None),
        ("weights", None, None),
        ("size", "none", None),
        ("size", "7", 7),
        ("name", "7", 7),
        ("name", "seven", "seven"),
        ("shape", (1, 2), (1, 2)),
        ("file", "none", Path("nets/none")),
    ],
)
def test_text_stands_for_what_it_spells(option: str, given: object, meant: object) -> None:
    known: dict[str, object] = {"count": 1} | {option: given}
    found = checked_options("reader", reader, known, Path("nets"))
    assert found == {"count": 1} | {option: meant}
    assert type(found[option]) is type(meant)


@pytest.mark.parametrize(
    ("option", "given", "expected"),
    [
        ("count", "1.5", "a whole number, got '1.5'"),
        ("count", 1.5, "a whole number, got 1.5"),
        ("count", True, "a whole number, got True"),
        ("count", None, "a whole number, got None"),
        ("rate", "fast", "a number, got 'fast'"),
        ("rate", False, "a number, got False"),
        ("fast", "maybe", "true or false, got 'maybe'"),
        ("fast", 1, "true or false, got 1"),
        ("kind", "c", "'a' or 'b' or 3, got 'c'"),
        ("weights", 3, "none or a path, got 3"),
        ("size", "all", "a whole number or none, got 'all'"),
        ("name", None, "a whole number or text, got None"),
        ("either", "d", "'a' or 'b' or 'c' or none, got 'd'"),
        ("shape", "1,2", r"tuple\[int, ...\], got '1,2'"),
    ],
)
def test_what_is_of_another_kind_is_refused_by_name(option: str, given: object, expected: str) -> None:
    with pytest.raises(InputError, match=f"^option '{option}' of 'reader' must be {expected}$"):
        checked_options("reader", reader, {"count": 1, option: given})


def test_what_is_missing_or_unknown_is_named() -> None:
    with pytest.raises(InputError, match=r"^'reader' needs the option 'count': a whole number$"):
        checked_options("reader", reader, {})
    with pytest.raises(InputError, match=r"'maybe' takes no options, got 'level'$"):
        checked_options("maybe", maybe_path, {"level": 1})
    assert checked_options("no", no_path, {}) == {}
    with pytest.raises(InputError, match="'no' has no option 'path': its options are level=1"):
        checked_options("no", no_path, {"path": "a"})
    assert unknown_option("no", "levle", {"level": "level=1"}) == (
        "'no' has no option 'levle': did you mean 'level'? Its options are level=1"
    )


def test_a_signature_that_cannot_be_read_is_told() -> None:
    def broken(path: str, *, level: Nowhere = 1) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(
        InputError, match=r"cannot read the options of .*broken from its signature: .*Nowhere"
    ):
        options_of(broken)
