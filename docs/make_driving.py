"""Draw the picture of driving.md and write the catalogue of metrics. Run with ``make docs``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from roadworthy.driving.drives.drive import failing_sectors
from roadworthy.driving.metrics import CATALOGUE, Metric, MetricSettings, primitives, unit_of
from roadworthy.driving.simulators import DriveLimits, WorldSimulator, drive
from roadworthy.frames import Frame, Signals
from roadworthy.models import callable_model, load_model
from roadworthy.report.driving import drive_figure
from roadworthy.report.plots import save

PAGE = Path(__file__).parent / "metrics.md"
PICTURE = Path(__file__).parent / "pictures" / "driving-drive.png"
START = "<!-- From here on written by docs/make_driving.py. -->\n"

QUANTITIES = {
    "D": "`distance`, from the first row; else SP summed up over time, between two rows where it is known "
    "their mean; gaps left out in both",
    "T": "seconds, gaps left out",
    "CR": "event `crash`",
    "SP": "`speed`; else the rate of change of `distance`, or of `x` and `y`",
    "ACC": "`acceleration`; else the rate of change of SP",
    "AS": "rate of change of ACC",
    "TPP": "`throttle`",
    "TPS": "rate of change of TPP",
    "LP": "`lane_offset`",
    "LS": "rate of change of LP",
    "LA": "rate of change of LS",
    "TO": "`lane_offset` in the last row of the sector minus that in its first; unknown if either is",
    "LC": "event `lane change`; else where `lane` changes, gaps left out: a moment, without a duration",
    "LCR": "event `line crossing`",
    "HP": "`headway`",
    "HT": "HP over SP, infinite while standing, below 0.1 m/s",
    "HS": "`lead_speed` minus SP; else the rate of change of HP",
    "DTP": "`pedestrian_distance`",
    "DTV": "`vehicle_distance`",
    "COL": "event `collision`",
    "ST": "event `steering action`; else where SAS is beyond `steering_action`, to either side",
    "SA": "`steering`",
    "SARR": "swings, to either side, of at least the `gap` at the steering wheel, which is SA times "
    "`steering_ratio`, per minute; before, it is filtered below `below` hertz (SAE J2944; second-order "
    "Butterworth, forwards and backwards)",
    "SAS": "rate of change of SA",
    "BR": "event `braking`; else where `brake` is above `braking`",
    "BPP": "`brake`",
    "BD": "metres from where BR begins to where SP falls below 0.1 m/s with the brake still on; the mean of "
    "all such stops that the log shows from begin to end, without a gap",
    "TSO": "event `traffic sign`",
}
"""How each quantity and event is got from the signals and events of a drive."""

WORDS = {
    "Min": "minimum of {}",
    "Max": "maximum of {}",
    "Mean": "mean of {}",
    "Med": "median of {}",
    "Mode": "middle of the bin in which {} is longest, the lowest of equals",
    "SD": "standard deviation of {}, as of a sample (n - 1)",
    "Var": "variance of {}, as of a sample (n - 1)",
    "CV": "SD({0}) over the mean of {0}",
    "RMSE": "root of the mean square of {} - {}",
    "Ent": "entropy of the histogram of {}",
    "AbsDev": "mean distance of {} from its mean",
    "SoS": "sum over time of the square of {}",
    "Skew": "mean of {0} minus its mode, over SD({0})",
    "SER": "standard error of the regression line of {} over time (n - 2)",
    "Diff": "maximum minus minimum of {}",
}
"""The operators on numbers, in words."""

_BINNED = {"Mode", "Ent", "Skew"}


def definition(metric: Metric, settings: MetricSettings) -> str:
    """Return what a metric is, exactly, with the numbers of the settings."""
    name, chain = metric.primitive, metric.operators
    if primitives()[name].event is not None:
        return _of_event(metric, settings)
    what = name
    if "DevT" in chain:
        what = f"\\|{name} - {_target(name, settings)}\\|"
    if not chain or chain == ("DevT",):
        if name in ("D", "T", "TO", "SARR", "BD"):
            return "see above"
        size = f"\\|{name}\\|" if not chain and "Mean" in settings.magnitude.get(name, ()) else what
        return f"{what} in each step; over a sector the mean of {size}"
    outer = chain[0]
    if outer in settings.magnitude.get(name, ()) and "DevT" not in chain:
        what = f"\\|{what}\\|"
    if outer in ("CountC", "TimeC", "Count"):
        return f"{_begins(outer)} {what} {settings.conditions[str(metric)]}"
    if outer == "PowF":
        low, high = settings.bands[name]
        return f"power of {what} from {low:g} to {high:g} Hz; a sine of amplitude a has a²/2"
    bins = f"; bins of {settings.bins[name]:g}, centred on multiples" if outer in _BINNED else ""
    return WORDS[outer].format(what, _target(name, settings)) + bins


def _target(name: str, settings: MetricSettings) -> str:
    target = settings.targets.get(name, "")
    return f"`{target}`" if isinstance(target, str) else f"{target:g}"


def _begins(operator: str) -> str:
    return "seconds in which" if operator == "TimeC" else "how often it begins that"


def _of_event(metric: Metric, settings: MetricSettings) -> str:
    name, (operator,) = metric.primitive, metric.operators
    if operator in ("RT", "RA"):
        told = settings.reactions[str(metric)]
        asks = "a collision is foreseen (TimeC(COL))" if told.to == "COL" else f"{told.to} begins"
        what = f"{told.action} beginning within {told.within:g} s"
        if operator == "RA":
            return f"share of the times that {asks} with {what}, of those with a record that says so"
        return f"seconds from when {asks} to {told.action}, the mean of those with {what}"
    if operator == "Count":
        return f"how often {name} begins"
    if name == "COL":
        foreseen = "seconds until HP is covered at the rate -HS, infinite while it grows"
        if operator == "TimeE":
            return f"the least of the {foreseen}"
        return f"seconds in which the {foreseen}, are {settings.conditions[str(metric)]}"
    if operator == "TimeC":
        return f"seconds in which {name} goes on"
    if name == "LCR":
        return (
            "the least of the seconds until `lateral_clearance` is 0 at its rate of change, infinite while "
            "it grows"
        )
    begin = f"seconds from the begin of the sector to the first {name}"
    return f"{begin}, infinite if there is none, unknown after a gap"


def reference() -> str:
    """Return what the code knows of the metrics."""
    settings = MetricSettings.standard()
    lines = ["## What is measured", "", "| name | what | unit | from |", "|---|---|---|---|"]
    for name, one in primitives().items():
        lines.append(f"| {name} | {one.title} | {one.unit or 'event'} | {QUANTITIES[name]} |")
    lines += ["", f"## The {len(CATALOGUE)} metrics", ""]
    lines += [
        "Numbers in the definitions are those of `settings.yaml`; a file given by `--settings` changes them.",
        "What goes on from one sector to the next begins anew there. `uses` is how many papers of the study",
        "use the metric.",
    ]
    group = ""
    for entry in CATALOGUE:
        if primitives()[entry.metric.primitive].group != group:
            group = primitives()[entry.metric.primitive].group
            lines += _heading(group)
        text = definition(entry.metric, settings)
        lines.append(f"| {entry.metric} | {text} | {unit_of(entry.metric)} | {entry.uses} |")
    return "\n".join(lines) + "\n"


def _heading(group: str) -> list[str]:
    return ["", f"### {group.capitalize()}", "", "| metric | definition | unit | uses |", "|---|---|---|---|"]


def draw() -> None:
    """Draw a drive of a network that pulls to the right."""
    network = load_model("dave2", threads=1)

    def pulled(frames: Sequence[Frame]) -> list[Signals]:
        answers = [answer for answer in network.predict(frames) if isinstance(answer, Signals)]
        return [Signals(steering=0.75 * (answer.steering or 0.0) + 2.0) for answer in answers]

    driver = callable_model(pulled, name="dave2 that pulls to the right")
    driven = drive(driver, WorldSimulator("mountain", traffic=0), limits=DriveLimits(seconds=60))
    save(drive_figure(driven, "LP", alarms=failing_sectors(driven)), PICTURE)


def main() -> None:
    """Draw the picture and write the page."""
    draw()
    head, _, _ = PAGE.read_text("utf-8").partition(START)
    PAGE.write_text(head + START + reference(), "utf-8")


if __name__ == "__main__":
    main()
