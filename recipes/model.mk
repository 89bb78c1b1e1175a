# The text a model learns from, and the model; archives, text and checkpoints lie in work/.
# MEASURED=folder names the sets that models are measured on, which no text may contain.
NAME := $(notdir $(CURDIR))
ROOT := ../..
PYTHON ?= .venv/bin/python

.PHONY: model text
model: work/train.txt
	cd $(ROOT) && $(PYTHON) -m recipes.model $(NAME)

text work/train.txt:
	cd $(ROOT) && $(PYTHON) -m recipes.prepare $(NAME) $(if $(MEASURED),--measured $(MEASURED))
