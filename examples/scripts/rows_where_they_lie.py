# %% [markdown]
# # Ask a run that lies in a bucket, where it lies
#
# `roadworthy run SUITE --out s3://bucket/night` brings rows, images and report to the bucket; the rows are
# Parquet files, in a folder for each requirement and model, which DuckDB reads there. This example writes to
# a place in memory; with `RESULTS=s3://bucket/rain`, and credentials in the environment, to a bucket. It
# needs `roadworthy[remote]`.

# %%
import os

import duckdb
import fsspec

from roadworthy.places import kept
from roadworthy.runs.suites import run_suite, suite_of

RESULTS = os.environ.get("RESULTS", "memory://results/rain")

# %% [markdown]
# ## A run that goes there
#
# It is written in a copy on this machine and brought to its address; `--out` of every command does the same.

# %%
suite = suite_of(
    {
        "models": {"dave2": "dave2"},
        "data": {"town": {"data": "world:town", "sample": 8}},
        "requirements": {
            "rain": {"rule": "If it rains, then the ego-vehicle should slow down."},
            "night": {
                "rule": "If the driving time changes into night, then the ego-vehicle should slow down."
            },
        },
    }
)
with kept(RESULTS) as folder:
    run_suite(suite, folder)

# %% [markdown]
# ## Questions to the bucket
#
# DuckDB gets the file system, and the address with stars in it. It reads what an answer needs, and no more.

# %%
database = duckdb.connect()
database.register_filesystem(fsspec.filesystem(RESULTS.partition(":")[0]))
cases = f"read_parquet('{RESULTS}/runs/*/*/cases/*.parquet', union_by_name=true)"
for requirement, system, judged, worst in database.sql(
    f"SELECT requirement, system, count(margin), min(margin) FROM {cases} GROUP BY ALL ORDER BY ALL"
).fetchall():
    print(f"{requirement} on {system}: {judged} cases judged, the worst with a margin of {worst:.2f}")
