# %% [markdown]
# # Test detections that you have in KITTI's format
#
# The network need not run here: label files and result files are enough. Here both are written from the
# built-in world, so that the example needs no data; put your own folders in their place.

# %%
import shutil
from pathlib import Path

import numpy as np

from roadworthy.bbsl import parse
from roadworthy.bbsl.bindings import Bindings
from roadworthy.bbsl.method import TEXT, method_for
from roadworthy.bbsl.testing import find_role, row_of
from roadworthy.cases import Requirement
from roadworthy.datasets import KittiDataset, export, load
from roadworthy.models import load_model
from roadworthy.runs import read_verdicts, run

OUT = Path("example-out/kitti")
shutil.rmtree(OUT, ignore_errors=True)  # a run is stored in an empty folder

# %% [markdown]
# ## Labels and results as KITTI has them
#
# `training/label_2/000000.txt` has a line for each true box, `results/000000.txt` one for each detection,
# with its score. The detector of this example misses far vehicles and draws its boxes a little too high.

# %%
written = export(
    load("world:town", count=30, seed=4, traffic=3), OUT / "training", "kitti", classes=["vehicle"]
)
labels = KittiDataset(str(written.folder))
results = OUT / "results"
results.mkdir(exist_ok=True)
rng = np.random.default_rng(0)
for number, id in enumerate(labels.ids):
    lines = []
    for x1, y1, x2, y2 in labels.boxes(number).xyxy.tolist():
        if y2 - y1 < 8 and rng.random() < 0.5:
            continue
        up = float(rng.uniform(0, (y2 - y1) / 4))
        corners = f"{x1:.2f} {max(y1 - up, 0):.2f} {x2:.2f} {max(y2 - up, 1):.2f}"
        lines.append(f"Car -1 -1 -10 {corners} -1 -1 -1 -1000 -1000 -1000 -10 {rng.uniform(0.5, 1):.2f}\n")
    (results / f"{id}.txt").write_text("".join(lines), "utf-8")
print(f"{written.frames} frames, {sum(written.boxes.values())} vehicles in {OUT}")

# %% [markdown]
# ## Which reaction do they lead to?

# %%
spec = parse("""
exfunction vehicle(): bb stoppingDistance(): interval endexfunction
case stop PROJ_y(vehicle()) ≈ stoppingDistance() or PROJ_y(vehicle()) < stoppingDistance() endcase
case NOT stop PROJ_y(vehicle()) > stoppingDistance() endcase
""")
bindings = Bindings({"stoppingDistance": [85, 160]})
method = method_for(spec, bindings, find_role(spec, bindings.sources))
requirement = Requirement("near", TEXT, "bbsl")
detections = load_model(f"recorded:{results}")
outcome = run(method, requirement, labels, detections, out=OUT / "run", images="none").outcome
print(f"{outcome.status}: {outcome.summary}")

# %% [markdown]
# ## What IoU does not see
#
# A box that overlaps the true one by 0.6 counts as found. Some of these still lead to the wrong reaction.

# %%
rows = [row for verdict in read_verdicts(OUT / "run") if (row := row_of(verdict)) is not None]
good = [row for row in rows if (row.iou or 0.0) >= 0.6]
wrong = [row for row in good if not row.passed]
print(f"{len(good)} of {len(rows)} boxes overlap by 0.6 or more; {len(wrong)} of them mislead")
for row in sorted(wrong, key=lambda one: one.margin)[:3]:
    print(f"   {row.frame}: IoU {row.iou:.2f}, off by {-row.margin:.1f} px")
