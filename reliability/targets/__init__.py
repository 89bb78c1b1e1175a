"""Everything that is fuzzed, by group."""

from reliability.target import ServerName, Target


def small_targets() -> dict[str, Target]:
    """Those that need no torch, by name."""
    from reliability.targets import data, texts

    return {target.name: target for target in (*data.TARGETS, *texts.TARGETS)}


def all_targets(server: ServerName = "whole") -> dict[str, Target]:
    """All targets by name; for the small server, without loading those of the others."""
    if server == "small":
        return small_targets()
    from reliability.targets import indexes, kernels, models, outputs, runs

    first = (*models.TARGETS, *outputs.TARGETS, *indexes.TARGETS, *runs.TARGETS)
    return {
        **{target.name: target for target in first},
        **small_targets(),
        **{one.name: one for one in kernels.TARGETS},
    }
