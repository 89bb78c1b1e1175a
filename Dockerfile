# polyseme in an image: the commands, the bundled models, and nothing to fetch when they run.
#
#   docker build -t polyseme .
#   docker run --rm --network none --user "$(id -u):$(id -g)" -v "$PWD:/data" polyseme \
#     embed novel.txt -m english-small -o novel.h5
#
# docs/docker.md says more.

ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
# The compiler makes the kernels of the wheel and stays behind in this stage.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY src src
# Further parts of polyseme: see [project.optional-dependencies] in pyproject.toml.
ARG EXTRAS=parquet,plots,search
# pip reads it: an index that has the CPU build of torch, where the usual one gives the CUDA build.
ARG PIP_EXTRA_INDEX_URL=
RUN python -m venv /opt/polyseme \
 && /opt/polyseme/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt ".[${EXTRAS}]" \
 && /opt/polyseme/bin/python -c 'import sys, torch; torch.version.cuda and sys.exit("this torch is a CUDA build, some gigabytes larger; give an index with CPU builds: docker build --build-arg PIP_EXTRA_INDEX_URL=...")'

FROM python:${PYTHON}-slim
COPY --from=build /opt/polyseme /opt/polyseme
# Caches go where any user may write, so that --user works.
ENV PATH=/opt/polyseme/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1
RUN useradd --uid 1000 --no-create-home polyseme \
 && install --directory --owner polyseme /data
USER polyseme
WORKDIR /data
ENTRYPOINT ["polyseme"]
CMD ["--help"]
