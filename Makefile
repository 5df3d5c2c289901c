# `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STDLIB = $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
OUT := out/stdlib
# import-linter reads a package from one folder, as it lies when it is installed.
TREE := out/tree
PARTS := $(addsuffix /bpefleet,producer worker shared dashboard kernel/python)
CORE := kernel/core/Cargo.toml
PAGE_TESTS := $(wildcard tests/dashboard/js/*.test.js)
FUZZ_TARGETS := scan documents json payload merge encode
FUZZ_SECONDS ?= 180
SOAK_MINUTES ?= 5
# More than there are cores, as tests wait much: with four on two cores, a fifth of the time was idle.
PROCESSES = $(shell $(PYTHON) -c 'import os; print(min(8, (os.cpu_count() or 1) * 2 + 2))')
BESIDE = -n $(PROCESSES)
MARKED := grep -rl --include='test_*.py' -w tests -e
AARCH64 := aarch64-unknown-linux-gnu
KERNEL := $(shell find kernel -name target -prune -o \( -name '*.rs' -o -name '*.toml' -o -name '*.py' -o -name Cargo.lock \) -print)

# An image of Python may forbid what it compiles to be kept. Then each of the thousands of processes
# that tests start would compile what was changed since `make install`, and pytest all test files.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help install train test test-rust test-page test-python test-slow test-aarch64 fuzz
.PHONY: lint lint-python lint-rust format bench soak audit clean

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

install: $(VENV)/.installed ## Create .venv, build the kernel, install bpefleet with its tests' needs

# Compiled at once, as pip does what it installs: tests start thousands of processes, also where
# Python is told to write no bytecode.
$(VENV)/.installed: pyproject.toml $(KERNEL)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -e '.[test,lint]'
	$(BIN)/python -m compileall -q $(PARTS) tests
	touch $@

# The globs leave out site-packages, which lies in the same folder; a few of the standard library's
# own test files are not UTF-8 on purpose.
train: install ## Train a tokenizer on the sources of Python's standard library, with RQ workers
	rm -rf $(OUT)
	$(BIN)/bpefleet train '$(STDLIB)/*.py' '$(STDLIB)/[!s]*/**/*.py' --vocab-size 8192 \
		--chunk-size 4MiB --errors replace -o $(OUT)

# Side by side, as many Python tests wait for something other than a processor. ALL=1 takes the slow
# ones in the same go: what files prepare for their tests is prepared once, no property tried twice.
ifdef ALL
export BPEFLEET_ALL_EXAMPLES = 1
export BPEFLEET_TEST_SECONDS ?= 3
SELECTED := (slow or not slow)
else
SELECTED := not slow
endif
test: install ## Run all tests: Rust, JavaScript and Python; with ALL=1 the slow ones, too
	$(MAKE) --keep-going --jobs=2 test-rust test-page test-python

# The core is tested optimised, with debug assertions and overflow checks. By `+`, cargo shares the
# processors with what make runs beside it.
test-rust: ## Run the Rust tests
	+cargo test --quiet --manifest-path $(CORE)

test-page: ## Run the tests of the page's JavaScript
	@if command -v node >/dev/null; then node --test $(PAGE_TESTS); \
		else echo 'skipped, as node is not installed: $(PAGE_TESTS)'; fi

# Files of Python tests go side by side. Then, with nothing beside them, the tests that fill the
# machine: of the files that have any, as all take long to import. There may be none (5).
test-python: install ## Run the Python tests
	failed=0; \
	$(BIN)/pytest $(BESIDE) -m '$(SELECTED) and not serial' || failed=1; \
	$(BIN)/pytest -m '$(SELECTED) and serial' $$($(MARKED) mark.serial) || [ $$? = 5 ] || failed=1; \
	exit $$failed

# Properties once more, with all their examples. Where cases come from a list, the list is marked.
test-slow: export BPEFLEET_ALL_EXAMPLES = 1
test-slow: install ## Run the Python tests that show more of the same for long
	failed=0; \
	$(BIN)/pytest $(BESIDE) -m '(slow or hypothesis) and not serial' \
		$$($(MARKED) mark.slow -e mark.crossed -e hypothesis -e exactness.cases) || failed=1; \
	$(BIN)/pytest -m 'slow and serial' $$($(MARKED) mark.serial) || failed=1; \
	exit $$failed

test-aarch64: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER = aarch64-linux-gnu-gcc
test-aarch64: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER = qemu-aarch64 -L /usr/aarch64-linux-gnu
test-aarch64: ## Run the core's tests as aarch64 programs, under qemu
	@rustup target list --installed | grep -qx $(AARCH64) || { \
		echo 'hint: rustup target add $(AARCH64)' >&2; exit 1; }
	@{ command -v aarch64-linux-gnu-gcc && command -v qemu-aarch64; } >/dev/null || { \
		echo 'hint: apt-get install gcc-aarch64-linux-gnu qemu-user' >&2; exit 1; }
	cargo test --quiet --target $(AARCH64) --manifest-path $(CORE)

# Long inputs from the start: what the scanner does with 64 bytes at once shows in no shorter one.
fuzz: ## Fuzz each target for FUZZ_SECONDS, by coverage
	@cargo +nightly fuzz --version >/dev/null || { \
		echo 'hint: rustup toolchain install nightly && cargo install cargo-fuzz' >&2; exit 1; }
	set -e; for target in $(FUZZ_TARGETS); do \
		cargo +nightly fuzz run --fuzz-dir kernel/fuzz $$target -- \
			-max_total_time=$(FUZZ_SECONDS) -max_len=512 -len_control=0; done

# Two at once: one program after the other, and beside them the compiler.
lint: ## Check style, types, imports and the kernel's stub
	$(MAKE) --keep-going --jobs=2 lint-python lint-rust

lint-python: install
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@if test -x $(BIN)/biome; then $(BIN)/biome lint --error-on-warnings; \
		else echo 'skipped, as biome has no binary for this machine: biome lint'; fi
	rm -rf $(TREE) && mkdir -p $(TREE) && cp -r $(PARTS) $(TREE)
	PYTHONPATH=$(TREE) $(BIN)/lint-imports --no-cache
	$(BIN)/stubtest bpefleet.kernel._kernel --allowlist kernel/stubtest.txt --ignore-unused-allowlist

lint-rust:
	cargo fmt --manifest-path kernel/Cargo.toml --all --check
	cargo fmt --manifest-path kernel/fuzz/Cargo.toml --check
	+cargo clippy --quiet --manifest-path kernel/Cargo.toml --workspace --all-targets -- -D warnings

format: install ## Rewrite the sources in the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	cargo fmt --manifest-path kernel/Cargo.toml --all
	cargo fmt --manifest-path kernel/fuzz/Cargo.toml

bench: install ## Measure every stage and the whole, side by side with the peers
	$(BIN)/pip install --quiet -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks

soak: install ## Kill processes at random for minutes, and compare what comes out
	$(BIN)/python -m tests.faults.soak --minutes $(SOAK_MINUTES)

audit: install ## Ask what is known of the dependencies: licences, sources, advisories
	$(BIN)/pip install --quiet pip-audit
	$(BIN)/python -m tests.security.audit

clean: ## Remove what the targets made
	rm -rf $(VENV) .venv-newest out dist kernel/target kernel/fuzz/target
