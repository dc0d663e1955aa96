# Thin: each target is a line or two; what happens is in helpers/.
PYTHON ?= python3
VENV ?= .venv
REQUIREMENTS ?= requirements-graviton.txt
PROFILE ?= quick
RUN ?= latest
CHIP ?= graviton4
LAB ?= --no-browser --allow-root --ip 127.0.0.1 --LabApp.news_url=None \
	--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate \
	--LabApp.default_url=/lab/tree/00_start_here.ipynb --ServerApp.root_dir=notebooks
py = $(VENV)/bin/python

.PHONY: environment tutorial test arm lab report compare check clean

tutorial: environment  ## run the whole series and write its HTML site
	$(py) -m helpers run --profile $(PROFILE); status=$$?; $(py) -m helpers report; exit $$status

test: check  ## every test (the smoke profile for the notebooks)
	$(py) -m pytest -q

arm: environment  ## the Arm test set in an emulated Graviton (root, Debian; see CONTRIBUTING.md)
	$(py) -m helpers.arm $(CHIP) python3 -m pytest -q -rA -p no:cacheprovider -o timeout=3600 tests/arm

check: environment  ## format, lint, types, spelling, stripped notebooks
	$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check . && $(VENV)/bin/mypy && $(VENV)/bin/codespell && $(VENV)/bin/nbstripout --verify --keep-id notebooks/*.ipynb

lab: environment  ## JupyterLab on this machine, at the first notebook
	$(VENV)/bin/jupyter lab $(LAB)

report: environment  ## the HTML site of a run: make report RUN=runs/<id>
	$(py) -m helpers report $(RUN)

compare: environment  ## judge two runs: make compare BASE=runs/<id> NEW=runs/<id>
	$(py) -m helpers compare $(BASE) $(NEW)

environment:
	@$(PYTHON) helpers/environment.py $(VENV) $(REQUIREMENTS)

clean:  ## remove the environment and everything a run made
	rm -rf $(VENV) .venv-* runs *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
