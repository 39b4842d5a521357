"""One thread for torch: more of them only get in each other's way where several tests run at once."""

import torch

torch.set_num_threads(1)
