"""Calls for single keys: those of one turn of the event loop share a request, and each gets its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._calls import Answer, DataCall, each
from .._columns import Column, join_columns
from .._inputs import IndexInfo, Key, Payload, no_payload, payload_column, single_key
from .._writes import WriteOp
from ..errors import WarpdexError, bad_request
from ..results import GetResult, ResultCode
from ._index_calls import IndexCalls

_GET = -1


@dataclass
class _Gathered:
    """Keys that are asked for, or written, one by one, and who waits for what comes of them."""

    info: IndexInfo
    is_write: bool
    keys: list[Column] = field(default_factory=list)
    ops: list[int] = field(default_factory=list)
    payloads: list[Column] = field(default_factory=list)
    waiting: list[asyncio.Future[Any]] = field(default_factory=list)

    @property
    def call(self) -> DataCall:
        keys = join_columns(self.keys)
        if not self.is_write:
            return DataCall("get", keys.rows, {"keys": keys})
        ops = Column(np.array(self.ops, np.uint8))
        columns = {"ops": ops, "keys": keys, "payloads": join_columns(self.payloads)}
        return DataCall("write", keys.rows, columns)


class Singles:
    """Gathers the calls for single keys of an index. A read leaves before a write that follows it, and the other way round."""

    def __init__(self, calls: IndexCalls) -> None:
        self._calls = calls
        self._gathered: _Gathered | None = None

    async def get(self, key: Key, deadline: float | None, method: str = "get") -> Any:
        info, until = await self._calls.begin(deadline)
        # A key that does not fit must not spoil the request that it would share.
        return await self._add(info, _GET, single_key(key, info, method), None, until)

    async def write(
        self, op: int, key: Key, payload: Payload | None, deadline: float | None, method: str
    ) -> int:
        """Returns the item's result code. Raises `BAD_REQUEST` for NaN, which is no key."""
        info, until = await self._calls.begin(deadline)
        keys = single_key(key, info, method)
        given = no_payload(info) if op == WriteOp.DELETE_KEY or payload is None else payload
        code = int(await self._add(info, op, keys, payload_column([given], info, 1), until))
        if code == ResultCode.REFUSED:
            raise bad_request(f"{key!r} is no key")
        return code

    def _add(
        self, info: IndexInfo, op: int, key: Column, payload: Column | None, until: float | None
    ) -> asyncio.Future[Any]:
        waiter: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        gathered = self._gathered
        if gathered is None or gathered.info is not info or gathered.is_write != (op != _GET):
            gathered = self._gathered = self._gather(info, op != _GET)
        gathered.keys.append(key)
        gathered.ops.append(op)
        gathered.waiting.append(waiter)
        if payload is not None:
            gathered.payloads.append(payload)
        return self._calls.connection.bound(waiter, until)

    def _gather(self, info: IndexInfo, is_write: bool) -> _Gathered:
        gathered = _Gathered(info, is_write)

        def flush() -> None:
            if self._gathered is gathered:
                self._gathered = None
            try:
                answer = self._calls.ask(info, gathered.call, None)
            except WarpdexError as error:
                _fail(gathered, error)
                return
            self._calls.connection.spawn(self._finish(gathered, answer))

        self._calls.lane.gather(flush)
        return gathered

    async def _finish(self, gathered: _Gathered, answer: Coroutine[Any, Any, Answer]) -> None:
        try:
            found = await answer
            values: Any
            if gathered.is_write:
                values = found.numbers("codes", "u8").tolist()
            else:
                values = GetResult(found.flags("found"), found.payloads(each))
            for waiter, value in zip(gathered.waiting, values):
                if not waiter.done():
                    waiter.set_result(value)
        except WarpdexError as error:
            _fail(gathered, error)


def _fail(gathered: _Gathered, error: WarpdexError) -> None:
    for waiter in gathered.waiting:
        if not waiter.done():
            waiter.set_exception(WarpdexError(error.code, str(error)))
