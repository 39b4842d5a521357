"""What the command line and the settings say, and models and data, opened once for all tests of a process."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import pytest

from roadworthy.errors import InputError, check_choice
from roadworthy.models import history_of
from roadworthy.runs.executors import Executor, default_executor
from roadworthy.runs.suites.forms import DataForm, ModelForm, as_name
from roadworthy.runs.suites.opening import Facts, OpenedData, OpenedModel, look_at, open_data, open_model

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


@dataclass
class Bench:
    """What the tests of a process share.

    Attributes:
        settings: What the plugin was told.
    """

    settings: PluginSettings
    _config: pytest.Config
    _models: dict[str, OpenedModel] = field(default_factory=dict)
    _data: list[OpenedData] = field(default_factory=list)
    _facts: dict[str, Facts] = field(default_factory=dict)
    _folder: Path | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> Bench:
        """Return the one of a pytest session."""
        if _KEY not in config.stash:
            config.stash[_KEY] = cls(PluginSettings.of(config), config)
        return config.stash[_KEY]

    @cached_property
    def executor(self) -> Executor:
        """Where models are asked, so that one that crashes or hangs does not take the session along."""
        return default_executor()

    def model(self, reference: str) -> OpenedModel:
        """Open a model, once.

        Raises:
            InputError: It cannot be opened.
        """
        if reference not in self._models:
            form = ModelForm(model=reference)
            self._models[reference] = open_model(as_name(reference), form, self.settings.models_folder)
        return self._models[reference]

    @property
    def data(self) -> OpenedData:
        """The frames, opened once, with as many earlier ones as any of the models wants.

        Raises:
            InputError: They cannot be opened.
        """
        if not self._data:
            given = self.settings
            history = max((history_of(self.model(one).system) for one in given.models), default=0)
            form = DataForm(data=given.data, options=given.options, sample=given.sample)
            self._data.append(open_data(as_name(given.data), form, given.data_folder, history=history))
        return self._data[0]

    def facts(self, reference: str) -> Facts:
        """Return what a model answers to the first frame."""
        if reference not in self._facts:
            model, data = self.model(reference), self.data
            self._facts[reference] = look_at({model.name: model}, {data.name: data}, self.executor)[
                model.name, data.name
            ]
        return self._facts[reference]

    def folder(self, item: pytest.Item) -> Path:
        """Return an empty folder for the rows and pictures of one test, which no other test or process has.

        Raises:
            InputError: Something that is no run of an earlier session has its name.
        """
        if self._folder is None:
            self._folder = self._base()
        words = re.sub(r"[^\w.]+", "-", f"{item.path.stem}-{item.name}").strip("-")[:80]
        # Two names may differ only in what a path cannot hold.
        place = self._folder / f"{words}-{sha256(item.nodeid.encode()).hexdigest()[:8]}"
        if place.exists():
            if any(place.iterdir()) and not (place / "requirements.jsonl").is_file():
                raise InputError(f"{place} holds something else than a run: choose another --roadworthy-out")
            shutil.rmtree(place)
        return place

    def _base(self) -> Path:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "")
        if self.settings.out is not None:
            return self.settings.out / worker
        factory = getattr(self._config, "_tmp_path_factory", None)
        if factory is None:  # without pytest's own plugin for temporary folders
            return Path(tempfile.mkdtemp(prefix="roadworthy-"))
        base: Path = factory.mktemp("roadworthy")
        return base


_KEY = pytest.StashKey[Bench]()
