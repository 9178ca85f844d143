# Two commands set everything up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FOREIGN := .venv-foreign
SITE := .venv-docs
# osmosis-ai needs Python 3.12; tests of it are skipped, and say so, where there is none.
FOREIGN_PYTHON ?= $(or $(firstword $(wildcard $(HOME)/.pyenv/versions/3.12.*/bin/python3)),$(shell command -v python3.12),$(PYTHON))
# The program `osmosis`: one release for each of these Pythons. Those that are not there are left out, but in CI.
OSMOSIS_PYTHONS ?= 3.12 3.13
python_of = $(or $(firstword $(wildcard $(HOME)/.pyenv/versions/$1.*/bin/python3)),$(shell command -v python$1))
OSMOSIS := $(foreach python,$(OSMOSIS_PYTHONS),$(if $(call python_of,$(python)),$(FOREIGN)/osmosis/$(python)/.installed))
# The frameworks whose benchmarks run here, each in a Python of its own.
GUESTS := $(FOREIGN)/guests
# Beside them a server of llama.cpp, which is compiled, so only where there is a compiler.
GUEST_NAMES ?= step inspect lmeval verifiers openenv mcp harbor $(if $(shell command -v c++),llamacpp)
GUEST_TESTS ?= tests/guests $(filter-out tests/guests/% tests/foreign/%,$(shell grep -rl MESOCOSM_TEST_GUESTS tests --include='test_*.py'))
# A folder with the environments of OpenEnv's repository.
OPENENV ?= $(abspath $(wildcard ../shared/foreign/openenv))
ACCEPTANCE ?= $(wildcard ../shared/acceptance/accept_osmosis_cli.py)
VIEWER := hatch_build.py $(shell find viewer \( -name node_modules -o -path viewer/types \) -prune -o -type f -print)

.PHONY: demo test collected test-published test-foreign test-osmosis test-bfcl test-guests guest-packages test-ray test-kills wheel test-wheel foreign foreign-packages osmosis-packages check verify-types format docs prices math-forms site man release perf forms lock clean viewer viewer-check screenshots

demo: $(VENV)/.installed
	@if [ -t 2 ]; then $(BIN)/mesocosm demo; else $(BIN)/mesocosm demo --quiet; fi
	@echo; echo "These commands are in $(BIN); to have them at hand:  source $(BIN)/activate"

# Hundreds of processes are started: each would compile everything where no byte code may be kept.
test: $(VENV)/.installed-test
	unset PYTHONDONTWRITEBYTECODE; PATH="$(CURDIR)/$(BIN):$$PATH" tests/with-postgres.sh $(BIN)/pytest -n auto --dist worksteal $(TESTS)

# Every worker of pytest reads all tests. Where there is no byte code of them, each would compile them for itself.
collected: $(VENV)/.installed-test
	unset PYTHONDONTWRITEBYTECODE; $(BIN)/pytest --collect-only -q $(TESTS) >/dev/null || echo "not all tests can be read: make test says why"

# Two environments: what imports mesocosm, and servers that need other versions of the same packages.
foreign: $(FOREIGN)/servers/.installed $(FOREIGN)/clients/.installed

# All but mesocosm itself, whose installation may build the web app.
foreign-packages: $(FOREIGN)/servers/.installed $(FOREIGN)/clients/.packages

# Against model servers, clients and agent frameworks that were not written here. Those guests take part that
# `make guest-packages` has installed.
test-foreign: foreign
	unset PYTHONDONTWRITEBYTECODE; PATH="$(CURDIR)/$(FOREIGN)/clients/bin:$$PATH" MESOCOSM_TEST_FOREIGN="$(CURDIR)/$(FOREIGN)/servers/bin" \
	  MESOCOSM_TEST_GUESTS="$(CURDIR)/$(GUESTS)" $(FOREIGN)/clients/bin/pytest -rs $(or $(TESTS),tests/foreign)

# The published command line of a hosted service, in two releases, with a server of ours.
test-osmosis: $(VENV)/.installed-test osmosis-packages
	unset PYTHONDONTWRITEBYTECODE; PATH="$(CURDIR)/$(BIN):$$PATH" MESOCOSM_TEST_OSMOSIS="$(CURDIR)/$(FOREIGN)/osmosis" \
	  MESOCOSM_TEST_ACCEPTANCE="$(ACCEPTANCE)" $(BIN)/pytest -rs $(or $(TESTS),tests/osmosis)

osmosis-packages: $(OSMOSIS)

# bfcl's `score_official` and the leaderboard's own checker on 60,000 answers of each language family; WRITE=1 keeps what came out.
test-bfcl: $(VENV)/.installed-test $(FOREIGN)/bfcl/.installed
	$(BIN)/python -m perf.bfcl $(FOREIGN)/bfcl/bin/python $(COUNT) $(if $(WRITE),--write)

# Benchmarks of other frameworks against the frameworks themselves; GUEST_NAMES="step" installs and tests less than 3 GB.
test-guests: $(VENV)/.installed-test $(GUEST_NAMES:%=$(GUESTS)/%/.installed)
	unset PYTHONDONTWRITEBYTECODE; PATH="$(CURDIR)/$(BIN):$$PATH" MESOCOSM_TEST_GUESTS="$(CURDIR)/$(GUESTS)" \
	  MESOCOSM_TEST_OPENENV="$(OPENENV)" $(BIN)/pytest -rs -n 2 $(or $(TESTS),$(GUEST_TESTS))

guest-packages: $(GUEST_NAMES:%=$(GUESTS)/%/.installed)

$(GUESTS)/%/.installed: requirements/guests/%.txt
	rm -rf $(@D) && $(if $(filter harbor,$*),$(FOREIGN_PYTHON),$(PYTHON)) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/guests/$*.txt
	touch $@

# The executor `ray` on clusters with several nodes on this machine.
test-ray: $(VENV)/.installed-test $(FOREIGN)/ray/.installed
	unset PYTHONDONTWRITEBYTECODE; PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH="$(CURDIR)/$(FOREIGN)/ray" MESOCOSM_TEST_RAY=1 \
	  tests/with-postgres.sh $(BIN)/pytest -rs $(or $(TESTS),tests/engine/executors -k ray)

# A run whose session, workers and database are killed a hundred times, on each executor but `ray`.
test-kills: $(VENV)/.installed-test
	MESOCOSM_TEST_KILLS=$(or $(KILLS),100) $(MAKE) test TESTS="tests/engine/executors/test_many_kills.py -s"

# The sdist holds the built web app, so that a wheel made from it needs no Node.
wheel: $(VENV)/.installed-test man
	rm -rf dist && $(BIN)/python -m hatchling build -d dist

# The wheel made from the sdist, in new environments of every Python that is there; their packages are downloaded.
# Python 3.14 that lies elsewhere:  PATH=/opt/python/bin:$PATH make test-wheel
test-wheel: wheel $(FOREIGN)/installers/.installed
	PATH="$(CURDIR)/$(FOREIGN)/installers/bin:$$PATH" MESOCOSM_TEST_WHEEL="$(CURDIR)/dist" \
	  $(BIN)/pytest -rs --durations=0 $(or $(TESTS),tests/wheel)

# Published rollouts from a bare repository on a server; hundreds of megabytes of wheels are downloaded for them.
test-published: $(VENV)/.installed-test
	MESOCOSM_TEST_PUBLISHED=1 $(BIN)/pytest -rs tests/foreign/test_published_on_a_server.py

check: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# What type checkers know of the public modules. Pyright comes from npm, and needs half a minute.
verify-types: $(VENV)/.installed-test $(FOREIGN)/installers/.installed
	PATH="$(CURDIR)/$(FOREIGN)/installers/bin:$$PATH" $(BIN)/python tests/typing/verify.py

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed-test
	$(BIN)/python docs/generate.py

# The pages as a site with search and a reference from docstrings. A link that leads nowhere is an error.
site: $(SITE)/.installed
	rm -rf build/site build/doctrees
	$(SITE)/bin/sphinx-build --quiet --fail-on-warning --keep-going -c docs -d build/doctrees -b html . build/site
	@echo "build/site/index.html"

# A manual page of each command; a wheel that is built afterwards has them.
man: $(VENV)/.installed
	$(BIN)/python docs/man.py build/man

# Writes the version, dates the changelog, commits and tags; nothing is pushed.
release:
	@$(PYTHON) release.py $(VERSION)

# From the LiteLLM that is installed, nothing is downloaded; ADD="openai/NAME anthropic/NAME" adds models.
prices: $(VENV)/.installed-test
	$(BIN)/python -m mesocosm.models.litellm_prices $(ADD)

math-forms: $(VENV)/.installed-test $(FOREIGN)/math/.installed
	$(BIN)/python -m perf.math_forms $(FOREIGN)/math/bin/python --write

$(FOREIGN)/math/.installed:
	$(VENV)/bin/python -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check math-verify==0.9.0 antlr4-python3-runtime==4.13.2
	touch $@

perf: $(VENV)/.installed-test
	$(BIN)/python -m perf

# The form battery beside the extraction rules of other harnesses; hundreds of megabytes are downloaded for them.
forms: $(VENV)/.installed-test $(FOREIGN)/forms/.installed
	$(BIN)/python -m perf.forms $(FOREIGN)/forms/bin/python

viewer: $(VENV)/.installed

viewer-check: viewer/node_modules/typescript/package.json
	cd viewer && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent check

screenshots: $(VENV)/.installed-test viewer
	$(BIN)/python -m tests.viewer.screenshots

viewer/node_modules/typescript/package.json: viewer/package-lock.json
	cd viewer && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --no-audit --no-fund --loglevel=error
	touch $@

lock:
	$(BIN)/pip install --quiet uv
	for extra in base server test; do \
	  $(BIN)/uv pip compile pyproject.toml $$( [ $$extra = base ] || echo --extra $$extra ) --universal --python-version 3.11 \
	    --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet -o requirements/$$extra.txt; \
	done
	for part in "foreign pyproject.toml --extra test" foreign-servers "docs pyproject.toml"; do \
	  set -- $$part; name=$$1; shift; \
	  $(BIN)/uv pip compile requirements/$$name.in "$$@" --universal --python-version 3.11 \
	    --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet -o requirements/$$name.txt; \
	done

	for name in step inspect lmeval verifiers openenv mcp harbor llamacpp; do \
	  $(BIN)/uv pip compile requirements/guests/$$name.in --universal --python-version $$( [ $$name = harbor ] && echo 3.12 || echo 3.11 ) \
	    --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet -o requirements/guests/$$name.txt; \
	done
	$(BIN)/uv pip compile requirements/ray.in --constraint requirements/test.txt --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet -o requirements/ray.txt
	$(BIN)/uv pip compile requirements/foreign-bfcl.in --no-deps --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet -o requirements/foreign-bfcl.txt
	$(BIN)/uv pip compile requirements/foreign-osmosis.in --override requirements/foreign-osmosis.override --universal \
	  --python-version 3.12 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet -o requirements/foreign-osmosis.txt

clean:
	rm -rf $(VENV) $(FOREIGN) $(SITE) build dist .mypy_cache .ruff_cache .import_linter_cache viewer/node_modules src/mesocosm/viewer

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; name it: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The lists name all that is needed. Without --no-deps, pip takes the newest release of what another package asks for
# with an extra, and refuses it because the list has another.
$(VENV)/.installed: $(VENV)/bin/python requirements/base.txt pyproject.toml $(VIEWER)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/base.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

# What no test imports is never compiled: a third of pip's time.
$(VENV)/.installed-test: $(VENV)/bin/python requirements/test.txt pyproject.toml $(VIEWER)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/test.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@ $(VENV)/.installed

$(FOREIGN)/servers/.installed: requirements/foreign-servers.txt
	rm -rf $(@D) && $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/foreign-servers.txt
	touch $@

$(FOREIGN)/installers/.installed: $(VENV)/bin/python
	rm -rf $(@D) && $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check pipx pyright uv
	touch $@

$(FOREIGN)/clients/.packages: requirements/foreign.txt
	rm -rf $(@D) && $(FOREIGN_PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/foreign.txt
	touch $@

# One release asks for a package of a day that an index may not have.
$(FOREIGN)/osmosis/%/.installed: requirements/foreign-osmosis.txt
	rm -rf $(@D) && $(call python_of,$*) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/foreign-osmosis.txt
	touch $@

$(FOREIGN)/bfcl/.installed: requirements/foreign-bfcl.txt
	rm -rf $(@D) && $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/foreign-bfcl.txt
	touch $@

# Hundreds of megabytes that no other test imports, beside the packages of the tests.
$(FOREIGN)/ray/.installed: requirements/ray.txt $(VENV)/bin/python
	rm -rf $(@D)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes --target $(@D) -r requirements/ray.txt
	touch $@

$(FOREIGN)/forms/.installed: $(VENV)/bin/python
	rm -rf $(@D) && $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check lm-eval==0.4.13 inspect-ai==0.3.285 'math-verify[antlr4_13_2]==0.9.0'
	touch $@

# The reference is read from the modules themselves, so what they import is there too.
$(SITE)/.installed: requirements/docs.txt pyproject.toml
	rm -rf $(SITE) && $(PYTHON) -m venv $(SITE)
	$(SITE)/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/docs.txt
	MESOCOSM_SKIP_VIEWER=1 $(SITE)/bin/pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

# Nothing there looks at the web app, so one that is built is not built again.
$(FOREIGN)/clients/.installed: $(FOREIGN)/clients/.packages pyproject.toml
	MESOCOSM_SKIP_VIEWER=$(if $(wildcard src/mesocosm/viewer/index.html),1) $(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@
