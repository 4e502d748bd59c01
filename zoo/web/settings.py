"""Settings of the server."""

import dataclasses
import ipaddress
import math


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the server serves, where, and within which limits.

    Args:
        models: Names, folders or addresses of checkpoints; empty for all that come with the package.
        host, port: Address to listen on.
        token: What requests must have in their header `Authorization: Bearer`; needed on any host but this machine.
        allowed_hosts: Names of this server beside its address, for the header `Host`; behind a proxy, its name.
        max_bytes: Bytes of a request of texts.
        max_file_bytes: Bytes of an image or a recording.
        max_seconds: Seconds until the answer.
        max_requests: Requests that wait or are computed; one more is refused.
        max_batch: Inputs, such as texts, that are computed together.
        max_models: Models in memory; the one not used for the longest time goes first.

    Raises:
        ValueError: If a limit is not positive or not finite, or there is no token and others can reach the address.
    """

    models: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8000
    token: str = ""
    allowed_hosts: tuple[str, ...] = ()
    max_bytes: int = 100_000
    max_file_bytes: int = 20_000_000
    max_seconds: float = 60.0
    max_requests: int = 64
    max_batch: int = 32
    max_models: int = 6

    def __post_init__(self):
        limits = {name: value for name, value in vars(self).items() if name.startswith("max_")}
        for name, value in limits.items():
            if not 0 < value < math.inf:
                raise ValueError(f"`{name}` must be positive and finite. Received: {name}={value}. Change it.")
        if not 0 <= self.port < 2**16:
            raise ValueError(f"`port` must lie in [0, 65535]. Received: port={self.port}. Change it.")
        if not is_loopback(self.host) and len(self.token) < 16:
            raise ValueError(
                "Others can reach the server at this address, so it needs a token of at least 16 characters. Received: "
                f"host={self.host!r}, a token of {len(self.token)} characters. Set KERAS_TRANSFORMER_TOKEN, for "
                "example to what `openssl rand -hex 16` prints."
            )

    @property
    def hosts(self) -> set[str]:
        """Names by which requests may call this server."""
        return {"127.0.0.1", "localhost", "[::1]", self.host.lower(), *map(str.lower, self.allowed_hosts)}


def is_loopback(host: str) -> bool:
    """Returns whether only this machine reaches a server at this address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # A name.
        return False
