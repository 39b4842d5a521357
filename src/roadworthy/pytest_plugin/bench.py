"""Models and data, opened once for all tests of a process, and the folder that tests write into."""

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

from roadworthy.errors import InputError
from roadworthy.models import history_of
from roadworthy.pytest_plugin.settings import PluginSettings
from roadworthy.runs.executors import Executor, default_executor
from roadworthy.runs.suites.forms import DataForm, ModelForm, as_name
from roadworthy.runs.suites.opening import Facts, OpenedData, OpenedModel, look_at, open_data, open_model


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
