"""What lies elsewhere: on a real S3 server of this machine, in memory, and on a file system of Arrow's."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pyarrow.fs
import pytest
from typer.testing import CliRunner, Result

from roadworthy import places
from roadworthy.cli import app
from roadworthy.datasets import load
from roadworthy.errors import InputError, RemoteError
from roadworthy.images import encode_image
from roadworthy.runs.store import StoredRun
from roadworthy.runs.suites import plan_suite, read_suite, run_suite

fsspec = pytest.importorskip("fsspec")

EXAMPLE = Path(__file__).parents[1] / "examples/scripts/rows_where_they_lie.py"
SUITE = """
models: dave2
data: {town: {data: world:town, sample: 3}}
requirements:
  rain: If it rains, then the ego-vehicle should slow down.
  search: {coverage: neuron, tries: 2, reach: 1%}
"""


def clear() -> None:
    """Forget connections: they keep the credentials with which they were made."""
    for name in ("s3", "memory"):
        fsspec.get_filesystem_class(name).clear_instance_cache()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running_server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running_server.start()
    host, port = running_server.get_host_and_port()
    yield f"http://{host}:{port}"
    running_server.stop()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Goes to a machine of a name, which has copies of its own."""

    def go(name: str) -> None:
        monkeypatch.setenv("ROADWORTHY_CACHE", str(tmp_path / name))

    go("a")
    return go


@pytest.fixture
def bucket(server: str, machine: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIAKNOWN",
        "AWS_SECRET_ACCESS_KEY": "hush",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": server,
    }.items():
        monkeypatch.setenv(name, value)
    clear()
    urlopen(Request(f"{server}/moto-api/reset", method="POST")).read()
    fsspec.filesystem("s3").mkdir("drives")
    yield "s3://drives"
    clear()


@pytest.fixture
def memory(machine: object) -> Iterator[str]:
    store = fsspec.filesystem("memory").store
    store.clear()
    yield "memory://drives"
    store.clear()


@pytest.fixture(params=["s3", "memory"])
def place(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("bucket" if request.param == "s3" else "memory"))


@pytest.fixture
def roadworthy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "night.suite.yaml").write_text(SUITE)
    runner = CliRunner()
    return lambda *args: runner.invoke(app, list(map(str, args)))


def there(address: str) -> dict[str, bytes]:
    """Return all files at an address."""
    fs, root = fsspec.url_to_fs(address)
    fs.invalidate_cache()
    return {path.removeprefix(f"{root}/"): fs.cat_file(path) for path in fs.find(root)}


def put(address: str, content: bytes) -> None:
    fs, root = fsspec.url_to_fs(address)
    fs.pipe_file(root, content)


def timeless(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return files but for what has the time in it, and hidden ones."""
    timed = ("manifest.json", "SHA256SUMS", "gsn.json", "gsn.mmd", "report.html", "junit.xml")
    return {name: one for name, one in files.items() if not name.endswith((*timed, places.MARKER))}


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def frames(address: str, count: int = 4) -> None:
    for frame in load("world:town", count=count):
        put(f"{address}/{frame.id}.png", encode_image(frame.image, ".png"))


def test_frames_are_those_that_lie_there_and_fetched_when_they_are_read(place: str) -> None:
    frames(f"{place}/town")
    data = load(f"folder:{place}/town")
    assert data.name == f"folder:{place}/town"
    assert len(data) == 4
    copies = sorted(places._home("data").rglob("*.png"))
    assert [one.stat().st_size for one in copies] == [0] * 4
    assert (data[2].image == load("world:town", count=4)[2].image).all()
    assert [bool(one.stat().st_size) for one in copies] == [False, False, True, False]


def test_what_changed_there_is_fetched_again_and_what_is_gone_is_gone(place: str) -> None:
    frames(f"{place}/town", 3)
    before = [frame.image for frame in load(f"folder:{place}/town")]
    put(f"{place}/town/town-000001.png", encode_image(before[0], ".png"))
    fs, root = fsspec.url_to_fs(place)
    fs.rm_file(f"{root}/town/town-000002.png")
    after = load(f"folder:{place}/town")
    assert len(after) == 2
    assert (after[1].image == before[0]).all()


def test_a_table_comes_with_the_images_beside_it_and_a_film_alone(place: str) -> None:
    frames(f"{place}/lap/images", 2)
    put(f"{place}/lap/log.csv", b"image,speed\ntown-000000.png,4\ntown-000001.png,5\n")
    put(f"{place}/lap/dash.mp4", b"a film")
    data = load(f"table:{place}/lap/log.csv")
    assert [frame.signals.speed for frame in data] == [4, 5]
    assert places.local(f"{place}/lap/dash.mp4").read_bytes() == b"a film"
    options = load(f"table:{place}/lap/log.csv", images=f"{place}/lap/images")
    assert len(options) == 2


def test_a_frame_that_cannot_be_fetched_is_never_left_out(memory: str) -> None:
    frames(f"{memory}/town", 2)
    data = load(f"folder:{memory}/town", on_error="skip")
    fsspec.filesystem("memory").store.clear()
    with pytest.raises(RemoteError, match=r"cannot read memory://drives/town/town-000000\.png"):
        list(data)


def test_a_run_is_the_same_there_as_here(
    place: str, roadworthy: Callable[..., Result], tmp_path: Path
) -> None:
    assert roadworthy("run", "night.suite.yaml", "--out", "here").exit_code == 1
    ran = roadworthy("run", "night.suite.yaml", "--out", f"{place}/night")
    assert ran.exit_code == 1, ran.output
    assert f"Wrote {place}/night in" in ran.output
    assert timeless(there(f"{place}/night")) == timeless(files_of(tmp_path / "here"))
    again = roadworthy("run", "night.suite.yaml", "--out", f"{place}/night", "--json")
    assert json.loads(again.stdout)["report"] == f"{place}/night/report.html"


def test_commands_work_on_the_address_from_another_machine(
    bucket: str, roadworthy: Callable[..., Result], machine: Callable[[str], None]
) -> None:
    frames(f"{bucket}/town", 3)
    suite = SUITE.replace("world:town", f"'folder:{bucket}/town'").partition("  search")[0]
    Path("night.suite.yaml").write_text(suite)
    for shard in ("1", "2"):
        out = f"{bucket}/shard-{shard}"
        ran = roadworthy("run", "night.suite.yaml", "--shard", f"{shard}/2", "--out", out)
        assert ran.exit_code in (0, 1, 3), ran.output
    machine("b")
    shards = (f"{bucket}/shard-1", f"{bucket}/shard-2")
    merged = roadworthy("merge", *shards, "--suite", "night.suite.yaml", "--out", f"{bucket}/night")
    assert merged.exit_code in (0, 1, 3), merged.output
    machine("c")
    before = there(f"{bucket}/night")
    verified = roadworthy("evidence", "verify", f"{bucket}/night", "--suite", "night.suite.yaml")
    assert "nothing differs" in verified.output
    assert verified.exit_code == 0
    assert there(f"{bucket}/night") == before
    # The suite in the bucket may be a stranger's: what it names elsewhere is not reached.
    alone = roadworthy("evidence", "verify", f"{bucket}/night")
    assert f"names folder:{bucket}/town" in alone.output.replace("\n", "")
    fs, root = fsspec.url_to_fs(f"{bucket}/night/report.html")
    fs.rm_file(root)
    assert roadworthy("report", f"{bucket}/night").exit_code == 0
    assert there(f"{bucket}/night")["report.html"][:15] == before["report.html"][:15]
    run = StoredRun.open(f"{bucket}/night")
    assert len(list(run.rows("rain"))) == 3


def test_duckdb_reads_the_rows_where_they_lie(bucket: str) -> None:
    environment = {**os.environ, "RESULTS": f"{bucket}/rain"}
    ran = subprocess.run(
        [sys.executable, EXAMPLE], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"night on dave2: 8 cases judged, the worst with a margin of -?\d", ran.stdout)
    assert "rain/runs/rain/dave2/cases/part-00000000.parquet" in there(bucket)


class Cut:
    """An upload that breaks off after so many files, as one does whose token has expired."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, place: Any, files: Any, put: Any = places._Kept._put) -> None:
        for one, content in files.items():
            if not self.left:
                with places._reaching(place.address, "write"):
                    raise PermissionError("The provided token has expired.")
            self.left -= 1
            put(place, {one: content})


def test_an_upload_that_breaks_off_anywhere_loses_and_doubles_nothing(
    memory: str, tmp_path: Path, machine: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the same machine goes on or another one, which has only what came through."""
    plan = plan_suite(read_suite(_written(tmp_path)), sample=2)
    run_suite(plan, tmp_path / "here")
    expected = timeless(files_of(tmp_path / "here"))
    for after in range(len(expected) + 2):
        out = f"{memory}/{after}"
        machine(f"first {after}")
        cut = Cut(after)
        with monkeypatch.context() as patched:
            patched.setattr(places._Kept, "_put", lambda *given, cut=cut: cut(*given))
            told = "has expired; give valid credentials by the environment"
            with pytest.raises(RemoteError, match=told), places.kept(out) as folder:
                run_suite(plan, folder)
        if after % 2:
            machine(f"second {after}")
        with places.kept(out) as folder:
            assert run_suite(plan, folder).failures == {}
        assert timeless(there(out)) == expected


def test_credentials_that_expire_in_the_middle_cost_nothing(
    bucket: str, server: str, roadworthy: Callable[..., Result], tmp_path: Path
) -> None:
    """The server itself refuses, from the 12th request on."""

    def lasts(requests: float) -> None:
        urlopen(
            Request(
                f"{server}/moto-api/reset-auth",
                data=str(requests).encode(),
                headers={"Content-Type": "text/plain"},
            )
        ).read()

    roadworthy("run", "night.suite.yaml", "--out", "here")
    lasts(12)
    try:
        ran = roadworthy("run", "night.suite.yaml", "--out", f"{bucket}/night")
    finally:
        lasts(float("inf"))
    assert ran.exit_code == 2
    assert "Nothing is lost: a copy here has everything" in ran.output
    assert "hush" not in ran.output
    clear()
    assert roadworthy("run", "night.suite.yaml", "--out", f"{bucket}/night").exit_code == 1
    assert timeless(there(f"{bucket}/night")) == timeless(files_of(tmp_path / "here"))


def test_a_run_comes_there_while_it_goes_on(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_PAUSE", 0.01)
    with places.kept(f"{memory}/night") as folder:
        (folder / "images").mkdir(parents=True)
        (folder / "images/a.png").write_bytes(b"a")
        (folder / ".part-b").write_bytes(b"half")
        for _ in range(500):
            if "images/a.png" in (found := there(f"{memory}/night")):
                break
            time.sleep(0.01)
        assert found["images/a.png"] == b"a"
        assert ".part-b" not in found


def test_a_machine_that_was_overtaken_stops(memory: str, machine: Callable[[str], None]) -> None:
    with places.kept(f"{memory}/night") as folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.html").write_text("first")
    machine("b")
    other = places.kept(f"{memory}/night")
    copy = other.__enter__()
    assert (copy / "report.html").read_text() == "first"
    machine("a")
    (folder / "report.html").write_text("stale")
    with places.kept(f"{memory}/night") as folder:
        assert (folder / "report.html").read_text() == "first"
    (copy / "report.html").write_text("second")
    with pytest.raises(
        RemoteError, match="another machine has gone on with the run at memory://drives/night"
    ):
        other.__exit__(None, None, None)


def test_a_half_written_part_is_named(memory: str, roadworthy: Callable[..., Result]) -> None:
    roadworthy("run", "night.suite.yaml", "--out", f"{memory}/night")
    part = f"{memory}/night/runs/rain/dave2/cases/part-00000000.parquet"
    put(part, there(f"{memory}/night")[part.partition("night/")[2]][:100])
    places._notes(places._copy_of(f"{memory}/night", "runs")).unlink()
    found = roadworthy("report", f"{memory}/night")
    assert found.exit_code == 2
    assert "part-00000000.parquet" in found.output
    assert str(places._home("runs")) not in found.output


@pytest.mark.parametrize("what", [("report",), ("run", "night.suite.yaml", "--out")])
def test_a_bucket_that_is_not_there_is_told_first(
    what: tuple[str, ...], bucket: str, roadworthy: Callable[..., Result]
) -> None:
    found = roadworthy(*what, "s3://nobody-has-this/night")
    assert found.exit_code == 2
    assert "cannot read s3://nobody-has-this/night: The specified bucket does not exist" in found.output
    assert "make the bucket first" in found.output


def test_missing_credentials_are_told(
    bucket: str, roadworthy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("HOME", str(tmp_path))
    clear()
    found = roadworthy("data", "check", f"folder:{bucket}/town")
    assert found.exit_code == 2
    assert "Unable to locate credentials; give valid credentials by the environment" in found.output


SECRETS = ("s3://AKIA:hush@drives/town", "https://host/x.mp4?sig=hush", "sftp://me@host/hush")


@pytest.mark.parametrize("address", SECRETS)
def test_credentials_in_an_address_are_refused_and_not_repeated(
    address: str, machine: object, roadworthy: Callable[..., Result], tmp_path: Path
) -> None:
    Path("night.suite.yaml").write_text(SUITE.replace("world:town", f'"folder:{address}"'))
    for words in (
        ("run", "night.suite.yaml", "--out", "out"),
        ("run", "night.suite.yaml", "--out", address),
        ("rules", "run", "--rule", "If it rains, slow down.", "--data", f"folder:{address}", "--out", "out"),
        ("report", address),
    ):
        found = roadworthy(*words)
        assert found.exit_code == 2
        assert "was given with a user, a password or a query" in found.output
        assert "give credentials by the environment" in found.output.replace("\n", " ")
        assert "hush" not in found.output.replace("/hush", "")
    stored = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "night.suite.yaml"]
    assert [path for path in stored if b"hush" in path.read_bytes()] == []


def test_an_account_of_azure_is_no_secret() -> None:
    given = "abfs://container@account.dfs.core.windows.net/run"
    assert places._address(given) == given


@pytest.mark.parametrize("scheme", ["s3", "gs", "az", "hf"])
def test_a_package_that_is_missing_names_the_extra(
    scheme: str, roadworthy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, machine: object
) -> None:
    package = places._STORES[scheme]
    # It keeps the classes that it has imported.
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, scheme, raising=False)
    for name in [one for one in sys.modules if one.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    found = roadworthy("report", f"{scheme}://bucket/night")
    assert found.exit_code == 2
    assert f"{package} is needed to reach {scheme}://bucket/night but is not installed" in found.output
    assert "pip install 'roadworthy[remote]'" in found.output


def test_words_that_are_no_file_system_are_refused(
    roadworthy: Callable[..., Result], machine: object, memory: str
) -> None:
    assert "fsspec knows no s33://; write s3://" in roadworthy("report", "s33://bucket/night").output
    assert "such as 'folder:s3://bucket/town'" in roadworthy("data", "check", "s3://bucket/town").output
    assert "found nothing there" in roadworthy("report", f"{memory}/nothing").output
    with pytest.raises(InputError, match=r"must not have '\.\.' in it"):
        places.local("s3://bucket/../../etc")


def test_a_command_that_fails_leaves_nothing_there(memory: str, roadworthy: Callable[..., Result]) -> None:
    Path("night.suite.yaml").write_text("models: nobody\n")
    assert roadworthy("run", "night.suite.yaml", "--out", f"{memory}/night").exit_code == 2
    assert there(memory) == {}


def test_a_file_system_of_arrow_is_one_like_others(
    machine: Callable[[str], None], roadworthy: Callable[..., Result], tmp_path: Path
) -> None:
    """It shows files while they are written, so they are moved into place."""
    from fsspec.implementations.arrow import ArrowFSWrapper

    class Shared(ArrowFSWrapper):  # type: ignore[misc]
        protocol = ("shared",)

        def __init__(self, **options: Any) -> None:
            super().__init__(
                pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem()), **options
            )

    fsspec.register_implementation("shared", Shared, clobber=True)
    assert roadworthy("run", "night.suite.yaml", "--out", "here").exit_code == 1
    assert roadworthy("run", "night.suite.yaml", "--out", "shared://host/disk/night").exit_code == 1
    assert timeless(files_of(tmp_path / "disk/night")) == timeless(files_of(tmp_path / "here"))
    machine("b")
    assert roadworthy("evidence", "verify", "shared://host/disk/night").exit_code == 0


def test_local_paths_do_without_fsspec(tmp_path: Path) -> None:
    code = "import sys, roadworthy.cli._commands, roadworthy.datasets; assert 'fsspec' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(InputError, match=r"is an address: write `with roadworthy.places.kept"):
        run_suite(read_suite(_written(tmp_path)), Path("s3://bucket/night"))


def _written(folder: Path) -> Path:
    (folder / "night.suite.yaml").write_text(SUITE)
    return folder / "night.suite.yaml"


def test_a_copy_that_was_cleared_away_deletes_nothing(memory: str) -> None:
    with places.kept(memory) as folder:
        folder.mkdir(parents=True)
        (folder / "rows.csv").write_text("1")
    before = there(memory)
    (folder / "rows.csv").unlink()
    for writes in (False, True):
        with places.kept(memory, writes=writes) as again:
            assert (again / "rows.csv").read_text() == "1"
        assert {**there(memory), places.MARKER: b""} == {**before, places.MARKER: b""}
