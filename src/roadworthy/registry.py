"""Named things that users can add: data sets, transforms, models, metrics and simulators.

A decorator registers ours, in the registry's home package, and those of a script of your own::

    @datasets.register("world", summary="frames of the built-in proving ground")
    class World: ...

Those that everybody who installs a distribution shall have come from its entry points::

    [project.entry-points."roadworthy.datasets"]
    fleet = "fleet_tools.roadworthy:Fleet"

What is registered is a factory: calling it with options gives the data set, the model and so on.
Nothing is imported before the first lookup. A plug-in that cannot be loaded is listed by
:meth:`Registry.failures` with its error and breaks nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from threading import RLock
from typing import Any, Generic, TypeVar

from roadworthy._options import Option, options_of
from roadworthy.errors import InputError, UnknownNameError, suggest, words_of
from roadworthy.result_tables import ResultTable

__all__ = [
    "Entry",
    "PluginFailure",
    "Registry",
    "all_registries",
    "datasets",
    "metrics",
    "models",
    "simulators",
    "transforms",
]

BUILT_IN = "built-in"
_MANY = 50  # of one kind, that people read only when they ask for it

T = TypeVar("T", bound=Callable[..., Any])
Registered = TypeVar("Registered", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """One registered thing: what it is called, what it is for and where it comes from.

    Args:
        kind: The kind of its registry.
        name: The name users type.
        summary: One line that says what it is for.
        source: "built-in", the distribution that it came with, or the module that registered it.
        object: The factory.
        aliases: Other names that :meth:`Registry.get` understands.
    """

    kind: str
    name: str
    summary: str
    source: str
    object: T
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginFailure:
    """A plug-in that could not be used, and why."""

    kind: str
    name: str
    source: str
    error: str


class Registry(Generic[T]):
    """The named things of one kind.

    Args:
        kind: The kind in the plural, such as ``"datasets"``; entry points are in ``roadworthy.<kind>``.
        home: The package whose import registers ours; one that does not exist registers nothing.
        one: What one of them is called in messages; the kind without its last letter when left out.

    Example:
        >>> sounds = Registry("sounds", home="roadworthy.sounds")
        >>> @sounds.register("horn", summary="a short horn", aliases=["honk"])
        ... def horn() -> str:
        ...     return "honk"
        >>> sounds.names()
        ['horn']
        >>> sounds.get("honk")()
        'honk'
    """

    def __init__(self, kind: str, *, home: str, one: str | None = None) -> None:
        self.kind = kind
        self._one = one or kind.removesuffix("s")
        self._home = home
        self._group = f"roadworthy.{kind}"
        self._entries: dict[str, Entry[T]] = {}
        self._aliases: dict[str, str] = {}
        self._failures: list[PluginFailure] = []
        self._home_error: BaseException | None = None
        self._home_loaded = False
        self._plugins_loaded = False
        # Lookups come from the threads of the web page too; a home package may look things up itself.
        self._lock = RLock()

    def register(
        self, name: str, *, summary: str, aliases: Sequence[str] = ()
    ) -> Callable[[Registered], Registered]:
        """Return a decorator that registers a class or function under a name.

        A module that is run again (a reload, a notebook's cell, a file that pytest collects alone) registers
        what it has anew.

        Args:
            name: The name users type.
            summary: One line that says what it is for.
            aliases: Other names that :meth:`get` understands.

        Raises:
            InputError: The name or an alias is taken.
        """

        def decorate(thing: Registered) -> Registered:
            module = str(getattr(getattr(thing, "func", thing), "__module__", "?"))
            source = BUILT_IN if module.partition(".")[0] == "roadworthy" else module
            with self._lock:
                if source != BUILT_IN:
                    # Ours first: a name that one of ours has is the newcomer's mistake, not ours.
                    self._load_home()
                for taken in (name, *aliases):
                    entry_there = self._find(taken)
                    if entry_there is not None and not _is_run_again(entry_there.object, thing):
                        raise InputError(f"{self.kind} already has {taken!r}; rename {_where(thing)}")
                entry: Entry[Any] = Entry(self.kind, name, summary, source, thing, tuple(aliases))
                self._entries[name] = entry
                self._aliases.update(dict.fromkeys(aliases, name))
            return thing

        return decorate

    def get(self, name: str) -> T:
        """Return what is registered under a name or alias.

        Raises:
            UnknownNameError: Nothing has the name, or the plug-in that has it could not be loaded.
        """
        with self._lock:
            self._load_home()
            if self._find(name) is None:
                self._load_plugins()
            entry = self._find(name)
            if entry is None:
                raise UnknownNameError(self._explain_missing(name))
            return entry.object

    def names(self) -> list[str]:
        """Return the names of everything that can be used, sorted, without aliases."""
        return [entry.name for entry in self.entries()]

    def entries(self) -> list[Entry[T]]:
        """Return everything that can be used, sorted by name."""
        with self._lock:
            self._load_home()
            self._load_plugins()
            return sorted(self._entries.values(), key=lambda entry: entry.name)

    def failures(self) -> list[PluginFailure]:
        """Return the plug-ins that cannot be used, each with the reason."""
        with self._lock:
            self._load_home()
            self._load_plugins()
            return list(self._failures)

    def _find(self, name: str) -> Entry[T] | None:
        return self._entries.get(self._aliases.get(name, name))

    def _explain_missing(self, name: str) -> str:
        for failure in self._failures:
            if failure.name == name:
                return (
                    f"{name!r} in {self.kind} comes from {failure.source}, which could not be loaded: "
                    f"{failure.error}; repair or uninstall it"
                )
        return f"there is no {self._one} {name!r}; {suggest(name, [*self._entries, *self._aliases])}"

    def _load_home(self) -> None:
        if self._home_error is not None:
            # Importing again would skip the modules that did load and register the others twice.
            raise self._home_error
        if self._home_loaded:
            return
        self._home_loaded = True
        if find_spec(self._home) is None:
            return
        try:
            import_module(self._home)
        except BaseException as error:
            self._home_error = error
            raise

    def _load_plugins(self) -> None:
        if self._plugins_loaded:
            return
        # Set first: a plug-in may look something up while it is imported.
        self._plugins_loaded = True
        plugins: dict[str, Entry[T]] = {}
        points, failures = _find_entry_points(self.kind, self._group)
        for point in points:
            source = _source(point.dist)
            try:
                plugins[point.name] = self._load_plugin(point, source, plugins)
            except KeyboardInterrupt:
                self._plugins_loaded = False
                raise
            except BaseException as error:
                # A plug-in may even call sys.exit(): that is its failure, not ours.
                failures.append(PluginFailure(self.kind, point.name, source, _describe(error)))
        self._entries.update(plugins)
        self._failures = failures

    def _load_plugin(
        self, point: metadata.EntryPoint, source: str, earlier: Mapping[str, Entry[T]]
    ) -> Entry[T]:
        taken = self._find(point.name) or earlier.get(point.name)
        if taken is not None:
            raise InputError(
                f"the name {point.name!r} belongs to {taken.name!r} ({taken.source}) and cannot be replaced; "
                "rename the entry point"
            )
        loaded = point.load()
        if not callable(loaded):
            raise InputError(f"{point.value!r} must name a class or function, got {type(loaded).__name__}")
        return Entry(self.kind, point.name, (inspect.getdoc(loaded) or "").partition("\n")[0], source, loaded)


def _find_entry_points(kind: str, group: str) -> tuple[list[metadata.EntryPoint], list[PluginFailure]]:
    """Return a group's entry points, sorted so that every machine resolves a clash alike, and what failed."""
    points: list[metadata.EntryPoint] = []
    failures: list[PluginFailure] = []
    try:
        points.extend(metadata.entry_points(group=group))
    except Exception:
        # One malformed distribution fails the call for all of them: read them one by one to find it.
        for dist in metadata.distributions():
            try:
                points.extend(dist.entry_points.select(group=group))
            except Exception as error:
                failures.append(
                    PluginFailure(kind, "", _source(dist), f"broken entry points: {_describe(error)}")
                )
    return sorted(points, key=lambda point: (point.name, _source(point.dist))), failures


def _source(dist: metadata.Distribution | None) -> str:
    try:
        return "an unknown distribution" if dist is None else f"{dist.name} {dist.version}"
    except Exception:  # a folder without METADATA still has entry points
        return "a distribution without metadata"


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {words_of(error)}" if words_of(error) else type(error).__name__


def _is_run_again(before: object, thing: object) -> bool:
    """Tell whether a thing is what the same lines of the same module made before."""
    places = {_where(getattr(one, "func", one)) for one in (before, thing)}
    # Ours come from functions, too, each once; what two calls of a user's function made may be two things.
    return len(places) == 1 and ("<locals>" not in min(places) or min(places).startswith("roadworthy."))


def _where(thing: object) -> str:
    return f"{getattr(thing, '__module__', '?')}.{getattr(thing, '__qualname__', repr(thing))}"


Factory = Callable[..., Any]

datasets: Registry[Factory] = Registry("datasets", home="roadworthy.datasets", one="data set")
"""Frames to test on: a factory returns a :class:`~roadworthy.cases.Dataset`."""
transforms: Registry[Factory] = Registry("transforms", home="roadworthy.transforms")
"""Changes to a frame."""
models: Registry[Factory] = Registry("models", home="roadworthy.models")
"""Systems under test: a factory returns a :class:`~roadworthy.models.SystemUnderTest`."""
metrics: Registry[Factory] = Registry("metrics", home="roadworthy.driving.metrics")
"""Measures of how well a drive went: called with a :class:`~roadworthy.driving.drives.Drive`, they give a
number for each of its sectors."""
simulators: Registry[Factory] = Registry("simulators", home="roadworthy.driving.simulators")
"""What lets a system drive: a factory returns a
:class:`~roadworthy.driving.simulators.DrivingSimulator`."""

data_options: Registry[Factory] = Registry("data options", home="roadworthy.labelling")
"""What every data set takes beside the options of its reader: a factory is called with the data set, the
folder that paths count from, and those of its own options that are given; it returns a data set."""


def all_registries() -> tuple[Registry[Factory], ...]:
    """Return every registry, in the order in which ``roadworthy list`` shows them.

    Example:
        >>> [registry.kind for registry in all_registries()]
        ['datasets', 'transforms', 'models', 'metrics', 'simulators']
    """
    return (datasets, transforms, models, metrics, simulators)


@dataclass(frozen=True)
class Listing:
    """All that is registered, or what is of one kind.

    Attributes:
        kinds: What there is of each kind, by the kind.
        failures: The plug-ins that could not be used.
        brief: Whether people read only some of a kind that has very many.
    """

    kinds: Mapping[str, list[dict[str, Any]]]
    failures: tuple[PluginFailure, ...]
    brief: bool

    @classmethod
    def of(cls, kind: str | None = None) -> Listing:
        """Return what is registered.

        Args:
            kind: Only this kind; all if left out.

        Raises:
            UnknownNameError: There is no such kind.
        """
        registries = [one for one in all_registries() if kind in (None, one.kind)]
        if kind == "engines":
            raise UnknownNameError("engines are listed by: roadworthy engines list")
        if not registries:
            nearest = suggest(str(kind), [one.kind for one in all_registries()])
            raise UnknownNameError(f"there is no kind {kind!r} of things to list; {nearest}")
        return cls(
            {one.kind: [_facts(entry) for entry in one.entries()] for one in registries},
            tuple(failure for one in registries for failure in one.failures()),
            kind is None,
        )

    def document(self) -> dict[str, Any]:
        """Return everything for scripts."""
        return {**self.kinds, "failures": [asdict(one) for one in self.failures]}

    def tables(self) -> list[ResultTable]:
        """Return a table for each kind."""
        return [ResultTable(kind, ("", "", ""), tuple(self._rows(kind))) for kind in self.kinds]

    def _rows(self, kind: str) -> Iterator[tuple[str, str, str]]:
        entries = self.kinds[kind]
        ours = [one["name"] for one in entries if one["source"] == BUILT_IN]
        brief = self.brief and len(ours) > _MANY
        if brief:
            names = ", ".join(ours[:: len(ours) // 6])
            yield str(len(ours)), f"such as {names}: roadworthy list {kind}", ""
        for one in entries:
            if brief and one["source"] == BUILT_IN:
                continue
            about = [one["summary"]]
            if one["aliases"]:
                about.append(f"also called {', '.join(one['aliases'])}")
            if one["options"]:
                about.append(" ".join(f"{name}={default}" for name, default in one["options"].items()))
            yield one["name"], "\n".join(about), one["source"]
        for failure in self.failures:
            if failure.kind == kind:
                yield failure.name or "?", f"could not be loaded: {failure.error}", failure.source


def _facts(entry: Entry[Any]) -> dict[str, Any]:
    """Return what is known of a registered thing; data sets, transforms and models tell their options."""
    known: Sequence[Option] = ()
    if entry.kind in ("datasets", "models", "transforms"):
        with suppress(InputError):
            known = options_of(entry.object)
    # A spec is Python; on the command line its parts are written as input.… and output.…
    options = {one.name: "" if one.required else str(one.default) for one in known if one.name != "spec"}
    return {
        "name": entry.name,
        "aliases": list(entry.aliases),
        "summary": entry.summary,
        "source": entry.source,
        "options": options,
    }
