# The Rust toolchain stays in the first stage; the second holds what runs, and no package manager's
# caches. The wheel of the kernel is for Python's stable ABI: built by Debian's 3.11, used by 3.12.
FROM rust:1.95.0-slim-bookworm AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-pip python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN python3 -m venv /venv \
    && BPEFLEET_RELEASE=1 /venv/bin/pip wheel --no-cache-dir --no-deps --wheel-dir /wheels ./kernel .

FROM python:3.12.14-slim-bookworm
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir /wheels/bpefleet_kernel-*.whl "$(echo /wheels/bpefleet-*.whl)[dashboard]"
COPY deploy/docker/healthy_worker.py /opt/bpefleet/healthy_worker.py
# A number, so that an orchestrator can see that it is not root.
USER 1000:1000
ENV HOME=/tmp
WORKDIR /output
ENTRYPOINT ["bpefleet"]
CMD ["--help"]
