"""What all commands share: reading what was typed, folders, progress, answers of runs, help and errors."""

from __future__ import annotations

import errno
import io
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from roadworthy.cases import Outcome, OutcomeStatus, Status
from roadworthy.cli import _app, _commands, _console, _road, options
from roadworthy.cli._app import app
from roadworthy.cli._console import Bars, make_folder, make_new_folder, parse_options, working
from roadworthy.cli._road import RunOptions, answer_of, data_document, outcome_lines, planned, suite_document
from roadworthy.errors import InputError, RoadworthyError


def test_lists_that_are_typed() -> None:
    assert options.words(None) is None
    assert options.words("") == []
    assert options.words(" a, b c,,d ") == ["a", "b c", "d"]
    assert options.numbers("--ratios", "0.1, 2,") == [0.1, 2.0]
    with pytest.raises(InputError, match=r"^--ratios are numbers joined by commas, such as .*, got '1,x'$"):
        options.numbers("--ratios", "1,x")
    assert [options.counted(*one) for one in ((1, 1), (2, 2), (1, 2), (0, 1))] == [
        "1 frame",
        "2 frames",
        "1 of 2 frames",
        "0 of 1 frame",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [("12x5", (12, 5)), (" 12 × 5 ", (12, 5)), ("0x5", None), ("5x0", None), ("12", None), ("1x2x3", None)],
)
def test_two_numbers(text: str, found: tuple[int, int] | None) -> None:
    if found is not None:
        assert options.two_numbers(text, "a size") == options.image_size(text) == found
        return
    with pytest.raises(InputError) as refused:
        options.image_size(text)
    assert str(refused.value) == f"a size is written WIDTHxHEIGHT, such as 1242x375, got {text!r}"


def test_what_is_accepted() -> None:
    assert options.accepted("0", "bound", early=False) is None
    assert options.accepted("5%", "bound", early=False) == {"rate": 0.05}
    assert options.accepted("0.1", "estimate", early=True) == {
        "rate": 0.1,
        "decide": "estimate",
        "early": True,
    }
    for decide, early in (("estimate", False), ("bound", True)):
        with pytest.raises(InputError, match="--decide and --early are about a share that may fail: add"):
            options.accepted("0", decide, early=early)
    with pytest.raises(InputError, match="--decide must be one of bound, estimate, got 'other'"):
        options.accepted("5%", "other", early=False)
    with pytest.raises(InputError, match=r"^--allow must be a share such as 10% or 0\.1, got 'x'$"):
        options.accepted("x", "bound", early=False)


def test_options_that_are_typed() -> None:
    assert parse_options([" a =1", "b=c=d", "e="]) == {"a": "1", "b": "c=d", "e": ""}
    for text in ("a", "=1", " =1"):
        with pytest.raises(InputError, match=f"written key=value, such as -x 1, got '{text}'"):
            parse_options([text], "-x 1")
    with pytest.raises(InputError, match="option 'a' is given twice: '1' and '2'"):
        parse_options(["a=1", "a=2"])


def test_folders_that_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_folder(tmp_path / "a" / "b").is_dir()
    assert make_folder(tmp_path / "a").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot make the folder .*file: a file has this name; choose an"):
        make_folder(tmp_path / "file")
    with pytest.raises(InputError, match="Not a directory; choose another"):
        make_folder(tmp_path / "file" / "below")
    assert make_new_folder(tmp_path / "a" / "b").is_dir()
    with pytest.raises(InputError, match="a"):
        make_new_folder(tmp_path / "a")


def test_the_next_free_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = tmp_path / "out"
    assert options.free_folder(usual) == options.free_folder(usual, resume=True) == usual
    assert capsys.readouterr().err == ""
    for name in ("out", "out-2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").touch()
    third = options.free_folder(usual)
    told = f"{usual} has something in it: writing to {third}. --out FOLDER names another"
    assert capsys.readouterr().err.replace("\n", "") == f"{told}."
    assert third == tmp_path / "out-3"
    assert options.free_folder(usual, resume=False) == third
    last = f", --resume goes on with {tmp_path / 'out-2'}."
    assert capsys.readouterr().err.replace("\n", "") == told + last
    assert options.free_folder(usual, resume=True) == tmp_path / "out-2"
    assert capsys.readouterr().err.replace("\n", "") == (
        f"Going on with {tmp_path / 'out-2'}, the last one; --out FOLDER names another."
    )


def test_how_many_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    assert [options.processes(given) for given in (None, 1, 3)] == [6, 1, 3]
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert options.processes(None) == 1


def test_a_training_that_is_stopped_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with options.training_folder(tmp_path / "empty", "state.pt", "x") as folder:
        assert folder.is_dir()
    assert not (tmp_path / "empty").exists()
    for written, hint in ((False, ""), (True, "Stopped. {} has the state: go on with --resume --out {}")):
        place = tmp_path / str(written)
        place.mkdir()
        if written:
            (place / "state.pt").touch()
        with pytest.raises(KeyboardInterrupt), options.training_folder(place, "state.pt", "the state"):
            raise KeyboardInterrupt
        assert capsys.readouterr().err.replace("\n", "") == hint.format(place, place)
        assert place.exists() is written


class _Shown:
    """Writes down what is shown of progress."""

    def __init__(self, *, disable: bool) -> None:
        self.disable, self.said, self.output = disable, [], io.StringIO()  # type: ignore[var-annotated]
        self.console = Console(file=self.output, width=300)

    def add_task(self, what: str, total: float | None) -> int:
        self.said.append(("add", what, total))
        return len(self.said)

    def remove_task(self, task: int) -> None:
        self.said.append(("remove", task))

    def update(self, task: int, **given: Any) -> None:
        self.said.append(("update", task, given))


@dataclass
class _Measure:
    name: str
    unit: str

    def __str__(self) -> str:
        return f"<{self.name}>"


def test_how_training_is_shown() -> None:
    from roadworthy.training.loop import StepResult

    for disable in (False, True):
        shown = _Shown(disable=disable)
        watcher = options.training_shown(Bars(shown))  # type: ignore[arg-type]
        watcher.reading(2, 5)
        watcher.reading(3, 5)
        watcher.step(7, 0.25)
        assert shown.said == [
            ("add", "Reading frames", 5),
            ("update", 1, {"completed": 2, "total": 5}),
            ("update", 1, {"completed": 3, "total": 5}),
            ("add", "Training", 1.0),
            ("update", 4, {"completed": 0.25, "total": 1.0}),
        ]
        measures = [("speed MAE", "m/s"), ("loss", ""), ("accuracy", "share")]
        told = [_Measure(name, unit) for name, unit in measures]
        result: Any = SimpleNamespace(epoch=3, measures=told, best=True, validation_loss=0.12345)
        watcher.epoch(result)
        result.best, result.measures = False, []
        watcher.epoch(result)
        steps = StepResult(9, 61.6, {"gan": 0.123456}, {"fid": 2.0})
        watcher.measured(steps)
        lines = shown.output.getvalue().splitlines()
        step = ["step 9, 62 s: loss gan 0.1235, fid 2"]
        assert lines == step if disable else [
            "epoch 3: validation loss 0.1235, <speed MAE>, <accuracy>, the best so far",
            "epoch 3: validation loss 0.1235",
            *step,
        ]  # fmt: skip


def test_bars_begin_anew_and_count() -> None:
    shown = _Shown(disable=False)
    bar = _console.Bar(shown)  # type: ignore[arg-type]
    bar(3)
    bar.begin("a", 5)
    bar(3)
    bar.begin("b", 0)
    assert shown.said == [("add", "a", 5), ("update", 1, {"completed": 3}), ("remove", 1), ("add", "b", None)]
    bars = Bars(shown)  # type: ignore[arg-type]
    bars.showing("c")(1, 2)
    assert shown.said[-1] == ("update", 5, {"completed": 1, "total": 2})


def test_nothing_moves_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with working("Opening") as told:
        told("Reading", 1_000)
    assert list(_console.tracked([1, 2], "Reading")) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_what_works_is_told_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    class Status:
        def __enter__(self) -> Status:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def update(self, words: str) -> None:
            told.append(words)

    def status(what: str) -> Status:
        told.append(what)
        return Status()

    terminal = SimpleNamespace(is_terminal=True, status=status)
    monkeypatch.setattr(_console, "console", lambda *, stderr=False: terminal if stderr else None)
    with working("Opening") as say:
        say("Reading rows", 1_234)
    assert told == ["Opening", "Reading rows: 1,234"]


def test_a_suite_of_what_was_typed() -> None:
    data = data_document("world:town", ["seed=2"], 5, clusters="frame")
    assert data == {"data": "world:town", "options": {"seed": "2"}, "sample": 5, "clusters": "frame"}
    assert data_document("world", None) == {"data": "world", "options": {}, "sample": None}
    with pytest.raises(InputError, match="--sample must be 1 or more, got 0"):
        data_document("world", None, 0)
    models = ["dave2", "onnx:a/net.onnx", "onnx:b/net.onnx"]
    made = suite_document("rules run", {"R": {"rule": "x"}}, models=models, data=data, seed=3)
    assert made["models"] == {
        "dave2": "dave2",
        "onnx:a/net.onnx": "onnx:a/net.onnx",
        "onnx:b/net.onnx": "onnx:b/net.onnx",
    }
    assert made["data"] == {"world:town": data}
    assert (made["suite"], made["seed"], made["requirements"]) == ("rules run", 3, {"R": {"rule": "x"}})
    assert suite_document("x", {}, models=["dave2"])["data"] == {}
    with pytest.raises(InputError, match="two models are called 'dave2': leave one out"):
        suite_document("x", {}, models=["dave2", "dave2"])


def an_outcome(status: str, *notes: str) -> Outcome:
    counts = {Status.VIOLATED: 1, Status.PASSED: 2}
    return Outcome("R1", OutcomeStatus(status), counts, None, f"it is {status}", {}, notes=notes)


def test_a_line_for_each_outcome() -> None:
    known = ("passed", "violated", "inconclusive")
    result: Any = SimpleNamespace(
        outcomes={("R1", one): an_outcome(one) for one in known}, open={("R2", "late"): an_outcome("passed")}
    )
    assert [str(line) for line in outcome_lines(result)] == [
        "passed        R1  passed  it is passed",
        "violated      R1  violated  it is violated",
        "inconclusive  R1  inconclusive  it is inconclusive",
        "open          R2  late  it is passed",
    ]
    assert [str(line) for line in outcome_lines(result, only="violated")] == [
        "violated      R1  violated  it is violated"
    ]
    many = {("R", f"p{n}"): an_outcome("passed") for n in range(42)}
    many |= {("R", f"v{n}"): an_outcome("violated") for n in range(201)}
    result = SimpleNamespace(outcomes=many, open={})
    lines = [str(line) for line in outcome_lines(result)]
    assert len(lines) == 40 + 200 + 1
    assert sum(line.startswith("violated") for line in lines) == 200
    assert lines[-1] == "and 3 more in the report"


def published(**changes: Any) -> Any:
    codes: list[bool] = []

    def exit_code(*, accept_inconclusive: bool) -> int:
        codes.append(accept_inconclusive)
        return 3

    known = {
        "complete_before": False,
        "folder": Path("there"),
        "failures": {("R2", "dave2"): "no engine"},
        "notes": ["a note"],
        "seconds": 1.25,
        "exit_code": exit_code,
        "conclusion": "1 passed",
    }
    result = SimpleNamespace(**known | changes)
    files = {"report": Path("there/report.html")}
    return SimpleNamespace(
        result=result, digest="ab12", files=files, document=lambda: {"folder": "there", "n": 1}, codes=codes
    )


def test_what_came_of_a_run_is_answered() -> None:
    made = published()
    answer = answer_of(made, RunOptions(accept_inconclusive=True), shown=["first"], document={"n": 2})
    assert made.codes == [True]
    assert [str(one) for one in answer.shown] == [
        "first",
        "R2 on dave2 could not be tried: no engine",
        "Wrote there in 1.2 s",
        "SHA-256 of SHA256SUMS: ab12",
    ]
    assert answer.document == {"folder": "there", "n": 2, "report": "there/report.html", "exit_code": 3}
    assert (answer.notes, answer.report, answer.exit_code) == (["a note"], Path("there/report.html"), 3)
    assert answer.conclusion == "1 passed (exit code 3)"
    before = published(complete_before=True, failures={}, notes=[str(n) for n in range(41)])
    before.digest, before.files = None, {}
    answer = answer_of(before, RunOptions())
    assert before.codes == [False]
    assert answer.shown == ["there is complete: nothing was left to run"]
    assert answer.notes == [*(str(n) for n in range(40)), "and 1 more, which --json has"]
    assert (answer.document["report"], answer.report) == ("", None)
    assert answer_of(published(notes=["x"] * 40), RunOptions()).notes == ["x"] * 40


def test_a_suite_is_planned_with_the_options_of_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("roadworthy.runs.suites.plan_suite", lambda *one, **given: asked.append((one, given)))
    monkeypatch.setattr("roadworthy.runs.suites.read_suite", lambda path: ("read", path))
    monkeypatch.setattr("roadworthy.runs.suites.suite_of", lambda suite, folder: (suite, folder))
    how = RunOptions(executor="serial", gate="off", allow_commands=True)
    planned({"suite": "x"}, how, Path("usual"), only=["R1"], sample=3, seed=4)
    ((suite,), given) = asked[0]
    assert suite == ({"suite": "x", "gate": "off"}, Path("usual"))
    assert (given["only"], given["sample"], given["seed"], given["gate"]) == (["R1"], 3, 4, "off")
    assert (given["allow_commands"], given["executor"]) == (True, how.opened)
    planned({"suite": "x"}, RunOptions(executor="serial", out=Path("o")), Path("usual"))
    ((suite,), given) = asked[1]
    assert (suite, given["gate"], given["allow_commands"]) == (({"suite": "x"}, Path("o")), None, False)
    planned(tmp_path, how, Path("usual"))
    assert asked[2][0] == (("read", tmp_path),)


def test_where_a_run_writes_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with _road._watching(Path("a")) as watcher:
        assert watcher.folder == Path("a")
        watcher.writes_to(Path("b"), "a holds another run: of dave2")
        assert watcher.folder == Path("b")
        watcher.begins("R1", 3)
        watcher.counts(2)
    assert capsys.readouterr().err == "a holds another run: writing to b. --out FOLDER names another.\n"


class TestProgram:
    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (RoadworthyError("no such thing"), "Error: no such thing\n"),
            (MemoryError("bad_alloc"), "Error: there is not enough memory"),
            (OSError(errno.ENOSPC, "disk full"), "Error: cannot go on: disk full\n"),
            (OSError(errno.EACCES, "not allowed", "a.txt"), "Error: cannot use a.txt: not allowed\n"),
            (OSError("odd"), "Error: OSError: odd\nThis should not happen. Run again with --debug"),
            (ZeroDivisionError("x"), "Error: ZeroDivisionError: x\nThis should not happen."),
        ],
    )
    def test_errors_are_told_by_what_they_are(
        self, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
    ) -> None:
        def broken(kind: object) -> None:
            raise error

        monkeypatch.setattr("roadworthy.cli.tool.Listing.of", broken)
        given = CliRunner().invoke(app, ["list"])
        assert given.exit_code == 2
        assert given.stderr.startswith(said)
        for place in (["--debug", "list"], ["list", "--debug"]):
            assert "Traceback" in CliRunner().invoke(app, place).stderr

    def test_code_of_the_user_that_exits_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def leaves(kind: object) -> None:
            raise SystemExit(0)

        monkeypatch.setattr("roadworthy.cli.tool.Listing.of", leaves)
        given = CliRunner().invoke(app, ["list"])
        assert given.exit_code == 2
        assert "sys.exit(0) was called by a model, data set or engine: take it out" in given.stderr

        def nobody_reads(kind: object) -> None:
            try:
                raise BrokenPipeError
            except BrokenPipeError:
                raise SystemExit(1)  # noqa: B904 - as rich ends

        monkeypatch.setattr("roadworthy.cli.tool.Listing.of", nobody_reads)
        given = CliRunner().invoke(app, ["list"])
        assert (given.exit_code, given.output) == (2, "")

    def test_every_command_is_found_in_its_group(self) -> None:
        commands = _app._Commands()
        assert len(commands) == len(list(commands)) == len(_app._ENTRIES)
        for name in commands:
            made = commands[name]
            assert (made.name, made.rich_help_panel) == (name, _app._ENTRIES[name].panel)
            if hasattr(made, "commands"):
                assert made.help == _app._ENTRIES[name].summary

    def test_the_version_and_nothing_else(self) -> None:
        from roadworthy import __version__

        given = CliRunner().invoke(app, ["--version"])
        assert (given.exit_code, given.output) == (0, f"roadworthy {__version__}\n")

    @pytest.mark.parametrize(
        ("words", "hint"),
        [
            ("models trai", "Did you mean 'train'"),
            ("models dave2", "The models are listed by: roadworthy list models"),
            ("simulator", "The simulators are listed by: roadworthy list simulators"),
            ("transforms list", "The transforms are listed by: roadworthy list transforms"),
            ("driving simulators", "The simulators are listed by: roadworthy list simulators"),
            ("rules list", "See: roadworthy list"),
            ("rules nonsense", "No such command 'nonsense'."),
        ],
    )
    def test_what_is_no_command_is_told_where_to_look(self, words: str, hint: str) -> None:
        given = CliRunner().invoke(app, words.split())
        assert given.exit_code == 2
        if "Did you mean" not in hint:
            assert hint in " ".join(given.output.replace("│", " ").split())
        else:
            assert "roadworthy list" not in given.output


class TestDeclaring:
    def test_sections_of_a_docstring(self) -> None:
        text, found, tried = _commands._sections(
            SimpleNamespace(
                __doc__="Do it.\n\nMore\nwords.\n\n"
                "Options:\n    a (-a N): One\n        thing.\n    b: Two.\n\n"
                "Examples:\n    run a \\\n        --b\n    run c"
            )
        )
        assert (text, found) == ("Do it.\n\nMore\nwords.", {"a": ("-a N", "One thing."), "b": ("", "Two.")})
        assert tried == ["run a \\ --b", "run c"]
        assert _commands._sections(SimpleNamespace(__doc__="Only this.")) == ("Only this.", {}, [])

    def test_text_flows_and_lists_stay(self) -> None:
        assert _commands._flowing("a\n b\n\nc\n- d\n* e\nf") == "a b\n\nc\n- d\n* e f"
        assert _commands._flowing(None) is None

    def test_names_are_completed(self) -> None:
        names = _commands._names_for(None, SimpleNamespace(metavar="MODEL"), "dave2")
        assert "dave2" in names
        assert all(name.startswith("dave2") for name in names)
        flag = SimpleNamespace(is_flag=True, metavar=None)
        named = SimpleNamespace(is_flag=False, metavar="DATA")
        plain = SimpleNamespace(is_flag=False, metavar=None)

        class Known:
            def __init__(self, **_: Any) -> None:
                pass

            def get_params(self, _: Any) -> list[Any]:
                return [flag, named, plain]

        class Helped(_commands._Helpful, Known):
            pass

        Helped().get_params(None)
        assert (flag.metavar, plain.metavar) == ("", None)
        assert named._custom_shell_complete is _commands._names_for
        assert not hasattr(plain, "_custom_shell_complete")


def test_a_folder_that_is_named_is_taken_as_it_is(tmp_path: Path) -> None:
    own = typer.Typer()
    seen: list[Path] = []

    @own.command()
    def write(out: Annotated[Path, typer.Option(callback=options.next_free)] = tmp_path / "x") -> None:
        seen.append(out)

    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a").touch()
    for given in ([], ["--out", str(tmp_path / "x")]):
        assert CliRunner().invoke(own, given).exit_code == 0
    assert seen == [tmp_path / "x-2", tmp_path / "x"]


@pytest.mark.parametrize(
    ("shape", "size"),
    [((160, 320), (160, 320)), ((1080, 1920), (192, 320)), ((20, 50), (32, 32)), ((100, 100), (96, 96))],
)
def test_the_size_of_an_engine_is_that_of_its_data_in_steps(
    shape: tuple[int, int], size: tuple[int, int]
) -> None:
    from roadworthy.cli.engine_training import _size

    data: Any = [SimpleNamespace(image=SimpleNamespace(shape=(*shape, 3)))]
    assert _size(None, data) == size
    assert _size("64x48", data) == (48, 64)


def test_how_an_imported_network_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from roadworthy.cli import models

    monkeypatch.setattr(models, "is_named", lambda name: name == "fills")
    known = {"missing": (), "folder": Path("nets/x"), "get": "ask them", "opened_by": "open_it"}
    told = {
        (name, described): models._state(SimpleNamespace(name=name, describe=described, **known))  # type: ignore[arg-type]
        for name in ("sees", "fills")
        for described in (True, False)
    }
    assert {key: one["use it"] for key, one in told.items()} == {
        ("sees", True): "--model sees",
        ("sees", False): "open_it('sees')",
        ("fills", True): "--engines fills, to remove things from images; --model fills",
        ("fills", False): "--engines fills, to remove things from images; open_it('fills')",
    }
    assert {one["imported to"] for one in told.values()} == {"nets/x"}
    lacking: Any = SimpleNamespace(missing=("a.onnx", "b.onnx"), get="ask them")
    assert models._state(lacking) == {"still missing": "a.onnx, b.onnx", "get it": "ask them"}
