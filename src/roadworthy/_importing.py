"""Finding a class or function that the user names."""

from __future__ import annotations

import ast
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from roadworthy._files import stamp_of
from roadworthy.errors import InputError, MissingExtraError, suggest, told_as, words_of


class NotRunError(InputError):
    """Code of the user was called where it is only looked at."""


_SEEN: ContextVar[list[str] | None] = ContextVar("seen", default=None)


@contextmanager
def only_looking() -> Iterator[list[str]]:
    """Let nothing be imported meanwhile: `imported` looks whether file and name are there.

    What it returns raises `NotRunError` when it is called. Yields the references that were looked at.
    """
    seen: list[str] = []
    token = _SEEN.set(seen)
    try:
        yield seen
    finally:
        _SEEN.reset(token)


def _looked_at(where: str, name: str) -> Callable[..., Any]:
    """Return what stands for a name in a module or file, once it is seen to be there."""
    path = Path(where) if where.endswith(".py") else _source_of(where)
    if path is not None:
        try:
            names = _defined(ast.parse(path.read_bytes(), str(path)).body)
        except FileNotFoundError:
            raise InputError(f"there is no file {path}") from None
        except (OSError, SyntaxError, ValueError) as error:
            raise InputError(f"cannot import {path}: {type(error).__name__}: {words_of(error)}") from error
        first = name.partition(".")[0]
        # A star, or a function of the module, may give any name.
        if not {first, "*", "__getattr__"} & names:
            public = {one for one in names if not one.startswith("_")}
            raise InputError(f"{where} has no {name!r}; {suggest(name, public)}")

    def not_run(*_: object, **__: object) -> Any:
        raise NotRunError(f"{where}:{name} is code, which is only looked at here")

    return not_run


def _source_of(module: str) -> Path | None:
    """Return the file of a module, found without importing anything; None where it has no source."""
    search: Sequence[str] | None = [*sys.path, str(Path.cwd())]
    spec = None
    for part in module.split("."):
        # By its last name: for a folder without __init__.py Python looks at the module that it is inside of.
        spec = None if search is None else PathFinder.find_spec(part, search)
        if spec is None:
            raise InputError(f"there is no module {module!r}, neither in {Path.cwd()} nor installed")
        search = spec.submodule_search_locations
    assert spec is not None  # there is at least one part
    return Path(spec.origin) if spec.origin is not None and spec.origin.endswith(".py") else None


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _defined(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that the statements of a module give something to; rather too many than too few."""
    names: set[str] = set()
    for statement in body:
        for one in [statement] if isinstance(statement, _DEFINITIONS) else ast.walk(statement):
            if isinstance(one, _DEFINITIONS):
                names.add(one.name)
            elif isinstance(one, ast.Import | ast.ImportFrom):
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in one.names}
            elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                names.add(one.id)
    return names


def imported(reference: str, prefix: str, what: str) -> Any:
    """Return what ``package.module:name`` or ``file.py:name`` stands for.

    Modules are looked for as Python does, and in the current folder. Importing one runs its code: it is the
    user's own, named by the user.

    Args:
        reference: The module or file, a colon, and a name in it.
        prefix: What is written before it, for messages: "callable:".
        what: What the name is the name of, for messages: "function".

    Raises:
        InputError: There is no such module or name, or the module cannot be imported.
    """
    where, _, name = reference.rpartition(":")
    if not where or not name:
        raise InputError(
            f"expected {prefix}package.module:{what} or {prefix}file.py:{what}, got '{prefix}{reference}'"
        )
    if (seen := _SEEN.get()) is not None:
        seen.append(reference)
        return _looked_at(where, name)
    module = _from_file(Path(where)) if where.endswith(".py") else _by_name(where)
    others = sources_of(Path(getattr(module, "__file__", None) or "").resolve())[1:]
    names, files = {one.name for one in others}, {one.resolve() for one in others}
    for one in list(sys.modules.values()) if others else ():
        file = Path(getattr(one, "__file__", None) or "")
        # Python knows a file by the path it was found by, which may lead over links.
        if file.name in names and file.resolve() in files and not is_of_file(one.__name__):
            _check_unedited(one)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            public = [one for one in vars(module) if not one.startswith("_")]
            raise InputError(f"{where} has no {name!r}; {suggest(name, public)}")
        found = getattr(found, part)
    return found


_INSTALLED = (Path(ast.__file__).resolve().parent, Path(__file__).resolve().parent)


def sources_of(path: Path) -> list[Path]:
    """Return a file of Python, and those of its folder or package that it imports, which decide as well.

    Found without importing anything, by where they lie: so the list is the same in every process.
    """
    found, top = [path], path.parent
    known: set[Path | tuple[Path, str]] = {path}
    # What is installed has a version, and is not edited.
    if {"site-packages", "dist-packages"} & {*path.parts} or any(map(path.is_relative_to, _INSTALLED)):
        return found
    while (top / "__init__.py").is_file():
        top = top.parent
    own = top if top == path.parent else top / path.relative_to(top).parts[0]
    for one in found:
        ups = list(one.parents)
        for level, name in _imports(one, stamp_of([one])):
            # A folder needs no __init__.py to be the package that a name begins with.
            around = [up.parent for up in ups if up.name == name.partition(".")[0]]
            for home in [ups[min(level, len(ups)) - 1]] if level else [top, *around]:
                for new in () if (home, name) in known else _places(home, name):
                    if new not in known and (home != top or new.is_relative_to(own)) and new.is_file():
                        known.add(new)
                        found.append(new)
                known.add((home, name))
    return found


def _places(folder: Path, name: str) -> Iterator[Path]:
    for part in name.split("."):
        folder = folder / part
        yield folder.with_name(f"{part}.py")
        yield folder / "__init__.py"


_PARSING = threading.Lock()  # filters of warnings are those of all threads


@lru_cache(maxsize=4096)
def _imports(path: Path, stamp: str) -> Sequence[tuple[int, str]]:  # noqa: ARG001 - what it is kept by
    """Return the names that a file imports, some of which are no modules, each with its leading dots."""
    with _PARSING, warnings.catch_warnings():
        # About what is written there, and not for who only looks at it.
        warnings.simplefilter("ignore")
        try:
            nodes = list(ast.walk(ast.parse(path.read_bytes())))
        except (OSError, SyntaxError, ValueError):
            return ()
    names: list[tuple[int, str]] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            below = [".".join(filter(None, (node.module, alias.name))) for alias in node.names]
            names += [(node.level, name) for name in (node.module, *below) if name]
    return names


def is_of_file(module: str) -> bool:
    """Return whether a module was imported from a file that a user named, which no other process knows."""
    return isinstance(getattr(sys.modules.get(module), "__loader__", None), _FromSource)


def module_name(path: Path) -> str:
    """Return the name of the module in a user's file: its stem, and a hash of its path and content.

    A file that is named twice gives the same classes; two with one stem do not, nor one that was edited.
    """
    known = sha256(str(path.resolve()).encode())
    known.update(path.read_bytes())
    return f"{path.stem}_{known.hexdigest()[:12]}"


def _by_name(name: str) -> ModuleType:
    here = str(Path.cwd())
    # The program that pip installs does not look in the current folder, where users have their modules.
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise InputError(f"there is no module {name!r}, neither in {here} nor installed") from None
        raise InputError(f"cannot import {name}: {error}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A script calls sys.exit at its end, which must not end a run as passed.
        raise InputError(f"cannot import {name}: {type(error).__name__}: {words_of(error)}") from error
    _check_unedited(module)
    return module


def _check_unedited(module: ModuleType) -> None:
    """Refuse a module whose file has been edited since: Python would go on with what it has read."""
    # What is built into Python has no file, and a folder without __init__.py none either.
    file = Path(getattr(module, "__file__", None) or "")
    if not file.is_file():
        return
    content = sha256(file.read_bytes()).digest()
    # Kept where a reload puts another: it is about what this module was made of.
    if vars(module.__spec__ or module).setdefault("content_when_imported", content) != content:
        raise InputError(
            f"{file} was edited after it was imported as {module.__name__}: start again, or name the file "
            f"itself, as in {file}:function"
        )


class _FromSource(SourceFileLoader):
    """Compiles what stands in a file: Python's own bytecode goes by its time in seconds and its size."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - a module has one file
        return self.source_to_code(self.get_data(self.path), self.path)


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    with told_as(InputError, f"cannot import {path}", OSError):
        name = module_name(path)
    if name in sys.modules:
        return sys.modules[name]
    loader = _FromSource(name, str(path))
    spec = spec_from_file_location(name, path, loader=loader)
    assert spec is not None  # there is a loader
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise InputError(f"cannot import {path}: {type(error).__name__}: {words_of(error)}") from error
    return module


def required(module: str, *, extra: str, purpose: str) -> Any:
    """Return a module of an optional package.

    Raises:
        MissingExtraError: The package is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingExtraError(package, extra=extra, purpose=purpose) from error
