"""Changes to the bytes of a seed, the same for the tests and for the long campaign.

A mutator gets the bytes of a seed, a random generator and the other seeds, and returns other bytes. Where the
bytes are a JSON or YAML document or a table, some changes are made to what they say, so that they get beyond
the parser; others are made to the bytes.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import yaml

__all__ = [
    "LARGEST",
    "Mutator",
    "mutated_bytes",
    "mutated_csv",
    "mutated_json",
    "mutated_parquet",
    "mutated_text",
    "mutated_yaml",
    "mutated_zip",
    "of_words",
]

Mutator = Callable[[bytes, Random, Sequence[bytes]], bytes]

LARGEST = 1 << 16
"""The most bytes of a mutant."""

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e-320, 1e308, 10**400, -(10**19), 2**31, 2**63, 2**64),
    *(float("nan"), float("inf"), float("-inf")),
    *(
        "",
        " ",
        "a",
        "none",
        "nan",
        "-1",
        "1e999",
        "1_0",
        "٣",
        "²",
        "\u2028",
        "\x00",
        "\ud800",
        "é" * 40,
        "../x",
    ),
    *([], {}, [[]], [None], {"": None}, {"a": {}}, [0, 0, 0, 0], [1, 2], "x" * 300),
)
"""Values that readers are seldom asked for."""

_WORDS = re.compile(rb"[A-Za-z_]+|\d+(?:\.\d+)?|[^\sA-Za-z_\d]")
_ODD_WORDS = (
    *(
        b"",
        b"0",
        b"-1",
        b"nan",
        b"inf",
        b"1e999",
        b"-1e-320",
        b"1_0",
        b"99999999999999999999",
        b"\xff",
        b"\xc3",
    ),
    *(
        "٣".encode(),
        "²".encode(),
        "ß".encode(),
        "İ".encode(),
        b"\xe2\x80\xa8",
        b"\x00",
        b"\x85",
        b"\r",
        b"\t",
    ),
    *(
        b'"',
        b"'",
        b",",
        b";",
        b":",
        b"\\",
        b"%",
        b"{",
        b"}",
        b"[",
        b"]",
        b"(",
        b")",
        b"&",
        b"*",
        b"#",
        b"~",
        b"!",
    ),
)


def mutated_bytes(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Change a few bytes, cut some out, repeat some or take some from another seed."""
    for _ in range(1 << random.randrange(4)):
        start, end = _span(data, random)
        change = random.randrange(7)
        if change == 0 and data:
            data = data[:start] + bytes([random.randrange(256)]) + data[start + 1 :]
        elif change == 1 and data:
            data = (
                data[:start] + bytes([data[start % len(data)] ^ 1 << random.randrange(8)]) + data[start + 1 :]
            )
        elif change == 2:
            data = data[:start] + data[end:]
        elif change == 3:
            data = data[:end] + data[start:end] * random.choice((1, 2, 30)) + data[end:]
        elif change == 4:
            data = data[:start]
        elif change == 5:
            data = (
                data[:start]
                + random.choice((b"\x00", b"\xff", b"\x7f\xff\xff\xff", b"\x00" * 8))
                + data[end:]
            )
        elif others:
            other = random.choice(others)
            data = data[:start] + other[slice(*_span(other, random))] + data[end:]
    return data[:LARGEST]


def mutated_text(data: bytes, random: Random, others: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """Change words, numbers and signs, and swap lines; now and then bytes."""
    if random.randrange(6) == 0:
        return mutated_bytes(data, random, others)
    for _ in range(1 << random.randrange(4)):
        found = list(_WORDS.finditer(data))
        known = [*(one.group() for one in found), *words, *_ODD_WORDS]
        change = random.randrange(6)
        if change < 3 and found:
            one = random.choice(found)
            data = data[: one.start()] + random.choice(known) + data[one.end() :]
        elif change == 3:
            start, _ = _span(data, random)
            data = data[:start] + random.choice((b"", b" ", b"\n")) + random.choice(known) + data[start:]
        else:
            data = _with_other_lines(data, random, others)
    return data[:LARGEST]


def _with_other_lines(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    here, there = random.randrange(len(lines)), random.randrange(len(lines))
    change = random.randrange(4)
    if change == 0:
        lines[here], lines[there] = lines[there], lines[here]
    elif change == 1:
        del lines[here]
    elif change == 2:
        lines.insert(there, lines[here])
    elif others:
        lines.insert(there, random.choice(random.choice(others).split(b"\n")))
    return b"\n".join(lines)


def of_words(words: Sequence[str]) -> Mutator:
    """Return the mutator of a language with these words."""
    known = [word.encode() for word in words]

    def mutate(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
        return mutated_text(data, random, others, known)

    return mutate


def mutated_json(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Change values and keys of a JSON document, or of lines of JSON; now and then its text."""
    if random.randrange(4) == 0:
        return mutated_text(data, random, others)
    try:
        documents = (
            [json.loads(line) for line in data.splitlines()] if data.count(b"\n{") else [json.loads(data)]
        )
    except (ValueError, RecursionError):
        return mutated_text(data, random, others)
    if not documents:
        return mutated_text(data, random, others)
    number = random.randrange(len(documents))
    documents[number] = _other_document(documents[number], random)
    return "\n".join(map(json.dumps, documents)).encode()[:LARGEST]


def mutated_yaml(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Change values and keys of a YAML document; as often its text."""
    if random.randrange(2) == 0:
        return mutated_text(data, random, others)
    try:
        document = _other_document(yaml.load(data, yaml.CSafeLoader), random)
        return yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False).encode()[:LARGEST]
    except (yaml.YAMLError, ValueError, AttributeError, LookupError, RecursionError):  # as for !!bool x
        return mutated_text(data, random, others)


def _other_document(document: Any, random: Random) -> Any:
    for _ in range(1 << random.randrange(3)):
        document = _other_value(document, random)
    return document


def _other_value(value: Any, random: Random) -> Any:
    """Return a document with one change somewhere in it."""
    inside = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value))
        if isinstance(value, list)
        else []
    )
    if not inside or random.randrange(8) == 0:
        return (
            random.choice(ODD)
            if not isinstance(value, str) or random.randrange(2)
            else _other_word(value, random)
        )
    key, one = random.choice(inside)
    change = random.randrange(10)
    if isinstance(value, list):
        changed: Any = list(value)
        if change == 0:
            del changed[key]
        elif change == 1:
            changed.insert(key, one)
        else:
            changed[key] = _other_value(one, random)
        return changed
    changed = dict(value)
    if change == 0:
        del changed[key]
    elif change == 1:
        changed[random.choice(("", "a", "id", str(key).upper(), "é", "1"))] = changed.pop(key)
    elif change == 2:
        changed[key] = random.choice(inside)[1]
    else:
        changed[key] = _other_value(one, random)
    return changed


def _other_word(word: str, random: Random) -> str:
    place = random.randrange(len(word) + 1)
    return (
        word[:place]
        + random.choice(("", "x", ".", "/", ":", "-", "9", "\n", "é"))
        + word[place + random.randrange(3) :]
    )


def mutated_csv(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Change cells, rows and columns of a table; now and then its text."""
    if random.randrange(3) == 0:
        return mutated_text(data, random, others)
    try:
        rows = [row for row in csv.reader(io.StringIO(data.decode())) if row]
    except (UnicodeDecodeError, csv.Error):
        rows = []
    if not rows:
        return mutated_text(data, random, others)
    for _ in range(1 << random.randrange(3)):
        row = random.choice(rows)
        if not row:
            continue
        here, change = random.randrange(len(row)), random.randrange(6)
        if change == 0:
            del row[here]
        elif change == 1:
            row.insert(here, row[here])
        elif change == 2:
            rows.append(list(row))
        elif change == 3:
            row[here] = random.choice(random.choice(rows) or [""])
        else:
            row[here] = str(random.choice(ODD)).replace("\ud800", "")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()[:LARGEST]


def mutated_parquet(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Change columns, values and metadata of a Parquet file; now and then its bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    if random.randrange(3) == 0:
        return mutated_bytes(data, random, others)
    try:
        table = parquet.read_table(io.BytesIO(data))
    except (OSError, pa.ArrowException):
        return mutated_bytes(data, random, others)
    if not table.num_columns:
        return mutated_bytes(data, random, others)
    place = random.randrange(table.num_columns)
    change = random.randrange(5)
    try:
        name, cells = table.column_names[place], table.column(place).to_pylist()
        if change == 0:
            table = table.drop_columns([name])
        elif change == 1:
            table = table.rename_columns(
                [*table.column_names[:place], "other", *table.column_names[place + 1 :]]
            )
        elif change == 2 and table.schema.metadata:
            key = random.choice(list(table.schema.metadata))
            told = mutated_json(table.schema.metadata[key], random, others)
            table = table.replace_schema_metadata({**table.schema.metadata, key: told})
        elif cells and change == 3:
            cells[random.randrange(len(cells))] = random.choice((None, *(cells or [0])))
            table = table.set_column(place, name, pa.array(cells))
        else:
            odd = random.choice(ODD)
            table = table.set_column(place, name, pa.array([odd] * table.num_rows))
        sink = io.BytesIO()
        parquet.write_table(table, sink)
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError):
        return mutated_bytes(data, random, others)
    return sink.getvalue()[:LARGEST]


def mutated_zip(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Change a member of a ZIP file, or its name; as often its bytes."""
    if random.randrange(2) == 0:
        return mutated_bytes(data, random, others)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError, RuntimeError, zlib.error):
        return mutated_bytes(data, random, others)
    if not members:
        return mutated_bytes(data, random, others)
    name = random.choice(list(members))
    change = random.randrange(5)
    if change == 0:
        del members[name]
    elif change == 1:
        members[random.choice(("", "../x", "/x", f"{name}/x", "a" * 300, name.upper()))] = members.pop(name)
    elif change == 2:
        members[name] = mutated_bytes(members[name], random, others)
    else:
        mutate = mutated_json if name.endswith((".json", ".jsonl")) else mutated_text
        members[name] = mutate(members[name], random, others)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for one, content in members.items():
            archive.writestr(zipfile.ZipInfo(one), content)
    return sink.getvalue()[: 4 * LARGEST]


def _span(data: bytes, random: Random) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.choice((0, 1, 2, 4, 16, 64, 1024)))
