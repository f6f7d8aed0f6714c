"""The server of the page: numbers, plots and the newest picture of one run, for browsers on this machine."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from pdem.foundation.errors import InputError, PdemError
from pdem.output.storage import HDF5_ERRORS
from pdem.watch.pictures import NewestPicture, Plots
from pdem.watch.state import RunState

if TYPE_CHECKING:
    from collections.abc import Callable

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Addresses that only this machine can reach."""

_MOST_COLUMNS = 12
_POLICY = "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"  # no content from other servers


class Watch:
    """Answers to all requests of the page.

    Parameters
    ----------
    folder : Path
        Output folder of a run, which may not have started.
    scratch : Path
        Folder for pictures.
    """

    def __init__(self, folder: Path, scratch: Path) -> None:
        self._state, self._plots = RunState(folder), Plots(folder)
        self.picture = NewestPicture(folder, scratch)

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[str, bytes] | None:
        """Return the content type and the content for a path of a request, None for an invalid path."""
        if path == "/":
            return "text/html; charset=utf-8", files("pdem.watch").joinpath("page.html").read_bytes()
        if path == "/state":
            number = self.picture.refresh()
            state = {**self._state.read(), "picture": number, "draws": self.picture.can_draw}
            return "application/json", json.dumps(state).encode()
        if path == "/plot.svg":
            return "image/svg+xml", self._plots.draw(query.get("column", [])[:_MOST_COLUMNS])
        if path == "/picture.png":
            picture = self.picture.read()
            return None if picture is None else ("image/png", picture)
        return None


class _Handler(BaseHTTPRequestHandler):
    """Handler of one request."""

    def __init__(self, watch: Watch, hosts: tuple[str, ...] | None, *arguments: Any) -> None:
        self._watch, self._hosts = watch, hosts
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """Send the page, or the part of it that the request names."""
        # A foreign page that reaches this address under a different host name must not read the run.
        if self._hosts is not None and urlsplit(f"//{self.headers.get('Host', '')}").hostname not in self._hosts:
            self._send(HTTPStatus.FORBIDDEN, "text/plain", b"only for this machine\n")
            return
        asked = urlsplit(self.path)
        try:
            found = self._watch.answer(asked.path, parse_qs(asked.query))
        except (PdemError, *HDF5_ERRORS) as error:
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", f"{error}\n".encode())
            return
        if found is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"there is no such page\n")
            return
        self._send(HTTPStatus.OK, *found)

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", _POLICY)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Suppress the log of requests."""


def serve(folder: Path | str, host: str, port: int, say: Callable[[str], object]) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    folder : path
        Output folder of a run.
    host : str
        Address to listen at; addresses outside `LOOPBACK` make the run visible to other machines.
    port : int
        Port, 0 for a free one.
    say : callable
        Called with the address of the page.

    Raises
    ------
    InputError
        If the server cannot listen at this address.
    """
    with tempfile.TemporaryDirectory(prefix="pdem-watch-") as scratch:
        watch = Watch(Path(folder), Path(scratch))
        hosts = LOOPBACK if host in LOOPBACK else None
        try:
            server = ThreadingHTTPServer((host, port), partial(_Handler, watch, hosts))
        except OSError as error:
            raise InputError(
                f"{host}:{port}: cannot be listened at ({error.strerror}); give another --port, 0 for a free one"
            ) from None
        server.daemon_threads = True
        shown = host if ":" not in host else f"[{host}]"
        try:
            say(f"http://{shown}:{server.server_address[1]}/")
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            server.server_close()
            watch.picture.close()
