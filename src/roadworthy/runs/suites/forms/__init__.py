"""What may stand in a suite: keys, what they take and mean. The JSON Schema for editors is made from this."""

from __future__ import annotations

from roadworthy.runs.suites.forms.requirements import (
    KIND_KEYS,
    AcceptForm,
    BbslForm,
    CoverageForm,
    DefaultsForm,
    DrivingForm,
    EntryForm,
    ImageForm,
    ReliabilityForm,
    RequirementForm,
    RuleForm,
    RulesForm,
    StepForm,
)
from roadworthy.runs.suites.forms.suite import DataForm, ModelForm, SuiteForm
from roadworthy.runs.suites.forms.values import Share, as_name, names_of, read_share

__all__ = [
    "KIND_KEYS",
    "AcceptForm",
    "BbslForm",
    "CoverageForm",
    "DataForm",
    "DefaultsForm",
    "DrivingForm",
    "EntryForm",
    "ImageForm",
    "ModelForm",
    "ReliabilityForm",
    "RequirementForm",
    "RuleForm",
    "RulesForm",
    "Share",
    "StepForm",
    "SuiteForm",
    "as_name",
    "names_of",
    "read_share",
]
