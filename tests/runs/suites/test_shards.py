"""Shards: each tests its share, and merged they are the run that was not shared, byte for byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from roadworthy.cases import Outcome, conclude_rate
from roadworthy.cli import app
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.images import encode_image
from roadworthy.runs import read_rows
from roadworthy.runs.evidence import verify
from roadworthy.runs.executors import executor_for
from roadworthy.runs.shards import Shard, Shards
from roadworthy.runs.store import StoredRun, read_verdicts
from roadworthy.runs.store.rows import encode_record, requirement_record
from roadworthy.runs.suites import RunWatcher, Suite, plan_suite, read_suite, run_suite, running

Read = Callable[[str], Suite]

KINDS = """
models: {dave2: dave2, detector: detector, classifier: classifier}
data:
  town: {data: world:town, sample: 14}
  few: {data: world:town, sample: 3}
  things: {data: world-crops, sample: 12}
requirements:
  night: {rule: "If the driving time changes into night, then the ego-vehicle should slow down.", data: town}
  rain: {rule: "If it rains, then the ego-vehicle should slow down.", data: town, models: dave2}
  early:
    rule: If it is foggy, then the ego-vehicle should slow down.
    data: town
    models: dave2
    accept: {rate: 50%, early: true}
  search: {coverage: neuron, models: dave2, data: few, tries: 6, reach: 1%}
  blur: {reliability: defocus-blur, preserve: both, models: classifier, data: things, versions: 2}
  near: {bbsl: near.bbsl, data: town, models: detector}
  lane: {driving: {SD(LP): 0.6}, simulator: "world:meadow", options: {traffic: 0}, metres: 20, models: dave2}
"""
NEAR = Path("examples/bbsl/listing1_distance.bbsl")
RULES = """
models: dave2
data: {town: {data: world:town, sample: 24}}
requirements:
  night: If the driving time changes into night, then the ego-vehicle should slow down.
"""


def files_of(folder: Path) -> dict[str, bytes]:
    """Return all that a run holds but what has the time in it, and locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "manifest.json" and not path.name.startswith(".")
    }


def sharded(suite: Suite, folder: Path, of: int) -> list[Path]:
    folders = [folder / f"shard {number}" for number in range(1, of + 1)]
    for number, one in enumerate(folders, 1):
        run_suite(suite, one, shard=Shard(number, of))
    return folders


def merged(suite: Suite, folders: list[Path], out: Path) -> Path:
    run_suite(suite, out, executor=Shards(folders, executor_for("serial")), resume=False)
    return out


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_BATCH", 4)


@pytest.mark.parametrize("of", [1, 3])
def test_shards_of_all_kinds_are_merged_to_the_same_bytes(suite: Read, tmp_path: Path, of: int) -> None:
    (tmp_path / "near.bbsl").write_text(NEAR.read_text())
    read = suite(KINDS.replace("near.bbsl,", "near.bbsl, values: {stoppingDistance: [100, 160]},"))
    run_suite(read, tmp_path / "whole")
    shards = sharded(read, tmp_path, of)
    found = files_of(merged(read, shards[::-1], tmp_path / "merged"))
    assert found == files_of(tmp_path / "whole")
    assert any(name.startswith("images") for name in found)
    if of > 1:
        # Work was shared: no shard has all rows of the rule, and one alone has the search.
        place = Path("runs/night/dave2")
        assert all(0 < len(list(read_rows(one / place))) < 14 for one in shards)
        assert sum(len(list(read_rows(one / place))) for one in shards) == 14
        assert sum((one / "runs/search/dave2").is_dir() for one in shards) == 1
        assert sum((one / "runs/early/dave2").is_dir() for one in shards) == 1


def test_a_shard_that_was_stopped_goes_on(suite: Read, tmp_path: Path) -> None:
    # Of several requirements: who takes a batch depends on all that is in it.
    read = suite(RULES + "  rain: {rule: 'If it rains, slow down.'}\n")

    class Stops(RunWatcher):
        def counts(self, cases: int) -> None:
            if 0 < cases < 24:
                raise KeyboardInterrupt

        def concluded(self, requirement: str, model: str, outcome: Outcome) -> None:
            raise KeyboardInterrupt

    class StopsLate(Stops):
        def counts(self, cases: int) -> None:
            pass

    folders = sharded(read, tmp_path, 2)
    for watcher in (Stops(), StopsLate()):
        with pytest.raises(KeyboardInterrupt):
            run_suite(read, tmp_path / "stopped", shard=Shard(1, 2), watcher=watcher)
    # As after a kill between the two: one requirement has its outcome, the other has not.
    lines = (tmp_path / "stopped/runs/rain/dave2/requirements.jsonl").read_text()
    record = {**json.loads(lines), "outcome": None}
    (tmp_path / "stopped/runs/rain/dave2/requirements.jsonl").write_text(json.dumps(record) + "\n")
    run_suite(read, tmp_path / "stopped", shard=Shard(1, 2))
    assert files_of(tmp_path / "stopped") == files_of(folders[0])
    with pytest.raises(
        InputError, match="settings shard '1/2', and it cannot go on with settings shard '2/2'"
    ):
        run_suite(read, tmp_path / "stopped", shard=Shard(2, 2))
    with pytest.raises(InputError, match="settings shard '1/2', and it cannot go on with settings shard not"):
        run_suite(read, tmp_path / "stopped")


def test_a_shard_whose_data_broke_goes_on_when_they_are_mended(suite: Read, tmp_path: Path) -> None:
    for number, frame in enumerate(load("world:town", count=12)):
        encoded = encode_image(frame.image, ".png")
        (tmp_path / "frames").mkdir(exist_ok=True)
        (tmp_path / "frames" / f"{number:02d}.png").write_bytes(encoded)
    read = suite(
        """
        models: dave2
        data: {mine: {data: "folder:frames"}}
        gate: "off"
        requirements:
          rain: If it rains, then the ego-vehicle should slow down.
          blur: {reliability: defocus-blur, preserve: prediction, measure: steering, limit: 1, versions: 1}
          fog: If it is foggy, then the ego-vehicle should slow down.
        """
    )
    run_suite(read, tmp_path / "whole")
    for broken in (0, 5, 11):
        place = tmp_path / "frames" / f"{broken:02d}.png"
        good = place.read_bytes()
        for number in (1, 2):
            out = tmp_path / f"{broken}-{number}"

            class Breaks(RunWatcher):
                def begins(self, what: str, cases: int, place: Path = place) -> None:
                    place.write_bytes(place.read_bytes()[:100])

                def prepares(self, what: str, total: int) -> None:
                    pass

            plan = plan_suite(read)
            first = run_suite(plan, out, shard=Shard(number, 2), watcher=Breaks())
            assert all(place.name in reason for reason in first.failures.values())
            place.write_bytes(good)
            assert not run_suite(read, out, shard=Shard(number, 2)).failures
        folders = [tmp_path / f"{broken}-{number}" for number in (1, 2)]
        found = files_of(merged(read, folders, tmp_path / f"merged {broken}"))
        assert found == files_of(tmp_path / "whole")


def test_a_folder_that_holds_anything_is_not_merged_into(suite: Read, tmp_path: Path) -> None:
    read = suite(RULES)
    folders = sharded(read, tmp_path, 1)
    out = tmp_path / "half"
    (out / "runs").mkdir(parents=True)
    with pytest.raises(InputError, match="half"):
        merged(read, folders, out)


def test_what_cannot_be_merged_is_named(suite: Read, tmp_path: Path) -> None:
    read = suite(RULES)
    one, two = sharded(read, tmp_path, 2)
    serial = executor_for("serial")

    def refused(*folders: Path) -> str:
        with pytest.raises(InputError) as error:
            Shards(folders, serial)
        return str(error.value).replace(f"{tmp_path}/", "")

    assert refused(one) == "of 2 shards, number 2 is not among the folders given"
    shutil.copytree(two, tmp_path / "copy")
    assert refused(one, two, tmp_path / "copy") == "shard 2 and copy are both shard 2/2: leave one out"
    run_suite(read, tmp_path / "whole")
    assert "whole is no shard of a run" in refused(one, tmp_path / "whole")
    assert "empty is no shard of a run" in refused(tmp_path / "empty", one)
    file = tmp_path / "other.suite.yaml"
    file.write_text(f"suite: mine\n{RULES}")
    run_suite(read_suite(file), tmp_path / "other", shard=Shard(2, 2))
    assert refused(one, tmp_path / "other").startswith("other is of another run than shard 1: its suite ")
    run_suite(suite(RULES + "seed: 3\n"), tmp_path / "seed", shard=Shard(2, 2))
    assert refused(one, tmp_path / "seed").startswith("seed is of another run than shard 1: its seed is 3, ")
    run_suite(read, tmp_path / "three", shard=Shard(3, 3))
    told = refused(one, tmp_path / "three")
    assert told == ("three is of another run than shard 1: its settings shard is 'of 3', there it is 'of 2'")
    assert refused() == "give the folders of all shards, got none"
    plan = plan_suite(suite(RULES + "  rain: If it rains, slow down.\n"), only=["night"])
    run_suite(plan, tmp_path / "only", shard=Shard(2, 2))
    run_suite(plan_suite(plan.suite), tmp_path / "all", shard=Shard(1, 2))
    for folders in (("all", "only"), ("only", "all")):
        assert "settings only is " in refused(*(tmp_path / one for one in folders))
    manifest = json.loads((two / "manifest.json").read_text())
    (tmp_path / "copy" / "manifest.json").write_text(json.dumps({**manifest, "tool": {"version": "0"}}))
    assert refused(one, tmp_path / "copy").startswith("copy is of another run than shard 1: its tool ")
    (tmp_path / "copy" / "manifest.json").write_text(json.dumps({**manifest, "ended": None}))
    assert refused(one, tmp_path / "copy") == ("copy is not complete: give the command of shard 2/2 again")


def test_clocks_that_differ_between_machines_change_nothing(
    suite: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = suite(RULES)
    for number, year in ((1, 1970), (2, 2099)):
        monkeypatch.setattr("roadworthy.runs.store.manifest._now", lambda year=year: f"{year}-01-01T00:00:00")
        run_suite(read, tmp_path / f"shard {number}", shard=Shard(number, 2))
    monkeypatch.undo()
    monkeypatch.setattr(running, "_BATCH", 4)
    run_suite(read, tmp_path / "whole")
    merged(read, [tmp_path / "shard 1", tmp_path / "shard 2"], tmp_path / "merged")
    assert files_of(tmp_path / "merged") == files_of(tmp_path / "whole")


def forge(shard: Path, change: Callable[[pyarrow.Table], pyarrow.Table]) -> None:
    """Change the rows of a shard, as somebody would who then tells of them everywhere else, too."""
    part = shard / "runs/night/dave2/cases/part-00000000.parquet"
    parquet.write_table(change(parquet.read_table(part)), part)
    (pair,) = StoredRun.open(shard).pairs
    outcome = conclude_rate(pair.requirement, read_verdicts(pair.folder))
    record = requirement_record(pair.requirement, outcome, system=pair.system, about=pair.about)
    for folder in (shard, pair.folder):
        (folder / "requirements.jsonl").write_bytes(encode_record(record))
    assert verify(shard).passed


def test_rows_of_other_cases_are_not_merged(suite: Read, tmp_path: Path) -> None:
    read = suite(RULES)
    one, two = sharded(read, tmp_path, 2)

    def one_more(rows: pyarrow.Table) -> pyarrow.Table:
        place = rows.schema.get_field_index("case")
        return pyarrow.concat_tables([rows, rows.slice(0, 1).set_column(place, "case", [["another"]])])

    wanted = "where the suite has case '.*run shard 2 again"
    attacks: dict[str, tuple[Callable[[pyarrow.Table], pyarrow.Table], str]] = {
        "fewer": (lambda rows: rows.slice(0, len(rows) - 1), f"has no more rows .* {wanted}"),
        "others": (lambda rows: rows.take([*range(len(rows))][::-1]), f"has case '.* {wanted}"),
        "more": (one_more, "has a row of case 'another' of night on dave2 too many: run shard 2 again"),
    }
    for name, (change, told) in attacks.items():
        shutil.copytree(two, tmp_path / name)
        forge(tmp_path / name, change)
        with pytest.raises(InputError, match=f"{name} {told}"):
            merged(read, [one, tmp_path / name], tmp_path / f"merged {name}")


OTHERS = """
models: dave2
data: {few: {data: world:town, sample: 3}}
gate: "off"
requirements:
  night: If the driving time changes into night, then the ego-vehicle should slow down.
  early:
    rule: If it is foggy, then the ego-vehicle should slow down.
    accept: {rate: 50%, early: true}
  search: {coverage: neuron, tries: 6, reach: 1%}
  lane: {driving: {SD(LP): 0.6}, simulator: "world:meadow", options: {traffic: 0}, metres: 20, models: dave2}
"""
SEARCH = Path("runs/search/dave2")


def turn_rows(folder: Path) -> None:
    for path in (folder / SEARCH / "cases").glob("*.parquet"):
        rows = parquet.read_table(path)
        for name, value in (("status", "passed"), ("margin", 1.0)):
            place = rows.schema.get_field_index(name)
            rows = rows.set_column(place, rows.schema.field(name), [[value] * len(rows)])
        parquet.write_table(rows, path)


def turn_an_outcome(folder: Path) -> None:
    """Into what the rows of a search do not say, where only its own method knows."""
    for file in (folder / "requirements.jsonl", folder / SEARCH / "requirements.jsonl"):
        records = [json.loads(line) for line in file.read_text().splitlines()]
        for one in records:
            if one["id"] == "search":
                one["outcome"]["summary"] = "all is well"
        file.write_text("".join(f"{json.dumps(one)}\n" for one in records))


def spoil_an_image(folder: Path) -> None:
    one, two = sorted(folder.glob("images/*/*.png"))[:2]
    one.write_bytes(two.read_bytes())


def lead_elsewhere(folder: Path) -> None:
    (folder.parent / "secret").write_text("of somebody else")
    (folder / SEARCH / "more.txt").symlink_to(folder.parent / "secret")


def leave_out_a_search(folder: Path) -> None:
    shutil.rmtree(folder / SEARCH)


def drive_otherwise(folder: Path) -> None:
    for path in (folder / "drives").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes() + b" ")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("others")
    (folder / "mine.suite.yaml").write_text(OTHERS)
    sharded(read_suite(folder / "mine.suite.yaml"), folder, 2)
    return folder


@pytest.mark.parametrize(
    ("attack", "told"),
    [
        (turn_rows, r"is not what shard \d was when it ended: counts: search on dave2"),
        (turn_an_outcome, r"the run says violated \(all is well\), its rows say violated"),
        (spoil_an_image, r"is not what shard \d was when it ended: image: .* do not hash to its name"),
        (lead_elsewhere, r"more.txt is a link out of the shard"),
        (leave_out_a_search, r"search on dave2: requirements.jsonl lists it, and there are no rows of it"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_shard_that_was_tampered_with_is_not_merged(
    others: Path, tmp_path: Path, attack: Callable[[Path], None], told: str
) -> None:
    folders = [Path(shutil.copytree(others / f"shard {number}", tmp_path / f"{number}")) for number in (1, 2)]
    attack(next(one for one in folders if (one / SEARCH).is_dir()))
    with pytest.raises(InputError, match=told):
        merged(read_suite(others / "mine.suite.yaml"), folders, tmp_path / "merged")


def test_a_drive_that_another_shard_has_otherwise_is_not_merged(others: Path, tmp_path: Path) -> None:
    folders = [Path(shutil.copytree(others / f"shard {number}", tmp_path / f"{number}")) for number in (1, 2)]
    one, two = sorted(folders, key=lambda one: (one / "drives").is_dir())
    shutil.copytree(two / "drives", one / "drives")
    drive_otherwise(one)
    with pytest.raises(InputError, match=r"drives/.* is not what another shard has in this place"):
        merged(read_suite(others / "mine.suite.yaml"), folders, tmp_path / "merged")


def test_each_shard_of_a_run_is_found_whole_alone(others: Path) -> None:
    # One has the search, the other has not.
    for number in (1, 2):
        found = verify(others / f"shard {number}")
        assert found.passed, found.findings


def test_shards_of_other_weights_or_frames_than_are_here_are_not_merged(suite: Read, tmp_path: Path) -> None:
    (tmp_path / "frames").mkdir()
    for number, frame in enumerate(load("world:town", count=4)):
        (tmp_path / "frames" / f"{number}.png").write_bytes(encode_image(frame.image, ".png"))
    text = RULES.replace("{data: world:town, sample: 24}", "folder:frames")
    folders = sharded(suite(text), tmp_path, 2)
    (tmp_path / "frames/0.png").write_bytes((tmp_path / "frames/1.png").read_bytes())
    with pytest.raises(InputError, match="shard 1 holds a run with data town "):
        merged(suite(text), folders, tmp_path / "merged")


def test_the_commands(suite: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROADWORTHY_EXECUTOR", "serial")
    file = str(suite(RULES).path)
    for number in (1, 2):
        ran = CliRunner().invoke(app, ["run", file, "--shard", f"{number}/2", "--json"])
        assert ran.exit_code in (0, 1, 3), ran.output
    whole = CliRunner().invoke(app, ["run", file, "--out", "whole", "--json"])
    folders = [f"mine-shard-{number}-of-2" for number in (1, 2)]
    ran = CliRunner().invoke(app, ["merge", *folders, "--suite", file, "--out", "all", "--json"])
    assert ran.exit_code == whole.exit_code, ran.output
    assert json.loads(ran.stdout)["results"] == json.loads(whole.stdout)["results"]
    found, wanted = files_of(tmp_path / "all"), files_of(tmp_path / "whole")
    assert "evidence/README.md" in found
    # These have the time of the run in them, or the hash of what has.
    assert {name for name in wanted if found.get(name) != wanted[name]} <= {"report.html", "SHA256SUMS"}
    assert found.keys() == wanted.keys()
    summary = Path(folders[0], "summary.md").read_text()
    assert "this is shard 1/2: alone it decides nothing" in summary
    dry = CliRunner().invoke(app, ["run", file, "--shard", "1/2", "--dry-run"])
    assert (dry.exit_code, "leave out --shard" in dry.output) == (2, True)
    again = CliRunner().invoke(app, ["merge", *folders, "--suite", file, "--out", "all"])
    assert again.exit_code == 2
    for folder in folders:
        verified = CliRunner().invoke(app, ["evidence", "verify", folder, "--suite", file])
        assert verified.exit_code == 0, verified.output
    Path(folders[1], "summary.md").write_text("All is well.\n")
    spoiled = CliRunner().invoke(app, ["merge", *folders, "--suite", file, "--out", "spoiled"])
    assert (spoiled.exit_code, "changed: summary.md" in " ".join(spoiled.output.split())) == (2, True)


@pytest.mark.parametrize(
    "text", ["", "2", "0/4", "5/4", "a/b", "-1/4", "1/0", "1/4/5", "1 / 4", "1/1" + 5000 * "0"]
)
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(InputError, match="such as 2/4, got "):
        Shard.read(text)


@given(st.integers(1, 20), st.lists(st.text(), min_size=1, max_size=3))
def test_everything_is_in_one_share(of: int, key: list[str]) -> None:
    assert sum(Shard(number, of).takes(*key) for number in range(1, of + 1)) == 1


def test_shares_are_about_equal() -> None:
    counts = [sum(Shard(number, 7).takes("R1", str(case)) for case in range(7000)) for number in range(1, 8)]
    assert 900 < min(counts) <= max(counts) < 1100
