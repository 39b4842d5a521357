"""`roadworthy engines`: list, show, use, try, compare and import."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.loading import load_file
from typer.testing import Result

from roadworthy.datasets import load
from roadworthy.images import read_image, write_image
from roadworthy.transforms import read_engines
from roadworthy.transforms.learned import EngineCard

Run = Callable[..., Result]
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "engines" / "wrap_network.py"
NIGHT = "If the driving time changes into night, the steering angle should stay the same."


@pytest.fixture
def darker(tmp_path: Path) -> Path:
    """An engine in the folder of the command."""
    load_file(EXAMPLE).write_engine(tmp_path / "nets" / "darker")
    return tmp_path / "nets" / "darker"


@pytest.mark.usefixtures("darker")
def test_from_a_folder_to_a_rule(roadworthy: Run) -> None:
    used = roadworthy("engines", "use", "nets/darker", "--as", "dusk-maker", "--file", "mine/engines.yaml")
    assert used.exit_code == 0, used.output
    assert "dusk-maker is added to mine/engines.yaml: replace time by night" in used.stdout
    assert "learned: ../nets/darker" in Path("mine/engines.yaml").read_text()
    listed = json.loads(roadworthy("engines", "list", "--file", "mine/engines.yaml", "--json").stdout)
    (row,) = [one for one in listed["engines"] if one["from"] == "mine/engines.yaml"]
    assert (row["name"], row["supports"], row["needs_permission"]) == (
        "dusk-maker",
        ["replace time by night"],
        False,
    )
    # Rules that are run with the file use it, and need no permission.
    ran = roadworthy(
        "rules", "run", "--rule", NIGHT, "--engines", "mine/engines.yaml", "--sample", "3", "--allow", "100%"
    )
    assert ran.exit_code == 0, ran.output
    rows = next(iter(Path("rules-out").rglob("*.parquet")))
    import pyarrow.parquet as parquet

    changes = parquet.read_table(rows)["param.change.1"].to_pylist()
    assert set(changes) == {"dusk-maker(operation=replace, element=time, by=night)"}


@pytest.mark.usefixtures("darker")
def test_what_else_is_in_the_file_stays(roadworthy: Run) -> None:
    supports = "supports: [{operation: replace, element: time}]"
    Path("engines.yaml").write_text(
        f"engines:\n  # Slow, but good.\n  old:\n    entry: a:b\n    {supports}\n"
    )
    first = json.loads(roadworthy("engines", "use", "nets/darker", "--json").stdout)
    assert (first["replaced"], first["notes"]) == (False, [])
    again = json.loads(
        roadworthy("engines", "use", "nets/darker", "--supports", "replace time by night", "--json").stdout
    )
    assert again["replaced"] is True
    assert [one.name for one in read_engines("engines.yaml")] == ["darker", "old"]
    assert "  # Slow, but good.\n  old:\n" in Path("engines.yaml").read_text()
    # One that stands behind another is said to.
    text = Path("engines.yaml").read_text()
    body = text.partition("engines:\n")[2]
    old = body[body.index("  # Slow") :]
    Path("engines.yaml").write_text("engines:\n" + old + body[: body.index("  # Slow")])
    hidden = roadworthy("engines", "use", "nets/darker")
    assert "Note: old stands before darker in the file and does replace time by night" in hidden.stdout


@pytest.mark.usefixtures("darker")
def test_show_and_list_for_people(roadworthy: Run) -> None:
    shown = roadworthy("engines", "show", "nets/darker")
    assert shown.exit_code == 0, shown.output
    for words in ("darker: replace time by night", "image (3)", "trained at 320x160", "Apache-2.0"):
        assert words in shown.stdout
    card = EngineCard.read(Path("nets/darker"))
    notes = [{"role": "training", "name": f"data {number}", "frames": number} for number in (3, 4)]
    card.replace(data=notes).write(Path("nets/darker"))
    shown = roadworthy("engines", "show", "nets/darker")
    assert "data 3, 3 frames; data 4, 4 frames" in " ".join(shown.stdout.split())
    document = json.loads(roadworthy("engines", "show", "nets/darker", "--json").stdout)
    assert EngineCard.of_dict(document).name == "darker"
    roadworthy("engines", "use", "nets/darker")
    assert "darker" in roadworthy("engines", "list").stdout


@pytest.mark.usefixtures("darker")
def test_a_sheet_with_the_frames_before_and_after(roadworthy: Run) -> None:
    tried = roadworthy("engines", "try", "nets/darker", "--sample", "2", "--json")
    assert tried.exit_code == 0, tried.output
    document = json.loads(tried.stdout)
    assert document["sheet"] == "darker.png"
    (one,) = document["operations"]
    assert (one["operation"], one["changed"], one["reasons"]) == ("replace time by night", 2, {})
    sheet = read_image("darker.png")
    # Unchanged, learned and built in side by side.
    assert sheet.shape[1] > 3 * 400
    dark = roadworthy("engines", "try", "nets/darker", "-o", "time=night", "--sample", "2")
    assert "2 did not qualify: the time is already night" in dark.stdout


def test_the_filling_network_that_ships_is_compared_with_what_is_built_in(roadworthy: Run) -> None:
    told = roadworthy("engines", "compare", "fill", "--sample", "12", "--json")
    assert told.exit_code == 0, told.output
    (row,) = json.loads(told.stdout)["comparisons"]
    assert (row["engine"], row["change"]) == ("fill", "remove-vehicle")
    assert row["frames"] >= 2
    assert row["distance"]["learned"] < row["distance"]["unchanged"]
    absent = roadworthy("engines", "compare", "migan")
    assert absent.exit_code == 2
    assert "networks import" in " ".join(absent.stderr.split())


@pytest.mark.usefixtures("darker")
def test_beside_the_truth_of_the_world(roadworthy: Run) -> None:
    told = roadworthy("engines", "compare", "nets/darker", "--sample", "3", "--size", "160x80", "--json")
    assert told.exit_code == 0, told.output
    (row,) = json.loads(told.stdout)["comparisons"]
    assert (row["engine"], row["change"], row["learned_is_nearer"]) == ("darker", "day-to-night", False)
    assert row["frames"] == 3
    assert row["distance"]["unchanged"] > row["distance"]["learned"] > row["distance"]["classical"] > 0
    low, high = row["learned_minus_built_in"]["interval"]
    assert low <= row["learned_minus_built_in"]["mean"] <= high


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("show", "nowhere"), "there is no folder nowhere and no learned engine 'nowhere'"),
        (("use", "nets/darker", "--supports", "remove line"), "does not remove line: its card says"),
        (("use", "nets/darker", "--device", "tpu"), "'tpu' is not one of"),
        (("try", "nets/darker", "--sample", "0"), "--sample must be from 1 to 50, got 0"),
        (("compare", "nets/darker", "--size", "big"), "--size must be WIDTHxHEIGHT, such as 320x160"),
        (("import", "nothing.pth", "--out", "x"), 'say what it does, by --supports "replace time by night"'),
        (
            ("import", "nothing.pth", "--out", "x", "--supports", "remove line"),
            "cannot read the checkpoint nothing.pth: there is no such file",
        ),
    ],
)
@pytest.mark.usefixtures("darker")
def test_bad_input_says_what_to_do(roadworthy: Run, words: tuple[str, ...], told: str) -> None:
    result = roadworthy("engines", *words)
    assert result.exit_code == 2
    assert told in " ".join(result.output.split())
    assert not Path("engines.yaml").exists()


def measured(high: float) -> dict[str, object]:
    name = "look distance, learned minus classical, 320x160"
    return {"name": name, "value": high - 0.1, "low": high - 0.2, "high": high, "frames": 9}


class TestShipped:
    @pytest.fixture(autouse=True)
    def ship(self, darker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The engine is one that comes with Roadworthy, for this test."""
        monkeypatch.setattr("roadworthy.transforms.learned.engine.shipped_folder", lambda: darker.parent)
        EngineCard.read(darker).replace(metrics=[measured(-0.01)], domain="world").write(darker)

    def test_they_are_used_by_name(self, roadworthy: Run) -> None:
        listed = json.loads(roadworthy("engines", "list", "--json").stdout)["engines"]
        assert [(one["name"], one["from"], one["is_nearer"]) for one in listed] == [
            ("darker", "shipped", True)
        ]
        assert "yes" in roadworthy("engines", "list").stdout
        used = roadworthy("engines", "use", "darker")
        assert used.exit_code == 0
        assert "Note: darker learned from the built-in world alone" in used.stdout
        assert "    learned: darker\n" in Path("engines.yaml").read_text()
        assert [one.name for one in read_engines("engines.yaml")] == ["darker"]
        wrong = roadworthy("engines", "show", "darkre")
        assert "no learned engine 'darkre': did you mean 'darker'?" in " ".join(wrong.output.split())

    def test_one_word_takes_them_all(self, roadworthy: Run) -> None:
        Path("night.suite.yaml").write_text(
            f"models: dave2\ndata: {{town: {{data: 'world:town', sample: 2}}}}\n"
            f"requirements: {{N: {{rule: '{NIGHT}', engines: shipped, accept: 100%}}}}\n"
        )
        ran = roadworthy("run", "night.suite.yaml", "--out", "out")
        assert ran.exit_code == 0, ran.output
        manifest = json.loads(Path("out/manifest.json").read_text())
        assert set(manifest["engines"]["darker"]["sums"]) == {"card.json", "engine.onnx"}
        assert [one.name for one in read_engines("shipped")] == ["darker"]

    @pytest.mark.parametrize("metrics", [[], [measured(-0.01), measured(0.002)]])
    def test_those_that_are_not_nearer_to_the_truth_are_left_out(
        self, roadworthy: Run, darker: Path, metrics: list[dict[str, object]]
    ) -> None:
        EngineCard.read(darker).replace(metrics=metrics).write(darker)
        ran = roadworthy("rules", "run", "--rule", NIGHT, "--engines", "shipped", "--sample", "2")
        assert ran.exit_code == 2
        assert "was measured to be nearer to the truth than what is built in" in " ".join(ran.output.split())

    def test_they_are_for_frames_of_the_world(self, roadworthy: Run) -> None:
        Path("photos").mkdir()
        for frame in load("world:town", count=2):
            write_image(Path("photos", f"{frame.id}.png"), frame.image)
        rule = ("rules", "run", "--rule", NIGHT, "--data", "folder:photos", "--allow", "100%")
        ran = roadworthy(*rule, "--engines", "shipped")
        assert ran.exit_code == 2
        told = "the engine 'darker' learned from the built-in world alone"
        assert told in " ".join(ran.output.split())
        assert not Path("rules-out").exists()
        # So it is in suites.
        Path("night.suite.yaml").write_text(
            "models: dave2\ndata: {photos: {data: 'folder:photos'}}\n"
            f"requirements: {{N: {{rule: '{NIGHT}', engines: shipped}}}}\n"
        )
        ran = roadworthy("run", "night.suite.yaml", "--out", "out")
        assert ran.exit_code == 2
        assert "'darker' learned from the built-in world alone" in " ".join(ran.output.split())
        # Who names it is free to use it, and is told.
        roadworthy("engines", "use", "darker")
        ran = roadworthy(*rule, "--engines", "engines.yaml")
        assert ran.exit_code == 0, ran.output
        assert "darker was not made for frames such as those of folder:photos" in " ".join(ran.output.split())


def test_none_are_shipped(roadworthy: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roadworthy.transforms.learned.engine.shipped_folder", lambda: tmp_path / "none")
    assert "comes with no learned engines" in " ".join(roadworthy("engines", "list").stdout.split())
    ran = roadworthy("rules", "run", "--rule", NIGHT, "--engines", "shipped")
    assert ran.exit_code == 2
    assert "has no learned engines: give an engines file" in " ".join(ran.output.split())


def test_a_public_checkpoint_becomes_an_engine_that_needs_no_torch(roadworthy: Run) -> None:
    import torch

    from roadworthy.training.engine_networks.settings import network_for

    # Named and laid out as Pix2pixHD writes it: weights alone, 35 label channels and one of edges.
    module = network_for(
        "pix2pixhd-global", {"input_nc": 36, "ngf": 4, "n_downsampling": 2, "n_blocks": 1}, seed=3
    )
    torch.save(module.state_dict(), "latest_net_G.pth")
    made = roadworthy(
        *("engines", "import", "latest_net_G.pth", "--out", "city", "--channels", "cityscapes"),
        *("--supports", "remove car", "--supports", "replace building by tree", "--domain", "cityscapes"),
    )
    assert made.exit_code == 0, made.output
    card = EngineCard.read(Path("city"))
    assert (card.kind, card.edges, card.training.method) == ("synthesis", True, "imported")
    assert card.classes[:4] == ("ego-vehicle", "terrain", "road", "sidewalk")
    tried = roadworthy("engines", "try", "city", "--sample", "2", "--json")
    assert tried.exit_code == 0, tried.output
    document = json.loads(tried.stdout)
    assert document["unseen"].keys() <= {"line", "crosswalk", "stop and yield line"}
    assert roadworthy("engines", "export", "city", "--out", "city.pt").exit_code == 0
    again = roadworthy("engines", "import", "latest_net_G.pth", "--out", "city", "--supports", "remove car")
    assert "must be empty or new" in again.output
    few = roadworthy(
        *("engines", "import", "latest_net_G.pth", "--out", "few", "--channels", "road,sky"),
        *("--supports", "remove car"),
    )
    assert few.exit_code == 2
    assert "has 36 input channels, and 2 label channels were named" in " ".join(few.output.split())
    edged = roadworthy(
        *("engines", "import", "latest_net_G.pth", "--out", "few", "--edges", "--supports", "remove car"),
        *("--channels", ",".join(["road"] * 36)),
    )
    assert "36 label channels and one of edges were named" in " ".join(edged.output.split())
    assert not Path("few").exists()


def test_what_our_channels_become(tmp_path: Path) -> None:
    """The imported file, given our label map, answers as the network does that is given its own."""
    import onnxruntime
    import torch

    from roadworthy.datasets.cityscapes import label_classes
    from roadworthy.frames import LabelMap
    from roadworthy.training.engine_networks.settings import network_for
    from roadworthy.training.engines.writing import Import, channels_of, import_checkpoint
    from roadworthy.transforms.learned.network import one_hot

    settings = {"input_nc": 35, "ngf": 4, "n_downsampling": 2, "n_blocks": 1}
    module = network_for("pix2pixhd-global", settings, seed=5).eval()
    torch.save(module.state_dict(), tmp_path / "g.pth")
    said = Import("city", [{"operation": "remove", "element": "car"}], channels=channels_of("cityscapes"))
    card = import_checkpoint(tmp_path / "g.pth", tmp_path / "city", said)
    rng = np.random.default_rng(0)
    ours = ("void", "road", "vehicle", "tree", "sky", "crosswalk")
    labels = LabelMap(rng.integers(0, len(ours), (16, 24)).astype(np.uint8), ours)
    session = onnxruntime.InferenceSession(tmp_path / "city" / "engine.onnx")
    (found,) = session.run(None, {"labels": one_hot(labels, card.classes)[None]})
    # The ids of Cityscapes by its own table, which has no crosswalks.
    names = [name for name, _ in label_classes()]
    ids = [names.index(name) for name in ("unlabeled", "road", "car", "vegetation", "sky", "unlabeled")]
    theirs = np.eye(35, dtype=np.float32)[np.array(ids)[labels.ids]].transpose(2, 0, 1)
    with torch.inference_mode():
        expected = module(torch.from_numpy(theirs.copy())[None]).numpy()
    assert np.abs(found - expected).max() < 1e-4


def test_weights_go_out_and_come_in_again(roadworthy: Run) -> None:
    import torch

    from roadworthy.training.engine_networks.settings import network_for

    module = network_for("unit", {"dim": 4, "n_res": 1}, seed=2)
    # As UNIT writes it: both directions, each with its encoder and decoder.
    torch.save({"a": module.state_dict(), "b": module.state_dict()}, "gen_00000100.pt")
    night = ("--supports", "replace time by night")
    assert roadworthy("engines", "import", "gen_00000100.pt", "--out", "one", *night).exit_code == 0
    exported = roadworthy("engines", "export", "one", "--out", "out/night.pt")
    assert exported.exit_code == 0, exported.output
    assert "Wrote out/night.pt: unit" in exported.stdout
    again = roadworthy("engines", "import", "out/night.pt", "--out", "two", *night)
    assert again.exit_code == 0, again.output
    # The same weights make the same network, to the last byte.
    assert Path("one/engine.onnx").read_bytes() == Path("two/engine.onnx").read_bytes()
    halved = roadworthy("engines", "import", "out/night.pt", "--out", "half", "--half", *night)
    assert "Note: Weights have 16 bits: on random inputs that changed a pixel by" in halved.stdout
    assert "Weights have 16 bits" in roadworthy("engines", "show", "half").stdout


def test_a_size_that_the_weights_do_not_tell_is_said(roadworthy: Run) -> None:
    import torch

    from roadworthy.training.engine_networks.settings import network_for

    module = network_for("ugatit", {"ngf": 4, "n_blocks": 1, "img_size": [16, 48]})
    torch.save(module.state_dict(), "night_params_0001000.pt")
    given = ("engines", "import", "night_params_0001000.pt", "--supports", "replace time by night", "--out")
    untold = roadworthy(*given, "one")
    assert untold.exit_code == 2
    assert "(--setting img_size=WIDTHxHEIGHT)" in " ".join(untold.output.split())
    made = roadworthy(*given, "two", "--setting", "img_size=48x16")
    assert made.exit_code == 0, made.output
    assert EngineCard.read(Path("two")).most == (16, 48)
