# %% [markdown]
# # Does it drive well?
#
# A network with a small error on single frames can still weave. So let it drive in a simulator, and judge
# each sector of the track by metrics of driving quality. What is good enough is learned from drives that
# are good.

# %%
import dataclasses
import itertools
import math

from roadworthy.driving import fit_oracle
from roadworthy.driving.method import NO_FRAMES, DrivingMethod
from roadworthy.driving.metrics import compute
from roadworthy.driving.requirements import DrivingQuality, Thresholds
from roadworthy.driving.simulators import DriveLimits, Scenario, ScenarioDriver, drive, open_simulator
from roadworthy.frames import Frame, Signals
from roadworthy.models import FrameFunction, Truth, load_model
from roadworthy.runs import run

METRICS = ["SD(LP)", "Max(SA)"]  # deviation from the middle of the lane in m, steering angle in degrees
FPS = 8.0
LIMITS = DriveLimits(metres=260)

# %% [markdown]
# ## Three drivers
#
# `Truth` is the careful driver of the built-in world, `dave2` a network that was trained to imitate it. The
# third weaves: it does what the careful one does, and steers to and fro.


# %%
def weaving(degrees: float) -> FrameFunction:
    """Return a driver that steers to and fro around what the careful one does, every three seconds."""
    steps = itertools.count()

    def answer(frames: list[Frame]) -> list[Signals]:
        swing = degrees * math.sin(2 * math.pi * next(steps) / (3 * FPS))
        return [
            dataclasses.replace(one.signals, steering=(one.signals.steering or 0) + swing) for one in frames
        ]

    return FrameFunction(f"weaving by {degrees:g}°", answer)


tables = {}
for system in (Truth(), load_model("dave2"), weaving(4.0)):
    driven = drive(system, open_simulator("world:meadow", traffic=0, fps=FPS), limits=LIMITS)
    tables[system.name] = compute(driven, METRICS).values
    deviations = ", ".join(f"{value:.3f}" for value in tables[system.name]["SD(LP)"])
    print(f"{system.name}: {driven.duration:.0f} s, ended: {driven.ended}; SD(LP) by sector: {deviations}")

# %% [markdown]
# ## Learn what is good enough
#
# The thresholds that raise as many alarms as possible in the sectors of the bad driver, and none in those
# of the careful one and of the network. The search is exact; `roadworthy driving oracle` does it for whole
# tables of drives.

# %%
good = {name: [*tables["truth"][name], *tables["dave2"][name]] for name in METRICS}
oracle = fit_oracle(good, tables["weaving by 4°"])
print(f"learned: {oracle}; {oracle.alarms} alarms in {oracle.sectors} bad sectors")

# %% [markdown]
# ## Require it
#
# Each sector is a case. Leaving the lane, crashing or standing still for good violates it whatever the
# metrics are. How much weaving is found?

# %%
course = Scenario("world:meadow", {"traffic": 0, "fps": FPS}, LIMITS)
asked = DrivingQuality(Thresholds.of(oracle), (course,)).requirement("lane")
for system in (Truth(), weaving(0.1), weaving(1.0)):
    outcome = run(DrivingMethod(), asked, NO_FRAMES, system, simulator=ScenarioDriver()).outcome
    print(f"{system.name}: {outcome.status}, {outcome.summary}")
