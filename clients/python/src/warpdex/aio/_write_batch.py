"""An ordered mix of writes to an index, and what is expected of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from .._calls import DataCall
from .._columns import DTYPES, Column
from .._inputs import IndexInfo, Key, Payload, key_column, no_payload, number_column, payload_column
from .._kinds import WRITE
from .._writes import UNSET, Condition, WriteOp, insert_op
from ..errors import WarpdexError, bad_request
from ._atomic_write import write_parts
from ._index_calls import REOPENING, Codes, IndexCalls


#: A batch of one client or the other.
G = TypeVar("G", bound="Gathering")


class IndexPart:
    """The items of a batch for its index, and its conditions."""

    def __init__(self, calls: IndexCalls) -> None:
        self.connection = calls.connection
        self.index = calls.name
        self.lane = calls.lane
        self.ops: list[WriteOp] = []
        self.keys: list[Key] = []
        #: `UNSET` where an item has none.
        self.payloads: list[Payload] = []
        self.conditions: list[Condition] = []
        self.expected_keys: list[Key] = []
        #: The payload or the sequence number, of conditions on these.
        self.expected: list[Any] = []
        self._calls = calls

    def __len__(self) -> int:
        return len(self.ops)

    def learn(self, until: float | None) -> asyncio.Future[IndexInfo]:
        return self._calls.definition.get(until)

    async def learn_again(
        self, error: WarpdexError, known: IndexInfo, until: float | None
    ) -> IndexInfo:
        return await self._calls.latest(until) if error.code in REOPENING else known

    def frames(self, known: IndexInfo, traversal: Mapping[str, Any]) -> list[bytes]:
        calls = []
        if self.conditions:
            calls.append(self._expectations(known))
        if self.ops:
            calls.append(self.writes(known, traversal))
        return [call.encode(known) for call in calls]

    def writes(self, info: IndexInfo, traversal: Mapping[str, Any]) -> DataCall:
        """All items as a call."""
        keys = key_column(self.keys, info)
        # What is missing elsewhere than of deletions of keys is refused with what does not fit.
        given: Any = [
            no_payload(info) if op == WriteOp.DELETE_KEY else payload
            for op, payload in zip(self.ops, self.payloads)
        ]
        columns = {
            "ops": Column(np.array(self.ops, np.uint8)),
            "keys": keys,
            "payloads": payload_column(given, info, keys.rows),
        }
        return WRITE.call(columns, **traversal)

    def _expectations(self, info: IndexInfo) -> DataCall:
        keys = key_column(self.expected_keys, info)
        columns = {"keys": keys, "conditions": Column(np.array(self.conditions, np.uint8))}
        if Condition.PAYLOAD in self.conditions:
            payloads = self._expected_of(Condition.PAYLOAD, no_payload(info))
            columns["payloads"] = payload_column(payloads, info, keys.rows)
        if Condition.SEQUENCE in self.conditions:
            sequences = self._expected_of(Condition.SEQUENCE, 0)
            columns["sequences"] = Column(number_column(sequences, "u32", "sequences"))
        return DataCall("expect", keys.rows, columns)

    def _expected_of(self, kind: Condition, none: Any) -> list[Any]:
        """A column of what conditions of a kind expect, in which the others have nothing."""
        return [
            value if condition == kind else none
            for condition, value in zip(self.conditions, self.expected)
        ]


class Gathering:
    """Gathers a batch item by item."""

    #: For those who write it.
    part: IndexPart

    def __len__(self) -> int:
        return len(self.part)

    def put(self: G, key: Key, payload: Payload) -> G:
        """Puts a payload in the place of all that the key has."""
        return self._add(WriteOp.REPLACE, key, payload)

    def insert(self: G, key: Key, payload: Payload, *, if_exists: str = "add") -> G:
        """Adds a payload as `Index.insert` does."""
        return self._add(insert_op(if_exists, ("add", "keep")), key, payload)

    def delete(self: G, key: Key, *, payload: Payload = UNSET) -> G:
        """Deletes all payloads of the key or, with `payload`, those that equal it."""
        return self._add(
            WriteOp.DELETE_KEY if payload is UNSET else WriteOp.DELETE_PAYLOAD, key, payload
        )

    def expect(
        self: G,
        key: Key,
        *,
        exists: bool | None = None,
        payload: Payload = UNSET,
        sequence: int | None = None,
    ) -> G:
        """
        Has the batch written only if the key is so before it, wherever in the batch this is called: is there or not, or has a first payload
        that equals this one, or one with a sequence number as `get_many` gives them.
        """
        if [exists is None, payload is UNSET, sequence is None].count(False) != 1:
            raise bad_request("expect takes one of exists, payload and sequence")
        if payload is not UNSET:
            condition, value = Condition.PAYLOAD, payload
        elif sequence is not None:
            condition, value = Condition.SEQUENCE, sequence
        else:
            condition, value = Condition.PRESENT if exists else Condition.ABSENT, None
        self.part.conditions.append(condition)
        self.part.expected_keys.append(key)
        self.part.expected.append(value)
        return self

    def _add(self: G, op: WriteOp, key: Key, payload: Payload) -> G:
        self.part.ops.append(op)
        self.part.keys.append(key)
        self.part.payloads.append(payload)
        return self


class WriteBatch(Gathering):
    """
    An ordered mix of writes to one index, and what is expected of it. `write()` applies it as a whole, `Client.write` several together.
    """

    def __init__(self, calls: IndexCalls) -> None:
        self.part = IndexPart(calls)
        self._calls = calls

    async def write(
        self,
        *,
        strategy: str | None = None,
        resolution: str | None = None,
        deadline: float | None = None,
    ) -> Codes:
        """
        Applies the items in their order, all or none. Returns a result code for each. Raises `CONDITION_FAILED` where a key is not as expected:
        `item` of the error is the number of the `expect`.
        """
        traversal = {"strategy": strategy, "resolution": resolution}
        if self.part.conditions:
            until = self._calls.connection.until(deadline)
            [codes] = await write_parts([self.part], traversal, until)
            assert not isinstance(codes, range)
            return codes
        info, until = await self._calls.begin(deadline)
        return await self._calls.write(info, self.part.writes(info, traversal), until)
