"""Requirements, cases, answers, verdicts, and the protocol that the five methods implement.

Every method is the same sentence::

    requirement → cases → predictions → verdicts → evidence

1. ``Method.cases`` turns a :class:`Requirement` and a :class:`Dataset` lazily into :class:`Case` objects.
   A case names what it asks of the system under test (:class:`Predict`, :class:`RecordDrive`); frames are
   made later, in the process that runs the case.
2. A runner makes the frames, asks the system in batches and pairs each ask with its answer: :class:`Answers`.
3. ``Method.judge`` turns a case and its answers into a :class:`Verdict` with its margin.
4. A search gets each verdict back through ``Method.feedback``; when it yields :data:`AWAIT_VERDICTS`,
   it gets all that are open before it is asked for the next case.
5. ``Method.conclude`` reads the stream of verdicts once and gives the :class:`Outcome`.
"""

from __future__ import annotations

from roadworthy.cases.methods import (
    TAKE_BACK,
    Answers,
    BaseMethod,
    ClassScores,
    Dataset,
    Driven,
    Feedback,
    FramewiseMethod,
    Internals,
    InverseDepth,
    Method,
    Original,
    Predicted,
    Prediction,
    ResumableMethod,
    TakeBack,
    clustered,
    clusters_by_id,
    ids_of,
    originals,
)
from roadworthy.cases.requirements import (
    AWAIT_VERDICTS,
    Acceptance,
    Ask,
    AwaitVerdicts,
    Case,
    CaseStream,
    Decision,
    FrameSource,
    Predict,
    RecordDrive,
    Requirement,
    Scalar,
    Severity,
)
from roadworthy.cases.verdicts import Outcome, OutcomeStatus, RateTally, Status, Verdict, conclude_rate

__all__ = [
    "AWAIT_VERDICTS",
    "Acceptance",
    "Answers",
    "Ask",
    "AwaitVerdicts",
    "BaseMethod",
    "Case",
    "CaseStream",
    "ClassScores",
    "Dataset",
    "Decision",
    "RateTally",
    "RecordDrive",
    "Driven",
    "Feedback",
    "FrameSource",
    "FramewiseMethod",
    "Internals",
    "InverseDepth",
    "Method",
    "Original",
    "Outcome",
    "OutcomeStatus",
    "Predict",
    "Predicted",
    "Prediction",
    "Requirement",
    "ResumableMethod",
    "Scalar",
    "Severity",
    "Status",
    "TAKE_BACK",
    "TakeBack",
    "Verdict",
    "clustered",
    "clusters_by_id",
    "conclude_rate",
    "ids_of",
    "originals",
]
