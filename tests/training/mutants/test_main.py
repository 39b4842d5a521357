from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import roadworthy
from roadworthy.errors import InputError
from roadworthy.models import load_model
from roadworthy.training.mutants.__main__ import main
from roadworthy.training.mutants.training import train_mutant

# What a machine that only trains need not have.
_WITHOUT = ("scipy", "pyarrow", "matplotlib", "duckdb", "rich", "typer", "lark", "spacy", "pandas", "z3")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("mutants") / "dave2.npz"
    assert main(["prepare", "dave2", "--quick", "--encoding", "jpg", "--out", str(file)]) == 0
    return file


def test_mutants_are_trained_driven_and_searched_on(
    prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    train = [
        "train", str(prepared), "--out", str(out), "--epochs", "1", "--batch", "8", "--values", "1",
        "--operators", "TRD,WCI,RRW", "--device", "cpu",
    ]  # fmt: skip
    assert main(train) == 0
    told = capsys.readouterr().out
    assert "RRW does not apply: the training has no penalty on weights" in told
    assert re.search(r"TRD-99: 1 epochs in \d+ s, steering RMSE", told)
    names = sorted(one.name for one in out.iterdir())
    assert names[:1] == ["TRD-99"]
    assert names[-1] == "original"
    assert len(names) == 3
    assert load_model(out / "TRD-99").name == "dave2~TRD-99"
    assert main(["drive", str(out), "--longest", "0.02", "--workers", "2"]) == 0
    fates = {one.parent.name: json.loads(one.read_text())["fate"] for one in out.glob("*/mutant.json")}
    assert set(fates.values()) <= {"alive", "crashing"}
    (out / "copied").mkdir()
    for file in (out / "original").iterdir():
        (out / "copied" / file.name).write_bytes(file.read_bytes())
    document = json.loads((out / "original" / "mutant.json").read_text())
    document |= {"name": "copied", "mutation": {"operator": "HBS", "choice": "32"}, "fate": None}
    (out / "copied" / "mutant.json").write_text(json.dumps(document))
    assert main(["drive", str(out)]) == 0
    assert json.loads((out / "copied" / "mutant.json").read_text())["fate"] == "equivalent"
    chosen = json.loads((out / "chosen.json").read_text())
    assert "original" not in chosen
    original = out / "original" / "mutant.json"
    original.write_text(json.dumps({**json.loads(original.read_text()), "fate": "crashing"}))
    capsys.readouterr()
    assert main(["drive", str(out)]) == 0
    assert "Warning: the original crashes itself" in capsys.readouterr().err
    # What was trained is not trained again; a number that crashed is followed by a smaller one.
    document = json.loads((out / "TRD-99" / "mutant.json").read_text())
    (out / "TRD-99" / "mutant.json").write_text(json.dumps({**document, "fate": "crashing"}))
    capsys.readouterr()
    assert main(train) == 0
    told = capsys.readouterr().out
    assert "TRD-49.5" in told
    assert "WCI" not in told
    assert "original" not in told


def test_one_that_cannot_be_trained_does_not_end_the_others(
    prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from roadworthy.training.mutants import training as module

    right = train_mutant

    def failing(material: Any, mutation: Any) -> object:
        if getattr(mutation, "operator", "") == "OCH":
            raise InputError("the loss became nan in epoch 1: the training diverged")
        return right(material, mutation)

    monkeypatch.setattr(module, "train_mutant", failing)
    out = tmp_path / "out"
    arguments = [
        "train",
        str(prepared),
        "--out",
        str(out),
        "--epochs",
        "1",
        "--batch",
        "8",
        "--device",
        "cpu",
    ]
    assert main([*arguments, "--operators", "OCH,HBS"]) == 0
    fates = {one.parent.name: json.loads(one.read_text()).get("fate") for one in out.glob("*/mutant.json")}
    assert sorted(fate for name, fate in fates.items() if name.startswith("OCH")) == ["crashing"] * 2
    assert any(name.startswith("HBS") and fate is None for name, fate in fates.items())
    assert "failed: the loss became nan" in capsys.readouterr().out


@pytest.mark.slow
def test_training_needs_little_but_torch(prepared: Path, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        f"for name in {_WITHOUT}: sys.modules[name] = None\n"
        "from roadworthy.training.mutants.__main__ import main\n"
        f"sys.exit(main(['train', {str(prepared)!r}, '--out', {str(tmp_path / 'out')!r}, '--epochs', '1', "
        "'--batch', '8', '--operators', 'HBS', '--device', 'cpu']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out").glob("*/dave2.onnx"))) == 2


def test_bad_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", str(tmp_path / "none.npz"), "--out", str(tmp_path)]) == 2
    assert "holds nothing to train mutants with" in capsys.readouterr().err
    assert main(["drive", str(tmp_path / "nowhere")]) == 2
    assert "expected a folder of mutants" in capsys.readouterr().err
    assert main(["prepare", "dave9", "--out", str(tmp_path / "a.npz")]) == 2
    assert "there is no recipe 'dave9'" in capsys.readouterr().err


def test_no_command_line_of_a_package_starts_processes_itself() -> None:
    # Fresh processes do not import the __main__ of a package, and would not find their work there.
    files = list(Path(roadworthy.__file__).parent.rglob("__main__.py"))
    assert files
    assert not [one for one in files if "in_processes" in one.read_text("utf-8")]
