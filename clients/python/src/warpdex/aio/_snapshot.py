"""A moment that a client has opened."""

from __future__ import annotations

from types import TracebackType

from .._snapshots import ReadVersion
from ._connection import Connection


class Snapshot(ReadVersion):
    __doc__ = ReadVersion.__doc__

    def __init__(self, connection: Connection, version: int) -> None:
        super().__init__(version)
        self._connection = connection

    async def close(self) -> None:
        """Gives up what the server keeps for it. May be called more than once."""
        if not self.is_closed:
            self.is_closed = True
            await self._connection.close_version(self.version)

    async def __aenter__(self) -> Snapshot:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
