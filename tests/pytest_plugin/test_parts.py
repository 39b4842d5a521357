"""The parts of the plugin by themselves, without pytest inside pytest."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from roadworthy.cases import Outcome, OutcomeStatus, Requirement, Status
from roadworthy.errors import InputError, RoadworthyError, RuleError
from roadworthy.pytest_plugin import (
    _MARKER,
    bench,
    collecting,
    expected,
    pytest_addoption,
    pytest_collect_file,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
)
from roadworthy.pytest_plugin.bench import Bench, PluginSettings
from roadworthy.pytest_plugin.collecting import (
    PlannedTest,
    RequirementItem,
    Tried,
    Unsuitable,
    _shown,
    in_file,
    rule_plan,
    specification_plan,
    suite_plan,
    try_requirement,
)
from roadworthy.pytest_plugin.expected import RequirementViolated
from roadworthy.pytest_plugin.telling import _facts, worst_picture
from roadworthy.runs.suites.kinds.bbsl import BbslForm
from roadworthy.runs.suites.kinds.rules import RuleForm

INI: dict[str, Any] = {
    "roadworthy_model": [], "roadworthy_data": "world", "roadworthy_option": [], "roadworthy_sample": "",
    "roadworthy_accept": "0", "roadworthy_seed": "0", "roadworthy_bindings": "",
    "roadworthy_inconclusive": "fail", "roadworthy_xfail": [],
}  # fmt: skip


class Config:
    """What pytest was told, as the plugin asks for it."""

    def __init__(self, folder: Path, ini: dict[str, Any] | None = None, **given: Any) -> None:
        self.options = given
        self.ini = INI | {f"roadworthy_{name}": value for name, value in (ini or {}).items()}
        self.invocation_params = SimpleNamespace(dir=folder / "here")
        self.inipath: Path | None = folder / "project" / "pytest.ini"
        self.rootpath = folder / "root"
        self.stash: dict[Any, Any] = {}
        self.lines: list[tuple[str, str]] = []

    def getoption(self, name: str) -> Any:
        return self.options.get(name.removeprefix("--roadworthy-").replace("-", "_"))

    def getini(self, name: str) -> Any:
        return self.ini[name]

    def addinivalue_line(self, name: str, line: str) -> None:
        self.lines.append((name, line))


def test_what_is_done_where_nothing_is_said(tmp_path: Path) -> None:
    config = Config(tmp_path)
    assert PluginSettings.of(config) == PluginSettings(  # type: ignore[arg-type]
        models=(),
        data="world",
        options={},
        sample=None,
        accept=0.0,
        seed=0,
        out=None,
        bindings=None,
        skip_inconclusive=False,
        allow_commands=False,
        models_folder=tmp_path / "project",
        data_folder=tmp_path / "project",
    )
    config.inipath = None
    assert PluginSettings.of(config).data_folder == tmp_path / "root"  # type: ignore[arg-type]


def test_what_the_project_says(tmp_path: Path) -> None:
    ini = {
        "model": ["a", "b", "a"], "data": "kitti:x", "option": [" w = rain ", "t=a=b"], "sample": "7",
        "accept": "5%", "seed": "3", "bindings": "b.yaml", "inconclusive": "skip",
    }  # fmt: skip
    assert PluginSettings.of(Config(tmp_path, ini)) == PluginSettings(  # type: ignore[arg-type]
        models=("a", "b"),
        data="kitti:x",
        options={"w": "rain", "t": "a=b"},
        sample=7,
        accept=0.05,
        seed=3,
        out=None,
        bindings=tmp_path / "project" / "b.yaml",
        skip_inconclusive=True,
        allow_commands=False,
        models_folder=tmp_path / "project",
        data_folder=tmp_path / "project",
    )


def test_the_command_line_comes_first(tmp_path: Path) -> None:
    ini = {
        "model": ["a"],
        "data": "kitti:x",
        "option": ["w=rain"],
        "sample": "7",
        "accept": "5%",
        "seed": "3",
    }
    given: dict[str, Any] = {"model": ["c", "d"], "data": "world", "option": ["t=1"], "sample": 1, "seed": 0}
    config = Config(tmp_path, ini, **given, accept="1%", out="there", allow_commands=True)
    assert PluginSettings.of(config) == PluginSettings(  # type: ignore[arg-type]
        models=("c", "d"),
        data="world",
        options={"t": "1"},
        sample=1,
        accept=0.01,
        seed=0,
        out=tmp_path / "here" / "there",
        bindings=None,
        skip_inconclusive=False,
        allow_commands=True,
        models_folder=tmp_path / "here",
        data_folder=tmp_path / "here",
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sample": 0}, "^roadworthy sample must be 1 or more, got 0$"),
        ({"seed": -1}, "^roadworthy seed must be 0 or more, got -1$"),
        ({"accept": "x"}, "^roadworthy accept: .*, got 'x'$"),
        ({"option": ["a"]}, "written key=value, such as weather=rain, got 'a'"),
        ({"option": [" =a"]}, "written key=value, such as weather=rain, got ' =a'"),
    ],
)
def test_what_cannot_be_used(tmp_path: Path, given: dict[str, Any], words: str) -> None:
    with pytest.raises(pytest.UsageError, match=words):
        PluginSettings.of(Config(tmp_path, **given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ini", "words"),
    [
        ({"sample": "few"}, "roadworthy sample must be 1 or more, got 'few'"),
        ({"seed": "x"}, "roadworthy seed must be 0 or more, got 'x'"),
        ({"inconclusive": "maybe"}, "roadworthy_inconclusive must be one of fail, skip, got 'maybe'"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path: Path, ini: dict[str, Any], words: str) -> None:
    with pytest.raises(pytest.UsageError, match=words):
        PluginSettings.of(Config(tmp_path, ini))  # type: ignore[arg-type]


def test_options_and_settings_are_declared_with_their_defaults(tmp_path: Path) -> None:
    options: dict[str, dict[str, Any]] = {}
    settings: dict[str, tuple[Any, ...]] = {}
    group = SimpleNamespace(addoption=lambda name, **given: options.update({name: given}))

    def addini(name: str, help: str, type: str = "string", default: Any = None) -> None:
        assert help
        settings[name] = (type, default)

    parser: Any = SimpleNamespace(getgroup=lambda *_: group, addini=addini)
    pytest_addoption(parser)
    assert settings == {name: ("linelist" if value == [] else "string", value) for name, value in INI.items()}
    told = {
        name: {key: value for key, value in given.items() if key != "help"} for name, given in options.items()
    }
    assert told == {
        "--roadworthy-model": {"action": "append", "metavar": "MODEL"},
        "--roadworthy-data": {"metavar": "DATA"},
        "--roadworthy-option": {"action": "append", "metavar": "KEY=VALUE"},
        "--roadworthy-sample": {"type": int, "metavar": "N"},
        "--roadworthy-accept": {"metavar": "SHARE"},
        "--roadworthy-seed": {"type": int, "metavar": "N"},
        "--roadworthy-out": {"metavar": "FOLDER"},
        "--roadworthy-allow-commands": {"action": "store_true"},
    }
    assert all(given["help"] for given in options.values())
    config: Any = Config(tmp_path)
    pytest_configure(config)
    assert config.lines == [("markers", _MARKER)]


def test_the_header_names_models_and_data(tmp_path: Path) -> None:
    head: Any = pytest_report_header
    assert head(Config(tmp_path)) is None
    assert head(Config(tmp_path, {"model": ["a", "b"]})) == "roadworthy: a, b on world"
    given = Config(tmp_path, {"model": ["a"], "data": "x"}, model=["c"], data="y")
    assert head(given) == "roadworthy: c on y"


@pytest.mark.parametrize(
    ("name", "named", "models", "kind"),
    [
        ("a.rules", False, False, None),
        ("a.rules", True, False, "RulesFile"),
        ("a.rules", False, True, "RulesFile"),
        ("a.bbsl", False, True, "SpecificationFile"),
        ("a.bbsl", False, False, None),
        ("a.suite.yaml", False, False, "SuiteFile"),
        ("a.suite.yml", False, False, "SuiteFile"),
        ("other.suite.yaml", False, True, None),
        ("other.suite.yaml", True, False, "SuiteFile"),
        ("suite.yaml", False, True, None),
        ("suite.yaml", True, False, "SuiteFile"),
        ("a.yaml", True, True, None),
        ("rules", True, True, None),
    ],
)
def test_which_files_are_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, named: bool, models: bool, kind: str | None
) -> None:
    from roadworthy.pytest_plugin import collecting

    for one in ("RulesFile", "SpecificationFile", "SuiteFile"):
        made_as = SimpleNamespace(from_parent=lambda parent, path, one=one: one)
        monkeypatch.setattr(collecting, one, made_as)
    (tmp_path / name).write_text("tests: 1\n" if name.startswith("other") else "models:\nrequirements:\n")
    for ini in (True, False):
        config = Config(tmp_path, {"model": ["a"]} if models and ini else {})
        if models and not ini:
            config.options["model"] = ["a"]
        parent: Any = SimpleNamespace(session=SimpleNamespace(isinitpath=lambda _: named), config=config)
        found: Any = pytest_collect_file(tmp_path / name, parent)
        assert found == kind


def a_bench(tmp_path: Path, **given: Any) -> Bench:
    return Bench.of(Config(tmp_path, **given))  # type: ignore[arg-type]


def test_models_and_data_are_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config: Any = Config(tmp_path, model=["dave2", "epoch"], data="world:town", option=["seed=2"], sample=4)
    made: Any = Bench.of(config)
    assert Bench.of(config) is made
    opened: list[Any] = []

    def open_model(name: str, form: Any, folder: Path) -> Any:
        opened.append((name, form.model, folder))
        return SimpleNamespace(name=name, system=name, form=form)

    def open_data(name: str, form: Any, folder: Path, *, history: int) -> Any:
        opened.append((name, form.data, form.options, form.sample, folder, history))
        return SimpleNamespace(name=name)

    looked: list[Any] = []

    def look_at(models: Any, data: Any, executor: Any) -> Any:
        looked.append((list(models), list(data), executor))
        return {(*models, *data): f"facts of {next(iter(models))}"}

    monkeypatch.setattr(bench, "open_model", open_model)
    monkeypatch.setattr(bench, "open_data", open_data)
    monkeypatch.setattr(bench, "look_at", look_at)
    monkeypatch.setattr(bench, "history_of", {"dave2": 0, "epoch": 3}.get)
    monkeypatch.setattr(bench, "default_executor", lambda: "executor")
    assert made.data is made.data
    assert made.model("dave2") is made.model("dave2")
    here = tmp_path / "here"
    assert opened == [
        ("dave2", "dave2", here),
        ("epoch", "epoch", here),
        ("world:town", "world:town", {"seed": "2"}, 4, here, 3),
    ]
    facts: list[Any] = [made.facts(one) for one in ("epoch", "dave2", "epoch")]
    assert facts == ["facts of epoch", "facts of dave2", "facts of epoch"]
    assert looked == [(["epoch"], ["world:town"], "executor"), (["dave2"], ["world:town"], "executor")]


def an_item(name: str, nodeid: str = "a.rules::R1") -> Any:
    return SimpleNamespace(path=Path("dir/my rules.rules"), name=name, nodeid=nodeid)


def test_every_test_has_an_empty_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    made = a_bench(tmp_path, out="kept")
    place = made.folder(an_item("R1[a/b: c]"))
    assert place.parent == tmp_path / "here" / "kept"
    assert place.name.startswith("my-rules-R1-a-b-c-")
    assert len(place.name) == len("my-rules-R1-a-b-c-") + 8
    assert not place.exists()
    assert made.folder(an_item("R1[a/b: c]", "other")) != place
    assert len(made.folder(an_item("x" * 200)).name) == 80 + 9
    place.mkdir(parents=True)
    assert made.folder(an_item("R1[a/b: c]")) == place
    assert not place.exists()
    place.mkdir()
    (place / "requirements.jsonl").touch()
    (place / "more").mkdir()
    made.folder(an_item("R1[a/b: c]"))
    assert not place.exists()
    place.mkdir()
    (place / "mine.txt").touch()
    with pytest.raises(InputError, match="holds something else than a run: choose another --roadworthy-out"):
        made.folder(an_item("R1[a/b: c]"))
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw1")
    assert a_bench(tmp_path, out="kept").folder(an_item("R1")).parent.name == "gw1"
    config: Any = Config(tmp_path)
    config._tmp_path_factory = SimpleNamespace(mktemp=lambda name: tmp_path / f"temporary-{name}")
    assert Bench.of(config).folder(an_item("R1")).parent == tmp_path / "temporary-roadworthy"
    assert a_bench(tmp_path).folder(an_item("R1")).parent.name.startswith("roadworthy-")


def planned(**changes: Any) -> Any:
    known: dict[str, Any] = {"id": "R1", "model": "m", "method": "rules", "path": Path("a.rules"), "line": 3}
    return PlannedTest(**known | {"plan": lambda bench: None} | changes)


def test_a_test_is_marked_by_what_it_is_about() -> None:
    marks: list[Any] = []
    item: Any = RequirementItem.__new__(RequirementItem)
    item.add_marker = lambda mark: marks.append(mark.mark)
    item.extra_keyword_matches = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pytest.Item, "__init__", lambda self, **_: None)
        RequirementItem.__init__(item, planned=planned(tags=("night", "rain"), severity="minor"))
    about = {"requirement": "R1", "model": "m", "method": "rules", "severity": "minor"}
    assert [one.kwargs for one in marks] == [about, {**about, "tag": "night"}, {**about, "tag": "rain"}]
    assert {one.name for one in marks} == {"roadworthy"}
    assert item.extra_keyword_matches == {"minor", "rules", "night", "rain"}
    assert item.requirement_id == "R1"
    item.path, item.name = Path("a.rules"), "R1[m]"
    assert item.reportinfo() == (Path("a.rules"), 2, "R1[m]")


@pytest.mark.parametrize(
    ("status", "skips", "ending"),
    [
        ("passed", False, None),
        ("violated", True, RequirementViolated),
        ("inconclusive", False, RequirementViolated),
        ("inconclusive", True, pytest.skip.Exception),
        ("unsuitable", False, pytest.skip.Exception),
    ],
)
def test_how_a_test_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str, skips: bool, ending: Any
) -> None:
    from roadworthy.pytest_plugin import collecting

    config = Config(tmp_path, {"inconclusive": "skip" if skips else "fail"}, out="kept")
    item = RequirementItem.__new__(RequirementItem)
    item.config, item.path, item.name = config, Path("a.rules"), "R1[m]"  # type: ignore[assignment]
    item.user_properties, item.planned = [], planned()
    monkeypatch.setattr(Bench, "folder", lambda _, one: tmp_path / one.name)

    def tried(test: Any, bench: Bench, folder: Path) -> Any:
        assert test is item.planned
        if status == "unsuitable":
            raise Unsuitable("it answers with boxes")
        outcome = SimpleNamespace(status=status, summary="the summary")
        return SimpleNamespace(outcome=outcome, folder=folder, requirement="R1", model="m")

    def text_of(*what: Any) -> str:
        assert what[:2] == ("R1", "m")
        return "the text"

    monkeypatch.setattr(collecting, "try_requirement", tried)
    monkeypatch.setattr(collecting, "failure_text", text_of)
    if ending is None:
        item.runtest()
    else:
        with pytest.raises(ending) as ended:
            item.runtest()
        words = {"unsuitable": "it answers with boxes", "violated": "the text"}
        told = words.get(status, "inconclusive: the summary" if skips else "the text")
        assert str(ended.value) == told
    if status == "unsuitable":
        assert item.user_properties == []
    else:
        assert item.user_properties == [
            ("roadworthy_status", status),
            ("roadworthy_summary", "the summary"),
            ("roadworthy_folder", str(tmp_path / "R1[m]")),
        ]


def test_what_users_can_mend_is_told_without_internals(monkeypatch: pytest.MonkeyPatch) -> None:
    item = RequirementItem.__new__(RequirementItem)
    monkeypatch.setattr(pytest.Item, "repr_failure", lambda self, info, style: ("whole", style))
    for error, said in (
        (RequirementViolated("R1 is violated"), "R1 is violated"),
        (RoadworthyError("no such model"), "no such model"),
        (ValueError("a bug"), ("whole", "long")),
    ):
        assert item.repr_failure(SimpleNamespace(value=error), "long") == said  # type: ignore[arg-type]


def test_paths_are_short_where_they_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _shown(tmp_path / "a" / "b.rules") == Path("a/b.rules")
    assert _shown(tmp_path.parent / "b.rules") == tmp_path.parent / "b.rules"


def test_bindings_that_lie_beside_a_specification_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "_written_plan", lambda *given: given[1:4])
    path = tmp_path / "stop.bbsl"
    made: Any = SimpleNamespace(settings=SimpleNamespace(bindings=None))

    def entry() -> Any:
        id, entry, model = cast(Any, specification_plan(path, "m", made))
        assert (id, model) == ("stop", "m")
        return entry

    assert entry() == BbslForm(bbsl="stop.bbsl", bindings=None)
    made.settings.bindings = tmp_path / "set.yaml"
    assert entry() == BbslForm(bbsl="stop.bbsl", bindings=str(tmp_path / "set.yaml"))
    for name in ("bindings.yaml", "stop.bindings.yaml"):
        (tmp_path / name).touch()
        assert entry() == BbslForm(bbsl="stop.bbsl", bindings=str(tmp_path / name))
    rule: Any = SimpleNamespace(id="R1", text="If it rains, stop.")
    assert cast(Any, rule_plan(path, rule, "m", made)) == ("R1", RuleForm(rule="If it rains, stop."), "m")


def test_what_is_wrong_with_a_rule_has_its_place(tmp_path: Path) -> None:
    file = tmp_path / "a.rules"
    file.write_text("# x\n\nR1: If it rains, stop.\n")
    rule: Any = SimpleNamespace(id="R1", line=3, text="If it rains, stop.")
    with pytest.raises(InputError) as refused, in_file(file, rule):
        raise InputError("no engine does it")
    assert str(refused.value) == f"{tmp_path / 'a.rules'}:3: no engine does it"
    with pytest.raises(InputError) as refused, in_file(file, rule):
        raise RuleError("what?", text="If it rains, stop.", span=(3, 5))
    assert str(refused.value).startswith(f"{tmp_path / 'a.rules'}:3:8: what?\n")


def test_a_model_of_another_kind_is_named_or_left_to_another() -> None:
    unfit = {"m": "it is a detector", "other": "it is a segmenter"}
    kind: Any = SimpleNamespace(unfit=lambda part, facts: unfit.get(facts, ""))
    made: Any = SimpleNamespace(facts=str, settings=SimpleNamespace(models=("m", "other")))
    part: Any = None
    with pytest.raises(InputError, match=r"^a.rules: R1 fits none of the models given: it is a detector$"):
        collecting._check_fit("a.rules: R1", "m", kind, part, made)
    made.settings.models = ("m", "driver")
    with pytest.raises(Unsuitable, match=r"^it is a detector$"):
        collecting._check_fit("a.rules: R1", "m", kind, part, made)
    collecting._check_fit("a.rules: R1", "driver", kind, part, made)


def test_what_came_of_a_test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counts = {Status.VIOLATED: 1}
    outcome = Outcome("R1", OutcomeStatus.VIOLATED, counts, None, "1 of 1 failed", {})
    requirement = Requirement("R1", "Stop.", "rules")
    known: dict[str, Any] = {"failures": {}, "outcomes": {("R1", "m"): outcome}, "exit_code": lambda: 1}
    plan = SimpleNamespace(trials=[SimpleNamespace(requirement=requirement)])
    asked: list[Any] = []

    def run_suite(*given: Any, **others: Any) -> Any:
        asked.append((*given, others))
        return SimpleNamespace(plan=plan, **known)

    monkeypatch.setattr("roadworthy.runs.suites.run_suite", run_suite)
    made: Any = SimpleNamespace(executor="executor")
    test: Any = SimpleNamespace(plan=lambda _: "the plan")
    found = try_requirement(test, made, tmp_path)
    assert found == Tried(requirement, "m", outcome, tmp_path)
    assert (str(found.outcome.status), found.outcome.summary) == ("violated", "1 of 1 failed")
    assert asked == [("the plan", tmp_path, {"executor": "executor"})]
    known["exit_code"] = lambda: 2
    with pytest.raises(InputError, match="1 of 1 failed"):
        try_requirement(test, made, tmp_path)
    known["failures"] = {("R1", "m"): "no frames"}
    with pytest.raises(InputError, match="no frames"):
        try_requirement(test, made, tmp_path)


def test_a_test_of_a_suite_is_one_trial_of_its_plan() -> None:
    from roadworthy.runs.suites import SuitePlan
    from roadworthy.runs.suites.planning import Trial

    trial = Trial(Requirement("R1", "x", "rules"), "R1", None, None, "town", ("a", "b"))  # type: ignore[arg-type]
    models: Any = {"a": 1, "b": 2}
    data: Any = {"town": 3, "other": 4}
    plan = SuitePlan(None, None, [trial, trial], models, data)  # type: ignore[arg-type]
    bench: Any = None
    made: Any = suite_plan(plan, trial, "b", bench)
    assert (made.models, made.data) == ({"b": 2}, {"town": 3})
    (only,) = made.trials
    assert only.models == ("b",)
    driven = Trial(trial.requirement, "R1", None, None, "", ("a",))  # type: ignore[arg-type]
    assert suite_plan(plan, driven, "b", bench).data == {}


def test_facts_of_a_case_are_what_was_changed_and_measured() -> None:
    row: dict[str, Any] = {
        "param.rule": "R1", "param.frame": "a", "param.seed": 1, "param.version": 2, "param.place": 3,
        "param.scale": 1.0, "param.change.1": "rain()", "param.none": None, "measure.expected.1": 2.0,
        "measure.after": 1.23456, "case": "x", "measure.kept": True,
    }  # fmt: skip
    assert _facts(row) == [("change.1", "rain()"), ("after", "1.235"), ("kept", "True")]
    many = {f"param.p{number}": number for number in range(5)} | {f"measure.m{n}": n for n in range(5)}
    assert [name for name, _ in _facts(many)] == ["p0", "p1", "p2", "p3", "p4", "m0"]


def test_a_picture_that_cannot_be_drawn_is_left_out(tmp_path: Path) -> None:
    def image(digest: str) -> Path:
        raise InputError("gone")

    stored: Any = SimpleNamespace(image=image, folder=tmp_path)
    assert worst_picture(stored, {"images": None, "case": "a"}, "t") is None
    assert worst_picture(stored, {"images": "ab", "case": "a"}, "t") is None
    assert list(tmp_path.iterdir()) == []


def test_expectations_are_marked_and_stale_ones_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marked: list[Any] = []

    class Item:
        requirement_id, name, path, nodeid = "R1", "R1[m]", Path("a.rules"), "a.rules::R1[m]"

        def add_marker(self, mark: Any, append: bool) -> None:
            marked.append((mark.mark.name, mark.mark.kwargs, append))

    config: Any = Config(tmp_path, {"xfail": ["R1: known", "R9: gone"]})
    told: list[str] = []
    monkeypatch.setattr(expected, "_warn", lambda _, message: told.append(message))
    config.args_source = pytest.Config.ArgsSource.ARGS
    pytest_collection_modifyitems(config, [Item()])  # type: ignore[list-item]
    assert told == []  # other files may hold it
    config.args_source = pytest.Config.ArgsSource.TESTPATHS
    pytest_collection_modifyitems(config, [Item()])  # type: ignore[list-item]
    assert told == ["roadworthy_xfail names 'R9', and no test is called so: remove it"]
    kwargs = {"reason": "known", "strict": True, "raises": RequirementViolated}
    assert marked == [("xfail", kwargs, False)] * 2
    config.ini["roadworthy_xfail"] = []
    pytest_collection_modifyitems(config, [Item()])  # type: ignore[list-item]
    assert len(marked) == 2
