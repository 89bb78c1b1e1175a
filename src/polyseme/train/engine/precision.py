"""The number type of a run, on the machine it runs on."""

from polyseme.nn.backend import choose_backend
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import Settings
from polyseme.train.engine.settings import RunSettings


def with_precision(settings: Settings, world: World) -> Settings:
    """The settings with ``auto`` replaced by one number type, the same for every process.

    It is bfloat16 if all of them compute on another device than a CPU or have the kernel for it, otherwise float32:
    without the instructions for it, bfloat16 on a CPU is several times slower than float32.
    """
    if settings.precision != "auto":
        return settings
    slow = world.device.type == "cpu" and choose_backend("bfloat16", device=world.device) == "torch"
    return settings.model_copy(update={"precision": "float32" if world.total([slow])[0] else "bfloat16"})


def without_kernel(settings: RunSettings, world: World) -> str | None:
    """A line about a number type that has no kernel on this machine; None if it has one or needs none."""
    precision = settings.precision
    if precision == "auto" or world.device.type != "cpu":
        return None
    if choose_backend(precision, device=world.device) == "kernels":
        return None
    other = "; float32 has one" if choose_backend("float32", device=world.device) == "kernels" else ""
    return f"precision {precision} has no kernel on this machine: torch computes it, several times slower{other}"
