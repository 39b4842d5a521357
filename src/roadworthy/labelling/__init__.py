"""Labels, boxes and depth for frames that have none: from folders, from networks, from the one that ships.

::

    data = load("folder:dash", labels="street")          # or "own,folder:maps,street": the first that knows
    data = load("folder:dash", labels="net.yaml", depth="street", boxes="yolo.yaml")
"""

from __future__ import annotations

from roadworthy.labelling.chain import estimated_by, is_estimated
from roadworthy.labelling.dataset import as_needed, unlabelled, with_estimates
from roadworthy.labelling.fit import misfits
from roadworthy.labelling.street import street_network

__all__ = [
    "as_needed", "estimated_by", "is_estimated", "misfits", "street_network", "unlabelled", "with_estimates",
]  # fmt: skip
