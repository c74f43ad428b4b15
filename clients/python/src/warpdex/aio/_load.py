"""Loads of many rows: parts of some megabytes, of which several are under way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

import numpy as np

from .. import _limits
from .._calls import DataCall, Part
from .._columns import DTYPES, Column, join_columns, piece_ends
from .._inputs import IndexInfo, Keys, Payloads, key_column, payload_column
from ..errors import LoadCounts, LoadError, WarpdexError, bad_request
from ._index_calls import IndexCalls

# A part's share of a load in a request: enough that a request's own cost does not count, few enough that several are under way.
_PART_BYTES = 8 * _limits.MIB
# Bytes of parts that are under way. With more, the server would stop reading from the connection, and other requests would not get through.
_BYTES_UNDER_WAY = _limits.BYTES_IN_FLIGHT // 4
_PARTS_UNDER_WAY = _limits.REQUESTS_IN_FLIGHT // 2


class Batch(NamedTuple):
    """Rows to load: a payload for each key."""

    keys: Keys
    payloads: Payloads


#: One batch, or batches of any size in the order in which their rows count.
LoadSource = Union[Batch, Iterable[Batch], AsyncIterable[Batch]]


@dataclass
class _Sent:
    size: int
    answer: asyncio.Task[LoadCounts]


async def bulk_load(
    calls: IndexCalls,
    batches: Any,
    mode: str,
    on_progress: Callable[[LoadCounts], None] | None,
    deadline: float | None,
) -> LoadCounts:
    """As `Index.bulk_load`."""
    info = await calls.latest(None)
    stored = LoadCounts()
    under_way: list[_Sent] = []
    after: int | None = None

    async def answered() -> None:
        """Waits for the oldest part."""
        nonlocal stored
        stored = stored.plus(await under_way[0].answer)
        under_way.pop(0)
        if on_progress is not None:
            on_progress(stored)

    failure: Exception | None = None
    try:
        async for keys, payloads in _parts(batches, info):
            size = keys.nbytes + payloads.nbytes
            while under_way and (
                sum(sent.size for sent in under_way) + size > _BYTES_UNDER_WAY
                or len(under_way) >= _PARTS_UNDER_WAY
            ):
                await answered()
            write_id = calls.connection.session.new_write_id()
            columns = {"keys": keys, "payloads": payloads}
            if after is not None:
                columns["after"] = Column(np.array([after], DTYPES["u64"]))
            after = write_id
            call = DataCall("load", keys.rows, columns, mode=mode, write_id=write_id)
            until = None if deadline is None else asyncio.get_running_loop().time() + deadline
            reply = calls.start(info, call, until)
            under_way.append(
                _Sent(size, asyncio.ensure_future(_counts(calls, info, call, reply, until)))
            )
        while under_way:
            await answered()
    except Exception as error:
        failure = error
    if failure is None:
        return stored
    # A part fails where the one before it has failed: what was stored is known when all are answered.
    for answer in await asyncio.gather(
        *(sent.answer for sent in under_way), return_exceptions=True
    ):
        if isinstance(answer, LoadCounts):
            stored = stored.plus(answer)
    reason = (
        failure if isinstance(failure, WarpdexError) else WarpdexError("INTERNAL", f"{failure!r}")
    )
    # What was stored in an index that is no more has gone with it.
    raise LoadError(reason, LoadCounts() if reason.code == "INDEX_CHANGED" else stored) from failure


async def _counts(
    calls: IndexCalls,
    info: IndexInfo,
    call: DataCall,
    reply: asyncio.Future[Any],
    until: float | None,
) -> LoadCounts:
    part = Part(call, await calls.go_on(info, reply, until))
    return LoadCounts(*part.plain("counts", 5, DTYPES["u32"]).tolist())


async def _parts(batches: Any, info: IndexInfo) -> AsyncIterator[tuple[Column, Column]]:
    """Rows in parts of about the same size: small batches together, large ones in pieces."""
    gathered: list[tuple[Column, Column]] = []
    rows = size = 0
    async for batch in _each(batches):
        try:
            keys_given, payloads_given = batch
        except (TypeError, ValueError) as error:
            raise bad_request(
                f"bulk_load takes batches of keys and payloads, not {batch!r}"
            ) from error
        keys = key_column(keys_given, info)
        payloads = payload_column(payloads_given, info, keys.rows)
        start = 0
        for end in piece_ends([keys, payloads], keys.rows, _limits.BATCH_ITEMS, _PART_BYTES):
            piece = keys.part(start, end), payloads.part(start, end)
            own = piece[0].nbytes + piece[1].nbytes
            count, start = end - start, end
            if count == 0:
                continue
            if rows > 0 and (rows + count > _limits.BATCH_ITEMS or size + own > _PART_BYTES):
                yield _joined(gathered)
                gathered, rows, size = [], 0, 0
            gathered.append(piece)
            rows += count
            size += own
    if rows > 0:
        yield _joined(gathered)


def _joined(pieces: list[tuple[Column, Column]]) -> tuple[Column, Column]:
    return join_columns([keys for keys, _ in pieces]), join_columns(
        [payloads for _, payloads in pieces]
    )


async def _each(batches: Any) -> AsyncIterator[Any]:
    if isinstance(batches, AsyncIterable):
        async for batch in batches:
            yield batch
    elif isinstance(batches, Iterable):
        for batch in batches:
            yield batch
    else:
        raise bad_request(f"bulk_load takes a Batch, or an iterable of them, not {batches!r}")
