"""Addresses of the processes of a training run, from `TF_CONFIG`."""

import json
import os
from typing import NamedTuple

_EXAMPLE = '{"cluster": {"worker": ["host-a:2222", "host-b:2222"]}, "task": {"type": "worker", "index": 0}}'


class Cluster(NamedTuple):
    """Addresses `host:port` of all workers, and the index of this process among them."""

    addresses: list[str]
    index: int


def read_cluster() -> Cluster:
    """Reads the cluster from the environment variable `TF_CONFIG`, on any backend.

    Raises:
        ValueError: If the variable is not set or invalid; the message shows an example.
    """
    text = os.environ.get("TF_CONFIG", "")
    try:
        config = json.loads(text)
        chief, workers = (config["cluster"].get(job, []) for job in ("chief", "worker"))
        task = config["task"]
        first = len(chief) if task["type"] == "worker" else 0
        addresses, index = [*chief, *workers], first + int(task["index"])
        known = task["type"] in ("chief", "worker") and set(config["cluster"]) <= {"chief", "worker"}
        if not (known and all(":" in address for address in addresses) and 0 <= index < len(addresses)):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(
            "Training in several processes needs the environment variable TF_CONFIG with the addresses of all of them "
            f"and the index of this one. Expected: {_EXAMPLE}. Received: {text or 'nothing'}. Set it in each process."
        ) from None
    return Cluster(addresses, index)
