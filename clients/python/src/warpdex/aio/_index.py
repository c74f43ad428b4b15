"""An index of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _limits
from .._calls import DataCall, each, each_entry
from .._columns import Column
from .._inputs import IndexInfo, Key, Keys, Payload, Payloads, key_column, payload_column
from .._ranges import Range, prefix_range, ranges_of
from .._writes import WriteOp, insert_op
from ..errors import LoadCounts, WarpdexError, bad_request
from ..results import Entry, GetAllResult, GetResult, NextResult, Page, ResultCode, values_of
from ._index_calls import Codes, IndexCalls
from ._load import Batch, LoadSource, bulk_load
from ._ranges_page import RangesPage
from ._scan import Scan
from ._singles import Singles
from ._write_batch import WriteBatch

_PAGE_ENTRIES = 8192


class Index:
    """
    An index of the server. Calls are carried out in the order in which they begin. Where the index was dropped and made anew, calls go on in
    the new one if its types are the same; else they fail with `INDEX_CHANGED`. `deadline` of a method is in seconds.
    """

    def __init__(self, calls: IndexCalls) -> None:
        self.name = calls.name
        self._calls = calls
        self._singles = Singles(calls)

    async def definition(self, *, deadline: float | None = None) -> Mapping[str, Any]:
        """What the index was created as; asked for once."""
        return (await self._calls.begin(deadline))[0].definition

    async def stats(self, *, deadline: float | None = None) -> Mapping[str, Any]:
        """Size of the index and its memory."""
        fields = await self._calls.control("stats", {"index": self.name}, deadline)
        stats: Mapping[str, Any] = fields["indexes"][0]
        return stats

    async def get(self, key: Key, *, deadline: float | None = None) -> Any:
        """The first payload of a key, or None. Calls of the same turn share a request."""
        return await self._singles.get(key, deadline)

    async def has(self, key: Key, *, deadline: float | None = None) -> bool:
        """Whether a key has a payload. Calls of the same turn share a request."""
        return await self._singles.get(key, deadline, "has") is not None

    async def put(self, key: Key, payload: Payload, *, deadline: float | None = None) -> None:
        """Puts a payload in the place of all that the key has. Writes of the same turn share a request."""
        await self._singles.write(WriteOp.REPLACE, key, _given(payload), deadline, "put")

    async def insert(
        self, key: Key, payload: Payload, *, if_exists: str = "add", deadline: float | None = None
    ) -> bool:
        """
        Adds a payload to a key. A key of a unique index that is there stays as it is; with `if_exists="keep"` any does, and with `"error"`
        `KeyError` is raised. Returns whether it was added.
        """
        code = await self._singles.write(
            insert_op(if_exists), key, _given(payload), deadline, "insert"
        )
        if code == ResultCode.EXISTS and if_exists == "error":
            raise KeyError(key)
        return code != ResultCode.EXISTS

    async def delete(
        self, key: Key, *, payload: Payload | None = None, deadline: float | None = None
    ) -> bool:
        """Deletes all payloads of a key or, with `payload`, those that equal it. Returns whether there were any."""
        op = WriteOp.DELETE_KEY if payload is None else WriteOp.DELETE_PAYLOAD
        return await self._singles.write(op, key, payload, deadline, "delete") == ResultCode.DELETED

    def batch(self) -> WriteBatch:
        """An ordered mix of writes, which is applied as a whole by its `write()`."""
        return WriteBatch(self._calls)

    async def get_many(
        self,
        keys: Keys,
        *,
        sequences: bool = False,
        strategy: str | None = None,
        resolution: str | None = None,
        deadline: float | None = None,
    ) -> GetResult:
        """The first payload of each key; with `sequences` a number for each, from which `get_next_many` goes on."""
        info, until = await self._calls.begin(deadline)
        call = _of_keys(
            "get", keys, info, with_sequences=sequences, strategy=strategy, resolution=resolution
        )
        answer = await self._calls.ask(info, call, until)
        numbers = answer.numbers("sequences", "u32") if sequences else None
        return GetResult(answer.flags("found"), answer.payloads(each), numbers)

    async def has_many(self, keys: Keys, *, deadline: float | None = None) -> npt.NDArray[np.bool_]:
        """Whether each key has a payload."""
        return await self.count_many(keys, deadline=deadline) > 0

    async def get_all_many(self, keys: Keys, *, deadline: float | None = None) -> GetAllResult:
        """All payloads of each key."""
        info, until = await self._calls.begin(deadline)
        answer = await self._calls.ask(info, _of_keys("getAll", keys, info), until)
        return GetAllResult(answer.groups, answer.payloads(each_entry))

    async def count_many(
        self, keys: Keys, *, deadline: float | None = None
    ) -> npt.NDArray[np.uint32]:
        """The number of payloads of each key."""
        info, until = await self._calls.begin(deadline)
        return (await self._calls.ask(info, _of_keys("count", keys, info), until)).numbers(
            "counts", "u32"
        )

    async def get_next_many(
        self,
        keys: Keys,
        *,
        reverse: bool = False,
        sequences: npt.NDArray[np.uint32] | None = None,
        strategy: str | None = None,
        resolution: str | None = None,
        deadline: float | None = None,
    ) -> NextResult:
        """
        The entry after each key, or before it; with `sequences`, one a key, within the payloads of the key after that one. A walk by the
        keys and sequences of one result after the other comes by everything that is there all along exactly once.
        """
        info, until = await self._calls.begin(deadline)
        call = _of_keys(
            "getNext", keys, info, reverse=reverse, strategy=strategy, resolution=resolution
        )
        if sequences is not None:
            if len(sequences) != call.count:
                raise bad_request(
                    f"{call.count} keys came with {len(sequences)} sequences; each has one"
                )
            places = Column(np.asarray(sequences, "<u4"))
            call = replace(call, columns={**call.columns, "sequences": places})
        answer = await self._calls.ask(info, call, until)
        return NextResult(
            answer.flags("found"),
            answer.keys(each),
            answer.payloads(each),
            answer.numbers("sequences", "u32"),
        )

    async def explain(
        self,
        keys: Keys,
        *,
        strategy: str | None = None,
        resolution: str | None = None,
        deadline: float | None = None,
    ) -> Mapping[str, Any]:
        """How a `get_many` of these keys, one at least and no more than a request takes, would be done, and why."""
        info, until = await self._calls.begin(deadline)
        call = _of_keys("explain", keys, info, strategy=strategy, resolution=resolution)
        answer = await self._calls.ask(info, call, until)
        explanation: Mapping[str, Any] = answer.parts[0].reply.fields["explanation"]
        return explanation

    async def put_many(
        self, keys: Keys, payloads: Payloads, *, deadline: float | None = None
    ) -> Codes:
        """
        Puts one payload a key in the place of all that the key has. A batch over the limits of a request goes out in several, one after the
        other, and ahead of all later requests to the index. Returns a result code for each item.
        """
        return await self._insert(keys, payloads, "replace", deadline)

    async def insert_many(
        self,
        keys: Keys,
        payloads: Payloads,
        *,
        if_exists: str = "add",
        deadline: float | None = None,
    ) -> Codes:
        """
        Adds one payload a key, to those that the key has unless the index is unique: then, or with `if_exists="keep"`, a key that is there
        stays as it is. Returns a result code for each item. Large batches go out as those of `put_many` do.
        """
        mode = (
            "ifAbsent"
            if insert_op(if_exists, ("add", "keep")) == WriteOp.ADD_IF_ABSENT
            else "append"
        )
        return await self._insert(keys, payloads, mode, deadline)

    async def delete_many(
        self, keys: Keys, *, payloads: Payloads | None = None, deadline: float | None = None
    ) -> Codes:
        """
        Deletes all payloads of each key or, with `payloads` (one a key), those that equal the given one. Returns a result code for each item.
        """
        info, until = await self._calls.begin(deadline)
        call = (
            _of_keys("delete", keys, info)
            if payloads is None
            else _of_items("delete", keys, payloads, info)
        )
        return await self._calls.write(info, call, until)

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
        modes = {"add": "append", "keep": "ifAbsent", "replace": "replace"}
        if if_exists not in modes:
            raise bad_request(
                f"if_exists of bulk_load is one of {', '.join(modes)}, not {if_exists!r}"
            )
        self._calls.connection.until(None)
        batches = [source] if isinstance(source, Batch) else source
        load = bulk_load(self._calls, batches, modes[if_exists], on_progress, deadline)
        return await self._calls.connection.during(load)

    def entries(self, **options: Any) -> Scan[Entry]:
        """Keys and payloads in the order of the keys; options are those of `pages`."""
        return Scan(lambda: self.pages(**options), _entries)

    def keys(self, **options: Any) -> Scan[Any]:
        """Keys in their order, one for each payload; options are those of `pages`."""
        return Scan(lambda: self.pages(**options), lambda page: values_of(page.keys))

    def values(self, **options: Any) -> Scan[Any]:
        """Payloads in the order of their keys; options are those of `pages`."""
        return Scan(lambda: self.pages(**options), lambda page: values_of(page.payloads))

    async def pages(
        self,
        *,
        from_: Key | None = None,
        to: Key | None = None,
        prefix: Key | None = None,
        from_exclusive: bool = False,
        to_exclusive: bool = False,
        reverse: bool = False,
        limit: int | None = None,
        page_size: int = _PAGE_ENTRIES,
        after: bytes | None = None,
        deadline: float | None = None,
    ) -> AsyncIterator[Page]:
        """
        Pages of entries in the order of their keys, those of one key in the order in which they were inserted. Leading parts of a tuple, as
        ends or prefix, stand for all keys that begin with them. `after` is the token of a page, behind which it goes on. The deadline is
        that of each page.
        """
        if not 1 <= page_size <= _limits.SCAN_ENTRIES:
            raise bad_request(f"a page has 1 to {_limits.SCAN_ENTRIES} entries, not {page_size}")
        if prefix is not None and (
            from_ is not None or to is not None or from_exclusive or to_exclusive
        ):
            raise bad_request("a scan has a prefix, or from_ and to, not both")
        left = limit
        of: IndexInfo | None = None
        while left is None or left > 0:
            known, until = await self._calls.begin(deadline)
            info = of or known
            if prefix is not None:
                range = prefix_range(prefix, info)
            else:
                ends: list[Any] = [None if end is None else [end] for end in (from_, to)]
                range = ranges_of(ends[0], ends[1], from_exclusive, to_exclusive, info)
            size = page_size if left is None else min(left, page_size)
            answer = await self._calls.ask(info, _scan(range, size, reverse, after, info), until)
            of = answer.info
            entries = int(answer.groups[-1])
            page = Page(answer.keys(each_entry), answer.payloads(each_entry), answer.tokens.row(0))
            more = answer.numbers("more", "u8")[0] == 1
            if more and entries == 0:
                raise WarpdexError(
                    "INTERNAL", "the server sent an empty page and says that there is more"
                )
            if entries > 0:
                yield page
            if not more:
                return
            after = page.token
            left = None if left is None else left - entries

    async def ranges(
        self,
        *,
        limit: int,
        from_: Keys | None = None,
        to: Keys | None = None,
        from_exclusive: bool = False,
        to_exclusive: bool = False,
        reverse: bool = False,
        deadline: float | None = None,
    ) -> RangesPage:
        """
        The first entries, up to `limit` of each, of many ranges: one for each of `from_`, of `to`, or of both together. `next()` of the page
        that comes back continues all ranges that have more.
        """
        info, until = await self._calls.begin(deadline)
        if from_ is None and to is None:
            raise bad_request("ranges need from_, to or both; entries() goes through a whole index")
        if not 1 <= limit <= _limits.SCAN_ENTRIES:
            raise bad_request(
                f"the limit of ranges is 1 to {_limits.SCAN_ENTRIES} entries, not {limit}"
            )
        call = _scan(
            ranges_of(from_, to, from_exclusive, to_exclusive, info), limit, reverse, None, info
        )
        numbers = np.arange(call.count)
        answer = await self._calls.ask(info, call, until)
        return RangesPage(self._calls, call, call.count, numbers, answer, deadline)

    async def _insert(
        self, keys: Keys, payloads: Payloads, mode: str, deadline: float | None
    ) -> Codes:
        info, until = await self._calls.begin(deadline)
        return await self._calls.write(
            info, _of_items("insert", keys, payloads, info, mode=mode), until
        )


def _entries(page: Page) -> Iterator[Entry]:
    return map(Entry, values_of(page.keys), values_of(page.payloads))


def _given(payload: Payload | None) -> Payload:
    if payload is None:
        raise bad_request("a payload is needed")
    return payload


def _of_keys(op: str, keys: Keys, info: IndexInfo, **options: Any) -> DataCall:
    column = key_column(keys, info)
    return DataCall(op, column.rows, {"keys": column}, **options)


def _of_items(op: str, keys: Keys, payloads: Payloads, info: IndexInfo, **options: Any) -> DataCall:
    column = key_column(keys, info)
    columns = {"keys": column, "payloads": payload_column(payloads, info, column.rows)}
    return DataCall(op, column.rows, columns, **options)


def _scan(
    range: Range, limit: int, reverse: bool, after: bytes | None, info: IndexInfo
) -> DataCall:
    columns = dict(range.columns)
    if after is not None:
        token = np.frombuffer(after, np.uint8)
        cuts = None if info.has_fixed_keys else np.array([0, len(token)], "<u4")
        columns["tokens"] = Column(token.reshape(1, -1) if cuts is None else token, cuts)
    return DataCall(
        "scan",
        range.count,
        columns,
        limit=limit,
        reverse=reverse,
        from_exclusive=range.from_exclusive,
        to_exclusive=range.to_exclusive,
    )
