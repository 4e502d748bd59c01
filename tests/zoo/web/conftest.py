"""The server that most tests of this folder share."""

import pytest
import web_server


@pytest.fixture(scope="session")
def server():
    for module in ("fastapi", "uvicorn", "prometheus_client"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    running = web_server.start(*web_server.NAMES, *web_server.OTHERS, "--max-models", "3", "--max-seconds", "100")
    yield running
    status, log = web_server.stop(running)
    assert status == 0 and "ended" in log and "Traceback" not in log, log
