"""Calls for single keys: neighbours of one kind of a turn of the event loop share a request, and each gets its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._calls import Answer
from .._columns import Column, join_columns
from .._inputs import IndexInfo
from .._kinds import Kind
from ..errors import WarpdexError
from ._index_calls import IndexCalls


@dataclass
class _Gathered:
    """Rows of one request, and who waits for what comes of them."""

    info: IndexInfo
    kind: Kind
    #: The read version that they are to see, if any.
    version: int | None
    #: The names of its columns.
    names: frozenset[str]
    columns: list[Mapping[str, Column]] = field(default_factory=list)
    waiting: list[asyncio.Future[tuple[Any, int]]] = field(default_factory=list)

    def takes(
        self, info: IndexInfo, kind: Kind, version: int | None, columns: Mapping[str, Column]
    ) -> bool:
        is_alike = self.info is info and self.kind is kind and self.version == version
        return is_alike and self.names == columns.keys()

    def fail(self, error: WarpdexError) -> None:
        for waiter in self.waiting:
            if not waiter.done():
                waiter.set_exception(error.again())


class SharedCalls:
    """Gathers the calls for single keys of an index. One of another kind has those before it leave."""

    def __init__(self, calls: IndexCalls) -> None:
        self._calls = calls
        self._gathered: _Gathered | None = None

    def call(
        self,
        info: IndexInfo,
        kind: Kind,
        columns: Mapping[str, Column],
        until: float | None,
        version: int | None = None,
    ) -> asyncio.Future[tuple[Any, int]]:
        """Adds a row, in columns that fit the index. Gives the result of all that share a request, and which row is its own."""
        waiter: asyncio.Future[tuple[Any, int]] = asyncio.get_running_loop().create_future()
        gathered = self._gathered
        if gathered is None or not gathered.takes(info, kind, version, columns):
            gathered = _Gathered(info, kind, version, frozenset(columns))
            self._gather(gathered)
        gathered.columns.append(columns)
        gathered.waiting.append(waiter)
        return self._calls.connection.bound(waiter, until)

    def _gather(self, gathered: _Gathered) -> None:
        """Has these calls leave in their turn, after those before them."""

        def flush() -> None:
            if self._gathered is gathered:
                self._gathered = None
            rows = gathered.columns
            joined = {name: join_columns([row[name] for row in rows]) for name in gathered.names}
            call = gathered.kind.call(joined, version=gathered.version)
            answer = self._calls.ask(gathered.info, call, None)
            self._calls.connection.spawn(self._finish(gathered, answer))

        self._calls.lane.gather(flush)
        self._gathered = gathered

    async def _finish(self, gathered: _Gathered, answer: Coroutine[Any, Any, Answer]) -> None:
        try:
            result = gathered.kind.read(await answer)
        except WarpdexError as error:
            gathered.fail(error)
            return
        for i, waiter in enumerate(gathered.waiting):
            if not waiter.done():
                waiter.set_result((result, i))
