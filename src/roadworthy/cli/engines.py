"""``roadworthy engines``: learned engines that change images, and those of users.

Options:
    which (ENGINE): A learned engine: its folder or name; see `engines list`.
    supports (WORDS): What the engine does: "remove line", "replace building by tree", "replace time by
        night", "replace season by winter"; repeatable.
    device (DEVICE): Where it runs: cpu or cuda.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import typer

from roadworthy._files import check_free
from roadworthy.cli import engine_training
from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import make_folder, progress, tracked, write_picture
from roadworthy.cli.engine_training import network_settings
from roadworthy.cli.options import counted, opened, two_numbers
from roadworthy.datasets.summary import spread_frames
from roadworthy.errors import InputError, check_number
from roadworthy.report import transform_strip
from roadworthy.result_tables import ResultTable, listed
from roadworthy.training.engines.pairs import PairSource, changes_of, compared
from roadworthy.training.engines.writing import Import, channels_of, import_checkpoint
from roadworthy.transforms import Operation, Transform, UserEngine, read_engines, transform_for
from roadworthy.transforms.engines import SHIPPED
from roadworthy.transforms.engines.commands import fillers
from roadworthy.transforms.engines.files import hidden_supports, parse_supports, put_engine
from roadworthy.transforms.learned import LearnedEngine
from roadworthy.transforms.learned.card import WORLD
from roadworthy.transforms.learned.engine import engine_reference, shipped_engines, tried
from roadworthy.world import HELD_OUT_TRACK_NAMES

app = typer.Typer(cls=Group, no_args_is_help=True)
app.add_typer(engine_training.app, name="train")

_FILE = Path("engines.yaml")
_TILE_WIDTH = 400  # pixels on the sheet
_MOST_FRAMES = 50
_NEARER = {True: "yes", False: "no", None: "not measured"}


def _size(option: str, text: str) -> tuple[int, int] | None:
    """Return (height, width) of a size that is written WIDTHxHEIGHT; None where it was left out."""
    if not text:
        return None
    width, height = two_numbers(text, f"{option} must be WIDTHxHEIGHT, such as 512x256")
    return height, width


@command(app, name="list")
def list_engines(file: Path | None = None) -> Answer:
    """List the learned engines that come with Roadworthy, and those of an engines file, in its order.

    Nothing in the file is run. `--engines shipped` takes those that come with Roadworthy and were measured to
    be nearer to the world's truth than what is built in.

    Options:
        file (FILE): An engines file to list as well; engines.yaml if left out, if it is there.

    Examples:
        roadworthy engines list
        roadworthy engines list --file mine/engines.yaml --json
    """
    engines: list[tuple[str, UserEngine]] = [(SHIPPED, one) for one in shipped_engines()]
    path = _FILE if file is None and _FILE.is_file() else file
    if path is not None:
        engines += [(str(path), one) for one in read_engines(path)]
    rows = [_row(source, engine) for source, engine in engines]
    if not rows:
        hint = (
            "This installation comes with no learned engines, and there is no engines file here: train or "
            "import one (roadworthy engines train, engines import), or give a file by --file."
        )
        return Answer({"engines": rows}, [hint])
    cells = tuple(
        (
            row["name"],
            row["from"],
            ", ".join(row["supports"]),
            row["how"],
            _NEARER[row["is_nearer"]] if "is_nearer" in row else "",
        )
        for row in rows
    )
    columns = ("engine", "from", "what it does", "how", "nearer than built in")
    return Answer({"engines": rows}, [ResultTable("", columns, cells)])


def _row(source: str, engine: UserEngine) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": engine.name,
        "from": source,
        "supports": [str(one) for one in engine.supported],
        "how": engine.backend.does or "a network",
        "needs_permission": bool(engine.backend.does),
    }
    if isinstance(engine, LearnedEngine):
        card = engine.card
        row["how"] = f"learned: {card.architecture}" + (f", for {card.domain}" if card.domain else "")
        row |= {"card": card.name, "kind": card.kind, "domain": card.domain, "sha256": card.sha256}
        row["is_nearer"] = card.is_nearer
    return row


@command(app)
def show(which: str) -> Answer:
    """Describe a learned engine: what it does, its inputs, how it was made and how good it is.

    Examples:
        roadworthy engines show day-to-night
        roadworthy engines show my-engine --json
    """
    engine = LearnedEngine.open(which)
    card, (_, network) = engine.card, engine.backend.files
    title = f"{card.name}: {', '.join(map(str, engine.supported))}"
    facts, measured = card.facts(network.stat().st_size), card.table()
    return Answer(card.to_dict(), [title, facts, *([measured] if measured.rows else [])], card.notes)


@command(app)
def use(
    which: str,
    file: Path = _FILE,
    name: str | None = None,
    supports: list[str] | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
) -> Answer:
    """Put a learned engine into an engines file, before all others: rules that are run with it use it.

    A file that does not exist is made. In one that does, an engine of the same name is replaced, and all else
    stays as it is, comments among it.

    Options:
        file (FILE): The engines file.
        name (--as NAME): What to call it; as its card says if left out.

    Examples:
        roadworthy engines use day-to-night
        roadworthy engines use runs/my-rain --as rain --file engines.yaml
        roadworthy engines use colours --supports "remove line"
    """
    engine = LearnedEngine.open(which, device=device)
    called = name or engine.name
    entry: dict[str, Any] = {"learned": engine_reference(which, file)}
    if device != "cpu":
        entry["device"] = device
    if supports:
        entry["supports"] = list(parse_supports(supports))
    make_folder(file.parent)
    replaced = put_engine(file, called, entry)
    engines = read_engines(file)
    (mine,) = (one for one in engines if one.name == called)
    does = [str(one) for one in mine.supported]
    notes = hidden_supports(mine, engines)
    if engine.card.domain == WORLD:
        notes.append(
            f"{called} learned from the built-in world alone; on other frames, look at what it makes"
        )
    return Answer(
        {"file": str(file), "engine": called, "supports": does, "replaced": replaced, "notes": notes},
        [f"{called} is {'replaced in' if replaced else 'added to'} {file}: {', '.join(does)}"],
        notes,
        conclusion=f"Use it by: roadworthy rules run --engines {file} …",
    )


@command(app, name="try")
def try_engine(
    which: str,
    data: str = "world:town",
    option: list[str] | None = None,
    sample: int = 4,
    seed: int = 0,
    device: Literal["cpu", "cuda"] = "cpu",
    out: Path | None = None,
) -> Answer:
    """Draw frames as they are, as a learned engine changes them, and as the built-in transforms do.

    Tells how long the engine takes, which frames do not qualify and why, and which classes it never saw.

    Options:
        sample (-n N): Frames, spread over the data.

    Examples:
        roadworthy engines try day-to-night
        roadworthy engines try my-engine --data camvid:path/to/camvid --sample 6 --out sheet.png
    """
    check_number("--sample", sample, least=1, most=_MOST_FRAMES)
    engine = LearnedEngine.open(which, device=device)
    asked = {str(support): one for support in engine.supported if (one := support.asked()) is not None}
    if not asked:
        raise InputError(f"the engine {engine.name!r} does not say what it replaces things by")
    dataset = opened(data, option, count=sample)
    frames, _ = spread_frames(dataset, sample, tracked)
    changes = dict(_changes(engine, asked))
    sheet = transform_strip(
        frames,
        list(changes.values()),
        seed=seed,
        scale=min(4.0, _TILE_WIDTH / max(frame.width for frame in frames)),
        words=list(changes),
        title=engine.name,
        note=f"{counted(len(frames), len(dataset))} of {dataset.name}",
    )
    path = write_picture(out or Path(f"{engine.name}.png"), sheet)
    document = {"sheet": str(path), "engine": engine.name, **tried(engine, asked, frames, seed)}
    shown = []
    for one in document["operations"]:
        took = f", {1000 * one['seconds']:.0f} ms a frame" if one["seconds"] is not None else ""
        shown.append(f"{one['operation']}: {counted(one['changed'], len(frames))}{took}")
        shown += [f"  {times} did not qualify: {reason}" for reason, times in one["reasons"].items()]
    if document["unseen"]:
        shown.append(f"Classes it never saw and treats as void, in pixels: {listed(document['unseen'])}")
    return Answer(document, [*shown, f"Wrote {path}"])


def _changes(engine: LearnedEngine, asked: dict[str, Operation]) -> Iterable[tuple[str, Transform]]:
    for words, operation in asked.items():
        yield f"{words}, learned", engine.transform(operation)
        with suppress(InputError):  # nothing built in does it, which is why there are engines
            yield f"{words}, built in", transform_for(operation)


@command(app)
def compare(
    which: list[str],
    sample: int = 60,
    tracks: str | None = None,
    size: str = "320x160",
    seed: int = 9001,
    workers: int = 1,
) -> Answer:
    """Measure how near engines and the built-in transforms come to the world's own truth.

    The world can draw a scene with the change made. The distance compares brightness, contrast and colour at
    several scales: where the truth differs from the frame, or everywhere for weather, time and season.
    Intervals are Student's, at 95%. An engine is nearer if all of the interval of the difference says so.

    Options:
        which (ENGINE…): Learned engines: their folders or names; or networks that fill what is removed: fill,
            which real frames get, and migan, once it is imported.
        tracks (NAMES): Tracks of the world, joined by commas, or all; if left out, those that nothing shipped
            was trained on.
        size (WIDTHxHEIGHT): Of the frames.
        seed (N): Of the scenes; not one that an engine learned from.
        workers (N): How many processes.
        sample (-n N): How many scenes of the world.

    Examples:
        roadworthy engines compare day-to-night clear-to-rain
        roadworthy engines compare my-engine --sample 200 --seed 900 --workers 8
        roadworthy engines compare fill migan --size 640x320
    """
    check_number("--sample", sample, least=2)
    check_number("--workers", workers, least=1)
    width, height = two_numbers(size, "--size must be WIDTHxHEIGHT, such as 320x160")
    source = PairSource(tracks or ",".join(HELD_OUT_TRACK_NAMES), (seed,), sample, (height, width))
    engines = [read_engines(one)[0] if one in fillers() else LearnedEngine.open(one) for one in which]
    asked = [(engine, change) for engine in engines for change in changes_of(engine)]
    rows: list[dict[str, Any]] = []
    for engine, change in asked:
        with progress(f"{engine.name}, {change.name}", 1) as done_of:
            comparison = compared(
                change,
                engine,
                source,
                workers=workers,
                progress=lambda done, total, show=done_of: show(done / total),  # type: ignore[misc]
            )
        rows.append({"engine": engine.name, "change": change.name, **comparison.document()})
    columns = ("engine", "frames", "learned", "built in", "unchanged", "difference", "nearer")
    note = f"Distance to the world's truth, 95% intervals; {source.name}"
    return Answer(
        {"data": source.name, "confidence": 0.95, "comparisons": rows},
        [ResultTable("", columns, tuple(map(_compared_cells, rows))), note],
    )


def _compared_cells(row: dict[str, Any]) -> tuple[str, ...]:
    low, high = row["learned_minus_built_in"]["interval"]
    return (
        row["engine"] if row["engine"] == row["change"] else f"{row['engine']}, {row['change']}",
        str(row["frames"]),
        *(f"{row['distance'][key]:.3f}" for key in ("learned", "classical", "unchanged")),
        f"{row['learned_minus_built_in']['mean']:+.3f} ({low:+.3f} to {high:+.3f})",
        "learned" if row["learned_is_nearer"] else "built in" if low > 0 else "open",
    )


@command(app, name="import")
def import_engine(
    checkpoint: Path,
    out: Path,
    supports: list[str] | None = None,
    channels: str = "",
    edges: bool | None = None,
    direction: Literal["a2b", "b2a"] = "a2b",
    setting: list[str] | None = None,
    name: str | None = None,
    size: str = "",
    most: str = "",
    half: bool = False,
    domain: str = "",
    license: str = "",
    source: str = "",
) -> Answer:
    """Make an engine of weights that you have: a folder with the network as ONNX, and a card.

    Weights are read without running any code. Their names and shapes tell which network they are of. Using
    the engine afterwards needs no torch.

    Options:
        checkpoint (CHECKPOINT): Weights of Pix2pixHD, CycleGAN, UNIT, U-GAT-IT, or ours.
        channels (CLASSES): Of a network that takes label maps, what its channels mean: cityscapes, or words
            of the ontology joined by commas, - for no class.
        edges: Whether its last channel marks boundaries; found out by counting.
        direction (WAY): Of a file with both directions: a2b or b2a.
        setting (KEY=VALUE): What the weights do not tell of the network; repeatable.
        size (WIDTHxHEIGHT): The size of the images that it was trained with.
        most (WIDTHxHEIGHT): The largest size to run it at; larger images are made smaller.
        out (--out FOLDER): The folder of the engine.
        name (NAME): Its name; as its folder if left out.
        half: Store weights with 16 bits, which halves the file.
        domain (WORDS): What the engine is for, such as camvid.
        license (WORDS): The terms of use of the data or weights.
        source (WORDS): Where the data or weights come from.

    Examples:
        roadworthy engines import latest_net_G.pth --out city --channels cityscapes --supports "remove car"
        roadworthy engines import gen_01000000.pt --out night --supports "replace time by night"
        roadworthy engines import rain_params_0100000.pt --out rain --supports "replace weather by rain"
    """
    if not supports:
        raise InputError('say what it does, by --supports "replace time by night"')
    check_free(out)
    card = import_checkpoint(
        checkpoint,
        out,
        Import(
            name or out.resolve().name,
            parse_supports(supports),
            channels=channels_of(channels) if channels else (),
            edges=edges,
            direction=direction,
            overrides=network_settings(setting),
            trained_at=_size("--size", size),
            most=_size("--most", most),
            half=half,
            domain=domain,
            license=license,
            source=source,
        ),
    )
    return Answer(
        {"folder": str(out), "card": card.to_dict()},
        [f"{card.name} is {card.architecture}, {card.kind}"],
        card.notes,
        conclusion=f"Wrote {out}; look at it by: roadworthy engines try {out}",
    )


@command(app)
def export(which: str, out: Path) -> Answer:
    """Write the weights of a learned engine as a file for PyTorch.

    `engines import` makes an engine of such a file again. The engine itself is its folder: copy that to
    use it elsewhere.

    Options:
        out (--out FILE): The file of weights to write.

    Examples:
        roadworthy engines export day-to-night --out night.pt
    """
    from roadworthy.training.engine_networks.checkpoint import read_checkpoint, write_checkpoint

    checkpoint = read_checkpoint(LearnedEngine.open(which).backend.files[1])
    make_folder(out.parent)
    write_checkpoint(out, checkpoint.network())
    settings = checkpoint.settings
    weights = sum(one.numel() for one in checkpoint.state.values())
    return Answer(
        {"file": str(out), "architecture": settings.architecture, "settings": settings.as_dict()},
        [f"Wrote {out}: {settings.architecture}, {weights:,} numbers"],
    )
