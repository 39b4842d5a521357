"""Labels, boxes and depth for frames that have none: from folders, from networks, from the one that ships.

::

    data = load("folder:dash", labels="street")          # or "own,folder:maps,street": the first that knows
    data = load("folder:dash", labels="net.yaml", depth="street", boxes="yolo.yaml")
"""

from __future__ import annotations

from roadworthy.labelling.chain import (
    PROVENANCE,
    STREET_SOURCE,
    TASKS,
    Labelling,
    estimated_by,
    is_estimated,
    sources_named,
)
from roadworthy.labelling.dataset import LabelledDataset, as_needed, labelled, unlabelled, with_estimates
from roadworthy.labelling.fit import Misfit, misfits
from roadworthy.labelling.folder import maps_in
from roadworthy.labelling.geometry import CAMERA_HEIGHT
from roadworthy.labelling.street import STREET, street_network
from roadworthy.labelling.writing import write_labels

__all__ = [
    "CAMERA_HEIGHT",
    "LabelledDataset",
    "Labelling",
    "Misfit",
    "PROVENANCE",
    "STREET",
    "STREET_SOURCE",
    "TASKS",
    "as_needed",
    "estimated_by",
    "is_estimated",
    "labelled",
    "maps_in",
    "misfits",
    "sources_named",
    "street_network",
    "unlabelled",
    "with_estimates",
    "write_labels",
]
