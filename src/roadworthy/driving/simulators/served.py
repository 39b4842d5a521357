"""Driving in simulators that run in an environment of their own and are asked over a pipe."""

from __future__ import annotations

import contextlib
import json
import math
import queue
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from roadworthy import _yaml
from roadworthy.driving.drives import EVENTS
from roadworthy.driving.simulators import _remote, serving
from roadworthy.driving.simulators.loop import Controls, Situation
from roadworthy.errors import InputError, SimulatorError, check_number, told_as
from roadworthy.frames import Frame, Signals
from roadworthy.registry import simulators

_LONGEST = 2**16  # bytes of the line that begins an answer
_LARGEST = 2**28  # bytes of an image
_PATIENCE = 5.0  # seconds for a simulator that is told to end
_DARK = 8  # a grey level; an image without anything brighter is black


class ServedSimulator(_remote.RemoteSimulator):
    """A drive in a simulator that `serving` serves, or that speaks its protocol.

    Args:
        name: What drives in it are called.
        command: What starts it.
        limit: The speed in m/s that is not passed.
        wait: Seconds to wait for it to start and to put the vehicle at the start.
        stall: Seconds to wait for a step.

    Raises:
        InputError: An option is not above 0.
    """

    _advice = "Name the program that starts it"

    def __init__(self, name: str, command: list[str], limit: float, wait: float, stall: float) -> None:
        super().__init__(name, limit, full_lock=25.0, half_lane=None, wait=wait, stall=stall)
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._requests = 0

    def reset(self) -> Situation:
        """Start the simulator where that is needed and put the vehicle at its start.

        Raises:
            SimulatorError: It does not start, or what it sends cannot be used.
        """
        self._forget()
        self._size: list[int] | None = None
        self._time = -math.inf
        if self._process is None:
            self._begin()
        told, image = self._asked({"do": "reset"}, self._wait)
        if told.get("protocol") != serving.PROTOCOL:
            raise self._failed(
                f"speaks version {told.get('protocol')} of the protocol, not {serving.PROTOCOL}"
            )
        self._full_lock = _remote.number(told.get("full_lock"))
        if not self._full_lock > 0:
            raise self._failed(f"must say its full lock in degrees, got {told.get('full_lock')!r}")
        return self._situation(told, image)

    def step(self, controls: Controls, /) -> Situation:
        """Drive one step of the simulator.

        Raises:
            InputError: It was not reset before the first step.
            SimulatorError: It died, hangs, or what it sends cannot be used.
        """
        if self._process is None:
            raise InputError("the simulator must be reset before the first step")
        steering, pedal = self._wanted(controls)
        told, image = self._asked({"do": "step", "steering": steering, "pedal": pedal}, self._stall)
        return self._situation(told, image)

    def close(self) -> None:
        """End the simulator's process; a second call does nothing."""
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            process.stdin.write(b'{"request": 0, "do": "close"}\n')
            process.stdin.flush()
            process.wait(timeout=_PATIENCE)
        self._end(process)

    def _end(self, process: subprocess.Popen[bytes]) -> str:
        """End the process, let go of its pipes, and return the last that it wrote."""
        self._process = None
        process.kill()
        process.wait()
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        # The reader may wait to hand over what nobody asked for.
        deadline = time.monotonic() + _PATIENCE
        while self._reader.is_alive() and time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                self._inbox.get(timeout=0.05)
        with self._errors:
            self._errors.seek(0)
            return self._errors.read()[-400:].decode("utf-8", "replace").strip()

    def _begin(self) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
            )
        except OSError as error:
            self._errors.close()
            raise SimulatorError(f"{self.name} does not start: {error}. {self._advice}") from error
        # One answer waits to be fetched; who sends more without being asked has to wait.
        self._inbox: queue.Queue[tuple[Mapping[str, Any], bytes] | str] = queue.Queue(1)
        self._reader = threading.Thread(target=_read, args=(self._process.stdout, self._inbox), daemon=True)
        self._reader.start()

    def _asked(
        self, request: Mapping[str, object], patience: float
    ) -> tuple[Mapping[str, Any], NDArray[np.uint8]]:
        assert self._process is not None
        assert self._process.stdin is not None
        self._requests += 1
        try:
            self._process.stdin.write(json.dumps({"request": self._requests, **request}).encode() + b"\n")
            self._process.stdin.flush()
            found = self._inbox.get(timeout=patience)
        except queue.Empty:
            raise self._failed(f"did not answer within {patience:g} s") from None
        except OSError as error:
            raise self._failed(f"is gone ({error})") from error
        if isinstance(found, str):
            raise self._failed(found)
        told, pixels = found
        if told.get("answers") != self._requests:
            raise self._failed(f"answers what was not asked: {str(dict(told))[:80]}")
        if "error" in told:
            raise self._failed(f"could not {request['do']}: {told['error']}")
        return told, self._image(told.get("image"), pixels)

    def _image(self, shape: Any, pixels: bytes) -> NDArray[np.uint8]:
        try:
            image = np.reshape(np.frombuffer(pixels, np.uint8), [int(one) for one in shape])
            if image.ndim != 3 or image.shape[2] != 3 or not image.size:
                raise ValueError("height, width and 3 are expected")
        except (TypeError, ValueError) as error:
            raise self._failed(f"sent no image: {shape} in {len(pixels)} bytes ({error})") from error
        size = list(image.shape)
        if self._size is not None and size != self._size:
            raise self._failed(f"sent an image of {size}, before they were {self._size}")
        self._size = size
        if image.max() < _DARK:
            self._mended["a black image"] += 1
        return image

    def _situation(self, told: Mapping[str, Any], image: NDArray[np.uint8]) -> Situation:
        now = _remote.number(told.get("time"))
        if not now > self._time:
            raise self._failed(f"must say a later time than {self._time:g} s, got {told.get('time')!r}")
        self._time = now
        signals, events = told.get("signals") or {}, told.get("events") or {}
        if not isinstance(signals, dict) or not isinstance(events, dict):
            raise self._failed("must say signals and events by name")
        known = {str(name): _remote.number(value) for name, value in signals.items()}
        for name in (one for one, value in known.items() if not math.isfinite(value)):
            self._mended[f"{name} is no number"] += 1
        self._speed = _remote.known(known.get("speed")) or 0.0
        self._frames += 1
        own = Signals(_remote.known(known.get("speed")), _remote.known(known.get("steering")), timestamp=now)
        sector, ended = told.get("sector"), told.get("ended")
        return Situation(
            now,
            Frame(f"{self.name.partition(':')[0]}-{self._frames - 1:06d}", image, signals=own),
            known,
            {name: bool(value) for name, value in events.items() if name in EVENTS},
            sector=None if sector is None else str(sector),
            ended=str(ended or ""),
        )

    def _failed(self, what: str) -> SimulatorError:
        """End it and return an error with the last that it wrote."""
        process = self._process
        assert process is not None
        last = self._end(process)
        code = process.returncode
        what += f"; it ended with code {code}" if code > 0 else ""
        return SimulatorError(f"{self.name} {what}" + (f"\nit wrote: … {last}" if last else ""))


@simulators.register("process", summary="a program of yours that speaks our protocol over a pipe")
class ProcessSimulator(ServedSimulator):
    """A drive in whatever a command starts.

    Args:
        path: What drives in it are called.
        command: What starts it, as in a shell but without one.
        limit: The speed in m/s that is not passed.
        wait: Seconds to wait for the start.
        stall: Seconds to wait for a step.

    Raises:
        InputError: The command is none, or an option is not above 0.
    """

    def __init__(
        self,
        path: str = "mine",
        *,
        command: str,
        limit: float = 13.9,
        wait: float = 120.0,
        stall: float = 30.0,
    ) -> None:
        with told_as(InputError, f"cannot read the command {command!r}", ValueError):
            words = shlex.split(command)
        if not words:
            raise InputError("process needs a command that starts the simulator")
        super().__init__(f"process:{path}", words, limit, wait, stall)


def _read(answers: IO[bytes], inbox: queue.Queue[tuple[Mapping[str, Any], bytes] | str]) -> None:
    """Hand over answers until there are no more, then why."""
    why = "died"
    try:
        with answers:
            while line := answers.readline(_LONGEST):
                told = json.loads(line)
                if not isinstance(told, dict) or not 0 <= told["bytes"] <= _LARGEST:
                    raise ValueError("no object with the bytes of its image")
                inbox.put((told, answers.read(told["bytes"])))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        why = f"sent what is no answer: {line[:60]!r} ({type(error).__name__})"
    inbox.put(why)


def _command(python: str, kind: str, **options: object) -> list[str]:
    return [python or sys.executable, str(Path(serving.__file__)), kind, json.dumps(options)]


@simulators.register("metadrive", summary="MetaDrive, in an environment of its own: `make metadrive`")
class MetaDriveSimulator(ServedSimulator):
    """A drive on a generated map of MetaDrive.

    Args:
        path: The map: how many blocks, or their letters such as SCS.
        python: That of the environment in which MetaDrive is installed.
        seed: Chooses the map and the traffic.
        traffic: Vehicles for every ten metres of lane.
        width: Of the camera's images.
        height: Of the camera's images.
        limit: The speed in m/s that is not passed.
        wait: Seconds to wait for the start.
        stall: Seconds to wait for a step.

    Raises:
        InputError: An option makes no sense.
    """

    _advice = "`make metadrive` sets it up; python= names another place"

    def __init__(
        self,
        path: str = "3",
        *,
        python: str = ".venv-metadrive/bin/python",
        seed: int = 0,
        traffic: float = 0.1,
        width: int = 320,
        height: int = 160,
        limit: float = 13.9,
        wait: float = 900.0,
        stall: float = 120.0,
    ) -> None:
        check_number("width", width, least=1)
        check_number("height", height, least=1)
        command = _command(
            python, "metadrive", map=path, seed=seed, traffic=traffic, width=width, height=height
        )
        super().__init__(f"metadrive:{path}", command, limit, wait, stall)


class _Mapping(BaseModel):
    """What the numbers of an environment mean."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    action: list[
        Literal["steering", "-steering", "throttle", "-throttle", "brake", "-brake", "pedal", "-pedal"]
    ]
    image: str | None = None
    full_lock: float = Field(25.0, gt=0)
    step: float | None = Field(None, gt=0)
    signals: dict[str, str] = {}
    events: dict[str, str] = {}
    ends: dict[str, str] = {}
    make: dict[str, Any] = {}
    served: Literal["gymnasium", "car-racing"] = "gymnasium"


@cache
def _known() -> Mapping[str, _Mapping]:
    file = _yaml.read_yaml(Path(__file__).with_name("gymnasium.yaml"), "table of environments", "their ids")
    return {name: _Mapping(**said) for name, said in file.data.items()}


@simulators.register("gymnasium", summary="environments of Gymnasium with pictures: gymnasium:CarRacing-v3")
class GymnasiumSimulator(ServedSimulator):
    """A drive in an environment of Gymnasium.

    Args:
        path: The environment's id, such as CarRacing-v3; ``module:id`` imports a module first.
        mapping: A YAML file that says what its actions, signals and events mean, where that is not known.
        python: That of the environment in which it is installed; ours where nothing is said.
        seed: Of each episode.
        limit: The speed in m/s that is not passed.
        wait: Seconds to wait for the start.
        stall: Seconds to wait for a step.

    Raises:
        InputError: There is no mapping, or it cannot be used.
    """

    _advice = "python= names the environment in which Gymnasium is installed"

    def __init__(
        self,
        path: str = "CarRacing-v3",
        *,
        mapping: Path | None = None,
        python: str = "",
        seed: int = 0,
        limit: float = 13.9,
        wait: float = 120.0,
        stall: float = 30.0,
    ) -> None:
        said = _known().get(path)
        if mapping is not None:
            said, _ = _yaml.read_form(mapping, _Mapping, "mapping of an environment", "'action:'")
        if said is None:
            raise InputError(
                f"gymnasium:{path} needs a mapping that says what its numbers mean: mapping=FILE.yaml with "
                f"action: [steering, throttle, brake]; known without one: {', '.join(_known())}"
            )
        told = said.model_dump(exclude={"served"})
        command = _command(python, said.served, id=path, seed=seed, mapping=told)
        super().__init__(f"gymnasium:{path}", command, limit, wait, stall)
