"""Where results go beside the run's own folder: other tools, each an extra of its own.

- :mod:`~roadworthy.runs.sinks.mlflow_runs`: a run as nested MLflow runs (extra ``mlflow``);
- :mod:`~roadworthy.runs.sinks.fiftyone_groups`: failing cases as a grouped FiftyOne data set, in its format;
- :mod:`~roadworthy.runs.sinks.maite_wrappers`: data and detectors to and from the protocols of MAITE.

Nothing here is imported before it is used.
"""

from __future__ import annotations

__all__: list[str] = []
