"""Calls that are made of rows, one or many: keys that are read, and items that are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._columns import Column
from .._inputs import (
    Expiries,
    Expiry,
    Key,
    Keys,
    Payload,
    Payloads,
    expiry_column,
    key_column,
    no_payload,
    payload_column,
    single_key,
)
from .._kinds import WRITE, Kind
from .._snapshots import ReadVersion, version_of
from .._writes import WriteOp
from ..errors import bad_request
from ..results import ResultCode
from ._index_calls import Codes, IndexCalls
from ._shared_calls import SharedCalls

NO_COLUMNS: Mapping[str, Column] = {}


class ReadAt(NamedTuple):
    """What moment a read sees, its own without one, and for how many seconds its caller waits."""

    snapshot: ReadVersion | None
    deadline: float | None


class RowCalls:
    """The calls on an index by its keys."""

    def __init__(self, calls: IndexCalls) -> None:
        self._calls = calls
        self._shared = SharedCalls(calls)

    async def one(
        self, kind: Kind, method: str, key: Key, at: ReadAt, more: Mapping[str, Column] = NO_COLUMNS
    ) -> tuple[Any, int]:
        """Reads of one key. Gives the result of those that share its request, and which is its own."""
        version = version_of(at.snapshot)
        info, until = await self._calls.begin(at.deadline)
        columns = {"keys": single_key(key, info, method), **more}
        return await self._shared.call(info, kind, columns, until, version)

    async def write_one(
        self,
        op: WriteOp,
        method: str,
        key: Key,
        payload: Payload,
        deadline: float | None,
        expire_at: Expiry | None = None,
    ) -> int:
        """Returns the result code. Raises `BAD_REQUEST` where something is to be stored under NaN, which is no key."""
        info, until = await self._calls.begin(deadline)
        given: Any = [no_payload(info) if op == WriteOp.DELETE_KEY else payload]
        columns = {
            "ops": Column(np.array([op], np.uint8)),
            "keys": single_key(key, info, method),
            "payloads": payload_column(given, info, 1),
        }
        if expire_at is not None:
            columns["expireAt"] = expiry_column(expire_at, 1)
        codes, i = await self._shared.call(info, WRITE, columns, until)
        is_stored = op not in (WriteOp.DELETE_KEY, WriteOp.DELETE_PAYLOAD)
        if codes[i] == ResultCode.REFUSED and is_stored:
            raise bad_request(f"{key!r} is no key")
        return int(codes[i])

    async def many(
        self,
        kind: Kind,
        keys: Keys,
        at: ReadAt,
        more: Mapping[str, Column] = NO_COLUMNS,
        **options: Any,
    ) -> Any:
        version = version_of(at.snapshot)
        info, until = await self._calls.begin(at.deadline)
        column = key_column(keys, info)
        for name, other in more.items():
            if other.rows != column.rows:
                raise bad_request(f"{column.rows} keys came with {other.rows} {name}; each has one")
        call = kind.call({"keys": column, **more}, version=version, **options)
        return kind.read(await self._calls.ask(info, call, until))

    async def write_many(
        self,
        kind: Kind,
        keys: Keys,
        payloads: Payloads | None,
        deadline: float | None,
        expire_at: Expiries | None = None,
        **options: Any,
    ) -> Codes:
        info, until = await self._calls.begin(deadline)
        columns = {"keys": key_column(keys, info)}
        if payloads is not None:
            columns["payloads"] = payload_column(payloads, info, columns["keys"].rows)
        if expire_at is not None:
            columns["expireAt"] = expiry_column(expire_at, columns["keys"].rows)
        return await self._calls.write(info, kind.call(columns, **options), until)
