"""What the command line and the project's settings say, the former first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from roadworthy.errors import InputError, check_choice

_INCONCLUSIVE = ("fail", "skip")


@dataclass(frozen=True)
class PluginSettings:
    """What the plugin was told.

    Attributes:
        models: The models, as they were written.
        data: The frames.
        options: Options of the data.
        sample: The most frames; None for all.
        accept: Which share of the cases may fail.
        seed: The seed.
        out: Where to keep rows and pictures; None for pytest's temporary folder.
        bindings: A file of bindings for specifications.
        skip_inconclusive: Whether a requirement without a conclusion is skipped; else it fails.
        allow_commands: Whether engines of suites may run programs and code.
        models_folder: What paths of models count from.
        data_folder: What the path of the data counts from.
    """

    models: tuple[str, ...]
    data: str
    options: dict[str, object]
    sample: int | None
    accept: float
    seed: int
    out: Path | None
    bindings: Path | None
    skip_inconclusive: bool
    allow_commands: bool
    models_folder: Path
    data_folder: Path

    @classmethod
    def of(cls, config: pytest.Config) -> PluginSettings:
        """Read the options and settings.

        Raises:
            pytest.UsageError: One cannot be used.
        """
        from roadworthy.runs.suites.forms import read_share

        here, project = config.invocation_params.dir, (config.inipath or config.rootpath / "-").parent
        models = config.getoption("--roadworthy-model")
        data = config.getoption("--roadworthy-data")
        out, bindings = config.getoption("--roadworthy-out"), config.getini("roadworthy_bindings")
        inconclusive = config.getini("roadworthy_inconclusive")
        try:
            check_choice("roadworthy_inconclusive", inconclusive, _INCONCLUSIVE)
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
        accept = config.getoption("--roadworthy-accept") or config.getini("roadworthy_accept")
        try:
            share = read_share(accept)
        except ValueError as error:
            raise pytest.UsageError(f"roadworthy accept: {error}, got {accept!r}") from None
        return cls(
            models=tuple(dict.fromkeys(models or config.getini("roadworthy_model"))),
            data=data or config.getini("roadworthy_data"),
            options=_options(config.getoption("--roadworthy-option") or config.getini("roadworthy_option")),
            sample=_whole(config, "sample", least=1),
            accept=share,
            seed=_whole(config, "seed", least=0) or 0,
            out=here / out if out else None,
            bindings=project / bindings if bindings else None,
            skip_inconclusive=inconclusive == "skip",
            allow_commands=bool(config.getoption("--roadworthy-allow-commands")),
            models_folder=here if models else project,
            data_folder=here if data else project,
        )


def _whole(config: pytest.Config, name: str, *, least: int) -> int | None:
    value = config.getoption(f"--roadworthy-{name}")
    text = config.getini(f"roadworthy_{name}") if value is None else value
    if text == "":
        return None
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise pytest.UsageError(f"roadworthy {name} must be {least} or more, got {text!r}")
    return number


def _options(given: list[str]) -> dict[str, object]:
    options: dict[str, object] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise pytest.UsageError(
                f"an option of the data is written key=value, such as weather=rain, got {text!r}"
            )
        options[key.strip()] = value.strip()
    return options
