from __future__ import annotations

import numpy as np
import pytest

from roadworthy.errors import SystemUnderTestError
from roadworthy.frames import Frame, Signals
from roadworthy.models import SystemUnderTest, Truth
from roadworthy.registry import models


def make_frame(name: str, signals: Signals) -> Frame:
    return Frame(name, np.zeros((4, 6, 3), np.uint8), signals=signals)


def test_truth_is_a_registered_system_that_answers_with_the_recorded_signals() -> None:
    truth = models.get("truth")()
    assert isinstance(truth, SystemUnderTest)
    frames = [make_frame(str(n), Signals(speed=float(n), steering=1.0)) for n in range(3)]
    assert truth.predict(frames) == [frame.signals for frame in frames]


@pytest.mark.parametrize("signals", [Signals(), Signals(timestamp=3.0)])
def test_a_frame_without_signals_is_named_with_the_fix(signals: Signals) -> None:
    with pytest.raises(SystemUnderTestError, match=r"frame 'b' must have signals .* use data with recorded"):
        Truth().predict([make_frame("a", Signals(speed=1.0)), make_frame("b", signals)])
