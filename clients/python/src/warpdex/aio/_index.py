"""An index of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .._changes import ChangeBatch
from .._columns import Column
from .._inputs import Expiries, Expiry, Key, Keys, Payload, Payloads, number_column
from .._kinds import COUNT, DELETE, EXPLAIN, GET, GET_ALL, INSERTS, NEXT, PREVIOUS
from .._ranges import ranges_of
from .._snapshots import ReadVersion, version_of
from .._writes import UNSET, WriteOp, insert_op
from ..errors import LoadCounts, WarpdexError, bad_request
from ..results import (
    GetAllResult,
    GetResult,
    KeysPage,
    NextEntry,
    NextResult,
    Page,
    ResultCode,
    ValuesPage,
)
from ._feed import changes
from ._index_calls import Codes, IndexCalls, request_in_turn
from ._load import Batch, LoadSource, bulk_load
from ._ranges import Ranges, RangesOptions
from ._row_calls import NO_COLUMNS, ReadAt, RowCalls
from ._scan import ENTRIES, KEYS, VALUES, Scan, ScanOptions
from ._write_batch import WriteBatch


class Index:
    """
    An index of the server. Calls are carried out in the order in which they begin; calls of one kind for single keys, of one turn and with no
    other between them, share a request. Where the name has come to mean another index, calls go on in that if its types are the same;
    else they fail with `INDEX_CHANGED`, and later ones go by the new types. `deadline` of a method is in seconds; a read sees the moment that
    its `snapshot` says, or else its own.
    """

    def __init__(self, calls: IndexCalls) -> None:
        self.name = calls.name
        self._calls = calls
        self._rows = RowCalls(calls)

    async def definition(self, *, deadline: float | None = None) -> Mapping[str, Any]:
        """What the index was created as; asked for once."""
        return (await self._calls.begin(deadline))[0].definition

    async def stats(self, *, deadline: float | None = None) -> Mapping[str, Any]:
        """Size of the index and its memory."""
        about = {"index": self.name}
        connection = self._calls.connection
        fields = await request_in_turn(connection, [self._calls], "stats", about, deadline)
        stats: Mapping[str, Any] = fields["indexes"][0]
        return stats

    async def get(
        self, key: Key, *, snapshot: ReadVersion | None = None, deadline: float | None = None
    ) -> Any:
        """The first payload of a key, or None."""
        found, i = await self._rows.one(GET, "get", key, ReadAt(snapshot, deadline))
        return found[i]

    async def has(
        self, key: Key, *, snapshot: ReadVersion | None = None, deadline: float | None = None
    ) -> bool:
        """Whether a key has a payload."""
        counts, i = await self._rows.one(COUNT, "has", key, ReadAt(snapshot, deadline))
        return bool(counts[i] > 0)

    async def count(
        self, key: Key, *, snapshot: ReadVersion | None = None, deadline: float | None = None
    ) -> int:
        """The number of payloads of a key."""
        counts, i = await self._rows.one(COUNT, "count", key, ReadAt(snapshot, deadline))
        return int(counts[i])

    async def get_all(
        self, key: Key, *, snapshot: ReadVersion | None = None, deadline: float | None = None
    ) -> list[Any]:
        """All payloads of a key, in the order in which they were inserted."""
        found, i = await self._rows.one(GET_ALL, "get_all", key, ReadAt(snapshot, deadline))
        payloads: list[Any] = found[i]
        return payloads

    async def get_next(
        self,
        key: Key,
        *,
        reverse: bool = False,
        sequence: int | None = None,
        snapshot: ReadVersion | None = None,
        deadline: float | None = None,
    ) -> NextEntry | None:
        """The entry after a key, or before it, or None; with `sequence` within the payloads of the key, after that one."""
        sequences = None if sequence is None else [sequence]
        found, i = await self._rows.one(
            PREVIOUS if reverse else NEXT,
            "get_next",
            key,
            ReadAt(snapshot, deadline),
            _sequences(sequences),
        )
        entry: NextEntry | None = found[i]
        return entry

    async def put(
        self,
        key: Key,
        payload: Payload,
        *,
        expire_at: Expiry | None = None,
        deadline: float | None = None,
    ) -> None:
        """
        Puts a payload in the place of all that the key has. In an index with a `ttl` it goes at `expire_at`, in seconds since 1970 by the
        server's clock (0 for never), or else `ttl` seconds after its write.
        """
        await self._rows.write_one(WriteOp.REPLACE, "put", key, payload, deadline, expire_at)

    async def insert(
        self,
        key: Key,
        payload: Payload,
        *,
        if_exists: str = "add",
        expire_at: Expiry | None = None,
        deadline: float | None = None,
    ) -> bool:
        """
        Adds a payload to those that the key has. In a unique index, and where `if_exists` is not `"add"`, a key that is there stays as it is;
        with `"error"` that raises `KEY_EXISTS`. `expire_at` is as of `put`. Returns whether the payload is stored.
        """
        op = insert_op(if_exists, ("add", "keep", "error"))
        code = await self._rows.write_one(op, "insert", key, payload, deadline, expire_at)
        if code == ResultCode.EXISTS and if_exists == "error":
            raise WarpdexError("KEY_EXISTS", f'key {key!r} is in index "{self.name}" already')
        return code != ResultCode.EXISTS

    async def delete(
        self, key: Key, *, payload: Payload = UNSET, deadline: float | None = None
    ) -> bool:
        """Deletes all payloads of a key or, with `payload`, those that equal it. Returns whether there were any."""
        op = WriteOp.DELETE_KEY if payload is UNSET else WriteOp.DELETE_PAYLOAD
        return (
            await self._rows.write_one(op, "delete", key, payload, deadline) == ResultCode.DELETED
        )

    def batch(self) -> WriteBatch:
        """An ordered mix of writes, which is gathered item by item, and applied as a whole by its `write()`."""
        return WriteBatch(self._calls)

    async def get_many(
        self,
        keys: Keys,
        *,
        sequences: bool = False,
        strategy: str | None = None,
        resolution: str | None = None,
        snapshot: ReadVersion | None = None,
        deadline: float | None = None,
    ) -> GetResult:
        """The first payload of each key; with `sequences` a number for each, from which `get_next_many` goes on."""
        found: GetResult = await self._rows.many(
            GET,
            keys,
            ReadAt(snapshot, deadline),
            with_sequences=sequences,
            strategy=strategy,
            resolution=resolution,
        )
        return found

    async def has_many(
        self, keys: Keys, *, snapshot: ReadVersion | None = None, deadline: float | None = None
    ) -> npt.NDArray[np.bool_]:
        """Whether each key has a payload."""
        return await self.count_many(keys, snapshot=snapshot, deadline=deadline) > 0

    async def count_many(
        self, keys: Keys, *, snapshot: ReadVersion | None = None, deadline: float | None = None
    ) -> npt.NDArray[np.uint32]:
        """The number of payloads of each key."""
        counts: npt.NDArray[np.uint32] = await self._rows.many(
            COUNT, keys, ReadAt(snapshot, deadline)
        )
        return counts

    async def get_all_many(
        self, keys: Keys, *, snapshot: ReadVersion | None = None, deadline: float | None = None
    ) -> GetAllResult:
        """All payloads of each key."""
        found: GetAllResult = await self._rows.many(GET_ALL, keys, ReadAt(snapshot, deadline))
        return found

    async def get_next_many(
        self,
        keys: Keys,
        *,
        reverse: bool = False,
        sequences: npt.NDArray[np.uint32] | None = None,
        strategy: str | None = None,
        resolution: str | None = None,
        snapshot: ReadVersion | None = None,
        deadline: float | None = None,
    ) -> NextResult:
        """
        The entry after each key, or before it; with `sequences`, one a key, within the payloads of the key after that one. A walk by the
        keys and sequences of one result after the other comes by everything that is there all along exactly once.
        """
        kind = PREVIOUS if reverse else NEXT
        more = _sequences(sequences)
        found: NextResult = await self._rows.many(
            kind, keys, ReadAt(snapshot, deadline), more, strategy=strategy, resolution=resolution
        )
        return found

    async def explain(
        self,
        keys: Keys,
        *,
        strategy: str | None = None,
        resolution: str | None = None,
        deadline: float | None = None,
    ) -> Mapping[str, Any]:
        """How a `get_many` of these keys, one at least and no more than a request takes, would be done, and why."""
        explanation: Mapping[str, Any] = await self._rows.many(
            EXPLAIN, keys, ReadAt(None, deadline), strategy=strategy, resolution=resolution
        )
        return explanation

    async def put_many(
        self,
        keys: Keys,
        payloads: Payloads,
        *,
        expire_at: Expiries | None = None,
        strategy: str | None = None,
        resolution: str | None = None,
        deadline: float | None = None,
    ) -> Codes:
        """
        Puts one payload a key in the place of all that the key has. A batch over the limits of a request goes out in several, one after the
        other, and ahead of all later requests to the index. Returns a result code for each item; raises `BatchError` where it goes out in
        several requests, which says how many of the first items are stored. `expire_at` is as of `put`, for all items or one for each.
        """
        options = {"strategy": strategy, "resolution": resolution}
        kind = INSERTS["replace"]
        return await self._rows.write_many(kind, keys, payloads, deadline, expire_at, **options)

    async def insert_many(
        self,
        keys: Keys,
        payloads: Payloads,
        *,
        if_exists: str = "add",
        expire_at: Expiries | None = None,
        strategy: str | None = None,
        resolution: str | None = None,
        deadline: float | None = None,
    ) -> Codes:
        """
        Adds one payload a key, to those that the key has unless the index is unique: then, or with `if_exists="keep"`, a key that is there
        stays as it is. Returns a result code for each item. Large batches go out, and items expire, as those of `put_many` do.
        """
        insert_op(if_exists, ("add", "keep"))
        options = {"strategy": strategy, "resolution": resolution}
        kind = INSERTS[if_exists]
        return await self._rows.write_many(kind, keys, payloads, deadline, expire_at, **options)

    async def delete_many(
        self,
        keys: Keys,
        *,
        payloads: Payloads | None = None,
        strategy: str | None = None,
        resolution: str | None = None,
        deadline: float | None = None,
    ) -> Codes:
        """
        Deletes all payloads of each key or, with `payloads` (one a key), those that equal the given one. Returns a result code for each item.
        Large batches go out as those of `put_many` do.
        """
        options = {"strategy": strategy, "resolution": resolution}
        return await self._rows.write_many(DELETE, keys, payloads, deadline, None, **options)

    async def delete_range(
        self,
        *,
        from_: Key | None = None,
        to: Key | None = None,
        prefix: Key | None = None,
        from_exclusive: bool = False,
        to_exclusive: bool = False,
        deadline: float | None = None,
    ) -> int:
        """Deletes all that a range of keys holds, however much that is, as a whole. Returns how many entries went."""
        options = ScanOptions(from_, to, prefix, from_exclusive, to_exclusive)
        info, until = await self._calls.begin(deadline)
        call = options.range(info).call("deleteRange")
        return int((await self._calls.ask(info, call, until)).numbers("counts", "u64")[0])

    async def bulk_load(
        self,
        source: LoadSource,
        *,
        if_exists: str = "add",
        on_progress: Callable[[LoadCounts], None] | None = None,
        deadline: float | None = None,
    ) -> LoadCounts:
        """
        Stores many rows, as if they were inserted in their order, without a result code for each. The server makes them durable in large
        chunks, each as a whole, and answers reads meanwhile. `if_exists` may also be `"replace"`; `on_progress` is told of all that is
        durable so far; the deadline is that of each part, a few megabytes. Raises `LoadError`, which says how many rows are stored.
        """
        if if_exists not in INSERTS:
            raise bad_request(
                f"if_exists of bulk_load is one of {', '.join(INSERTS)}, not {if_exists!r}"
            )
        self._calls.connection.until(None)
        batches = [source] if isinstance(source, Batch) else source
        load = bulk_load(self._calls, batches, INSERTS[if_exists].mode, on_progress, deadline)
        return await self._calls.connection.during(load)

    def entries(self, /, **options: Any) -> Scan[Page]:
        """
        Keys and payloads in the order of the keys, those of one key in the order in which they were inserted; options are those of
        `ScanOptions`.
        """
        return Scan(self._calls, ENTRIES, ScanOptions(**options))

    def keys(self, /, **options: Any) -> Scan[KeysPage]:
        """As `entries`, without their payloads: each key as often as it has payloads."""
        return Scan(self._calls, KEYS, ScanOptions(**options))

    def values(self, /, **options: Any) -> Scan[ValuesPage]:
        """As `entries`, without their keys."""
        return Scan(self._calls, VALUES, ScanOptions(**options))

    def watch(self, *, from_: str | ReadVersion | None = None) -> AsyncIterator[ChangeBatch]:
        """
        What becomes durable from the first step on, or behind `from_`: the `position` of a batch, or a snapshot. Each batch comes once and in
        order, over lost connections too, until the loop is left or the client closed. Raises `POSITION_GONE`, `INDEX_CHANGED`, `UNKNOWN_INDEX`.
        """
        return changes(self._calls, from_)

    async def count_ranges(
        self,
        *,
        from_: Keys | None = None,
        to: Keys | None = None,
        from_exclusive: bool = False,
        to_exclusive: bool = False,
        snapshot: ReadVersion | None = None,
        deadline: float | None = None,
    ) -> npt.NDArray[np.uint64]:
        """How many entries each of many ranges has: one for each of `from_`, of `to`, or of both together, or one in all."""
        version = version_of(snapshot)
        info, until = await self._calls.begin(deadline)
        ranges = ranges_of(from_, to, from_exclusive, to_exclusive, info)
        call = ranges.call("countRanges", version=version)
        return (await self._calls.ask(info, call, until)).numbers("counts", "u64")

    def ranges(self, /, **options: Any) -> Ranges:
        """As `entries`, of many ranges at a time; options are those of `RangesOptions`."""
        return Ranges(self._calls, RangesOptions(**options))


def _sequences(numbers: Any) -> Mapping[str, Column]:
    """Where a search goes on within the payloads of each key, if it does."""
    if numbers is None:
        return NO_COLUMNS
    return {"sequences": Column(number_column(numbers, "u32", "sequences"))}
