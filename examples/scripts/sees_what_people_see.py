# %% [markdown]
# # Does it see what people still see?
#
# People recognise a blurred car. How much blur they tolerate was measured (Hu et al.), as a visual change
# Δv: 0 is none, 1 leaves nothing to see. Inside that range the model must be as good as on the originals.

# %%
import shutil
from pathlib import Path

from roadworthy.datasets import load
from roadworthy.models import load_model
from roadworthy.reliability import Accuracy, Preservation, ReliabilityMethod, transformation_named
from roadworthy.runs import read_rows, run
from roadworthy.visual_change.tolerance import Preserved, known_tolerance

OUT = Path("example-out/people")
shutil.rmtree(OUT, ignore_errors=True)  # a run is stored in an empty folder

# %% [markdown]
# ## How much do people tolerate?

# %%
blur = transformation_named("defocus")
known = known_tolerance(blur.name)
assert known is not None
print(f"people are as often right up to Δv = {known.correctness}, and say the same up to {known.prediction}")
print(f"   {known.source}")

# %% [markdown]
# ## Ask the same of a classifier
#
# From every image, versions are made whose visual change lies evenly in that range. The reliability
# distance is how much worse the model is on them. The requirement passes when even its upper bound is within
# what is tolerated, and is violated when even its lower bound is beyond. Fewer than 36 images could not show
# that at most 0.1 is lost, even if none were.

# %%
things = load("world-crops", count=80)
model = load_model("classifier")
limits: dict[Preserved, float] = {"correctness": known.correctness, "prediction": known.prediction}
for preserve, limit in limits.items():
    # Two requirements about one model share the 95%.
    asked = Preservation(preserve, blur, limit, Accuracy(), versions=2, tolerance=0.1, requirements=2)
    outcome = run(
        ReliabilityMethod(), asked.requirement(preserve), things, model, out=OUT / preserve, seed=1
    ).outcome
    print(f"{preserve}: {outcome.status}")
    print(f"   {outcome.summary}")

# %% [markdown]
# ## Failures that nobody would notice
#
# Rows hold the visual change of every image. The failures at the smallest ones are the most telling: a
# person hardly sees that something was changed.

# %%
rows = [row for row in read_rows(OUT / "correctness") if row["status"] == "violated"]
rows.sort(key=lambda row: float(str(row["visual_change"])))
print(f"{len(rows)} of {2 * len(things)} changed images lose the class that the original had")
for row in rows[:3]:
    print(f"   {row['param.frame']}: {row['measure.transform']}, Δv = {row['visual_change']:.2f}")
