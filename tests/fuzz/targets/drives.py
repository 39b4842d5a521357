"""Readers of drives, what simulators send, and what is kept about driving."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fuzz.files import seed_of
from tests.fuzz.harness import Target
from tests.fuzz.mutating import mutated_csv, mutated_json, mutated_parquet, mutated_text, mutated_zip

__all__ = ["TARGETS"]


def _udacity(folder: Path) -> None:
    from roadworthy.driving.drives.readers.simulator_logs import read_udacity_sim

    read_udacity_sim(folder / "driving_log.csv")


def _donkey(folder: Path) -> None:
    from roadworthy.driving.drives.readers.simulator_logs import read_donkey

    read_donkey(folder, half_lane=1.0)


def _commonroad(folder: Path) -> None:
    from roadworthy.driving.drives.readers.commonroad import read_commonroad

    read_commonroad(folder / "a.xml")


_MAPPING = {
    "time": {"column": "t", "unit": "ms"},
    "signals": {"speed": {"column": "v", "unit": "km/h"}, "steering": {"column": "angle", "unit": "rad"}},
    "events": {"crash": "hit"},
}


def _table(file: str) -> Any:
    def read(folder: Path) -> None:
        from roadworthy.driving.drives.readers.tables import read_table

        read_table(folder / file, mapping=_MAPPING)

    return read


def _recorded(folder: Path) -> None:
    from roadworthy.driving.drives.readers import write_drive
    from roadworthy.driving.drives.readers.recorded import read_recorded

    drive = read_recorded(folder / "drive.parquet")
    write_drive(drive, folder / "again.parquet")
    assert len(read_recorded(folder / "again.parquet")) == len(drive)


def _thresholds(folder: Path) -> None:
    from roadworthy.driving.requirements import read_thresholds

    read_thresholds(folder / "oracle.json")


def _mutants(folder: Path) -> None:
    from roadworthy.training.mutants.saving import read_mutants, write_table

    write_table(folder, read_mutants(folder))


def _film(folder: Path) -> None:
    from roadworthy.report.driving import Film

    film = Film.read(folder / "frames.zip")
    film.write_plain(folder / "film.gif", 0.0, 1.0, width=16)


def _filmed(folder: Path) -> None:
    from roadworthy.driving.drives.readers.recorded import read_recorded
    from roadworthy.report.driving import film_of

    drive = read_recorded(folder / "drive.parquet")
    assert len(film_of(drive, folder)) == len(drive)


class _Wire:
    """Stands for the connection to a Donkey simulator that has sent some lines."""

    connected = True
    lost = ""

    def __init__(self, lines: list[bytes]) -> None:
        from roadworthy.driving.simulators import _remote as _lines

        self._messages = [one for line in lines if (one := _lines._parsed(line)) is not None]

    def receive(self, timeout: float) -> Any:
        return self._messages.pop(0) if self._messages else None

    def newest(self, message: Any) -> Any:
        return message

    def send(self, message: Any) -> None:
        pass

    def drop_waiting(self) -> None:
        pass


def _donkey_wire(folder: Path) -> None:
    from roadworthy.driving.simulators.donkey import DonkeySimulator
    from roadworthy.driving.simulators.loop import Controls

    simulator: Any = DonkeySimulator(settle=0.0, half_lane=1.0, max_offset=8.0)
    simulator._client = _Wire((folder / "wire.txt").read_bytes().split(b"\n"))
    simulator.reset()
    for _ in range(3):
        simulator.step(Controls(steering=0.0, throttle=0.1))


def _udacity_wire(folder: Path) -> None:
    from roadworthy.driving.simulators._udacity_wire import parse
    from roadworthy.driving.simulators.udacity import read_telemetry

    for line in (folder / "wire.txt").read_bytes().split(b"\n"):
        packet = parse(line)
        if packet.name in ("telemetry", "car_telemetry") and isinstance(packet.data, dict):
            read_telemetry(packet.name, packet.data, full_lock=25.0)


TARGETS = (
    Target("drive-udacity", "driving_log.csv", _udacity, mutated_csv),
    Target("drive-donkey-record", "record_1.json", _donkey, mutated_json),
    Target("drive-donkey-catalog", "catalog_0.catalog", _donkey, mutated_json),
    Target(
        "drive-donkey-manifest",
        "manifest.json",
        _donkey,
        mutated_text,
        {"catalog_0.catalog": b'{"_index": 0, "_timestamp_ms": 10, "user/angle": 0.1}\n'},
    ),
    Target("drive-commonroad", "a.xml", _commonroad, mutated_text),
    Target("drive-csv", "log.csv", _table("log.csv"), mutated_csv),
    Target("drive-parquet", "log.parquet", _table("log.parquet"), mutated_parquet),
    Target("drive-recorded", "drive.parquet", _recorded, mutated_parquet),
    Target("driving-thresholds", "oracle.json", _thresholds, mutated_json),
    Target("driving-mutants", "m1/mutant.json", _mutants, mutated_json),
    Target("film", "frames.zip", _film, mutated_zip),
    Target(
        "drive-filmed",
        "drive.json",
        _filmed,
        mutated_json,
        {"drive.parquet": seed_of("drive-world")},
        examples=10,
    ),
    Target(
        "drive-world",
        "drive.parquet",
        _filmed,
        mutated_parquet,
        {"drive.json": seed_of("drive-filmed")},
        examples=10,
    ),
    Target("wire-donkey", "wire.txt", _donkey_wire, mutated_json, names=""),
    Target("wire-udacity", "wire.txt", _udacity_wire, mutated_text, names=""),
)
