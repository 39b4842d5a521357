"""What a network sees, put together into the one tensor that it takes."""

from __future__ import annotations

import torch

__all__ = ["joined"]


def joined(
    first: torch.Tensor,
    edges: torch.Tensor | None = None,
    context: torch.Tensor | None = None,
    noise: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the inputs of a network as one tensor, in the order of its channels.

    Args:
        first: The label map, a channel per class; or the image, for a network that translates.
        edges: Where things end: 0 or 1.
        context: The image, 0 inside the hole, and the hole as a mask.
        noise: Standard normal noise.

    Example:
        >>> joined(torch.zeros(1, 9, 8, 8), context=torch.zeros(1, 4, 8, 8)).shape
        torch.Size([1, 13, 8, 8])
    """
    return torch.cat([one for one in (first, edges, context, noise) if one is not None], dim=1)
