# %% [markdown]
# # Is my detector good enough to stop in time?
#
# A box that overlaps the true one by 0.6 counts as found, and may still put a vehicle on the wrong side of
# the stopping distance. BBSL says exactly which boxes lead to which reaction.

# %%
from collections import Counter

from roadworthy.bbsl import parse
from roadworthy.bbsl.bindings import Bindings, FrameView, StoppingDistance
from roadworthy.bbsl.method import TEXT, method_for
from roadworthy.bbsl.testing import find_role
from roadworthy.cases import Acceptance, Requirement
from roadworthy.datasets import load
from roadworthy.models import load_model
from roadworthy.runs import run

SPECIFICATION = """
exfunction
  vehicleExists(): bool
  vehicle(): bb
  stoppingDistance(): interval
endexfunction

precondition
  [vehicleExists() = true]
endprecondition

case stop
  PROJ_y(vehicle()) ≈ stoppingDistance() or PROJ_y(vehicle()) < stoppingDistance()
endcase

case NOT stop
  PROJ_y(vehicle()) > stoppingDistance()
endcase
"""
spec = parse(SPECIFICATION)

# %% [markdown]
# ## Prove that it says something about every box
#
# z3 proves it for all boxes, or shows one that is in no case, or in two.

# %%
proof = spec.check()
print(f"exhaustive: {proof.exhaustive}, exclusionary: {proof.exclusionary}")
print(f"non-redundant: {proof.non_redundant}")
assert proof.ok

broken = parse(
    SPECIFICATION.replace("case NOT stop\n  PROJ_y(vehicle()) >", "case NOT stop\n  PROJ_y(vehicle()) <")
)
for finding in broken.check().problems:
    print("with one sign wrong:", finding)

# %% [markdown]
# ## Test the detector that ships with the package
#
# At 50 km/h the car needs 33 m. The camera of the built-in world says in which rows of the image that is.

# %%
ahead = StoppingDistance(focal_length=220, horizon=68, camera_height=1.45, speed=13.9)
bindings = Bindings({"stoppingDistance": ahead})
method = method_for(spec, bindings, find_role(spec, bindings.sources))
requirement = Requirement("stop", TEXT, "bbsl", acceptance=Acceptance(0.05))
data = load("world:village", count=30, seed=2)
result = run(method, requirement, data, load_model("detector"))
print(f"{result.outcome.status}: {result.outcome.summary}")

# %% [markdown]
# ## What should it have done?
#
# The same specification, asked about the true boxes: how many vehicles are there to stop for?

# %%
cases: Counter[str] = Counter()
for frame in data:
    assert frame.boxes is not None
    rows = ahead.value(FrameView.of(frame, frame.boxes))
    for box in frame.boxes.select("vehicle"):
        values = {"vehicleExists": True, "vehicle": box.xyxy[0].tolist(), "stoppingDistance": rows}
        cases.update(spec.cases(values, height=frame.height))
print("what the vehicles ask for:", dict(cases))
