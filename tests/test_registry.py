from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import roadworthy
from roadworthy.errors import InputError, UnknownNameError
from roadworthy.registry import Entry, Listing, PluginFailure, Registry, all_registries, models


class Site:
    """A folder on sys.path in which a test installs distributions and writes modules."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def install(self, name: str, entry_points: str, *, version: str = "1.2") -> None:
        info = self.root / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(entry_points)

    def module(self, name: str, text: str) -> None:
        path = self.root / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)
    yield Site(tmp_path)
    for name in set(sys.modules) - known:
        if name.startswith("plug_"):
            del sys.modules[name]


@pytest.fixture
def sounds() -> Registry[type]:
    registry: Registry[type] = Registry("sounds", home="roadworthy.sounds")

    @registry.register("horn", summary="a short horn", aliases=["honk"])
    class Horn:
        pass

    return registry


def test_ours_are_found_by_name_and_alias(sounds: Registry[type]) -> None:
    assert sounds.get("horn") is sounds.get("honk")
    assert sounds.names() == ["horn"]
    (entry,) = sounds.entries()
    assert entry == Entry("sounds", "horn", "a short horn", __name__, sounds.get("horn"), ("honk",))
    assert sounds.failures() == []


def test_an_unknown_name_gets_a_suggestion(sounds: Registry[type]) -> None:
    with pytest.raises(UnknownNameError, match="there is no sound 'hron'; did you mean 'horn'"):
        sounds.get("hron")
    with pytest.raises(UnknownNameError, match="there is no sound 'hnok'; did you mean 'honk'"):
        sounds.get("hnok")


@pytest.mark.parametrize(("name", "aliases"), [("horn", []), ("honk", []), ("bell", ["horn"])])
def test_a_doubled_registration_is_an_error(sounds: Registry[type], name: str, aliases: list[str]) -> None:
    with pytest.raises(InputError, match=r"sounds already has '(horn|honk)'; rename"):
        sounds.register(name, summary="again", aliases=aliases)(int)
    assert sounds.names() == ["horn"]


def test_an_installed_plugin_is_listed_with_its_distribution(site: Site, sounds: Registry[type]) -> None:
    site.install("loud-things", "[roadworthy.sounds]\nbell = plug_bell:Bell\n")
    site.module("plug_bell", 'class Bell:\n    """A bicycle bell.\n\n    More words.\n    """\n')
    assert sounds.get("bell").__name__ == "Bell"
    assert [(e.name, e.summary, e.source) for e in sounds.entries()] == [
        ("bell", "A bicycle bell.", "loud-things 1.2"),
        ("horn", "a short horn", __name__),
    ]


def test_nothing_of_a_plugin_is_imported_to_get_one_of_ours(site: Site, sounds: Registry[type]) -> None:
    site.install("loud-things", "[roadworthy.sounds]\nbell = plug_bell:Bell\n")
    site.module("plug_bell", "class Bell: ...\n")
    sounds.get("horn")
    assert "plug_bell" not in sys.modules
    sounds.names()
    assert "plug_bell" in sys.modules


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("raise RuntimeError('no licence found')", "RuntimeError: no licence found"),
        ("import plug_absent", "ModuleNotFoundError: No module named 'plug_absent'"),
        ("def broken(:", "SyntaxError: "),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("raise AssertionError", "AssertionError"),
        ("Bell = 3", "InputError: 'plug_bad:Bell' must name a class or function, got int"),
        ("Horn = 3", "AttributeError: module 'plug_bad' has no attribute 'Bell'"),
    ],
)
def test_a_plugin_that_fails_is_listed_and_breaks_nothing_else(
    site: Site, sounds: Registry[type], text: str, error: str
) -> None:
    site.install("bad-things", "[roadworthy.sounds]\nbell = plug_bad:Bell\n")
    site.module("plug_bad", text)
    site.install("good-things", "[roadworthy.sounds]\nsiren = plug_good:Siren\n")
    site.module("plug_good", "class Siren: ...\n")

    assert sounds.names() == ["horn", "siren"]
    (failure,) = sounds.failures()
    assert (failure.kind, failure.name, failure.source) == ("sounds", "bell", "bad-things 1.2")
    assert failure.error.startswith(error)
    assert not failure.error.endswith(": "), "an error without words is told by its name"
    with pytest.raises(UnknownNameError) as caught:
        sounds.get("bell")
    assert "'bell' in sounds comes from bad-things 1.2, which could not be loaded" in str(caught.value)
    assert error in str(caught.value)


def test_plugins_are_loaded_after_an_interruption(site: Site, sounds: Registry[type]) -> None:
    site.install("slow-things", "[roadworthy.sounds]\nbell = plug_slow:Bell\n")
    site.module("plug_slow", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        sounds.names()
    site.module("plug_slow", "class Bell: ...  # nobody presses Ctrl-C this time\n")
    assert sounds.names() == ["bell", "horn"]
    assert sounds.failures() == []


@pytest.mark.parametrize("name", ["horn", "honk"])
def test_a_plugin_may_not_take_a_name_of_ours(site: Site, sounds: Registry[type], name: str) -> None:
    site.install("thief", f"[roadworthy.sounds]\n{name} = plug_thief:Horn\n")
    site.module("plug_thief", "class Horn: ...\n")
    ours = sounds.get("horn")
    (failure,) = sounds.failures()
    assert f"the name '{name}' belongs to 'horn' ({__name__}) and cannot be replaced; rename" in failure.error
    assert sounds.get(name) is ours


def test_of_two_plugins_with_one_name_the_first_by_distribution_wins(
    site: Site, sounds: Registry[type]
) -> None:
    for dist in ("zebra", "adder"):
        site.install(dist, f"[roadworthy.sounds]\nbell = plug_{dist}:Bell\n")
        site.module(f"plug_{dist}", "class Bell: ...\n")
    assert sounds.get("bell").__module__ == "plug_adder"
    assert [(f.source, "belongs to 'bell' (adder 1.2)" in f.error) for f in sounds.failures()] == [
        ("zebra 1.2", True)
    ]


def test_a_malformed_distribution_is_listed_and_the_others_work(site: Site, sounds: Registry[type]) -> None:
    site.install("good-things", "[roadworthy.sounds]\nsiren = plug_good:Siren\n")
    site.module("plug_good", "class Siren: ...\n")
    site.install("mangled", "[roadworthy.sounds]\nthis line has no equals sign\n")
    assert sounds.names() == ["horn", "siren"]
    (failure,) = sounds.failures()
    assert failure.source == "mangled 1.2"
    assert failure.error.startswith("broken entry points: ")


@pytest.fixture
def rooms(site: Site) -> Registry[type]:
    """Return a registry that modules on the site can import as plug_rooms.rooms."""
    site.module(
        "plug_rooms",
        "from roadworthy.registry import Registry\nrooms = Registry('rooms', home='plug_home')\n",
    )
    registry: Registry[type] = importlib.import_module("plug_rooms").rooms
    return registry


def test_a_plugin_may_look_things_up_while_it_is_imported(site: Site, rooms: Registry[type]) -> None:
    site.install("curious", "[roadworthy.rooms]\ncurious = plug_curious:make\n")
    site.module("plug_curious", "from plug_rooms import rooms\nassert rooms.names() == []\ndef make(): ...\n")
    assert rooms.names() == ["curious"]


def test_the_home_package_is_imported_at_the_first_lookup(site: Site, rooms: Registry[type]) -> None:
    site.module(
        "plug_home",
        "from plug_rooms import rooms\n"
        "@rooms.register('attic', summary='under the roof')\n"
        "class Attic: ...\n",
    )
    assert "plug_home" not in sys.modules
    assert rooms.get("attic").__module__ == "plug_home"


def test_a_script_that_takes_a_name_of_ours_is_told_and_breaks_nothing_else(
    site: Site, rooms: Registry[type]
) -> None:
    site.module(
        "plug_home",
        "from plug_rooms import rooms\n"
        "@rooms.register('attic', summary='under the roof')\n"
        "class Attic: ...\n",
    )
    with pytest.raises(InputError, match=r"rooms already has 'attic'; rename builtins\.int"):
        rooms.register("attic", summary="mine")(int)
    assert rooms.get("attic").__module__ == "plug_home"


def test_a_plugin_that_takes_a_name_of_ours_is_a_failure_whatever_is_asked_first(
    site: Site, rooms: Registry[type]
) -> None:
    site.module("plug_home", "from plug_rooms import rooms\nrooms.register('attic', summary='')(int)\n")
    site.install("thief", "[roadworthy.rooms]\nattic = plug_thief:Attic\n")
    site.module("plug_thief", "class Attic: ...\n")
    assert [failure.source for failure in rooms.failures()] == ["thief 1.2"]
    assert rooms.get("attic") is int


def test_a_home_package_that_does_not_exist_is_empty(rooms: Registry[type]) -> None:
    assert rooms.names() == []


def test_an_import_error_inside_the_home_package_is_not_hidden(site: Site, rooms: Registry[type]) -> None:
    site.module("plug_home", "import plug_absent\n")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="plug_absent"):
            rooms.names()


def test_every_kind_has_a_registry_and_the_truth_is_a_model() -> None:
    assert [r.kind for r in all_registries()] == ["datasets", "transforms", "models", "metrics", "simulators"]
    (truth,) = (entry for entry in models.entries() if entry.name == "truth")
    assert truth.source == "built-in"


def test_a_module_may_be_run_again(site: Site, rooms: Registry[type]) -> None:
    text = "from plug_rooms import rooms\n@rooms.register('cellar', summary='{}')\nclass Cellar: ...\n"
    site.module("plug_again", text.format("below"))
    module = importlib.import_module("plug_again")
    before = rooms.get("cellar")
    again = importlib.reload(module)
    assert rooms.get("cellar") is again.Cellar is not before
    assert rooms.names().count("cellar") == 1
    # Another one of the same name is a mistake as ever.
    site.module("plug_other", text.format("elsewhere"))
    with pytest.raises(InputError, match=r"rooms already has 'cellar'; rename plug_other\.Cellar"):
        importlib.import_module("plug_other")


def test_a_module_that_registers_can_be_collected_alone() -> None:
    """As an editor does that runs the doctests of the file at hand."""
    source = Path(roadworthy.__file__).parent / "transforms" / "affine.py"
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", str(source)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 5), done.stdout  # 5 where it has no doctest


def test_what_is_registered_is_listed_with_its_options() -> None:
    listing = Listing.of("datasets")
    assert set(listing.document()) == {"datasets", "failures"}
    world = next(one for one in listing.kinds["datasets"] if one["name"] == "world")
    assert world["options"]["weather"]
    (table,) = listing.tables()
    assert [row[0] for row in table.rows] == [one["name"] for one in listing.kinds["datasets"]]
    everything = Listing.of()
    assert list(everything.kinds) == [one.kind for one in all_registries()]
    metrics = next(one for one in everything.tables() if one.title == "metrics")
    assert metrics.rows[0][1].startswith("such as "), "of very many, some are named"
    with pytest.raises(UnknownNameError, match="there is no kind 'dataset' of things to list"):
        Listing.of("dataset")


def test_of_very_many_only_a_few_are_told_where_all_kinds_are() -> None:
    def facts(name: str, source: str = "built-in", **known: object) -> dict[str, object]:
        return {
            "name": name,
            "aliases": [],
            "summary": f"Of {name}.",
            "source": source,
            "options": {},
        } | known

    many = [facts(f"m{number:02}") for number in range(51)]
    mine = facts("mine", "my-things 1.2", aliases=["own", "ours"], options={"size": "3", "path": ""})
    failures = (
        PluginFailure("metrics", "bell", "bad-things 1", "SyntaxError"),
        PluginFailure("models", "", "other", "broken"),
        PluginFailure("metrics", "", "odd 2", "broken entry points"),
    )
    kinds: dict[str, list[dict[str, Any]]] = {"metrics": [*many, mine]}
    about_mine = ("mine", "Of mine.\nalso called own, ours\nsize=3 path=", "my-things 1.2")
    told = [
        ("bell", "could not be loaded: SyntaxError", "bad-things 1"),
        ("?", "could not be loaded: broken entry points", "odd 2"),
    ]
    (table,) = Listing(kinds, failures, brief=True).tables()
    assert table.title == "metrics"
    assert list(table.rows) == [
        ("51", "such as m00, m08, m16, m24, m32, m40, m48: roadworthy list metrics", ""),
        about_mine,
        *told,
    ]
    (table,) = Listing(kinds, failures, brief=False).tables()
    assert list(table.rows) == [(one["name"], one["summary"], "built-in") for one in many] + [
        about_mine,
        *told,
    ]
    (table,) = Listing({"metrics": many[:50]}, (), brief=True).tables()
    assert [row[0] for row in table.rows] == [one["name"] for one in many[:50]]


def test_engines_are_listed_elsewhere() -> None:
    with pytest.raises(UnknownNameError, match="engines are listed by: roadworthy engines list"):
        Listing.of("engines")


def test_two_things_that_one_function_of_a_user_made_are_two(sounds: Registry[type]) -> None:
    def made() -> type:
        class Bell: ...

        return Bell

    sounds.register("bell", summary="a bell")(made())
    with pytest.raises(InputError, match=r"sounds already has 'bell'; rename .*made.<locals>.Bell"):
        sounds.register("bell", summary="another")(made())
