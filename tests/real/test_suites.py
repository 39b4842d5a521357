"""A suite on real data: recorded detections by a specification, and rules on real frames."""

from __future__ import annotations

from pathlib import Path

from roadworthy.cases import OutcomeStatus, Status
from roadworthy.runs.suites import plan_suite, read_suite, run_suite

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_kitti_and_camvid_in_one_suite(real_data: Path, tmp_path: Path) -> None:
    file = tmp_path / "real.suite.yaml"
    kitti = real_data / "kitti" / "detector"
    file.write_text(f"""
models:
  recorded: {{model: "recorded:{kitti / "results"}", options: {{on_invalid: skip}}}}
  net: dave2-udacity
data:
  kitti: {{data: "kitti:{kitti}", labels: 1242x375, sample: 120}}
  camvid: {{data: "camvid:{real_data / "camvid"}", sample: 6}}
requirements:
  near:
    bbsl: {EXAMPLES / "bbsl" / "listing1_distance.bbsl"}
    values: {{stoppingDistance: [275, 375]}}
    classes: [car, van, truck]
    accept: 15%
  paper:
    rules: {EXAMPLES / "rules" / "paper.rules"}
    only: [R5, R6]
    traffic: left
    data: camvid
""")
    plan = plan_suite(read_suite(file))
    models = {trial.requirement.id: (trial.data, trial.models) for trial in plan.trials}
    # The network that steers is no detector, and what was recorded does not steer.
    assert models == {
        "near": ("kitti", ("recorded",)),
        "paper/R5": ("camvid", ("net",)),
        "paper/R6": ("camvid", ("net",)),
    }
    result = run_suite(plan, tmp_path / "out")
    assert not result.failures
    near = result.outcomes["near", "recorded"]
    # Of all 2191 vehicles 94.2% pass; a quarter of the frames is much like all of them.
    assert 400 < sum(near.counts.values()) < 700
    # Vehicles of one image are one cluster, so 10% is not shown by 120 images.
    assert near.status is OutcomeStatus.PASSED
    assert 0.1 < float(str(near.measures["upper_bound"])) < 0.15
    assert near.measures["clusters"] == 112
    assert near.rate is not None
    assert 0.03 < near.rate < 0.09
    for rule in ("paper/R5", "paper/R6"):
        counts = result.outcomes[rule, "net"].counts
        assert sum(counts.values()) == 6
        assert counts[Status.ERROR] == 0
    again = run_suite(plan_suite(read_suite(file)), tmp_path / "out")
    assert again.before == set(result.outcomes)
