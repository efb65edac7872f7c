# Two commands are all a newcomer needs: `make run` and `make test`.
PYTHON ?= python3
export UV_PROJECT_ENVIRONMENT = .venv
UV = .uv/bin/uv
RUN = .venv/bin

.PHONY: install run test check torture docs bench contract real-model

install: .venv/.ready

.venv/.ready: pyproject.toml uv.lock
	test -x $(UV) || $(PYTHON) -m venv .uv
	test -x $(UV) || .uv/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(UV) sync --frozen --quiet --all-packages --all-extras --python $(PYTHON)
	touch $@

run: install
	$(RUN)/restante demo

test: install
	$(RUN)/pytest --numprocesses auto --dist loadfile

# The same tests, for as long as it takes: 100,000 steps and more of every schedule, a million bodies, 200 kills,
# a turn cut off at each of its steps, 10,000 schedules of a turn whose worker is redirected.
torture: export RESTANTE_SCHEDULES = 3500
torture: export RESTANTE_STORMS = 400
torture: export RESTANTE_BODIES = 1000000
torture: export RESTANTE_KILLS = 200
torture: export RESTANTE_PLACES = 100000
torture: export RESTANTE_REDIRECTS = 10000
torture: install
	$(RUN)/pytest --timeout 7200 tests/bus tests/kills tests/turn/test_injected_cancellation.py tests/turn/test_redirect.py

check: install docs
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/pyright

docs: install
	$(RUN)/zensical build --strict

bench: install
	$(RUN)/restante-bench
	$(RUN)/restante-bench rounds

contract: install
	$(RUN)/python -m tests.contract_page
	$(RUN)/python -m tests.reach_page
	$(RUN)/python -m tests.reference_page

# One turn with a small real model; tests/real_model/README.md says what it is and how long it takes.
real-model: install .real-model/.ready
	$(RUN)/pytest -s tests/real_model

.real-model/.ready: tests/real_model/requirements.txt | install
	$(UV) venv --quiet --clear --python $(PYTHON) .real-model
	CMAKE_ARGS="-DGGML_OPENMP=OFF" $(UV) pip install --python .real-model -r tests/real_model/requirements.txt
	touch $@
