"""Everything that is fuzzed, by group."""

from reliability.target import Target
from reliability.targets import data, indexes, kernels, models, outputs, runs, texts

TARGETS: tuple[Target, ...] = (
    *models.TARGETS,
    *outputs.TARGETS,
    *indexes.TARGETS,
    *runs.TARGETS,
    *data.TARGETS,
    *texts.TARGETS,
    *kernels.TARGETS,
)
