"""A relay between a client and the server, which a test cuts at the moment that it chooses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit


class Relay:
    """
    Passes bytes on in both directions. `cut_before` and `cut_after` say of what a client sends, as bytes, whether the connection breaks before
    the server gets it, or once the server has answered, before the client gets the answer.
    """

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._writers: set[asyncio.StreamWriter] = set()
        self.connections = 0
        #: Whether a client that says how often it was redirected is redirected once, as a server does that has several threads.
        self.redirects = False
        self.cut_before: Callable[[], bool] = lambda: False
        self.cut_after: Callable[[], bool] = lambda: False

    async def __aenter__(self) -> Relay:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        self._server.close()

    def cut(self) -> None:
        """Breaks all connections."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        head = await reader.readuntil(b"\r\n\r\n")
        if self.redirects and b"redirected=0" in head:
            writer.write(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: ?redirected=1\r\n")
            writer.write(b"Content-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return writer.close()
        far_reader, far_writer = await asyncio.open_connection(
            self._target.hostname, self._target.port
        )
        self._writers |= {writer, far_writer}
        far_writer.write(head)
        await asyncio.gather(
            self._pass_on(reader, far_writer, lambda: self.cut_before()),
            self._pass_on(far_reader, writer, lambda: self.cut_after()),
            return_exceptions=True,
        )

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_cut: Callable[[], bool]
    ) -> None:
        try:
            while piece := await reader.read(65536):
                if is_cut():
                    return self.cut()
                writer.write(piece)
                await writer.drain()
        finally:
            writer.close()
