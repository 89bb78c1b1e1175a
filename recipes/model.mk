# The text a model learns from, and the model; archives, text and checkpoints lie in work/.
NAME := $(notdir $(CURDIR))
ROOT := ../..
PYTHON ?= .venv/bin/python

.PHONY: model text
model: work/train.txt
	cd $(ROOT) && $(PYTHON) -m recipes.model $(NAME)

text work/train.txt:
	cd $(ROOT) && $(PYTHON) -m recipes.prepare $(NAME)
