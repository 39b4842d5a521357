"""The long campaign against one target: mutants by the thousand, guided by what of the package they reach.

With atheris the search is guided by coverage: an input that reaches new code is kept and changed further.
Without it, mutants of the corpus are tried. Either way a crash does not end the search: the first input with
each signature is made small and written into the corpus, where the tests read it from then on.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tests.fuzz.harness import CORPUS, Crash, Target, attempt, corpus_of
from tests.fuzz.mutating import LARGEST

__all__ = ["campaign"]

_ADDRESS_SPACE = 8 << 30  # bytes: what asks for more gets a MemoryError, which is a crash
_SHRINKING = 10.0  # seconds for making one crash small


class _Tally:
    """Counts what came of the inputs, and keeps the crashes."""

    def __init__(self, target: Target, seconds: float, told: Path) -> None:
        self.target, self.told = target, told
        self.end = time.process_time() + seconds
        self.counts: Counter[str] = Counter()
        self.crashes: dict[str, str] = {}

    def try_one(self, data: bytes) -> None:
        if time.process_time() > self.end:
            self.finish()
        try:
            self.counts[attempt(self.target, data)] += 1
        except Crash as crash:
            self.counts["crashed"] += 1
            if crash.signature not in self.crashes:
                self.keep(data, crash)

    def keep(self, data: bytes, crash: Crash) -> None:
        self.crashes[crash.signature] = str(crash)
        small = _shrunk(self.target, data, crash.signature)
        name = f"found-{hashlib.sha256(small).hexdigest()[:12]}"
        (CORPUS / self.target.name / name).write_bytes(small)
        self.crashes[crash.signature] = f"{name}: {crash}"
        self.write()

    def write(self) -> None:
        record = {"target": self.target.name, "counts": self.counts, "crashes": self.crashes}
        self.told.write_text(json.dumps(record))

    def finish(self) -> None:
        """End the process: libFuzzer would go on."""
        self.write()
        sys.stdout.flush()
        os._exit(0)


def campaign(name: str, seconds: float, told: Path, seed: int = 0) -> None:
    """Try a target for so many seconds of processor time, write what came of it, and end the process."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    try:
        import atheris
    except ModuleNotFoundError:
        atheris = None
    # What is imported in here is followed, and what a target imports when it first runs is as well.
    following = nullcontext() if atheris is None else atheris.instrument_imports(include=["roadworthy"])
    with following:
        from tests.fuzz.catalogue import TARGETS

        target = TARGETS[name]
        seeds = [path.read_bytes() for path in corpus_of(target)]
        _warm_up(target, seeds)
    tally = _Tally(target, seconds, told)
    if atheris is None:
        _unguided(tally, seeds, Random(seed))
    else:
        _guided(atheris, tally, seeds, seed)


def _warm_up(target: Target, seeds: list[bytes]) -> None:
    for data in seeds:
        try:
            attempt(target, data)
        except Crash:
            continue


def _unguided(tally: _Tally, seeds: list[bytes], random: Random) -> None:
    while True:
        tally.try_one(tally.target.mutate(random.choice(seeds), random, seeds))


def _guided(atheris: Any, tally: _Tally, seeds: list[bytes], seed: int) -> None:
    def mutate(data: bytes, largest: int, number: int) -> bytes:
        random = Random(number)
        if random.randrange(5) == 0:
            return bytes(atheris.Mutate(data, largest))
        # What was changed often is mostly refused at once, so every other mutant is made of a seed.
        data = random.choice(seeds) if random.randrange(2) else data
        return tally.target.mutate(data, random, seeds)[:largest]

    with TemporaryDirectory() as grown:
        options = [
            f"-max_len={LARGEST}",
            f"-seed={seed + 1}",
            "-verbosity=0",
            "-rss_limit_mb=0",
            "-timeout=600",
            f"-artifact_prefix={grown}/",  # inputs that were slow, which libFuzzer puts where one is
        ]
        arguments = ["fuzz", *options, grown, str(CORPUS / tally.target.name)]
        atheris.Setup(arguments, tally.try_one, custom_mutator=mutate, internal_libfuzzer=True)
        atheris.Fuzz()


def _shrunk(target: Target, data: bytes, signature: str) -> bytes:
    """Leave out parts, large ones first, as long as it crashes in the same way."""
    end, size = time.process_time() + _SHRINKING, max(1, len(data) // 2)
    while size and time.process_time() < end:
        place = 0
        while place < len(data) and time.process_time() < end:
            shorter = data[:place] + data[place + size :]
            if _crashes(target, shorter, signature):
                data = shorter
            else:
                place += size
        size //= 2
    return data


def _crashes(target: Target, data: bytes, signature: str) -> bool:
    try:
        attempt(target, data)
    except Crash as crash:
        return crash.signature == signature
    return False
