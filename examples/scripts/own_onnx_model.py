# %% [markdown]
# # Test an ONNX network of your own
#
# Any ONNX file will do. This one is written here, so that the example needs nothing: it drives as fast as
# the road is bright. That is a bad driver, and the point is how to find out.

# %%
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from roadworthy.cases import Requirement
from roadworthy.datasets import load
from roadworthy.frames import Signals
from roadworthy.models import load_model
from roadworthy.rules.method import RulesMethod
from roadworthy.runs import run

OUT = Path("example-out/onnx")
OUT.mkdir(parents=True, exist_ok=True)

weights = np.zeros((2 * 4, 2), np.float32)
weights[:4, 0], weights[4:, 1] = -0.2, 2.5  # steering from the upper half, speed from the lower one
graph = helper.make_graph(
    [
        helper.make_node("AveragePool", ["image"], ["pooled"], kernel_shape=[16, 16], strides=[16, 16]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["answer"]),
    ],
    "driver",
    [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 32, 64])],
    [helper.make_tensor_value_info("answer", TensorProto.FLOAT, ["n", 2])],
    [numpy_helper.from_array(weights, "weights")],
)
onnx.save(
    helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), OUT / "net.onnx"
)

# %% [markdown]
# ## Say once what it takes and what its numbers mean
#
# This is where most mistakes are made: colours, range, units, the sign of the steering. `roadworthy models
# try` notices the usual ones.

# %%
(OUT / "model.yaml").write_text(
    """\
model: onnx:net.onnx
name: ours
input: {color: gray, range: [0, 1]}
output: {signals: [steering, speed], units: {steering: deg, speed: m/s}}
""",
    "utf-8",
)
model = load_model(str(OUT / "model.yaml"))
frames = load("world:town", count=8)
for frame, answer in zip(frames, model.predict(list(frames)), strict=True):
    assert isinstance(answer, Signals)
    print(f"{frame.id}: true {frame.signals.speed:5.2f} m/s, ours {answer.speed:5.2f} m/s")

# %% [markdown]
# ## Ask something of it
#
# In snow and at night one should drive slower. A network that drives by the brightness of the road does so
# where the road gets darker, for the wrong reason. Snow is white.

# %%
for name, text in {
    "night": "If the driving time changes into night, the ego-vehicle should slow down.",
    "snow": "If it snows, the ego-vehicle should slow down.",
}.items():
    outcome = run(RulesMethod(), Requirement(name, text, "rules"), frames, model, seed=1).outcome
    print(f"{name}: {outcome.status}, {outcome.summary}")
