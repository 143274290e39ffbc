# Every target does its own set-up: a virtual environment in .venv with the versions of constraints.txt.
CANDIDATES := python3 python3.13 python3.12 python3.11 python
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in $(CANDIDATES); do $$p -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo-ready
DEV := $(VENV)/.dev-ready
ARGS ?=

.PHONY: wheel deb container sbom help demo demo-fleet test fault-simulation mutants soak lint bench bench-quick docs docs-write setup components clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

setup: $(DEV) ## the virtual environment with everything, pinned

# Set-up talks to standard error, so that `make demo ARGS=--json` leaves standard output to the document.
$(BIN)/python:
	@test -n "$(PYTHON)" && $(PYTHON) -c '$(NEW_ENOUGH)' 2>/dev/null \
	  || { echo "hotplace needs Python 3.11 or newer and found none; try: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >&2 \
	  || { echo "no virtual environment could be made: install your system's python3-venv package" >&2; rm -rf $(VENV); exit 1; }

INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

# The demo needs a tenth of what the tests need; what has everything has the demo's part too.
$(DEMO): pyproject.toml constraints.txt | $(BIN)/python
	@test -e $(DEV) || { echo "setting up $(VENV) for the demo ..." >&2; $(INSTALL) '.[demo]' >&2; }
	@touch $@

$(DEV): pyproject.toml constraints.txt | $(BIN)/python
	@echo "setting up $(VENV) ..." >&2
	@$(INSTALL) '.[dev]' >&2
	@touch $@

demo: $(DEMO) ## the main job on a private PostgreSQL; ARGS="--yes --json" are passed on
	@$(BIN)/hotplace demo $(ARGS)

demo-fleet: $(DEMO) ## three databases, two agents, a standby, one ledger, two people; ARGS="--yes --json" are passed on
	@$(BIN)/hotplace demo --fleet $(ARGS)

components: $(DEV)
	@$(BIN)/python -m tests.components >&2

# Two workers more than two cores have: many tests wait for a server, a disk or a clock.
WORKERS ?= 4

# Where the environment forbids to keep compiled modules, each of the many programs that tests start would compile ours.
test: components ## everything: unit, property, contract, real PostgreSQL, end to end
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

lint: $(DEV) ## ruff, mypy strict, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --num-workers 2
	@$(BIN)/lint-imports

bench: components ## measures and writes tests/bench/RESULTS.md and results.json
	@$(BIN)/python -m tests.bench $(ARGS)

bench-quick: $(DEV) ## small versions of the benchmarks in about five minutes; prints, writes nothing
	@$(BIN)/python -m tests.components --laboratory >&2
	@$(BIN)/python -m tests.bench --quick $(ARGS)

fault-simulation: $(DEV) ## the whole agent among faults drawn from seeds; ARGS="--seeds 1000 --jobs 2", or ARGS="--seed 7"
	@$(BIN)/python -m tests.fault_simulation $(ARGS)

mutants: components ## small mistakes in the agent's source, each against the tests that pass by it; ARGS="--named" for those with a name, "--fixed" for the fixed list
	@$(BIN)/python -m tests.mutants $(ARGS)

# What makes sure takes hours: a thousand seeds that no other run has, every mistake, real faults, thousands of connections.
soak: components ## the long proofs, hours: seeds, forgers, every PostgreSQL, all examples, mutants, faults in the laboratory, split tables, the fleet's demo, 5,000 slow connections
	@$(BIN)/python -m tests.fault_simulation --first $${SOAK_FIRST:-100000} --seeds $${SOAK_SEEDS:-1000} --jobs 2
	@$(BIN)/python -m tests.fault_simulation --forgers --first $${SOAK_FIRST:-100000} --seeds $${SOAK_SEEDS:-1000} --jobs 2
	@HOTPLACE_FROZEN_SEEDS=100 $(BIN)/python -m pytest -q -n $(WORKERS) tests/fault_simulation/test_seeds.py
	@export HOTPLACE_ALL_VERSIONS=1; for major in $$($(BIN)/python -m tests.labs.postgresql); do \
	  HOTPLACE_POSTGRESQL=$$major $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup -m postgresql || exit 1; done
	@HOTPLACE_SLOW_CONNECTIONS=5000 $(BIN)/python -m pytest -q tests/e2e/test_slow_connections.py
	@HOTPLACE_SPLIT_EXAMPLES=$${SOAK_SEEDS:-1000} $(BIN)/python -m pytest -q tests/labs/test_split_property.py
	@HOTPLACE_ALL_EXAMPLES=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup -m hypothesis
	@HOTPLACE_ALL_EXAMPLES=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup tests/patterns tests/assess \
	  tests/property/test_spaces.py tests/fault_simulation/test_oracles.py \
	  tests/contract/test_by_hand.py tests/ledger/test_damage.py tests/db2/moving/test_life.py
	@$(BIN)/python -m pytest -q -m soak
	@$(BIN)/python -m tests.bench.lab faults
	@$(BIN)/python -m tests.mutants $(ARGS)

docs: $(DEV) ## builds docs/ strictly into docs/site and checks links, commands, metrics and keys against the code
	@$(BIN)/python -m pytest -q tests/docs $(ARGS)
	@$(BIN)/python -m mkdocs build --strict --quiet --config-file docs/mkdocs.yml

docs-write: $(DEV) ## writes the generated parts of docs/ again, after a change of commands, keys, metrics, verdicts, alerts
	@$(BIN)/python -m tests.docs.reference
	@$(BIN)/python -m tests.deploy.grants

wheel: $(DEV) ## wheel and source archive, into dist/
	@$(BIN)/python -m hatchling build -d dist

deb: wheel ## a Debian package with an environment of its own, into dist/; on the release that it is for, with python3-venv
	@deploy/debian/build.sh "$$(ls dist/hotplace-*.whl)" dist

container: ## the image, by podman, buildah or docker; ARGS are passed on
	@tool=$$(command -v podman || command -v buildah || command -v docker) \
	  || { echo "no podman, buildah or docker found" >&2; exit 1; }; \
	  "$$tool" build -f deploy/container/Containerfile -t hotplace:0.1.0 $(ARGS) .

sbom: wheel ## what an installation brings, as CycloneDX: dist/hotplace.cdx.json
	@$(BIN)/python -m venv dist/.tools && dist/.tools/bin/pip install --quiet --disable-pip-version-check cyclonedx-bom
	@$(BIN)/python -m venv --without-pip dist/.installed
	@$(BIN)/python -m pip --python dist/.installed/bin/python install --quiet --disable-pip-version-check \
	  --constraint constraints.txt "$$(ls dist/hotplace-*.whl)[postgresql]"
	@dist/.tools/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	  --output-file dist/hotplace.cdx.json dist/.installed/bin/python
	@rm -rf dist/.tools dist/.installed

clean: ## removes the virtual environment and caches
	rm -rf dist $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache docs/site
