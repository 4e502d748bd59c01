"""Numbers of the server for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from zoo.web.actions import ACTIONS
from zoo.web.pool import ModelPool

_KNOWN = {"/", "/health", "/metrics", "/openapi.json", "/v1/models", *(f"/v1/{name}" for name in ACTIONS)}
_SECONDS = 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60


class Metrics:
    """Counts requests and batches.

    Args:
        pool: The models.
    """

    def __init__(self, pool: ModelPool):
        self._registry = registry = CollectorRegistry()
        labels = "path", "status"
        self._requests = Counter("zoo_requests", "Requests that were answered", labels, registry=registry)
        text = "Seconds from the first byte of a request to the last of its answer"
        self._seconds = Histogram("zoo_request_seconds", text, ("path",), buckets=_SECONDS, registry=registry)
        text = "Inputs, such as texts, that were computed together"
        self._batches = Histogram("zoo_batch_inputs", text, buckets=(1, 2, 4, 8, 16, 32, 64, 128), registry=registry)
        loaded = Gauge("zoo_models_loaded", "Models in memory", registry=registry)
        loaded.set_function(pool.loaded)
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """Counts a request. Paths that do not exist count as one, so that nobody can fill the memory with them."""
        path = path if path in _KNOWN else "/static" if path.startswith("/static/") else "other"
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def count_batch(self, inputs: int) -> None:
        """Counts a batch."""
        self._batches.observe(inputs)

    def page(self) -> tuple[bytes, int, dict, str]:
        """Returns content, status, headers and type of the answer to /metrics."""
        return generate_latest(self._registry), 200, None, CONTENT_TYPE_LATEST
