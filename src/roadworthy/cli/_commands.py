"""Commands and groups: plain help, names that a shell can complete, and hints where no such command is."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from roadworthy._options import described
from roadworthy.cli import options
from roadworthy.cli._answer import Answer
from roadworthy.cli._console import examples, say
from roadworthy.cli.options import AsJson
from roadworthy.places import is_address, kept

_Function = TypeVar("_Function", bound=Callable[..., Answer])

# What stands for the name of something registered, in the help of a parameter: of which kind it is.
_NAMED: Mapping[str, str] = {
    "DATA": "datasets",
    "MODEL": "models",
    "TRANSFORM": "transforms",
    "SIMULATOR": "simulators",
}

# Groups that are about things with names: of which kind these are.
_LISTED: Mapping[str, str] = {
    "data": "datasets",
    "driving": "simulators",
    "models": "models",
    "transforms": "transforms",
}


def command(app: typer.Typer, *, name: str | None = None) -> Callable[[_Function], _Function]:
    """Add a command whose `Answer` is printed here, with --json; it ends with the answer's exit code.

    What typer must know of a parameter stands in the docstring, below ``Options:``, as
    ``name (METAVAR): Its help.`` One without a default is an argument, and so is one whose metavar is in
    brackets; others are options, and one that is False is a flag. Before the metavar may stand names of the
    option, ``(--element -e WORD)``, and ``min=1`` or ``envvar=NAME``. What several commands take is described
    once: in the docstring of their module, or in that of `roadworthy.cli.options`; or it is a field of a
    dataclass, which stands for all its fields. Below ``Examples:`` stand commands to try.

    Args:
        app: The group.
        name: What it is called, where that is not the name of the function.
    """

    def add(function: _Function) -> _Function:
        @wraps(function)
        def run(*given: Any, as_json: bool = False, **others: Any) -> None:
            # Few commands ask: those that refuse what cannot be a document.
            asked: dict[str, Any] = {"as_json": as_json} if "as_json" in signature.parameters else {}
            with ExitStack() as places:
                others = {key: _reached(places, key, value) for key, value in others.items()}
                for part, kind in shared.items():
                    asked[part] = kind(**{field.name: others.pop(field.name) for field in fields(kind)})
                answer = function(*given, **others, **asked)
                answer.give(as_json=as_json)
            raise typer.Exit(answer.exit_code)

        text, _, tried = _sections(function)
        run.__doc__ = text
        signature = inspect.signature(function, eval_str=True)
        own = [each for each in signature.parameters.values() if each.name != "as_json"]
        shared: dict[str, Any] = {each.name: each.annotation for each in own if is_dataclass(each.annotation)}
        parameters = [
            declared
            for each in own
            for declared in (
                _declared(shared[each.name], inspect.signature(shared[each.name], eval_str=True))
                if each.name in shared
                else _declared(function, signature.replace(parameters=[each]))
            )
        ]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter("as_json", keyword, default=False, annotation=AsJson))
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        app.command(name, cls=Command, epilog=examples(*tried))(run)
        return function

    return add


def _reached(places: ExitStack, name: str, value: Any) -> Any:
    """Return a parameter with copies of what lies at addresses; what changes in these is brought there."""
    if isinstance(value, list):
        return [_reached(places, name, one) for one in value]
    if not isinstance(value, Path) or not is_address(value):
        return value
    return places.enter_context(kept(value, writes=name == "out", tell=say))


def _sections(owner: object) -> tuple[str, dict[str, tuple[str, str]], list[str]]:
    """Return what a docstring says, what it says of parameters, by name, and its examples."""
    rest, _, tried = (inspect.getdoc(owner) or "").partition("\n\nExamples:\n")
    text, options = described(rest, "Options")
    lines = re.split(r"\n(?=\S)", textwrap.dedent(tried)) if tried else []
    return text, options, [" ".join(line.split()) for line in lines]


def _declared(owner: Any, signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    """Yield parameters of a command or a dataclass, their types with what typer must know of them."""
    places = (options, sys.modules[owner.__module__], owner)
    said = {name: each for place in places for name, each in _sections(place)[1].items()}
    for parameter in signature.parameters.values():
        kind = parameter.annotation
        if get_origin(kind) is not Annotated:
            kind = Annotated[kind, _info(parameter, *said[parameter.name])]
        yield parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)


def _info(parameter: inspect.Parameter, form: str, help: str) -> Any:
    """Return the argument or option that a docstring describes."""
    words = form.split()
    names = [word for word in words if word.startswith("-")]
    given = dict(word.split("=") for word in words if word.startswith(("min=", "envvar=")))
    limits: dict[str, Any] = {**given, **({"min": int(given["min"])} if "min" in given else {})}
    metavar = " ".join(word for word in words if word not in names and word.partition("=")[0] not in given)
    if (parameter.default is inspect.Parameter.empty and not names) or metavar.startswith("["):
        return typer.Argument(metavar=metavar.strip("[]") or None, help=help)
    if parameter.default is False or names:
        long = [] if any(name.startswith("--") for name in names) else [parameter.name.replace("_", "-")]
        names = [*(f"--{name}" for name in long), *names]
    return typer.Option(*names, metavar=metavar or None, help=help, **limits)


class _Helpful:
    """What commands and groups have in common."""

    def __init__(self, *given: Any, help: str | None = None, **others: Any) -> None:
        super().__init__(*given, help=_flowing(help), **others)  # type: ignore[call-arg]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; switches take no value, and the names of known things can be completed."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in params:
            if getattr(one, "is_flag", False) and one.metavar is None:
                one.metavar = ""
            if one.metavar in _NAMED:
                one._custom_shell_complete = _names_for
        return params


class Command(_Helpful, TyperCommand):
    """A command."""


class Group(_Helpful, TyperGroup):
    """A group of commands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is asked for; where there is none, say which one lists things."""
        asked = args[0]
        if self.get_command(ctx, asked) is None and not asked.startswith("-") and not ctx.resilient_parsing:
            # Whoever mistypes the name of a command is told that name, by the class above.
            mistyped = get_close_matches(asked, self.commands)
            if hint := "" if mistyped else _where_listed(ctx, asked):
                ctx.fail(f"No such command {asked!r}. {hint}")
        return super().resolve_command(ctx, args)


def _where_listed(ctx: Any, asked: str) -> str:
    """Return which command lists the things that an unknown one is about; empty where none does."""
    from roadworthy.registry import all_registries

    kinds = [one.kind for one in all_registries()]
    if ctx.parent is None:
        kind = next((one for one in kinds if asked in (one, one.removesuffix("s"))), None)
    else:
        kind = _LISTED.get(ctx.info_name, "" if asked == "list" else None)
    if kind is None:
        return ""
    return f"The {kind} are listed by: roadworthy list {kind}" if kind else "See: roadworthy list"


def _flowing(text: str | None) -> str | None:
    """Return a help text whose paragraphs break where the terminal does, not where the source does."""
    return text and re.sub(r"(?<=\S)[ \t]*\n[ \t]*(?=[^\s*-])", " ", text)


def _names_for(_context: Any, parameter: Any, begun: str) -> list[str]:
    """Return the registered names that go on as what was typed."""
    from roadworthy.registry import all_registries

    kind = _NAMED[parameter.metavar]
    found = next(one for one in all_registries() if one.kind == kind)
    return [name for name in found.names() if name.startswith(begun)]
