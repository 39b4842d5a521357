# %% [markdown]
# # Test a PyTorch model of your own
#
# A module is tested as it is; you say what it takes and what its numbers mean. Its neurons can be watched
# as well. Needs the extra `torch`: `pip install 'roadworthy[torch]'`.

# %%
import torch
from torch import nn

from roadworthy.cases import Requirement
from roadworthy.coverage import Observed
from roadworthy.coverage.criteria.named import parse_criterion
from roadworthy.coverage.measuring import Measuring
from roadworthy.datasets import load
from roadworthy.models import ImageInput, ModelSpec, RegressionOutput, torch_model
from roadworthy.rules.method import RulesMethod
from roadworthy.runs import run

torch.manual_seed(0)
torch.set_num_threads(1)


class Driver(nn.Module):
    """A few convolutions that answer with steering and speed."""

    def __init__(self) -> None:
        super().__init__()
        self.eyes = nn.Sequential(
            nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU()
        )
        self.hands = nn.Linear(16, 2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return steering in degrees and speed in m/s."""
        answer: torch.Tensor = self.hands(self.eyes(images).mean(dim=(2, 3)))
        return answer


# %% [markdown]
# ## Train it for some seconds
#
# On frames of the built-in world, which know what a careful driver does. Do not expect much.

# %%
spec = ModelSpec(RegressionOutput(("steering", "speed")), ImageInput(width=80, height=40, range=(-1, 1)))
training = list(load("world:meadow,mountain", count=48, seed=3, size="160x80"))
images = torch.from_numpy(spec.input.tensor([spec.input.view(frame) for frame in training]))
truth = torch.tensor([[frame.signals.steering or 0.0, frame.signals.speed or 0.0] for frame in training])
module = Driver()
optimiser = torch.optim.Adam(module.parameters(), 0.01)
for step in range(60):
    loss = nn.functional.mse_loss(module(images), truth)
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    if step % 20 == 19:
        print(f"step {step + 1}: mean squared error {loss.item():.2f}")

# %% [markdown]
# ## Test it
#
# In memory, as here; from the command line it is `torch:file.py:Driver` with its weights in a `model.yaml`.

# %%
model = torch_model(module.eval(), spec=spec, name="driver")
frames = load("world:town", count=8)
text = "If a pedestrian appears on the roadside, the ego-vehicle should slow down."
outcome = run(RulesMethod(), Requirement("walker", text, "rules"), frames, model, seed=1).outcome
print(f"{outcome.status}: {outcome.summary}")

# %% [markdown]
# ## Look inside
#
# Which neurons do eight frames of a town activate?

# %%
measuring = Measuring(Observed(model), [parse_criterion("neuron(threshold=0.2)")])
measuring.add(list(frames))
(covered,) = measuring.result.criteria.values()
for row in covered.rows():
    print(f"{row.layer.name}: {row.covered} of {row.total} neurons")
