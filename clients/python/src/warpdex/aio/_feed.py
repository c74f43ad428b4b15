"""The feed of an index's changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

from .._calls import Answer, DataCall, Part
from .._changes import ChangeBatch, change_batches, parse_position
from .._columns import DTYPES, OFFSETS
from .._frames import Reply
from .._inputs import IndexInfo
from .._snapshots import ReadVersion, version_of
from ..errors import WarpdexError
from ._index_calls import IndexCalls

# Batches of a request at most.
_PAGE_BATCHES = 1024

# What a feed waits out: the server comes back, or has time again.
_PASSING = ("SHUTTING_DOWN", "OVERLOADED")
_PAUSE = 0.25


class _Place(NamedTuple):
    """Where a feed is, and of which index."""

    info: IndexInfo
    position: int | None
    version: int | None


async def changes(calls: IndexCalls, begin: str | ReadVersion | None) -> AsyncIterator[ChangeBatch]:
    """As `Index.watch`. Without deadlines: a feed is no call."""
    calls.connection.check_open()
    version = None if isinstance(begin, str) else version_of(begin)
    known = await calls.connection.endless(calls.definition.get(None))
    place = _Place(known, None, version)
    if isinstance(begin, str):
        place = _Place(*parse_position(begin, known), None)
    while True:
        after, answer = await _ask(calls, place, _PAGE_BATCHES)
        count = answer.parts[0].asked.count
        place = _Place(answer.info, after + count, None)
        if count > 0:
            for batch in change_batches(answer, after):
                yield batch
        else:
            await _ask(calls, place, 0)


async def _ask(calls: IndexCalls, place: _Place, limit: int) -> tuple[int, Answer]:
    """
    The position before the next batches, and these; with a limit of 0 it waits until there are some, and gives none. After a lost
    connection it is asked for again.
    """
    info, position, version = place
    call = DataCall("watch", 0, {}, limit=limit, position=position, version=version)

    def start(of: IndexInfo) -> asyncio.Future[Reply]:
        calls.connection.check_open()
        return calls.connection.endless(calls.start(of, call, None, is_ahead=True))

    while True:
        try:
            # Positions are those of one index.
            if position is None:
                info, reply = await calls.run(info, start, None)
            else:
                reply = await calls.go_on(info, start(info), None)
            break
        except WarpdexError as error:
            if error.code not in _PASSING:
                raise
            await calls.connection.pause(_PAUSE)
    offsets = reply.columns.get("offsets")
    count = 0 if offsets is None else offsets.values.nbytes // OFFSETS.itemsize - 1
    part = Part(DataCall("watch", count, {}), reply)
    return int(part.plain("position", 1, DTYPES["u64"])[0]), Answer(info, [part])
