"""Ray: whether it is installed, and a connection to a cluster."""

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from polyseme.errors import InputError, MissingPart
from polyseme.files.whole import reason

_OBJECT_STORE = 256 << 20
"""Bytes of Ray's object store on this machine, besides the model: parts go from file to file, not through it."""


def ray_module() -> ModuleType:
    """The package ray.

    Raises:
        MissingPart: It is not installed.
    """
    # Ray reports how it is used to its makers unless it is told not to; nothing is sent from here unasked.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if "ray" not in sys.modules:
        # Ray would print the messages of its own processes on standard output, between the results of a command.
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_module("ray.data")
            return import_module("ray")
    except ModuleNotFoundError as error:
        raise MissingPart("the engine ray needs the package ray; pip install 'polyseme[scale]'") from error


@contextmanager
def connected(address: str | None, *, processors: int | None, model_bytes: int) -> Iterator[ModuleType]:
    """Connect to a cluster, or start Ray on this machine for as long as the block runs.

    If the program has connected to Ray already, that connection is used and left open.

    Args:
        address: Of the cluster; None for this machine alone.
        processors: How many processors Ray may use if it is started here; None for all.
        model_bytes: What the model takes in Ray's object store.

    Yields:
        The package ray.

    Raises:
        InputError: There is no cluster at the address.
    """
    ray = ray_module()
    if ray.is_initialized():
        yield ray
        return
    # Nothing outside this machine can reach a cluster of this machine alone.
    here: dict[str, object] = {"num_cpus": processors, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    here["object_store_memory"] = _OBJECT_STORE + 3 * model_bytes
    try:
        ray.init(
            address="local" if address is None else address,
            logging_level=logging.ERROR,
            log_to_driver=False,
            **(here if address is None else {}),
        )
    except (ray.exceptions.RayError, OSError, ValueError, RuntimeError) as error:
        where = (
            "Ray could not be started on this machine" if address is None else f"--address {address}: no Ray cluster"
        )
        raise InputError(f"{where} ({reason(error)}); start one with: ray start --head") from error
    try:
        yield ray
    finally:
        ray.shutdown()
