"""The options of what has a name, such as a reader of data: declared in its signature, converted at the door.

A reader is called with its path and keyword options. Its first positional parameter is the path; the others
are the options, and their annotations say what they take: ``int``, ``float``, ``bool``, ``str``, ``Path``, a
``Literal``, or a union of these. Text from the command line is converted, everything is checked. A model is
called in the same way.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from roadworthy.errors import InputError, suggest
from roadworthy.places import is_address, local

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text", Path: "a path"}
_TRUTH = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a reader.

    Attributes:
        name: What users type.
        annotation: What it takes, as the reader declares it.
        default: Its value when it is not given; `inspect.Parameter.empty` when it must be.
    """

    name: str
    annotation: Any
    default: object

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is inspect.Parameter.empty

    def __str__(self) -> str:
        return self.name if self.required else f"{self.name}={self.default}"


def options_of(reader: Callable[..., object]) -> tuple[Option, ...]:
    """Return the options of a reader, in the order of its signature.

    Example:
        >>> def folder(path: str, *, recursive: bool = False, limit: int | None = None) -> None: ...
        >>> [str(option) for option in options_of(folder)]
        ['recursive=False', 'limit=None']
    """
    path, named = _parameters(reader)
    return tuple(Option(one.name, one.annotation, one.default) for one in named if one is not path)


def takes_path(reader: Callable[..., object]) -> Literal["never", "maybe", "always"]:
    """Return whether a reader takes a path, and whether it needs one.

    Example:
        >>> def folder(path: str, *, recursive: bool = False) -> None: ...
        >>> takes_path(folder)
        'always'
    """
    path, _ = _parameters(reader)
    if path is None:
        return "never"
    return "always" if path.default is path.empty else "maybe"


def check_path(name: str, reader: Callable[..., object], path: str, needed: str) -> None:
    """Refuse a path that a reader does not take, and none where it takes one.

    Raises:
        InputError: It does not fit.
    """
    wanted = takes_path(reader)
    if path and wanted == "never":
        raise InputError(f"{name!r} takes no path, got {path!r}: write {name!r} alone")
    if not path and wanted == "always":
        raise InputError(f"{name!r} needs {needed}")


def checked_options(
    name: str, reader: Callable[..., object], given: Mapping[str, object], folder: Path = Path()
) -> dict[str, object]:
    """Return the options as the reader declares them.

    Args:
        name: What the reader is called, for messages.
        reader: The reader.
        given: Options by name; text stands for the value that it spells.
        folder: What paths among them are relative to.

    Raises:
        InputError: An option is unknown or missing, or its value is of the wrong kind.

    Example:
        >>> def folder(path: str, *, recursive: bool = False, limit: int | None = None) -> None: ...
        >>> checked_options("folder", folder, {"recursive": "yes", "limit": "12"})
        {'recursive': True, 'limit': 12}
        >>> checked_options("folder", folder, {"limt": "12"})
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: 'folder' has no option 'limt': did you mean 'limit'? \
Its options are recursive=False, limit=None
    """
    known = {option.name: option for option in options_of(reader)}
    for key in given:
        if key not in known:
            raise InputError(unknown_option(name, key, known))
    for option in known.values():
        if option.required and option.name not in given:
            raise InputError(f"{name!r} needs the option {option.name!r}: {_expected(option.annotation)}")
    checked = {key: _converted(name, known[key], value) for key, value in given.items()}
    return {key: folder / one if isinstance(one, Path) else one for key, one in checked.items()}


def parse_call(text: str, what: str) -> tuple[str, dict[str, object]]:
    """Return the name and the options that a text spells; what it is is for messages.

    Raises:
        InputError: It is written otherwise, or an option is there twice.

    Example:
        >>> parse_call("top-k(k=2, scaling=none)", "criterion")
        ('top-k', {'k': '2', 'scaling': 'none'})
    """
    found = re.fullmatch(r"\s*([\w-]+)\s*+(?:\((.*)\)\s*)?", text, re.DOTALL)
    if found is None:
        raise InputError(f"cannot read the {what} {text!r}: expected name or name(option=value, …)")
    options: dict[str, object] = {}
    for part in filter(str.strip, (found[2] or "").split(",")):
        key, equals, value = (one.strip() for one in part.partition("="))
        if not equals or not key or key in options:
            raise InputError(f"cannot read {part.strip()!r} in {text!r}: expected option=value, each once")
        options[key] = value
    return found[1], options


def described(docstring: str, section: str) -> tuple[str, dict[str, tuple[str, str]]]:
    r"""Return a docstring without its last section, and what this says of each name: form and help.

    Example:
        >>> described("Drives.\n\nKeys:\n    laps (min=1): How many\n        laps.", "Keys")
        ('Drives.', {'laps': ('min=1', 'How many laps.')})
    """
    text, _, told = docstring.partition(f"\n\n{section}:\n")
    parts = re.findall(r"^    (\w+)(?: \((.+?)\))?: (.+?)(?=\n    \w|\Z)", told, re.MULTILINE | re.DOTALL)
    return text, {name: (form, " ".join(help.split())) for name, form, help in parts}


def unknown_option(name: str, key: str, known: Mapping[str, object]) -> str:
    """Return what to say of an option that there is not.

    Args:
        name: What was given the option.
        key: The option.
        known: Those that it has, by their names; each is shown as its text.

    Example:
        >>> unknown_option("epoch", "widht", {"width": "width=128"})
        "'epoch' has no option 'widht': did you mean 'width'? Its options are width=128"
    """
    if not known:
        return f"{name!r} takes no options, got {key!r}"
    hint = suggest(key, known)
    near = f" {hint} Its" if hint.endswith("?") else " its"
    return f"{name!r} has no option {key!r}:{near} options are {', '.join(map(str, known.values()))}"


def _parameters(reader: Callable[..., object]) -> tuple[inspect.Parameter | None, list[inspect.Parameter]]:
    """Return the parameter that takes the path, if there is one, and all that can be given by name."""
    try:
        known = list(inspect.signature(reader, eval_str=True).parameters.values())
    except Exception as error:
        # A name that only type checkers see; guessing would hand the reader text where it wants numbers.
        where = getattr(reader, "__qualname__", repr(reader))
        raise InputError(f"cannot read the options of {where} from its signature: {error}") from error
    positional = [one for one in known if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    named = [one for one in known if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    return (positional[0] if positional else None), named


def _converted(name: str, option: Option, value: object) -> object:
    kinds = _kinds(option.annotation)
    for kind in kinds:
        fits, result = _as_kind(kind, value)
        if fits:
            return result
    raise InputError(
        f"option {option.name!r} of {name!r} must be {_expected(option.annotation)}, got {value!r}"
    )


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """Return what an annotation allows, with path and text last: every string is both, so others go first."""
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return tuple(sorted(members, key=lambda kind: (kind is str, kind is Path)))


def _as_kind(kind: Any, value: object) -> tuple[bool, object]:
    """Return whether a value is of a kind or spells one, and which."""
    if kind is NoneType:
        return value is None or (isinstance(value, str) and value.lower() == "none"), None
    if get_origin(kind) is Literal:
        spelled = {str(one): one for one in get_args(kind)}
        return str(value) in spelled, spelled.get(str(value))
    if kind is bool:
        if isinstance(value, str):
            return value.lower() in _TRUTH, _TRUTH.get(value.lower())
        return isinstance(value, bool), value
    if kind in (int, float):
        return _as_number(kind, value)
    if kind is Path:
        if is_address(value):
            return True, local(value)  # type: ignore[arg-type]
        return isinstance(value, str | Path), Path(value) if isinstance(value, str) else value
    if kind is str:
        return isinstance(value, str), value
    # A kind that text cannot spell; the reader itself checks what Python code hands over.
    return not isinstance(value, str), value


def _as_number(kind: type[int] | type[float], value: Any) -> tuple[bool, object]:
    if isinstance(value, str):
        try:
            return True, kind(value)
        except ValueError:
            return False, None
    if isinstance(value, bool):
        return False, None
    if hasattr(value, "__index__") or (kind is float and hasattr(value, "__float__")):
        return True, kind(value)
    return False, None


def _expected(annotation: Any) -> str:
    words = []
    for kind in _kinds(annotation):
        if get_origin(kind) is Literal:
            words += [repr(one) for one in get_args(kind)]
        elif kind is NoneType:
            words.append("none")
        else:
            words.append(_WORDS.get(kind, str(kind)))
    return " or ".join(dict.fromkeys(words))
