# %% [markdown]
# # Does the model brake for pedestrians?
#
# A testing rule is a sentence: it says how a scene changes and what should come of it. Roadworthy makes the
# changed images, asks the model about both, and judges the answers. Nobody has to label anything.

# %%
import shutil
from pathlib import Path

from roadworthy.cases import Acceptance, Requirement
from roadworthy.datasets import load
from roadworthy.images import write_image
from roadworthy.models import load_model
from roadworthy.papers.truth_matrix import TRUTH_RULES, truth_matrix
from roadworthy.report import Pair, pair_sheet
from roadworthy.rules import parse
from roadworthy.rules.generation import plan_for
from roadworthy.rules.method import RulesMethod
from roadworthy.runs import read_rows, run

OUT = Path("example-out/brakes")
shutil.rmtree(OUT, ignore_errors=True)  # a run is stored in an empty folder
OUT.mkdir(parents=True, exist_ok=True)
TEXT = "If a pedestrian appears on the roadside, the ego-vehicle should slow down at least 30%."

# %% [markdown]
# ## How is the sentence understood?
#
# A rule that is read wrongly tests something else, so look at this first.

# %%
rule = parse(TEXT)
(block,) = rule.blocks
print("changes:", ", ".join(map(str, block.changes)))
print("expects:", block.expectation)

# %% [markdown]
# ## Try it on a network
#
# `dave2` ships with the package; `onnx:net.onnx` or a `model.yaml` would stand in the same place. The
# frames are those of the built-in world; `kitti:path` or `folder:images` would do as well. A tenth of the
# frames may fail, and we want to be 95% sure of that.

# %%
data = load("world:town", count=16)
requirement = Requirement("walker", TEXT, "rules", acceptance=Acceptance(0.1))
model = load_model("dave2")
result = run(RulesMethod(), requirement, data, model, out=OUT / "run", seed=1)
print(f"{result.outcome.status}: {result.outcome.summary}")

# %% [markdown]
# ## The worst case
#
# Every row has a margin: how far the case is from the border between pass and fail. The frame and the seed
# in the row make the same images again.

# %%
rows = [row for row in read_rows(OUT / "run") if row["margin"] is not None]
worst = min(rows, key=lambda row: float(str(row["margin"])))
print(f"worst: {worst['case']}, margin {worst['margin']:.3f}")
print(f"speed {worst['measure.before.1']:.1f} m/s before, {worst['measure.after.1']:.1f} m/s after")

frame = next(frame for frame in data if frame.id == worst["case"])
images = plan_for(rule).frames(frame, int(str(worst["param.seed"])))
# Frames show the signals that were recorded; here they are to show what the network answers.
before, after = (
    one.replace(signals=answer) for one, answer in zip(images, model.predict(images), strict=True)
)
sheet = pair_sheet([Pair("with a pedestrian", before, after)], title=TEXT)
write_image(OUT / "worst.png", sheet)
print("look at", OUT / "worst.png")

# %% [markdown]
# ## Can the verdicts be trusted?
#
# The built-in world knows drivers with known faults. The rule must catch the one that does not see
# pedestrians, and must leave the careful one alone.

# %%
matrix = truth_matrix(6, rules=[one for one in TRUTH_RULES if one.id == "R3"])
caught = matrix.sensitivity("R3", "pedestrian-blind")
alarms, frames = matrix.false_alarms("careful")
print(f"caught the blind driver in {caught:.0%} of the frames, {alarms} false alarms in {frames}")
assert caught == 1.0
assert alarms == 0
