from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from roadworthy.coverage import Activations, Layer, recorder
from roadworthy.coverage._onnx import OnnxRecorder
from roadworthy.coverage.activations import Counting, counting_named, join
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.models.zoo import architecture
from roadworthy.training import export

Export = Callable[..., Path]

SMALL: dict[str, dict[str, object]] = {
    "dave2": {},
    "epoch": {"width": 32, "height": 16},
    "chauffeur": {"width": 96, "height": 64, "history": 2},
    "rambo": {"width": 64, "height": 64},
    "vgg16": {"width": 32, "height": 32},
    "resnet101": {"width": 32, "height": 32},
    "detector": {"width": 64, "height": 64},
    "classifier": {},
}


def images_for(axes: str, **sizes: int) -> NDArray[np.float32]:
    return np.random.default_rng(0).random([sizes[letter] for letter in axes], dtype=np.float32)


def names_and_sizes(activations: Activations) -> list[tuple[str, str, int]]:
    return [(layer.name, layer.kind, layer.neurons) for layer in activations.layers]


def assert_equal(one: Activations, two: Activations) -> None:
    assert one.layers == two.layers
    for name in ("values", "lows", "highs"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-4, rtol=1e-4)


class Tiny(nn.Module):
    """A convolution with two channels, and a dense layer with two neurons, on 2×2 grey pixels."""

    conv: Any
    dense: Any

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 1)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(0.5)
        self.dense = nn.Linear(8, 2)
        with torch.no_grad():
            self.conv.weight.copy_(torch.tensor([1.0, -1.0]).reshape(2, 1, 1, 1))
            self.conv.bias.copy_(torch.tensor([0.0, 3.0]))
            self.dense.weight.copy_(torch.tensor([[1.0] * 8, [-1.0] * 8]))
            self.dense.bias.copy_(torch.tensor([0.0, 1.0]))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        answer: torch.Tensor = self.dense(self.dropout(self.relu(self.conv(images))).flatten(1))
        return answer


PIXELS = np.array([[[[0.0, 1.0], [2.0, 5.0]]]], np.float32)
# The first channel gives 0 1 2 5, the second ReLU(3 - x) = 3 2 1 0.
MEANS = [2.0, 1.5]


def test_a_tiny_network_by_hand() -> None:
    answers, found = recorder(Tiny()).run(PIXELS)
    assert names_and_sizes(found) == [("conv", "conv", 2), ("dense", "dense", 2)]
    np.testing.assert_allclose(found.values, [[*MEANS, 14.0, -13.0]])
    np.testing.assert_allclose(found.lows, [[0.0, -13.0]])
    np.testing.assert_allclose(found.highs, [[5.0, 14.0]])
    np.testing.assert_allclose(answers["output"], [[14.0, -13.0]])


def test_a_tiny_network_in_deeptests_counting() -> None:
    _, found = recorder(Tiny(), "deeptest").run(PIXELS)
    assert names_and_sizes(found) == [
        ("input", "input", 1),
        ("conv", "conv", 2),
        ("dropout", "dropout", 2),
        ("dense", "dense", 2),
    ]
    np.testing.assert_allclose(found.values, [[2.0, *MEANS, *MEANS, 14.0, -13.0]])
    np.testing.assert_allclose(found.highs, [[5.0, 5.0, 5.0, 14.0]])


def test_activation_functions_as_layers_of_their_own() -> None:
    _, found = recorder(Tiny(), Counting(activations=True)).run(PIXELS)
    assert [kind for _, kind, _ in names_and_sizes(found)] == ["conv", "activation", "dense"]
    # Before ReLU the second channel is 3 2 1 -2.
    np.testing.assert_allclose(found.values, [[2.0, 1.0, *MEANS, 14.0, -13.0]])


class Remembering(nn.Module):
    """An LSTM of one unit whose gates are open: it adds up tanh of what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = nn.LSTM(1, 1, batch_first=True)
        with torch.no_grad():
            for name, one in self.memory.named_parameters():
                one.zero_()
                if name == "weight_ih_l0":
                    one[2] = 1.0
                if name == "bias_ih_l0":
                    one.copy_(torch.tensor([50.0, 50.0, 0.0, 50.0]))

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        found, _ = self.memory(steps)
        return found[:, -1]  # type: ignore[no-any-return]


def test_an_lstm_by_hand(exported: Export) -> None:
    steps = np.array([[[1.0], [0.0], [-2.0]]], np.float32)
    cell = np.cumsum(np.tanh([1.0, 0.0, -2.0]))
    file = exported(Remembering(), steps)
    for source in (Remembering(), file):
        _, found = recorder(source, axes="ncx").run(steps)
        assert names_and_sizes(found) == [("memory", "recurrent", 3)]
        np.testing.assert_allclose(found.values, [np.tanh(cell)], atol=1e-6)
        _, found = recorder(source, Counting(unrolled=False)).run(steps)
        assert names_and_sizes(found) == [("memory", "recurrent", 1)]
        np.testing.assert_allclose(found.values, [[np.tanh(cell).mean()]], atol=1e-6)
        np.testing.assert_allclose(found.highs, [[np.tanh(cell).max()]], atol=1e-6)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("options", [{}, {"batch_first": True}, {"batch_first": True, "bidirectional": True}])
def test_stacked_recurrent_layers_show_every_layer(kind: Any, options: Any, exported: Export) -> None:
    class Stacked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.memory = kind(5, 4, num_layers=2, **options)

        def forward(self, steps: torch.Tensor) -> torch.Tensor:
            if options.get("batch_first"):
                return self.memory(steps)[0][:, -1]  # type: ignore[no-any-return]
            return self.memory(steps.transpose(0, 1))[0][-1]  # type: ignore[no-any-return]

    steps = images_for("ntc", n=3, t=6, c=5)
    module = Stacked()
    _, found = recorder(module).run(steps)
    units = 4 * (2 if options.get("bidirectional") else 1)
    assert names_and_sizes(found) == [
        ("memory.l0", "recurrent", 6 * units),
        ("memory.l1", "recurrent", 6 * units),
    ]
    _, other = recorder(exported(module, steps)).run(steps)
    assert_equal(found, other)


def test_a_cell_that_is_called_in_a_loop_is_unrolled() -> None:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(2, 3)

        def forward(self, steps: torch.Tensor) -> torch.Tensor:
            state = torch.zeros(len(steps), 3)
            for step in range(steps.shape[1]):
                state = self.cell(steps[:, step], state)
            return state

    _, found = recorder(Loop()).run(images_for("ntc", n=2, t=4, c=2))
    assert names_and_sizes(found) == [("cell", "recurrent", 12)]


class Various(nn.Module):
    """What may follow a layer: functions, batch norm, in-place operations, two readers, a sum, a SiLU."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4, momentum=1.0)
        self.second = nn.Conv2d(4, 4, 1)
        self.third = nn.Conv2d(4, 4, 1)
        self.silu = nn.SiLU()
        self.fourth = nn.Linear(4, 3)
        self.fifth = nn.Linear(3, 2)
        self.elu = nn.ELU(inplace=True)
        self.norm.running_mean = torch.tensor([0.1, -0.2, 0.3, 0.0])

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        found = torch.relu(self.norm(self.first(images)))
        beside = self.second(found)
        beside += 10.0 * found
        found = functional.leaky_relu(beside) + self.silu(self.third(found))
        found = self.elu(self.fourth(found.mean((2, 3))))
        return self.fifth(found).tanh()  # type: ignore[no-any-return]


def test_what_is_after_a_layer_is_found_in_torch_and_in_onnx_alike(exported: Export) -> None:
    torch.manual_seed(0)
    module, images = Various().eval(), images_for("nchw", n=3, c=3, h=6, w=7)
    _, found = recorder(module).run(images)
    with torch.no_grad():
        first = torch.relu(module.norm(module.first(torch.from_numpy(images))))
        second, third = module.second(first), functional.silu(module.third(first))
        summed = functional.leaky_relu(second + 10 * first) + third
        fourth = functional.elu(module.fourth(summed.mean((2, 3))))
        fifth = module.fifth(fourth).tanh()
    wanted = [one.mean((2, 3)) for one in (first, second, third)] + [fourth, fifth]
    np.testing.assert_allclose(found.values, torch.cat(wanted, 1), rtol=1e-5, atol=1e-5)
    _, other = recorder(exported(module, images)).run(images)
    assert_equal(found, other)


class Residual(nn.Module):
    """Two blocks as ResNet has them: exporters fold batch norm, and the weights lose their names."""

    def __init__(self) -> None:
        super().__init__()

        def block(given: int, made: int) -> nn.Sequential:
            named = {"conv1": nn.Conv2d(given, made, 3), "bn1": nn.BatchNorm2d(made), "relu": nn.ReLU()}
            return nn.Sequential(nn.Sequential(OrderedDict(named)))

        self.layer1, self.layer2 = block(3, 4), block(4, 6)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.layer2(self.layer1(images))
        return made


def test_layers_of_folded_batch_norm_keep_their_names(exported: Export) -> None:
    module, images = Residual().eval(), images_for("nchw", n=2, c=3, h=12, w=12)
    shown = recorder(exported(module, images, fold=True)).run(images)[1]
    assert names_and_sizes(shown) == [("layer1.0.conv1", "conv", 4), ("layer2.0.conv1", "conv", 6)]
    assert_equal(shown, recorder(module).run(images)[1])


@pytest.mark.parametrize(
    "function",
    [
        nn.GELU(), nn.GELU(approximate="tanh"), nn.Mish(), nn.SiLU(), nn.Hardswish(), nn.Softsign(),
        nn.ReLU6(), nn.PReLU(), nn.Softplus(), nn.Hardsigmoid(), nn.Tanh(),
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("opset", [13, 17])
def test_an_activation_function_of_several_nodes_is_one(
    function: nn.Module, opset: int, exported: Export
) -> None:
    """After it comes what must not be taken for a part of it: a factor, and a sum with the layer's output."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)
            self.norm = nn.BatchNorm2d(4)
            self.dense = nn.Linear(4 * 36, 2)
            self.function = function

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            maps = self.norm(self.conv(images))
            answers: torch.Tensor = self.function(self.dense((maps + self.function(maps)).flatten(1)))
            return answers + 3.0

    torch.manual_seed(3)
    module, images = Net().eval(), images_for("nchw", n=3, c=3, h=8, w=8) * 4 - 2
    file = exported(module, images, opset=opset)
    _, in_torch = recorder(module).run(images)
    _, in_onnx = recorder(file).run(images)
    assert_equal(in_torch, in_onnx)


def test_a_product_that_is_no_activation_function_is_left_alone(exported: Export) -> None:
    """A factor after a layer, and a gate that other things are computed into, are not its function."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Conv2d(3, 4, 1)
            self.two = nn.Conv2d(3, 4, 1)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            one, two = self.one(images) * 2.0 + 1.0, self.two(images)
            answers: torch.Tensor = one * two
            return answers

    module, images = Net().eval(), images_for("nchw", n=2, c=3, h=4, w=4)
    assert_equal(recorder(module).run(images)[1], recorder(exported(module, images)).run(images)[1])


def test_what_is_done_in_place_later_does_not_change_what_was_seen() -> None:
    class Later(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Linear(2, 2, bias=False)
            with torch.no_grad():
                self.dense.weight.copy_(torch.eye(2))

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            found = torch.relu(self.dense(rows))
            found *= 100
            return found

    rows = np.array([[-1.0, 2.0]], np.float32)
    assert recorder(Later()).run(rows)[1].values.tolist() == [[0.0, 2.0]]
    in_place = nn.Sequential(Later().dense, nn.ReLU(inplace=True))
    found = recorder(in_place, Counting(activations=True)).run(rows)[1]
    assert found.values.tolist() == [[-1.0, 2.0, 0.0, 2.0]]


def test_a_dense_layer_over_a_sequence_is_unrolled(exported: Export) -> None:
    module, images = nn.Sequential(nn.Linear(3, 2), nn.ReLU()), images_for("ntc", n=2, t=4, c=3)
    _, found = recorder(module).run(images)
    assert names_and_sizes(found) == [("0", "dense", 8)]
    _, other = recorder(exported(module, images)).run(images)
    assert_equal(found, other)


def test_a_layer_that_is_called_twice_is_unrolled(exported: Export) -> None:
    class Twins(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.eye = nn.Conv2d(1, 2, 3)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return self.eye(images[:, :1]).mean() + self.eye(images[:, 1:]).mean()  # type: ignore[no-any-return]

    module, images = Twins(), images_for("nchw", n=2, c=2, h=4, w=4)
    _, found = recorder(module).run(images)
    assert names_and_sizes(found) == [("eye", "conv", 4)]
    assert_equal(found, recorder(exported(module, images)).run(images)[1])


# The two largest take longer than all others together.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("resnet101", "vgg16") else name
        for name in SMALL
    ],
)
def test_torch_and_onnx_show_the_same_neurons_of_the_zoo(name: str, tmp_path: Path) -> None:
    driving = name not in ("detector", "classifier")
    variant = architecture(name).variant(["steering"] if driving else None, SMALL[name])
    module = variant.build().eval()
    file = tmp_path / "net.onnx"
    export(module, variant, file)
    taken = variant.spec.input
    channels = (1 if taken.color == "gray" else 3) * (taken.history + 1 if name == "rambo" else 1)
    assert taken.width is not None
    assert taken.height is not None
    images = images_for(taken.axes, n=2, t=taken.history + 1, c=channels, h=taken.height, w=taken.width)
    for counting in ("distinct", "deeptest", Counting(activations=True)):
        answers, one = recorder(module, counting, axes=taken.axes).run(images)
        others, two = recorder(file, counting, axes=taken.axes).run(images)
        assert_equal(one, two)
        np.testing.assert_allclose(answers["output"], others["answer"], atol=1e-4, rtol=1e-4)


def epoch() -> tuple[nn.Module, NDArray[np.float32]]:
    variant = architecture("epoch").variant(["steering"], {"width": 32, "height": 16})
    return variant.build(), images_for("nchw", n=1, c=3, h=16, w=32)


def test_epoch_has_2500_neurons_for_deeptest_and_1249_distinct_ones() -> None:
    module, images = epoch()
    _, found = recorder(module, "deeptest").run(images)
    assert sum(layer.neurons for layer in found.layers) == 2500
    _, found = recorder(module, "distinct").run(images)
    assert sum(layer.neurons for layer in found.layers) == 1249


def test_a_dropout_layer_of_a_file_shows_what_the_layer_before_it_gives(tmp_path: Path) -> None:
    """ONNX Runtime runs it: Epoch's dropout follows a pooling or the dense layer, and repeats its numbers."""
    variant = architecture("epoch").variant(["steering"], {"width": 32, "height": 16})
    module, images = epoch()
    export(module, variant, tmp_path / "epoch.onnx")
    watched = recorder(tmp_path / "epoch.onnx", "deeptest")
    assert isinstance(watched, OnnxRecorder)
    _, found = watched.run(images)
    assert sum(layer.neurons for layer in found.layers) == 2500
    layers: Any = module.eval()
    with torch.no_grad():
        pooled = layers.features[:3](torch.from_numpy(images))
    np.testing.assert_allclose(found.of("features.3"), pooled.mean((2, 3)), atol=1e-5)
    place = [layer.name for layer in found.layers].index("features.3")
    np.testing.assert_allclose(found.highs[:, place], pooled.amax((1, 2, 3)), atol=1e-5)
    np.testing.assert_array_equal(found.of("dense.2"), found.of("dense.0"))


def test_the_branches_of_rambo_have_deeptests_neurons() -> None:
    module: Any = architecture("rambo").variant(["steering"]).build()
    images = images_for("nchw", n=1, c=2, h=192, w=256)
    counts = {
        name: [recorder(one, name).run(images)[1].values.shape[1] for one in module.branches]
        for name in ("activations", "distinct")
    }
    assert counts == {"activations": [1625, 3801, 13473], "distinct": [461, 397, 625]}


def test_feature_maps_flattened_before_their_activation_function_stay_channels(exported: Export) -> None:
    """As comma.ai's network has it: a convolution, Flatten, then the activation function."""
    module = nn.Sequential(nn.Conv2d(1, 2, 1), nn.Flatten(), nn.ReLU(), nn.Linear(8, 2))
    weights = Tiny().state_dict()
    module.load_state_dict(
        {name.replace("conv", "0").replace("dense", "3"): weights[name] for name in weights}
    )
    for source in (module, exported(module, PIXELS)):
        _, found = recorder(source).run(PIXELS)
        assert [(layer.kind, layer.neurons) for layer in found.layers] == [("conv", 2), ("dense", 2)]
        np.testing.assert_allclose(found.values, [[*MEANS, 14.0, -13.0]])
        np.testing.assert_allclose(found.highs[:, 0], [5.0])
        _, found = recorder(source, "activations").run(PIXELS)
        assert [(layer.kind, layer.neurons) for layer in found.layers] == [
            ("conv", 2),
            ("activation", 8),
            ("dense", 2),
        ]


def test_chauffeurs_lstm_and_dense_layers_have_deeptests_513_neurons() -> None:
    variant = architecture("chauffeur").variant(["steering"], {"width": 96, "height": 64, "history": 4})
    images = images_for("ntchw", n=1, t=5, c=3, h=64, w=96)
    _, found = recorder(variant.build(), Counting(unrolled=False), axes="ntchw").run(images)
    sizes = {layer.name: layer.neurons for layer in found.layers if layer.kind != "conv"}
    assert sizes == {"memory": 256, "dense.1": 256, "dense.3": 1}
    _, found = recorder(variant.build(), axes="ntchw").run(images)
    assert {layer.name: layer.neurons for layer in found.layers}["memory"] == 5 * 256


def test_frames_of_a_history_are_unrolled_in_order() -> None:
    """What the convolutions give for the second frame of two stands behind what they give for the first."""
    variant = architecture("chauffeur").variant(["steering"], {"width": 96, "height": 64, "history": 1})
    module: Any = variant.build().eval()
    images = images_for("ntchw", n=2, t=2, c=3, h=64, w=96)
    _, found = recorder(module, axes="ntchw").run(images)
    first = found.layers[0]
    assert first.neurons == 2 * 16
    with torch.no_grad():
        wanted = torch.relu(module.features[1](module.features[0](torch.from_numpy(images[:, 1]))))
    np.testing.assert_allclose(found.of(first.name)[:, 16:], wanted.mean((2, 3)), atol=1e-5)


def test_images_do_not_depend_on_their_batch() -> None:
    module, _ = epoch()
    images = images_for("nchw", n=5, c=3, h=16, w=32)
    watched = recorder(module, "deeptest")
    whole = watched.run(images)[1]
    parts = join([watched.run(images[:2])[1], watched.run(images[2:])[1]])
    np.testing.assert_allclose(whole.values, parts.values, atol=1e-6)
    assert_equal(whole.take([4, 0]), join([whole.take([4]), whole.take([0])]))


def test_a_module_in_training_is_put_back() -> None:
    module = Various().train()
    images = images_for("nchw", n=1, c=3, h=6, w=7)
    one, two = (recorder(module).run(images)[1] for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)
    assert module.training
    assert not any(layer._forward_hooks for layer in module.modules())


def test_nan_is_told_with_layer_and_frame() -> None:
    images = np.repeat(PIXELS, 3, axis=0)
    images[1, 0, 0, 0] = np.nan
    with pytest.raises(SystemUnderTestError, match=r"layer 'conv' answered frame 'drive/7' with nan"):
        recorder(Tiny()).run(images, ["drive/6", "drive/7", "drive/8"])


def test_nan_is_told_of_an_onnx_file(exported: Export) -> None:
    module = Tiny()
    with torch.no_grad():
        module.dense.weight[1, 0] = torch.inf
    file = exported(module, PIXELS)
    with pytest.raises(SystemUnderTestError, match=r"layer 'dense' answered frame '0' with (-inf|nan|inf)"):
        recorder(file).run(PIXELS + 1)


@pytest.mark.parametrize("as_file", [False, True])
def test_a_history_of_another_length_is_refused(as_file: bool, exported: Export) -> None:
    steps = np.zeros((1, 3, 1), np.float32)
    source = exported(Remembering(), steps, n=0, t=1) if as_file else Remembering()
    watched = recorder(source)
    watched.run(steps)
    with pytest.raises(InputError, match=r"'memory' had 3 neurons, and now 'memory' has 5.*one length"):
        watched.run(np.zeros((1, 5, 1), np.float32))


@pytest.mark.parametrize("as_file", [False, True])
def test_maps_of_any_size_are_averaged(as_file: bool, exported: Export) -> None:
    module, images = nn.Conv2d(3, 4, 3), images_for("nchw", n=1, c=3, h=8, w=9)
    watched = recorder(exported(module, images, n=0, h=2, w=3) if as_file else module)
    watched.run(images)
    _, found = watched.run(images_for("nchw", n=2, c=3, h=12, w=5))
    assert found.values.shape == (2, 4)


def test_a_layer_that_mixes_images_is_refused() -> None:
    class Mixing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Linear(2, 2)

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return self.dense(rows[:1])  # type: ignore[no-any-return]

    with pytest.raises(InputError, match="'dense' gave 1 rows for 3 images"):
        recorder(Mixing()).run(np.zeros((3, 2), np.float32))


def test_bad_sources_are_refused(exported: Export, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a network with convolutions"):
        recorder(nn.ReLU()).run(PIXELS)
    with pytest.raises(InputError, match="got list"):
        recorder([])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="there is no such file"):
        recorder(tmp_path / "none.onnx")
    with pytest.raises(InputError, match=r"no counting 'deptest'.*deeptest"):
        counting_named("deptest")
    with pytest.raises(InputError, match=r"has no dropout layers, .*Counting\(dropout=False\)"):
        recorder(exported(Tiny(), PIXELS), "deeptest")
    (tmp_path / "broken.onnx").write_bytes(b"no network")
    with pytest.raises(InputError, match="cannot read the ONNX network"):
        recorder(tmp_path / "broken.onnx")


def test_activations_check_their_shapes() -> None:
    layers = (Layer("a", "dense", 2),)
    one = np.zeros((1, 1))
    with pytest.raises(InputError, match=r"values must have shape \(1, 2\)"):
        Activations(layers, np.zeros((1, 3)), one, one)
    with pytest.raises(InputError, match="lows must have shape"):
        Activations(layers, np.zeros((1, 2)), np.zeros((1, 2)), one)
    with pytest.raises(InputError, match="frames must name the 1 images"):
        Activations(layers, np.zeros((1, 2)), one, one, ("a", "b"))
    with pytest.raises(InputError, match="there is no layer 'b'"):
        Activations(layers, np.zeros((1, 2)), one, one).of("b")
    with pytest.raises(InputError, match="at least one batch"):
        join([])
    other = Activations((Layer("b", "dense", 2),), np.zeros((1, 2)), one, one)
    with pytest.raises(InputError, match="their layers differ"):
        join([Activations(layers, np.zeros((1, 2)), one, one), other])


def test_activations_can_be_pickled() -> None:
    _, found = recorder(Tiny()).run(PIXELS)
    again = pickle.loads(pickle.dumps(found))
    assert again.layers == found.layers
    np.testing.assert_array_equal(again.values, found.values)
