"""``roadworthy models`` and ``networks``: trying, training, evaluating and exporting; public networks.

Options:
    reference (MODEL): kind:path, a model.yaml, or a name; see `list models`.
    model_option (-m KEY=VALUE): An option of the model, or a key of its model.yaml such as input.width;
        repeatable.
    output (WORDS): What it predicts, joined by commas: speed, steering or both; classes for the detector and
        the classifier.
    network_option (-m KEY=VALUE): A size of it, such as hidden=128; repeatable.
"""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from roadworthy import training
from roadworthy._files import plain_name
from roadworthy.cli import options
from roadworthy.cli._answer import FAILED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import bars, make_folder, parse_options, tracked, write_picture
from roadworthy.datasets import load
from roadworthy.datasets.summary import spread_frames
from roadworthy.errors import InputError, check_number
from roadworthy.models import Network, Runtime, load_model
from roadworthy.models.description import draft_description, ready_description
from roadworthy.models.load import spelled
from roadworthy.models.network import UndescribedError
from roadworthy.models.networks import PublicNetwork, import_files, networks_folder, public_networks
from roadworthy.models.zoo import Variant, architecture, load_module, located_weights, read_variant
from roadworthy.report import prediction_sheet
from roadworthy.result_tables import ResultTable
from roadworthy.runs.model_notes import first_look
from roadworthy.transforms.engines import is_named

app = typer.Typer(cls=Group, no_args_is_help=True)

_MOST_FRAMES = 100
_FORMATS: dict[str, training.ExportFormat] = {".onnx": "onnx", ".pt": "torchscript", ".ts": "torchscript"}


@command(app, name="try")
def try_model(
    reference: str,
    data: str = "world",
    option: list[str] | None = None,
    model_option: list[str] | None = None,
    sample: int = 6,
    out: Path | None = None,
) -> Answer:
    """Run a model on a few frames, draw its answers and describe it.

    Exports of Ultralytics, YOLOX, Hugging Face, timm and torchvision are recognised, and their model.yaml is
    printed. For other networks without a description, print what the file says and a model.yaml to start
    from. The exit code is then 2, because nothing was tried.

    Options:
        sample (-n N): Frames, spread over the data.

    Examples:
        roadworthy models try yolov8n.onnx --data kitti:path/to/training
        roadworthy models try onnx:net.onnx
        roadworthy models try truth --data world:town
        roadworthy models try onnx:net.onnx -m output.signals=steering --data world
        roadworthy models try model.yaml --data world:town -o weather=rain --sample 12
        roadworthy models try recorded:results --data kitti:training
    """
    check_number("--sample", sample, least=1, most=_MOST_FRAMES)
    given = parse_options(model_option or [], "-m threads=1")
    try:
        system = load_model(reference, **given)
    except UndescribedError as error:
        return _undescribed(spelled(reference), error.runtime, data)
    dataset = options.opened(data, option, count=sample, history=options.history_of(system))
    frames, _ = spread_frames(dataset, sample, tracked)
    look = first_look(system, dataset, frames)
    note = f"{options.counted(len(frames), len(dataset))} of {dataset.name}"
    sheet = prediction_sheet(frames, look.answers, title=system.name, note=note)
    path = write_picture(out or Path(f"try-{plain_name(reference)}.png"), sheet)
    known, shown = look.document, []
    if isinstance(system, Network) and system.recognised is not None:
        known["description"] = ready_description(spelled(reference), system.recognised, given)
        shown = [f"Recognised as {system.recognised.what}. Its model.yaml:\n", known["description"]]
    rows = {
        "input": known.get("input"),
        "batch": known.get("batch"),
        "outputs": ", ".join(known.get("outputs", ())),
        "time": f"{known['milliseconds_per_frame']:.2f} ms per frame",
        **known["answers"],
        "against truth": ", ".join(one["text"] for one in known["truth"]),
    }
    return Answer(
        {"sheet": str(path), **known},
        [
            f"{known['model']}, {known['task']}",
            {name: value for name, value in rows.items() if value},
            *shown,
        ],
        known["notes"],
        conclusion=f"Wrote {path}",
    )


def _undescribed(reference: str, runtime: Runtime, data: str) -> Answer:
    """Tell what is known of a network that has no description, and how to write one."""
    description = draft_description(reference, runtime)
    document = {
        "model": reference,
        "input": None if runtime.input is None else asdict(runtime.input),
        "outputs": [asdict(one) for one in runtime.outputs],
        "description": description,
    }
    known = {"input": str(runtime.input or ""), "outputs": ", ".join(map(str, runtime.outputs))}
    place = "as model.yaml" if reference.startswith("http") else "beside it as model.yaml"
    return Answer(
        document,
        [
            f"{reference} has no description: it is not known what its outputs mean",
            {name: value or "not in its file" for name, value in known.items()},
            f"Save this {place}, correct the lines with a comment, and try that file on your frames:\n",
            description,
        ],
        exit_code=FAILED,
        conclusion=f"roadworthy models try model.yaml --data {shlex.quote(data)}"
        + (", or with your film: --data dash.mp4" if data == "world" else ""),
    )


@command(app)
def evaluate(
    reference: str,
    data: str = "world",
    option: list[str] | None = None,
    model_option: list[str] | None = None,
    lap: list[str] | None = None,
    batch: int = 64,
) -> Answer:
    """Compare a model's answers with the truth of a whole data set.

    Options:
        lap (TRACK): Let it also drive a lap of this track; repeatable.

    Examples:
        roadworthy models evaluate trained/dave2 --data world:mountain -o count=500 -o seed=7
        roadworthy models evaluate recorded:answers.csv --data udacity-ch2:drive
        roadworthy models evaluate trained/dave2 --data world --lap meadow --lap town
    """
    system = load_model(reference, **parse_options(model_option or [], "-m threads=1"))
    dataset = options.opened_for(data, option, options.history_of(system))
    # A model that cannot drive says so in its first step, and all the data need not be waited for.
    laps = [training.drive_lap(system, track) for track in tracked(lap or [], "Driving")]
    with bars() as shown:
        measures = training.evaluate(system, dataset, batch=batch, progress=shown.showing("Asking the model"))
    document = {
        "model": system.name,
        "dataset": dataset.name,
        "measures": [{**asdict(one), "text": str(one)} for one in measures],
        "laps": [asdict(one) for one in laps],
    }
    title = f"{system.name} on {dataset.name}"
    return Answer(document, [title, training.measures_table(measures), *map(str, laps)])


@command(app)
def export(
    source: str,
    file: Path,
    network: str | None = None,
    output: str | None = None,
    network_option: list[str] | None = None,
    small: bool = False,
) -> Answer:
    """Write a reference network as ONNX or TorchScript, checked to answer like the original.

    Beside FILE comes FILE.yaml, with which every command opens it.

    Options:
        source (WEIGHTS): A trained folder, an ONNX file, the name of a shipped network, or a state dict.
        file (FILE): The file to write: .onnx, .pt or .ts.
        network (NETWORK): The network, for a state dict, which does not tell.

    Examples:
        roadworthy models export trained/dave2 dave2.pt
        roadworthy models export net.pth net.onnx --network dave2 --output steering
    """
    if (format := _FORMATS.get(file.suffix.lower())) is None:
        raise InputError(f"the file must end in {', '.join(_FORMATS)}, got {str(file)!r}")
    weights = located_weights(source)
    if network is not None:
        variant = chosen_variant(network, output, network_option, small)
    elif output is not None or network_option or small:
        raise InputError("--output, --network-option and --small describe --network: give it too")
    elif weights.suffix.lower() != ".onnx":
        raise InputError(
            f"{weights}: a state dict does not tell its network: add --network NETWORK, with --output, "
            "--network-option and --small as they were when it was trained"
        )
    else:
        variant = read_variant(weights)
    module = load_module(source, variant=variant)
    make_folder(file.parent)
    frames = list(load("world", count=3, history=variant.spec.input.history))
    difference = training.export(module, variant, file, format=format, frames=frames)
    described = file.with_name(f"{file.name}.yaml")
    training.write_description(described, variant, f"{format}:{file.name}")
    document = {"file": str(file), "description": str(described), "format": format}
    return Answer(
        {**document, "network": variant.name, "difference": difference},
        [
            f"{variant.name}: the answers differ by {difference:.1e} at most",
            f"Wrote {file} and {described}",
            f"Try it: roadworthy models try {described}",
        ],
    )


def chosen_variant(name: str, output: str | None, option: list[str] | None, small: bool) -> Variant:
    """Return the network that the command line asks for."""
    sizes = parse_options(option or [], "-m hidden=128")
    return architecture(name).variant(options.words(output), sizes, small=small)


@dataclass(frozen=True)
class TrainingOptions:
    """How a reference network is trained; the fields are those of `training.Settings`.

    Options:
        epochs (N): The most epochs.
        patience (N): Stop after this many epochs without a smaller validation loss.
        learning_rate (--lr RATE): Adam's learning rate.
        decay (HOW): How the learning rate falls: none or cosine.
        mirror (SHARE): Of images that are mirrored.
        brightness (SHARE): By how much images get brighter or darker.
        memory (GIB): What the images may take; twice that while they are read.
    """

    epochs: int = 50
    patience: int = 8
    batch: int = 64
    learning_rate: float = 1e-4
    decay: str = "none"
    mirror: float = 0.5
    brightness: float = 0.2
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    workers: int | None = None
    memory: float = 8.0


@command(app)
def train(
    name: str,
    data: str = "world",
    option: list[str] | None = None,
    output: str | None = None,
    network_option: list[str] | None = None,
    small: bool = False,
    out: Path | None = None,
    resume: bool = False,
    weights: str | None = None,
    val_data: str | None = None,
    val_share: float = 0.2,
    *,
    how: TrainingOptions,
) -> Answer:
    """Train a reference network and write it as ONNX, with its card and a model.yaml.

    Options:
        name (NETWORK): dave2, epoch, chauffeur, rambo, vgg16, resnet101, detector or classifier.
        out (FOLDER): Where to write; trained/NETWORK, or the next, if left out.
        weights (MODEL): Weights to start from: a trained folder, an ONNX file, the name of a shipped network,
            or a state dict.
        val_data (DATA): Validation data, with the same options. If left out: the end of recorded data,
            another seed of generated data.

    Examples:
        roadworthy models train dave2 --data world -o count=4000 -o jitter=3
        roadworthy models train epoch --small --output steering --data udacity-ch2:drive
        roadworthy models train chauffeur --small --data world -o count=6000 -o sequence=12
        roadworthy models train dave2 --data world -o count=4000 -o jitter=3 --resume
        roadworthy models try trained/dave2 --data world:town
    """
    variant = chosen_variant(name, output, network_option, small)
    known = {**vars(how), "workers": options.processes(how.workers), "validation_share": val_share}
    settings = training.Settings(**known)
    place = out or options.free_folder(Path("trained") / name, resume=resume)
    sources = training.TrainingSources.open(
        data,
        parse_options(option or []),
        val_data,
        share=settings.validation_share,
        history=variant.spec.input.history,
    )
    with _folder(place, resume) as folder, bars() as shown:
        result = training.train(
            variant,
            sources.training,
            validation=sources.validation,
            settings=settings,
            names=sources.names,
            start=weights,
            folder=folder,
            resume=resume,
            watcher=options.training_shown(shown),
        )
    card = result.card
    rows = {
        "trained": f"{len(card.curve)} epochs on {card.device} in {card.seconds:.0f} s; {card.stopped}",
        "weights": f"of epoch {card.best_epoch}",
        **{one.role: f"{one.frames} samples of {one.name}" for one in card.data},
    }
    title = f"{card.variant.name}, {card.parameters:,} parameters"
    done = [f"Wrote {folder}", f"Try it: roadworthy models try {folder}"]
    return Answer(
        {"folder": str(folder), **card.to_dict()},
        [title, rows, training.measures_table(card.measures), *done],
    )


def _folder(path: Path, resume: bool) -> AbstractContextManager[Path]:
    """Make the folder of a training, unless it holds one that is not to be resumed."""
    if not resume and (path / training.CHECKPOINT).exists():
        raise InputError(f"{path} already holds a training: add --resume, or choose another with --out")
    return options.training_folder(path, training.CHECKPOINT, "the state after the last whole epoch")


networks = typer.Typer(cls=Group, no_args_is_help=True)


@command(networks, name="import")
def import_networks(files: list[Path]) -> Answer:
    """Import public networks: files known by SHA-256 are copied into your folder, and then used by name.

    The folder is roadworthy/networks among your data (~/.local/share, or XDG_DATA_HOME), or what
    ROADWORTHY_NETWORKS says. Nothing is downloaded.

    Options:
        files (FILE…): The files; `networks list` says which are known, and how to get them.

    Examples:
        roadworthy networks import yolox_nano.onnx
        roadworthy networks import dist/sam2_hiera_tiny_encoder.with_runtime_opt.ort
            dist/sam2_hiera_tiny_decoder_pr1.onnx
    """
    found = import_files(files)
    shown = [
        (f"{one.title}: {one.does}", {"license": one.license, "source": one.source, **_state(one)})
        for one in found
    ]
    return Answer(
        {"folder": str(networks_folder()), "networks": [{**one.card(), **_state(one)} for one in found]},
        [part for pair in shown for part in pair],
    )


def _state(network: PublicNetwork) -> dict[str, str]:
    """Return where a network is, or what is missing, and how it is used."""
    if network.missing:
        return {"still missing": ", ".join(network.missing), "get it": network.get}
    use = f"--model {network.name}" if network.describe else f"{network.opened_by}({network.name!r})"
    if is_named(network.name):
        use = f"--engines {network.name}, to remove things from images; {use}"
    return {"imported to": str(network.folder), "use it": use}


@command(networks, name="list")
def list_networks() -> Answer:
    """List the public networks that can be imported, with licence and how to get each.

    Examples:
        roadworthy networks list
        roadworthy networks list --json
    """
    every = public_networks().values()
    rows = tuple((one.name, one.does, one.license, "no" if one.missing else "yes") for one in every)
    note = f"Imported ones lie in {networks_folder()}"
    return Answer(
        [{**one.card(), **_state(one)} for one in every],
        [
            ResultTable("Public networks", ("network", "does", "license", "imported"), rows, note),
            "How to get them",
            {one.name: one.get for one in every},
        ],
    )
