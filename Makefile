# `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STDLIB = $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
OUT := out/stdlib
KERNEL := $(shell find kernel -name target -prune -o \( -name '*.rs' -o -name '*.toml' -o -name '*.py' -o -name Cargo.lock \) -print)

.DEFAULT_GOAL := help
.PHONY: help install train test lint format bench clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

install: $(VENV)/.installed ## Create .venv, build the kernel, install bpefleet with its tests' needs

$(VENV)/.installed: pyproject.toml $(KERNEL)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet ./kernel -e '.[test,lint]'
	touch $@

# The globs leave out site-packages, which lies in the same folder; a few of the standard library's
# own test files are not UTF-8 on purpose.
train: install ## Train a tokenizer on the sources of Python's standard library, with RQ workers
	rm -rf $(OUT)
	$(BIN)/bpefleet train '$(STDLIB)/*.py' '$(STDLIB)/[!s]*/**/*.py' --vocab-size 8192 \
		--chunk-size 4MiB --errors replace -o $(OUT)

test: install ## Run all tests: Rust, then Python
	cargo test --quiet --release --manifest-path kernel/Cargo.toml --workspace
	$(BIN)/pytest

lint: install ## Check style, types, imports and the kernel's stub
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/stubtest bpefleet.kernel._kernel
	cargo fmt --manifest-path kernel/Cargo.toml --all --check
	cargo clippy --quiet --manifest-path kernel/Cargo.toml --workspace --all-targets -- -D warnings

format: install ## Rewrite the sources in the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	cargo fmt --manifest-path kernel/Cargo.toml --all

bench: install ## Measure every stage and the whole, side by side with the peers
	$(BIN)/pip install --quiet -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks

clean: ## Remove what the targets made
	rm -rf $(VENV) out dist kernel/target
