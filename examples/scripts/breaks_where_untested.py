# %% [markdown]
# # What have my tests never tried, and does the model break there?
#
# Coverage says what tests have tried: which neurons of the network, which corners of the operating domain.
# A search then makes changed images that raise it, and keeps those on which the model is wrong.

# %%
import shutil
from pathlib import Path

from roadworthy.cases import Requirement
from roadworthy.coverage import FunctionalCoverage, OperatingDomain, observable
from roadworthy.coverage.criteria.named import parse_criterion
from roadworthy.coverage.measuring import Measuring
from roadworthy.coverage.method import CoverageMethod
from roadworthy.datasets import load
from roadworthy.models import load_model
from roadworthy.runs import read_rows, run

OUT = Path("example-out/untested")
shutil.rmtree(OUT, ignore_errors=True)  # a run is stored in an empty folder
network = observable(load_model("dave2"))
frames = load("world:town", count=12)

# %% [markdown]
# ## What is missing
#
# The share of neurons is comparable between data sets, and little more. What was never tried of the
# operating domain is a list of things to do.

# %%
domain = FunctionalCoverage(OperatingDomain.load())
measuring = Measuring(network, [parse_criterion("neuron(threshold=0.2)")], domain)
measuring.add(list(frames))
for name, share in measuring.result.values.items():
    print(f"{name}: {share:.1%} covered by {measuring.result.images} images")
for line in domain.holes()[:4]:
    print("  ", line)

# %% [markdown]
# ## Does it break there?
#
# A case fails when its squared error is above λ times the mean squared error of the originals (Equation 2
# of DeepTest).

# %%
asked = Requirement(
    "steady",
    "Steering stays right under the changes that a search tries",
    "coverage",
    {"lambda": 5, "tries": 60, "transforms": ["rain", "fog", "brightness", "defocus-blur"], "deepest": 2},
)
result = run(CoverageMethod(), asked, frames, network, out=OUT, seed=1)
print(f"{result.outcome.status}: {result.outcome.summary}")

# %% [markdown]
# ## What fails
#
# A search goes where failures are: the share above is no failure rate. Look at single findings, the
# simplest first.

# %%
failed = [row for row in read_rows(OUT) if row["status"] == "violated"]
failed.sort(key=lambda row: (int(str(row["param.depth"])), float(str(row["margin"]))))
for row in failed[:4]:
    error = float(str(row["measure.error"]))
    print(f"{row['param.frame']}: {row['param.transform']} puts the steering {error:+.1f}° off")
assert sum(result.counts.values()) == len(frames) + 60
