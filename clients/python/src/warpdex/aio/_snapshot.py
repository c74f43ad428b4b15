"""A moment that a client has opened."""

from __future__ import annotations

from .._closing import AsyncClosing
from .._snapshots import ReadVersion
from ._connection import Connection


class Snapshot(ReadVersion, AsyncClosing):
    __doc__ = ReadVersion.__doc__

    def __init__(self, connection: Connection, version: int) -> None:
        super().__init__(version)
        self._connection = connection

    async def close(self) -> None:
        """Gives up what the server keeps for it. May be called more than once."""
        if not self.is_closed:
            self.is_closed = True
            await self._connection.close_version(self.version)
