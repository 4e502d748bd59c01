"""The machines of a training, as `TF_CONFIG` tells them."""

import json
import os
from typing import NamedTuple

_EXAMPLE = '{"cluster": {"worker": ["host-a:2222", "host-b:2222"]}, "task": {"type": "worker", "index": 0}}'


class Cluster(NamedTuple):
    """Addresses `host:port` of all workers, and which of them this process is."""

    addresses: list[str]
    index: int


def read_cluster() -> Cluster:
    """The cluster in the environment variable `TF_CONFIG`, on any backend.

    Raises:
        ValueError: If it is not set or is none; the message shows one.
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
            "Several processes find one another by the environment variable TF_CONFIG, which names all of them and "
            f"says which this one is. Expected: {_EXAMPLE}. Received: {text or 'nothing'}."
        ) from None
    return Cluster(addresses, index)
