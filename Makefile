# Thin: scripts/setup.py does the work, and works without make as well.
# ARGS goes to the program behind a command, as in: make test ARGS="-k theory", make app ARGS="--server.port 8600"
PYTHON ?= python3
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help app test check bench audit screenshots clean

help:
	@$(PYTHON) scripts/setup.py --help

app test check bench audit screenshots clean:
	@$(PYTHON) scripts/setup.py $@ $(ARGS)
