"""What each adapter does beyond what all share: opening files, and refusing what it cannot use."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from roadworthy.errors import InputError, MissingExtraError, SystemUnderTestError
from roadworthy.frames import Frame, Signals
from roadworthy.models import (
    ImageInput,
    ModelSpec,
    Network,
    RegressionOutput,
    callable_model,
    load_model,
    onnx_model,
    torch_model,
)
from roadworthy.models.opencv import opencv_model
from roadworthy.models.torch_module import torchscript_model
from roadworthy.runs.batches import Reply, ask
from roadworthy.runs.store.digests import digest_of_model

STEERING = ModelSpec(RegressionOutput(("steering",)))
TWO = ModelSpec(RegressionOutput(("steering", "speed")))


class Trap:
    """Runs a command when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.system, (f"touch {self.file}",)


@pytest.fixture
def frame() -> Frame:
    return Frame("drive/17", np.full((24, 40, 3), 99, np.uint8))


class TestOnnx:
    def test_the_file_says_size_and_batch(self, exported: Path) -> None:
        model = load_model(f"onnx:{exported}/driver-one.onnx", output={"signals": ["steering", "speed"]})
        assert isinstance(model, Network)
        assert (model.input.width, model.input.height, model.input.layout) == (40, 24, "nchw")
        assert (model.batch, str(model.runtime.outputs[0])) == (1, "'answer' (1, 2) float32")
        assert [file.name for file in model.files] == ["driver-one.onnx"]

    def test_it_travels_to_another_process(
        self, exported: Path, frames: list[Frame], driver_spec: Any
    ) -> None:
        model = onnx_model(exported / "driver.onnx", spec=driver_spec)
        assert pickle.loads(pickle.dumps(model)).predict(frames[:3]) == model.predict(frames[:3])

    def test_a_fixed_batch_of_four_is_filled_up(self, tmp_path: Path, frames: list[Frame]) -> None:
        """A network whose answer is the mean of each image."""
        x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4, 3, 8, 8])
        y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4])
        node = onnx.helper.make_node("ReduceMean", ["x"], ["y"], axes=[1, 2, 3], keepdims=0)
        graph = onnx.helper.make_graph([node], "mean", [x], [y])
        opset = onnx.helper.make_opsetid("", 13)
        onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), tmp_path / "mean.onnx")
        model = onnx_model(tmp_path / "mean.onnx", spec=STEERING)
        assert model.batch == 4
        answers = model.predict(frames[:7])
        assert answers == [model.predict([frame])[0] for frame in frames[:7]]
        assert len({answer.steering for answer in answers}) == 7

    def test_without_a_description_it_says_what_it_found(self, exported: Path) -> None:
        with pytest.raises(InputError, match=r"input 'image' \(\?, 3, 24, 40\) float32, output 'answer'"):
            load_model(f"onnx:{exported}/driver.onnx")

    def test_a_missing_or_broken_file_is_named(self, tmp_path: Path, exported: Path) -> None:
        with pytest.raises(
            InputError, match=r"cannot read the ONNX network .*no\.onnx: there is no such file"
        ):
            load_model(f"onnx:{tmp_path}/no.onnx", spec=STEERING)
        for content in ((exported / "driver.onnx").read_bytes()[:900], b"no network"):
            (tmp_path / "cut.onnx").write_bytes(content)
            with pytest.raises(InputError, match=r"cut\.onnx: it is no ONNX file, or was cut short$"):
                load_model(f"onnx:{tmp_path}/cut.onnx", spec=STEERING)

    def test_another_size_or_output_than_the_file_has_is_refused(self, exported: Path) -> None:
        with pytest.raises(InputError, match=r"driver\.onnx: .* w=40, but w=320 is declared"):
            onnx_model(exported / "driver.onnx", spec=ModelSpec(STEERING.output, ImageInput(320, 160)))
        output = RegressionOutput(("steering",), outputs=("angle",))
        with pytest.raises(
            InputError, match=r"outputs names 'angle', but the network has 'answer' \(\?, 2\)"
        ):
            onnx_model(exported / "driver.onnx", spec=ModelSpec(output))


class TestTorch:
    WHERE = f"{Path(__file__).parent / 'conftest.py'}:Driver"

    @pytest.mark.parametrize("weights", ["driver.pth", "driver.safetensors"])
    def test_a_class_gets_its_weights(
        self, weights: str, exported: Path, driver: torch.nn.Module, driver_spec: Any, frames: list[Frame]
    ) -> None:
        model = load_model(f"torch:{self.WHERE}", weights=str(exported / weights), spec=driver_spec)
        assert model.predict(frames[:3]) == torch_model(driver, spec=driver_spec).predict(frames[:3])

    def test_a_function_that_builds_it_will_do(self, tmp_path: Path, frames: list[Frame]) -> None:
        (tmp_path / "nets.py").write_text(
            "import torch\n"
            "class Net(torch.nn.Sequential):\n"
            "    @classmethod\n"
            "    def from_name(cls, name, *, kernel):\n"
            "        assert name == 'small'\n"
            "        conv = torch.nn.Conv2d(3, 6, kernel, stride=2)\n"
            "        return cls(conv, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Conv2d(6, 1, 1))\n"
        )
        arguments = {"name": "small", "kernel": 5}
        model = load_model(f"torch:{tmp_path}/nets.py:Net.from_name", arguments=arguments, spec=STEERING)
        assert len(model.predict(frames[:2])) == 2
        assert isinstance(model, Network)
        assert model.files == (tmp_path / "nets.py",), "what decides is the file that was named"
        with pytest.raises(InputError, match=r"Net\.from_name cannot be built: TypeError"):
            load_model(f"torch:{tmp_path}/nets.py:Net.from_name", spec=STEERING)

    def test_without_weights_it_says_so(self, exported: Path, driver: torch.nn.Module) -> None:
        reference = f"torch:{Path(__file__).parent / 'conftest.py'}:Driver"
        (note,) = load_model(reference, spec=TWO).notes  # type: ignore[attr-defined]
        assert note.startswith("no weights given: the network answers with its initial, random weights")
        with_weights = load_model(reference, spec=TWO, weights=exported / "driver.pth")
        assert with_weights.notes == ()  # type: ignore[attr-defined]
        assert torch_model(driver, spec=TWO).notes == ()

    def test_weights_of_another_network_are_refused(self, exported: Path) -> None:
        with pytest.raises(
            InputError, match=r"spotter\.pth are not those of Driver: layers\.0\.weight is missing"
        ):
            load_model(f"torch:{self.WHERE}", weights=exported / "spotter.pth", spec=STEERING)
        with pytest.raises(InputError, match=r"layers\.5\.weight has shape \(2, 256\), not \(1, 256\)"):
            load_model(
                f"torch:{self.WHERE}",
                weights=exported / "driver.pth",
                spec=STEERING,
                arguments={"outputs": 1},
            )

    @pytest.mark.parametrize("whole", [False, True])
    def test_a_pickle_that_would_run_code_is_refused_and_does_not_run(
        self, whole: bool, tmp_path: Path, driver: torch.nn.Module
    ) -> None:
        trap = tmp_path / "sprung"
        if whole:
            torch.save(driver, tmp_path / "net.pth")
        else:
            torch.save({"layers": Trap(trap)}, tmp_path / "net.pth")
        with pytest.raises(
            InputError, match=r"refused to load .*net\.pth: .*could run code; save the weights"
        ):
            load_model(f"torch:{self.WHERE}", weights=tmp_path / "net.pth", spec=STEERING)
        (tmp_path / "plain.pth").write_bytes(pickle.dumps(Trap(trap)))
        with pytest.raises(InputError, match="refused to load"):
            load_model(f"torch:{self.WHERE}", weights=tmp_path / "plain.pth", spec=STEERING)
        assert not trap.exists()

    def test_what_is_no_state_dict_is_refused(self, tmp_path: Path, exported: Path) -> None:
        torch.save([torch.zeros(2)], tmp_path / "list.pth")
        (tmp_path / "cut.pth").write_bytes((exported / "driver.pth").read_bytes()[:700])
        (tmp_path / "cut.safetensors").write_bytes((exported / "driver.safetensors").read_bytes()[:700])
        for name, message in {
            "list.pth": "must be a state dict, a tensor for each name, got list",
            "cut.pth": r"cannot read the weights .*cut\.pth",
            "cut.safetensors": r"cannot read the weights .*cut\.safetensors",
            "absent.pth": r"cannot read the weights .*absent\.pth: there is no such file",
        }.items():
            with pytest.raises(InputError, match=message):
                load_model(f"torch:{self.WHERE}", weights=tmp_path / name, spec=STEERING)
        with pytest.raises(InputError, match=r"is a TorchScript archive: write torchscript:"):
            load_model(f"torch:{self.WHERE}", weights=exported / "driver.ts", spec=STEERING)

    @pytest.mark.parametrize(
        ("reference", "message"),
        [
            ("Driver", "expected torch:package.module:Class or torch:file.py:Class, got 'torch:Driver'"),
            ("no_such_module:Net", "there is no module 'no_such_module', neither in"),
            ("no/such/file.py:Net", "there is no file no/such/file.py"),
            (
                "pathlib:Path",
                "must name a subclass of torch.nn.Module, or a function that builds one, got Path",
            ),
            ("math:pi", "must name a subclass of torch.nn.Module, or a function that builds one, got float"),
            ("math:gcd", "torch:math:gcd must be a torch.nn.Module, got int"),
            (f"{Path(__file__).parent / 'conftest.py'}:Drivr", "has no 'Drivr'; did you mean"),
        ],
    )
    def test_a_class_that_is_not_there_is_named(self, reference: str, message: str) -> None:
        with pytest.raises(InputError, match=message):
            load_model(f"torch:{reference}", spec=STEERING)

    def test_torch_may_be_absent(self, monkeypatch: pytest.MonkeyPatch, exported: Path) -> None:
        monkeypatch.setitem(sys.modules, "torch", None)
        with pytest.raises(MissingExtraError, match=r"torch is needed .* pip install 'roadworthy\[torch\]'"):
            torchscript_model(exported / "driver.ts", spec=STEERING)
        with pytest.raises(MissingExtraError):
            load_model(f"torch:{self.WHERE}", spec=STEERING)

    def test_several_outputs_have_names(self, frame: Frame) -> None:
        class Two(torch.nn.Module):
            def forward(self, images: torch.Tensor) -> dict[str, torch.Tensor]:
                return {"speed": images.mean((1, 2, 3)), "angle": -images.mean((1, 2, 3))}

        spec = ModelSpec(RegressionOutput(("steering", "speed"), outputs=("angle", "speed")))
        (answer,) = torch_model(Two(), spec=spec).predict([frame])
        assert answer.steering == pytest.approx(-99 / 255)


class TestTorchScript:
    def test_what_is_no_archive_is_refused(
        self, tmp_path: Path, exported: Path, driver: torch.nn.Module
    ) -> None:
        torch.save(driver, tmp_path / "whole.pt")
        (tmp_path / "cut.pt").write_bytes((exported / "driver.ts").read_bytes()[:2000])
        (tmp_path / "trap.pt").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
        for name in ("whole.pt", "cut.pt", "trap.pt"):
            with pytest.raises(InputError, match=rf"{name} is no whole TorchScript archive.*never loaded"):
                torchscript_model(tmp_path / name, spec=STEERING)
        assert not (tmp_path / "sprung").exists()
        with pytest.raises(InputError, match="there is no such file"):
            torchscript_model(tmp_path / "absent.pt", spec=STEERING)

    def test_it_travels_to_another_process(
        self, exported: Path, frames: list[Frame], driver_spec: Any
    ) -> None:
        model = torchscript_model(exported / "driver.ts", spec=driver_spec)
        assert pickle.loads(pickle.dumps(model)).predict(frames[:3]) == model.predict(frames[:3])


class TestOpenCV:
    def test_a_broken_file_is_named(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "net.onnx").write_bytes(b"nothing")
        with pytest.raises(InputError, match=r"OpenCV cannot read the network .*net\.onnx"):
            opencv_model(tmp_path / "net.onnx", spec=STEERING)
        assert capfd.readouterr().err == ""


class TestCallable:
    def test_a_function_of_frames_needs_no_description(self, frame: Frame) -> None:
        model = callable_model(
            lambda frames: [Signals(speed=float(one.width)) for one in frames], name="wide"
        )
        assert model.predict([frame, frame])[1] == Signals(speed=40.0)

    def test_a_function_in_a_file_is_found(self, tmp_path: Path, frame: Frame) -> None:
        (tmp_path / "mine.py").write_text(
            "def steer(images):\n    assert images.shape == (1, 24, 40, 3)\n    return images[:, 0, 0, :1]\n"
        )
        model = load_model(
            f"callable:{tmp_path}/mine.py:steer",
            **{"output.signals": "steering", "input.layout": "nhwc", "input.dtype": "uint8"},
        )
        assert model.predict([frame]) == [Signals(steering=99.0)]

    def test_a_module_in_the_current_folder_is_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frame: Frame
    ) -> None:
        (tmp_path / "own_driver.py").write_text(
            "from roadworthy.frames import Signals\n\n"
            "def drive(frames):\n    return [Signals(speed=1.0)] * len(frames)\n"
        )
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [*sys.path])
        monkeypatch.setattr(sys, "modules", {**sys.modules})
        assert load_model("callable:own_driver:drive").predict([frame]) == [Signals(speed=1.0)]

    def test_a_file_that_was_edited_is_read_again(self, tmp_path: Path, frame: Frame) -> None:
        file = tmp_path / "edited.py"
        answers: list[Any] = []
        digests: set[str | None] = set()
        for speed in (1, 2):
            file.write_text(
                "from roadworthy.frames import Signals\n\n"
                f"def drive(frames):\n    return [Signals(speed={speed}.0)] * len(frames)\n"
            )
            # As large and as old as before, which is what Python's own bytecode goes by.
            os.utime(file, (1e9, 1e9))
            model = load_model(f"callable:{file}:drive")
            answers += model.predict([frame])
            digests.add(digest_of_model(model).sha256)
        assert answers == [Signals(speed=1.0), Signals(speed=2.0)]
        assert len(digests) == 2

    def test_a_module_that_was_edited_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frame: Frame
    ) -> None:
        file = tmp_path / "edited_driver.py"
        file.write_text("def drive(frames):\n    return frames\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(sys, "modules", {**sys.modules})
        load_model("callable:edited_driver:drive")
        load_model("callable:edited_driver:drive")
        file.write_text("def drive(frames):\n    return frames[1:]\n")
        # Python would answer with the old one, under the digest of the new one.
        with pytest.raises(InputError, match=r"driver\.py was edited after it was imported.*start again"):
            load_model("callable:edited_driver:drive")
        # Unless Python reads it again, as notebooks do.
        os.utime(file, (1e9, 1e9))
        importlib.reload(sys.modules["edited_driver"])
        assert load_model("callable:edited_driver:drive") is not None

    @pytest.mark.parametrize("reference", ["ending_driver", "ending_driver.py"])
    def test_code_that_ends_the_program_when_it_is_imported_does_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str
    ) -> None:
        (tmp_path / "ending_driver.py").write_text("import sys\n\nsys.exit(0)\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(InputError, match=r"cannot import ending_driver.*: SystemExit: 0"):
            load_model(f"callable:{reference}:drive")

    def test_a_file_that_cannot_be_imported_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "broken.py").write_text("import no_such_library\n")
        with pytest.raises(
            InputError, match=r"cannot import .*broken\.py: ModuleNotFoundError: .*no_such_library"
        ):
            load_model(f"callable:{tmp_path}/broken.py:drive")

    def test_a_model_that_raises_names_the_frames(self, frame: Frame) -> None:
        def crash(_: object) -> None:
            raise ZeroDivisionError("speed of light")

        with pytest.raises(
            SystemUnderTestError, match="raised ZeroDivisionError on frame 'drive/17': speed of"
        ):
            callable_model(crash).predict([frame])
        with pytest.raises(SystemUnderTestError, match=r"2 frames \('drive/17', 'drive/17'\).*give batch=1"):
            callable_model(crash, spec=STEERING).predict([frame, frame])

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (
                lambda images: np.full((len(images), 1), np.nan),
                "'output' for frame 'drive/17' must be finite, got nan",
            ),
            (lambda images: np.zeros((len(images), 2)), "expected 1 numbers per image .steering., got 2"),
            (lambda images: np.zeros((1, 1)), "must have one row for each of 2 images"),
            (lambda _: None, r"must answer 2 frames \(.*\) with an array, a tuple or a mapping .* got None$"),
            (lambda _: [Signals(), Signals()], "because its output is described, got a list of Signals$"),
            (lambda _: {}, "expected at least one output, got none"),
        ],
    )
    def test_answers_that_cannot_be_are_refused(self, answer: Any, message: str, frame: Frame) -> None:
        with pytest.raises(SystemUnderTestError, match=message):
            callable_model(answer, spec=STEERING).predict([frame, frame])

    def test_in_a_run_only_the_guilty_frame_is_an_error(self) -> None:
        frames = [Frame(f"f{n}", np.full((4, 6, 3), n, np.uint8)) for n in range(4)]
        model = callable_model(lambda images: np.log(images.mean((1, 2, 3)) * 255 - 2), spec=STEERING)
        with np.errstate(all="ignore"):
            answers = ask(model, frames, 4)
        assert [type(one) for one in answers[:3]] == [SystemUnderTestError] * 3
        assert "frame 'f1' must be finite, got nan" in str(answers[1])
        assert isinstance(answers[3], Reply)
        assert isinstance(answers[3].prediction, Signals)

    def test_predictions_are_checked(self, frame: Frame) -> None:
        with pytest.raises(
            SystemUnderTestError, match=r"must answer frame 'drive/17' with Signals.*got float"
        ):
            callable_model(lambda frames: [1.0 for _ in frames]).predict([frame])
        with pytest.raises(SystemUnderTestError, match="must give 1 predictions, got 0"):
            callable_model(lambda _: []).predict([frame])
        for answer, got in ((None, "None"), (3.0, "float"), (Signals(), "Signals"), ("left", "str")):
            with pytest.raises(
                SystemUnderTestError,
                match=f"must answer frame 'drive/17' with a list, one prediction for each .* got {got}$",
            ):
                callable_model(lambda _, answer=answer: answer).predict([frame])

    def test_the_line_that_raised_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frame: Frame
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("mine.py").write_text(
            "import json\n"
            "def drive(given):\n"
            "    return parsed('{')\n"
            "def parsed(text):\n"
            "    return json.loads(text)\n"
        )
        with pytest.raises(SystemUnderTestError, match=r"raised JSONDecodeError .* \(mine\.py:5\)$"):
            load_model("callable:mine.py:drive").predict([frame])
        with pytest.raises(SystemUnderTestError, match=r"raised JSONDecodeError .* \(mine\.py:5\)$"):
            load_model("callable:mine.py:drive", spec=STEERING, timeout=60).predict([frame])

    @pytest.mark.parametrize(
        "function",
        [
            lambda images: images.mean((1, 2)),
            lambda images: images / 255,
            lambda images: images[..., 0],
            lambda images: [image.shape for image in images],
        ],
    )
    def test_frames_taken_for_arrays_are_explained(self, function: Any, frame: Frame) -> None:
        hint = (
            "; without a description the function gets a list of frames; describe the arrays with "
            "-m output.signals=…"
        )
        with pytest.raises(SystemUnderTestError, match=r"test_adapters\.py:\d+\)") as caught:
            callable_model(function).predict([frame])
        assert str(caught.value).endswith(hint)


class TestTimeout:
    """A model in this process that hangs, or is slow once."""

    def test_a_late_network_names_frames_and_limit_and_the_next_call_is_served(self, frame: Frame) -> None:
        go_on, threads = threading.Event(), []

        def drive(images: Any) -> Any:
            threads.append(threading.current_thread())
            if len(threads) == 1:
                go_on.wait(30)
            return np.zeros((len(images), 1))

        model = callable_model(drive, spec=STEERING, name="sleeper", timeout=0.05)
        with pytest.raises(SystemUnderTestError) as caught:
            model.predict([frame])
        assert str(caught.value) == (
            "sleeper gave no answer for frame 'drive/17' within 0.05 s; if it needs longer, give it a longer "
            "timeout or a smaller batch"
        )
        assert isinstance(model, Network)
        model.timeout = 30
        assert model.predict([frame]) == [Signals(steering=0.0)]
        go_on.set()
        threads[0].join(30)
        assert threads[0] is not threads[1]

    def test_a_late_function_of_frames_is_told_too(self, frame: Frame) -> None:
        go_on = threading.Event()
        model = callable_model(lambda frames: [go_on.wait(30)], name="sleeper", timeout=0.05)
        with pytest.raises(SystemUnderTestError, match=r"no answer for frame 'drive/17' within 0\.05 s"):
            model.predict([frame])
        go_on.set()

    def test_what_a_model_raises_in_time_is_told_as_always(self, frame: Frame) -> None:
        model = callable_model(lambda _: 1 / 0, spec=STEERING, timeout=30)
        with pytest.raises(SystemUnderTestError, match="raised ZeroDivisionError on frame 'drive/17'"):
            model.predict([frame])

    def test_files_are_opened_again_after_a_late_call(
        self, exported: Path, frame: Frame, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = opencv_model(exported / "driver-one.onnx", spec=TWO, timeout=0.05)
        before, go_on = model.runtime, threading.Event()
        with monkeypatch.context() as patched:
            patched.setattr(type(before), "run", lambda *_: go_on.wait(30))
            with pytest.raises(SystemUnderTestError, match=r"within 0\.05 s"):
                model.predict([frame])
        go_on.set()
        assert model.runtime == before
        assert model.runtime is not before
        model.timeout = None
        assert len(model.predict([frame])) == 1

    def test_it_is_an_option_of_adapters_and_descriptions(self, exported: Path, tmp_path: Path) -> None:
        for reference in ("onnx:{}.onnx", "opencv:{}.onnx", "torchscript:{}.ts"):
            model = load_model(reference.format(exported / "driver"), spec=TWO, timeout="5")
            assert isinstance(model, Network)
            assert model.timeout == 5
        (tmp_path / "model.yaml").write_text(
            f"model: onnx:{exported}/driver.onnx\noutput: {{signals: [steering, speed]}}\n"
            "options: {timeout: 4}\n"
        )
        model = load_model(tmp_path / "model.yaml")
        assert isinstance(model, Network)
        assert model.timeout == 4
        with pytest.raises(InputError, match="timeout must be above 0"):
            load_model(tmp_path / "model.yaml", timeout=0)


def test_torch_need_not_warn_of_torchscript(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = torch.jit.load

    def warning(message: str) -> Callable[..., Any]:
        def noisy(*args: Any, **options: Any) -> Any:
            warnings.warn(message, FutureWarning, stacklevel=2)
            return load(*args, **options)  # type: ignore[no-untyped-call]

        return noisy

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setattr(torch.jit, "load", warning("`torch.jit.load` is deprecated"))
        torchscript_model(exported / "driver.ts", spec=TWO)
        monkeypatch.setattr(torch.jit, "load", warning("something else"))
        with pytest.raises(FutureWarning, match="something else"):
            torchscript_model(exported / "driver.ts", spec=TWO)
