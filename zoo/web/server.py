"""Runs the server until it is asked to end."""

import contextlib
import logging
import signal
import socket
from collections.abc import Callable

import uvicorn

from zoo.web.app import make_app
from zoo.web.settings import Settings, is_loopback

_BACKLOG = 2048


def serve(settings: Settings, log: Callable[[str], None]) -> None:
    """Answers requests until SIGINT or SIGTERM, then ends those that are being computed.

    Args:
        settings: Models, address and limits.
        log: Called with lines that report where the server is, and errors.

    Raises:
        OSError: If the address cannot be used.
    """
    app = make_app(settings)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with listening:
        listening.bind((settings.host.strip("[]"), settings.port))
        listening.listen(_BACKLOG)  # From here on, nobody who connects is turned away.
        host = f"[{settings.host.strip('[]')}]" if family == socket.AF_INET6 else settings.host
        address = f"http://{host}:{listening.getsockname()[1]}"
        hint = "" if is_loopback(settings.host) else "/#token=TOKEN"
        log(f"serving {len(app.app.state.models):,} models on {address}{hint}  (Ctrl-C ends it)")
        config = uvicorn.Config(
            app,
            backlog=_BACKLOG,
            access_log=False,
            log_level=logging.WARNING,
            timeout_graceful_shutdown=round(settings.max_seconds) + 1,
            timeout_keep_alive=30,
            server_header=False,
            ws="none",
        )
        with _exit_on_signals():
            try:
                uvicorn.Server(config).run(sockets=[listening])
            finally:
                log("ended")


@contextlib.contextmanager
def _exit_on_signals():
    """Makes SIGINT and SIGTERM, which uvicorn raises again after its orderly end, end the process with status 0."""

    def exit_process(*_):
        raise SystemExit(0)

    before = {number: signal.signal(number, exit_process) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
