# Roadworthy with the versions of constraints.txt.
#
#   docker build --tag roadworthy .
#   docker run --rm --volume "$PWD:/work" roadworthy run night.suite.yaml
#   docker run --rm --volume "$PWD:/work" --publish 127.0.0.1:8321:8321 roadworthy serve --host 0.0.0.0
#
# --build-arg EXTRAS=web,torch adds other extras.
FROM python:3.11-slim AS build
WORKDIR /source
COPY . .
RUN python -m pip install --no-cache-dir --constraint constraints.txt hatchling build==1.6.1 \
    && python -m build --no-isolation --wheel --outdir /wheels

FROM python:3.11-slim
ARG EXTRAS=web
COPY constraints.txt english-pipeline.txt /tmp/pins/
COPY --from=build /wheels /tmp/wheels
RUN python -m pip install --no-cache-dir --no-deps --requirement /tmp/pins/english-pipeline.txt \
    && python -m pip install --no-cache-dir --constraint /tmp/pins/constraints.txt \
        "$(echo /tmp/wheels/roadworthy-*.whl)[${EXTRAS}]" \
    && rm -rf /tmp/pins /tmp/wheels \
    && useradd --create-home --uid 1000 driver
USER 1000
WORKDIR /work
ENTRYPOINT ["roadworthy"]
CMD ["--help"]
