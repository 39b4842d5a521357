"""Commands and groups: plain help, names that a shell can complete, and hints where no such command is."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import wraps
from typing import Annotated, Any, TypeVar, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from roadworthy.cli._answer import Answer
from roadworthy.cli._console import examples
from roadworthy.cli.options import AsJson

_Function = TypeVar("_Function", bound=Callable[..., Answer])

_NAMED: Mapping[str, str] = {
    "DATA": "datasets",
    "MODEL": "models",
    "TRANSFORM": "transforms",
    "SIMULATOR": "simulators",
}
"""What stands for the name of something registered, in the help of a parameter: of which kind it is."""

_LISTED: Mapping[str, str] = {
    "data": "datasets",
    "driving": "simulators",
    "models": "models",
    "transforms": "transforms",
}
"""Groups that are about things with names: of which kind these are."""


def command(app: typer.Typer, *lines: str, name: str | None = None) -> Callable[[_Function], _Function]:
    """Add a command whose `Answer` is printed here, with --json; it ends with the answer's exit code.

    A parameter that is a dataclass stands for options that several commands share, one for each field.

    A parameter whose type is not `Annotated` is described in the docstring, below ``Options:``, as
    ``name (METAVAR): Its help.`` One without a default is an argument, others are options; one that is False
    is a flag. Names of the option may stand before the metavar: ``(--element -e WORD)``. Below ``Examples:``
    stand commands to try.

    Args:
        app: The group.
        lines: Examples for its help page, where the docstring has none.
        name: What it is called, where that is not the name of the function.
    """

    def add(function: _Function) -> _Function:
        @wraps(function)
        def run(*given: Any, as_json: bool = False, **others: Any) -> None:
            # Few commands ask: those that refuse what cannot be a document.
            asked: dict[str, Any] = {"as_json": as_json} if "as_json" in signature.parameters else {}
            for part, kind in shared.items():
                asked[part] = kind(**{one.name: others.pop(one.name) for one in fields(kind)})
            answer = function(*given, **others, **asked)
            answer.give(as_json=as_json)
            raise typer.Exit(answer.exit_code)

        text, described, tried = _described(inspect.getdoc(function) or "")
        run.__doc__ = text
        signature = inspect.signature(function, eval_str=True)
        own = [one for one in signature.parameters.values() if one.name != "as_json"]
        shared: dict[str, Any] = {one.name: one.annotation for one in own if is_dataclass(one.annotation)}
        parameters = [
            *(
                each
                for one in own
                for each in (
                    _options(shared[one.name])
                    if one.name in shared
                    else [one.replace(annotation=_declared(one, described))]
                )
            ),
            inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson),
        ]
        keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
        run.__signature__ = signature.replace(parameters=keywords)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        app.command(name, cls=Command, epilog=examples(*lines, *tried))(run)
        return function

    return add


def _described(docstring: str) -> tuple[str, dict[str, tuple[str, str]], list[str]]:
    """Return what a docstring says of a command and of its parameters, by name, and its examples."""
    rest, _, tried = docstring.partition("\n\nExamples:\n")
    text, _, section = rest.partition("\n\nOptions:\n")
    parts = re.findall(r"^    (\w+)(?: \((.+?)\))?: (.+?)(?=\n    \w|\Z)", section, re.MULTILINE | re.DOTALL)
    described = {name: (form, " ".join(help.split())) for name, form, help in parts}
    return text, described, re.split(r"\n(?=\S)", textwrap.dedent(tried)) if tried else []


def _declared(parameter: inspect.Parameter, described: Mapping[str, tuple[str, str]]) -> Any:
    """Return the type of a parameter with what typer must know of it."""
    kind, default = parameter.annotation, parameter.default
    if get_origin(kind) is Annotated:
        return kind
    form, help = described[parameter.name]
    names = [word for word in form.split() if word.startswith("-")]
    metavar = " ".join(word for word in form.split() if not word.startswith("-")) or None
    if default is inspect.Parameter.empty and not names:
        return Annotated[kind, typer.Argument(metavar=metavar, help=help)]
    if default is False or names:
        long = [] if any(one.startswith("--") for one in names) else [parameter.name.replace("_", "-")]
        names = [*(f"--{one}" for one in long), *names]
    return Annotated[kind, typer.Option(*names, metavar=metavar, help=help)]


def _options(shared: Any) -> list[inspect.Parameter]:
    """Return the options that the fields of a dataclass are."""
    kind, hints = inspect.Parameter.KEYWORD_ONLY, get_type_hints(shared, include_extras=True)
    return [
        inspect.Parameter(one.name, kind, default=one.default, annotation=hints[one.name])
        for one in fields(shared)
    ]


def opt(metavar: str | None, help: str, *names: str, **others: Any) -> Any:
    """Return an option that takes a value: what stands for it, its help, and names other than the usual."""
    return typer.Option(*names, metavar=metavar, help=help, **others)


def flag(name: str, help: str) -> Any:
    """Return an option that is given or not."""
    return typer.Option(name, help=help)


class Command(TyperCommand):
    """A command."""

    def __init__(self, *given: Any, help: str | None = None, **others: Any) -> None:
        super().__init__(*given, help=_flowing(help), **others)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; switches take no value, and the names of known things can be completed."""
        return _improved(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands."""

    def __init__(self, *given: Any, help: str | None = None, **others: Any) -> None:
        super().__init__(*given, help=_flowing(help), **others)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; switches take no value, and the names of known things can be completed."""
        return _improved(super().get_params(ctx))

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


def _improved(params: list[Any]) -> list[Any]:
    for one in params:
        if getattr(one, "is_flag", False) and one.metavar is None:
            one.metavar = ""
        if one.metavar in _NAMED:
            one._custom_shell_complete = _names_for
    return params


def _names_for(_context: Any, parameter: Any, begun: str) -> list[str]:
    """Return the registered names that go on as what was typed."""
    from roadworthy.registry import all_registries

    kind = _NAMED[parameter.metavar]
    found = next(one for one in all_registries() if one.kind == kind)
    return [name for name in found.names() if name.startswith(begun)]
