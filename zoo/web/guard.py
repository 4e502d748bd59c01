"""What a request must fulfil before anything is computed: host, origin, token, number, size and time."""

import asyncio
import hmac
import json
import time
from collections.abc import Callable, Collection
from typing import Any

from zoo.web.settings import Settings

_DRAINED = 100_000_000  # Bytes of a request that is too large, which are read so that its sender sees the answer.
_OPEN = "/health", "/", "/favicon.ico"
_HEADERS = {
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    b"media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
}


class RefusedError(Exception):
    """Raised for a request that is refused.

    Args:
        status: The HTTP status.
        message: What is wrong, and how to change it.
    """

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status, self.message = status, message


def error_body(status: int, message: str) -> dict:
    """Returns the content of all answers that report an error."""
    return {"error": {"status": status, "message": message}}


class Guard:
    """ASGI middleware that refuses requests, and adds headers to all answers.

    Args:
        app: The application.
        settings: Hosts, token and limits.
        on_request: Called with path, status and seconds of each request.
        file_paths: Paths to which files are sent.
    """

    def __init__(
        self,
        app: Callable,
        settings: Settings,
        on_request: Callable[[str, int, float], None],
        file_paths: Collection[str],
    ):
        self.app, self._settings, self._on_request, self._file_paths = app, settings, on_request, file_paths
        self._active = 0

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:
        """Handles a connection."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        began, statuses = time.monotonic(), []

        async def guarded_send(message):
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS.items()]}
            await send(message)

        counted = scope["method"] not in ("GET", "HEAD")
        self._active += counted
        try:
            await self._handle(scope, receive, guarded_send)
        except RefusedError as refused:
            await _answer(guarded_send, refused)
        finally:
            self._active -= counted
            self._on_request(scope["path"], statuses[0] if statuses else 0, time.monotonic() - began)

    async def _handle(self, scope, receive, send):
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self._check_sender(scope, headers)
        if scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        if self._active > self._settings.max_requests:
            await self._read(receive, 0)
            raise RefusedError(429, f"{self._settings.max_requests} requests are being computed. Try again later.")
        is_file = scope["path"] in self._file_paths
        body = await self._read(receive, self._settings.max_file_bytes if is_file else self._settings.max_bytes)
        parts = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def replay():
            return next(parts, None) or await receive()

        await self.app(scope, replay, send)

    def _check_sender(self, scope, headers):
        settings, host = self._settings, headers.get(b"host", "")
        if _name(host) not in settings.hosts:
            raise RefusedError(421, "This server has another name. Use its address, or start it with --allow-host.")
        origin = headers.get(b"origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise RefusedError(403, "Pages of other origins may not use this server.")
        if not settings.token or scope["path"] in _OPEN or scope["path"].startswith("/static/"):
            return
        kind, _, token = headers.get(b"authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), settings.token.encode()):
            raise RefusedError(401, "The header `Authorization: Bearer TOKEN` is missing, or its token is wrong.")

    async def _read(self, receive, most):
        """Returns the body of a request; what is beyond `most` bytes is read, but not kept."""
        parts, size, more = [], 0, True
        try:
            async with asyncio.timeout(self._settings.max_seconds):
                while more and size < _DRAINED:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RefusedError(400, "The request ended early.")
                    content, more = message.get("body", b""), message.get("more_body", False)
                    size += len(content)
                    parts = [] if size > most else [*parts, content]
        except TimeoutError:
            text = f"The request took more than {self._settings.max_seconds:g} seconds to arrive."
            raise RefusedError(408, text) from None
        if most and size > most:
            raise RefusedError(413, f"A request of this kind may have {most:,} bytes. Send several smaller ones.")
        return b"".join(parts)


def _name(host: str) -> str:
    """Returns the header `Host` without its port."""
    name, _, port = host.rpartition(":")
    return (name if name and port.isdigit() else host).lower()


async def _answer(send: Callable[[Any], Any], refused: RefusedError) -> None:
    body = json.dumps(error_body(refused.status, refused.message)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    extra = {401: (b"www-authenticate", b"Bearer"), 429: (b"retry-after", b"1")}.get(refused.status)
    headers += [extra] if extra else []
    if refused.status in (408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
