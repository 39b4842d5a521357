from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from roadworthy.cases import Case, Predict, Requirement, Verdict
from roadworthy.datasets import WorldDataset
from roadworthy.models import load_model
from roadworthy.models.zoo import architecture
from roadworthy.runs import RunStore
from roadworthy.training import Settings, train

Roadworthy = Callable[..., Result]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A network that has learned next to nothing, so that learning more helps."""
    folder = tmp_path_factory.mktemp("network")
    options = {"width": 32, "height": 16, "channels": (4, 4, 8), "hidden": 8, "dropout": (0.0, 0.0)}
    variant = architecture("epoch").variant(["steering"], options)
    settings = Settings(epochs=1, batch=8, learning_rate=1e-5, mirror=0.0, device="cpu")
    train(variant, WorldDataset(count=16, seed=1, size="64x32"), settings=settings, folder=folder)
    return str(folder)


COMMON = ("--data", "world", "-o", "size=64x32", "--workers", "1", "--device", "cpu")


def test_better(roadworthy: Roadworthy, network: str, tmp_path: Path) -> None:
    result = roadworthy(
        "coverage", "retrain", "--model", network, *COMMON, "-o", "count=150", "--epochs", "12", "--lr",
        "0.01", "--batch", "16", "--cut", "60%", "--out", "new",
        "--tolerance", "50%",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "\nBETTER: the error fell on rain" in result.stdout
    assert "kept within 50%" in result.stdout.replace("\n", " ")
    assert "learned in another weather" in result.stdout.replace("\n", " ")
    found = json.loads((tmp_path / "new" / "retraining.json").read_text())
    assert found["verdict"] == "better"
    assert [one["kind"] for one in found["comparisons"]] == ["clean", "rain", "fog"]
    assert load_model(tmp_path / "new").name == "epoch"
    again = roadworthy("coverage", "retrain", "--model", network, *COMMON, "--out", "new")
    assert again.exit_code == 2
    assert "must be empty or new" in again.stderr


def test_worse_is_refused(roadworthy: Roadworthy, network: str) -> None:
    # Trained without sense, by far too large steps.
    result = roadworthy(
        "coverage", "retrain", "--model", network, *COMMON, "-o", "count=60", "--epochs", "2", "--lr", "2",
        "--batch", "16", "--out", "bad",
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    assert "NOT CALLED BETTER" in result.stdout
    assert json.loads(Path("bad/retraining.json").read_text())["better"] is False


def test_another_machine(roadworthy: Roadworthy, network: str) -> None:
    common = ("coverage", "retrain", "--model", network)
    made = roadworthy(*common, *COMMON, "-o", "count=60", "--prepare", "all.npz", "--change", "fog(amount=1)")
    assert made.exit_code == 0, made.output
    assert "48 training, 12 clean, 12 fog" in made.stdout
    done = roadworthy(*common, "--prepared", "all.npz", "--epochs", "1", "--device", "cpu", "--json")
    assert done.exit_code in (0, 1), done.output
    assert [one["kind"] for one in json.loads(done.stdout)["comparisons"]] == ["clean", "fog"]


def test_failures_of_a_run(roadworthy: Roadworthy, network: str, tmp_path: Path) -> None:
    data = WorldDataset(count=60, size="64x32")[48:]
    with RunStore(tmp_path / "run", Requirement("R", "stays", "coverage")) as store:
        for number, frame in enumerate(data):
            case = Case(f"try {number}", "R", (Predict((frame,)),), {"frame": frame.id})
            # The last one passes, and is not learned from.
            margin = 1.0 if number == len(data) - 1 else -1.0
            store.append(case, Verdict.from_margin(case, margin), [255 - frame.image])
    done = roadworthy(
        "coverage", "retrain", "--model", network, *COMMON, "-o", "count=60", "--run", "run", "--epochs", "1",
        "--out", "new", "--json",
    )  # fmt: skip
    assert done.exit_code in (0, 1), done.output
    found = json.loads(done.stdout)
    assert [one["kind"] for one in found["comparisons"]] == ["clean", "rain", "fog", "guided"]
    assert found["learned"] == {"guided": round(0.66 * 11)}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--model", "nothing"), "there are no weights 'nothing'"),
        (("--split", "weekly"), "split must be random or time"),
        (("--share", "2"), "--share must be a share"),
        (("--cut", "0%"), "both must have some"),
        (("--change", "hail"), "hail"),
        (("--change", "fog", "--change", "fog"), "given twice"),
        (("--run", "nowhere"), "must be the folder of a run"),
        (("--prepared", "nothing.npz"), "--prepare FILE"),
        (("--prepared", "a", "--prepare", "b"), "not both"),
    ],
)
def test_what_cannot_be_used(
    roadworthy: Roadworthy, network: str, options: tuple[str, ...], complaint: str
) -> None:
    model = () if "--model" in options else ("--model", network)
    result = roadworthy("coverage", "retrain", *model, *COMMON, "-o", "count=8", *options)
    assert result.exit_code == 2
    assert complaint in " ".join(result.stderr.split())
