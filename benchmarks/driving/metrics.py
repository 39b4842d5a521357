"""All metrics of Table I on a log of a million rows in a thousand sectors, beside a plain pandas version.

The plain version is what one would write first: a table grouped by sector, a function of each group for every
metric, with the columns of rates (speed of the steering wheel and so on) made once. Some metrics it computes
in a simpler way (differences of neighbouring rows for rates, no filter for reversals), so it does less. It
runs on a part of the sectors, and its time is scaled up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._measured import Bar, Beside, Measured
from roadworthy.driving.drives import Drive
from roadworthy.driving.metrics import CATALOGUE, Metric, MetricSettings, compute, primitives

ROWS, SECTORS, RATE = 1_000_000, 1000, 15.0
PLAIN_SECTORS = 40
LEAST = 10
NAME = f"All {len(CATALOGUE)} metrics of a log of {ROWS:,} rows in {SECTORS:,} sectors"
EVENTS = {
    "CR": "crash",
    "COL": "collision",
    "LCR": "line crossing",
    "LC": "lane change",
    "TSO": "traffic sign",
    "sign obeyed": "sign obeyed",
    "lane change sign": "lane change sign",
    "hazard": "hazard",
    "BR": "braking",
    "ST": "steering action",
}
SIGNALS = {
    "SP": ("speed", 10.0, 3.0),
    "TPP": ("throttle", 0.5, 0.3),
    "BPP": ("brake", 0.1, 0.3),
    "SA": ("steering", 0.0, 20.0),
    "LP": ("lane_offset", 0.0, 1.0),
    "HP": ("headway", 30.0, 10.0),
    "lead": ("lead_speed", 10.0, 3.0),
    "DTV": ("vehicle_distance", 10.0, 2.0),
    "DTP": ("pedestrian_distance", 10.0, 2.0),
    "clearance": ("lateral_clearance", 1.0, 0.5),
    "target_speed": ("target_speed", 10.0, 1.0),
    "target_steering": ("target_steering", 0.0, 10.0),
}


def a_drive(rows: int = ROWS, sectors: int = SECTORS) -> Drive:
    """Return smooth noise as every signal and rare flags as every event."""
    rng = np.random.default_rng(0)
    smooth = np.ones(15) / np.sqrt(15)
    signals = {
        name: middle + spread * np.convolve(rng.normal(size=rows), smooth, "same")
        for name, middle, spread in SIGNALS.values()
    }
    # Noise must not leave what is plausible.
    for name, most in (("throttle", 1.0), ("brake", 1.0), ("headway", 100.0)):
        signals[name] = np.clip(signals[name], 0.0, most)
    events = {name: rng.random(rows) < 0.01 for name in EVENTS.values()}
    numbers = np.arange(rows)
    return Drive("noise", numbers / RATE, signals, events, sectors=numbers * sectors // rows)


def as_frame(drive: Drive) -> Any:
    """Return a drive as a pandas table with the abbreviations of Table I, and the rates in it."""
    import pandas as pd

    columns: dict[str, Any] = {"t": drive.time, "sector": drive.sectors}
    columns |= {short: drive.signals[name] for short, (name, *_) in SIGNALS.items()}
    columns |= {short: drive.events[name] for short, name in EVENTS.items()}
    table = pd.DataFrame(columns)
    dt = table["t"].diff()
    for rate, of in (("ACC", "SP"), ("AS", "ACC"), ("TPS", "TPP"), ("LS", "LP"), ("LA", "LS"), ("SAS", "SA")):
        table[rate] = table[of].diff() / dt
    table["HS"] = table["lead"] - table["SP"]
    table["HT"] = table["HP"] / table["SP"]
    return table


def plain_metric(name: str, told: MetricSettings) -> Callable[[Any], float]:
    """Return a function of one sector's rows for a metric."""
    *chain, primitive = name.replace(")", "").split("(")
    operator = chain[0] if chain else "Mean"

    def values(rows: Any) -> Any:
        column = rows[primitive]
        if "DevT" in chain or operator == "RMSE":
            target = told.targets[primitive]
            return (column - (rows[target] if isinstance(target, str) else target)).abs()
        return column.abs() if operator in told.magnitude.get(primitive, ()) else column

    def onsets(flags: Any) -> float:
        return float((flags & ~flags.shift(fill_value=False)).sum())

    def holds(rows: Any) -> Any:
        condition = told.conditions.get(name)
        if condition is None:
            return rows[primitive]
        column = rows["HP"] / -rows["HS"] if primitive == "COL" else values(rows)
        return column > condition.value if condition.sign == ">" else column < condition.value

    def delays(rows: Any) -> list[float]:
        told_so = told.reactions[name]
        asked = rows[told_so.to] & ~rows[told_so.to].shift(fill_value=False)
        acted = rows.loc[rows[told_so.action] & ~rows[told_so.action].shift(fill_value=False), "t"]
        found = []
        for moment in rows.loc[asked, "t"]:
            later = acted[acted >= moment]
            found.append(later.iloc[0] - moment if len(later) else np.inf)
        return found

    def reversal_rate(rows: Any) -> float:
        count, last = 0, rows["SA"].iloc[0]
        for angle in rows["SA"]:
            if abs(angle - last) * told.reversal.steering_ratio >= told.reversal.gap:
                count, last = count + 1, angle
        return float(count / (rows["t"].iloc[-1] - rows["t"].iloc[0]) * 60)

    def histogram(rows: Any) -> Any:
        return np.floor(values(rows) / told.bins[primitive] + 0.5).value_counts().sort_index()

    def mode(rows: Any) -> float:
        return float(histogram(rows).idxmax() * told.bins[primitive])

    def power(rows: Any) -> float:
        column = values(rows).fillna(0)
        spectrum = 2 * np.abs(np.fft.rfft(column - column.mean()) / len(column)) ** 2
        frequencies = np.fft.rfftfreq(len(column), 1 / RATE)
        low, high = told.bands[primitive]
        return float(spectrum[(frequencies >= low) & (frequencies <= high)].sum())

    def regression_error(rows: Any) -> float:
        left = values(rows) - np.polyval(np.polyfit(rows["t"], values(rows), 1), rows["t"])
        return float(np.sqrt((left**2).sum() / (len(left) - 2)))

    special: dict[str, Callable[[Any], float]] = {
        "D": lambda rows: float((rows["SP"] * rows["t"].diff()).sum()),
        "T": lambda rows: float(rows["t"].iloc[-1] - rows["t"].iloc[0]),
        "TO": lambda rows: float(rows["LP"].iloc[-1] - rows["LP"].iloc[0]),
        "SARR": reversal_rate,
        "BD": lambda rows: float((rows["SP"] * rows["BR"]).sum() / RATE),
    }
    if name in special:
        return special[name]
    ways: dict[str, Callable[[Any], float]] = {
        "Mean": lambda rows: float(values(rows).mean()),
        "DevT": lambda rows: float(values(rows).mean()),
        "SD": lambda rows: float(values(rows).std()),
        "Var": lambda rows: float(values(rows).var()),
        "Min": lambda rows: float(values(rows).min()),
        "Max": lambda rows: float(values(rows).max()),
        "Med": lambda rows: float(values(rows).median()),
        "Mode": mode,
        "Ent": lambda rows: float(-(histogram(rows) / len(rows)).pipe(lambda p: p * np.log2(p)).sum()),
        "AbsDev": lambda rows: float((values(rows) - values(rows).mean()).abs().mean()),
        "SoS": lambda rows: float((values(rows) ** 2).sum() / RATE),
        "Diff": lambda rows: float(values(rows).max() - values(rows).min()),
        "CV": lambda rows: float(values(rows).std() / values(rows).mean()),
        "RMSE": lambda rows: float(np.sqrt((values(rows) ** 2).mean())),
        "Skew": lambda rows: float((values(rows).mean() - mode(rows)) / values(rows).std()),
        "SER": regression_error,
        "PowF": power,
        "TimeC": lambda rows: float(holds(rows).sum() / RATE),
        "CountC": lambda rows: onsets(holds(rows)),
        "Count": lambda rows: onsets(holds(rows)),
        "TimeE": lambda rows: (
            float((rows["HP"] / -rows["HS"]).where(rows["HS"] < 0).min())
            if primitive == "COL"
            else float(rows.loc[rows[primitive], "t"].min() - rows["t"].iloc[0])
        ),
        "RT": lambda rows: float(np.mean([d for d in delays(rows) if np.isfinite(d)] or [np.nan])),
        "RA": lambda rows: float(
            np.mean([float(d <= told.reactions[name].within) for d in delays(rows)] or [np.nan])
        ),
    }
    return ways[operator]


def plain_metrics(table: Any, told: MetricSettings) -> dict[str, Any]:
    """Return the values of all metrics for each sector of a table."""
    return {
        str(entry.metric): table.groupby("sector")[table.columns.tolist()]
        .apply(plain_metric(str(entry.metric), told))
        .to_numpy()
        for entry in CATALOGUE
    }


def _computed_alike(metric: Metric) -> bool:
    """Return whether the plain version computes a metric as ours does, so that the numbers must agree."""
    if metric.primitive in ("SP", "TPP", "LP", "HP", "HS", "DTP", "DTV", "SA", "BPP", "TO"):
        return metric.operators[:1] != ("TimeC",)  # the last row of all lasts no time
    return metric.operators == ("Count",) and primitives()[metric.primitive].event is not None


def main() -> list[Measured]:
    bar = Bar("times", "≥", LEAST)
    try:
        import pandas  # noqa: F401
    except ImportError:
        print("Metrics of a drive: skipped, pandas is not installed\n")
        return [Measured(NAME, None, "s", bar=bar, note="pandas is not installed")]
    drive = a_drive()
    told = MetricSettings.standard()
    start = time.perf_counter()
    table = compute(drive)
    ours = time.perf_counter() - start
    assert len(table.values) == len(CATALOGUE), table.missing
    frame = as_frame(drive)
    part = frame[frame["sector"] < PLAIN_SECTORS]
    start = time.perf_counter()
    plain = plain_metrics(part, told)
    theirs = (time.perf_counter() - start) * SECTORS / PLAIN_SECTORS
    alike = [str(entry.metric) for entry in CATALOGUE if _computed_alike(entry.metric)]
    for name in alike:
        np.testing.assert_allclose(table[name][:PLAIN_SECTORS], plain[name], rtol=1e-6, err_msg=name)
    ratio = theirs / ours
    print(
        f"All {len(CATALOGUE)} metrics of {ROWS} rows in {SECTORS} sectors; {len(alike)} are computed alike"
    )
    print(
        f"  ours {ours:6.2f} s; plain pandas {theirs:6.1f} s; {ratio:5.1f} times "
        f"({'ok' if ratio >= LEAST else 'SLOW'}, at least {LEAST})\n"
    )
    return [Measured(NAME, ours, "s", Beside("plain pandas", theirs, ratio), bar)]
