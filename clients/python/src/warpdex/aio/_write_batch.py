"""An ordered mix of writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._columns import Column
from .._inputs import Key, Payload, key_column, no_payload, payload_column
from .._kinds import WRITE
from .._writes import WriteOp, insert_op
from ._index_calls import Codes, IndexCalls


class WriteBatch:
    """An ordered mix of writes to one index, gathered item by item, and applied as a whole by `write()`."""

    def __init__(self, calls: IndexCalls) -> None:
        self._calls = calls
        self._ops: list[WriteOp] = []
        self._keys: list[Key] = []
        self._payloads: list[Payload | None] = []

    def __len__(self) -> int:
        return len(self._ops)

    def put(self, key: Key, payload: Payload) -> WriteBatch:
        """Puts a payload in the place of all that the key has."""
        return self._add(WriteOp.REPLACE, key, payload)

    def insert(self, key: Key, payload: Payload, *, if_exists: str = "add") -> WriteBatch:
        """Adds a payload as `Index.insert` does."""
        return self._add(insert_op(if_exists, ("add", "keep")), key, payload)

    def delete(self, key: Key, *, payload: Payload | None = None) -> WriteBatch:
        """Deletes all payloads of the key or, with `payload`, those that equal it."""
        return self._add(
            WriteOp.DELETE_KEY if payload is None else WriteOp.DELETE_PAYLOAD, key, payload
        )

    async def write(
        self,
        *,
        strategy: str | None = None,
        resolution: str | None = None,
        deadline: float | None = None,
    ) -> Codes:
        """Applies the items in their order, all or none. Returns a result code for each."""
        info, until = await self._calls.begin(deadline)
        keys = key_column(self._keys, info)
        given: Any = [
            no_payload(info) if op == WriteOp.DELETE_KEY else payload
            for op, payload in zip(self._ops, self._payloads)
        ]
        columns = {
            "ops": Column(np.array(self._ops, np.uint8)),
            "keys": keys,
            "payloads": payload_column(given, info, keys.rows),
        }
        call = WRITE.call(columns, strategy=strategy, resolution=resolution)
        return await self._calls.write(info, call, until)

    def _add(self, op: WriteOp, key: Key, payload: Payload | None) -> WriteBatch:
        self._ops.append(op)
        self._keys.append(key)
        self._payloads.append(payload)
        return self
