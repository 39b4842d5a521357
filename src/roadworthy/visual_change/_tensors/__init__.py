"""The same measures for batches of torch tensors, computed on the device where they lie.

Imported only when a tensor comes in, so that nothing else needs torch.
"""

from roadworthy.visual_change._tensors._measures import MEASURES, measured

__all__ = ["MEASURES", "measured"]
