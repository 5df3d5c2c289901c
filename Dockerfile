# The Rust toolchain stays in the first stage.
FROM rust:1-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3-pip python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN pip wheel --break-system-packages --no-deps --wheel-dir /wheels ./kernel .

FROM python:3.12-slim-bookworm
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir /wheels/*.whl && useradd --create-home bpefleet
USER bpefleet
ENTRYPOINT ["bpefleet"]
CMD ["--help"]
