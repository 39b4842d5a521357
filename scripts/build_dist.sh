#!/usr/bin/env bash
# Builds the sdist, the wheel from it, and a bill of materials of what the wheel installs; tries the wheel where nothing else is.
#
#   scripts/build_dist.sh [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3.11}
work=build/dist
quiet="--quiet --disable-pip-version-check"

rm -rf dist "$work"
mkdir -p "$work"
"$python" -m venv "$work/tools"
# shellcheck disable=SC2086
"$work/tools/bin/python" -m pip install $quiet --constraint constraints.txt --requirement scripts/dist-tools.txt
"$work/tools/bin/python" -m build --no-isolation --outdir dist . > "$work/build.log" || { cat "$work/build.log"; exit 2; }
"$work/tools/bin/twine" check --strict dist/*

"$python" -m venv "$work/clean"
# shellcheck disable=SC2086
"$work/clean/bin/python" -m pip install $quiet --no-deps --requirement english-pipeline.txt
# shellcheck disable=SC2086
"$work/clean/bin/python" -m pip install $quiet --constraint constraints.txt dist/roadworthy-*.whl
here=$PWD
(
  cd "$work"  # where the source cannot be imported by chance
  clean/bin/python -m roadworthy --version
  clean/bin/roadworthy suites check clean/lib/python3*/site-packages/roadworthy/examples/demo.suite.yaml
  # 1 means that a requirement is violated: the networks that come along are no good drivers.
  clean/bin/roadworthy rules run --model dave2 --data world:town --sample 4 --out tried \
    --rule "If it becomes foggy, the ego-vehicle should slow down." || [ $? = 1 ]
  test -d tried
)

version=$("$work/clean/bin/roadworthy" --version | cut -d' ' -f2)
"$work/tools/bin/cyclonedx-py" environment "$work/clean/bin/python" --pyproject pyproject.toml --mc-type library \
  --output-reproducible --of JSON --output-file "$here/dist/roadworthy-$version.cdx.json"
echo
du -h --apparent-size dist/*
du -sh "$work/clean"
