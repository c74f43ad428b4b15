"""The requests of a client to one index, and what it knows of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._calls import WRITES, Answer, DataCall, Part
from .._frames import Reply, encode_control
from .._inputs import IndexInfo
from ..errors import BatchError, WarpdexError
from ._connection import Connection
from ._lane import Lane, Remembered, Turns

Codes = npt.NDArray[np.uint8]

# After these the index is opened anew: a handle means nothing once its index is dropped, and who may not see all names is not told
# whether it does.
REOPENING = ("INDEX_CHANGED", "UNKNOWN_INDEX", "UNAUTHORISED")


class _Started(NamedTuple):
    """A request that is sent, or waits for its turn."""

    call: DataCall
    reply: asyncio.Future[Reply]


class IndexCalls:
    """
    Each request names the index by the handle and generation by which its keys were encoded and its reply is going to be read, and the
    server refuses it where the name has come to mean another.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection = connection
        self.name = name
        self.lane = Lane()
        self.definition = Remembered(connection, self._open)

    async def begin(self, deadline: float | None) -> tuple[IndexInfo, float | None]:
        """What the index is, at once where that is known, and when the call ends at the latest."""
        until = self.connection.until(deadline)
        known = self.definition.known
        return (await self.definition.get(until) if known is None else known), until

    def ask(
        self, info: IndexInfo, call: DataCall, until: float | None
    ) -> Coroutine[Any, Any, Answer]:
        """
        Asks for what a call reads, in as many requests as it takes, which are sent, or have their turn, before this returns. A call that
        is refused since the index is another one now is made again where that has the same types.
        """
        return self._answer(info, call, self._start_all(info, call.pieces, until), until)

    async def write(self, info: IndexInfo, call: DataCall, until: float | None) -> Codes:
        """Sends a write in as many requests as it takes. Raises `BatchError` where they are several."""
        pieces = call.pieces
        if len(pieces) > 1:
            return await self._write_pieces(info, pieces, until)
        answer = await self.ask(info, call, until)
        return answer.numbers("codes", "u8")

    def start(
        self, info: IndexInfo, call: DataCall, until: float | None, is_ahead: bool = False
    ) -> asyncio.Future[Reply]:
        """Sends a request, after those that were made before unless it is a piece of a batch that has its turn."""
        if call.op in WRITES and call.write_id is None:
            call = replace(call, write_id=self.connection.session.new_write_id())

        def encode(id: int) -> bytes:
            return call.encode(info, id, self.connection.milliseconds_left(until))

        return self._start(call.op, encode, until, is_ahead)

    async def run(
        self,
        info: IndexInfo,
        start: Callable[[IndexInfo], asyncio.Future[Reply]],
        until: float | None,
    ) -> tuple[IndexInfo, Reply]:
        """
        The reply to a request, and of which index it is: one that is refused since the index is another one now is made again where that has
        the same types.
        """
        while True:
            try:
                return info, await start(info)
            except WarpdexError as error:
                info = await self._like_successor(error, info, until)

    async def go_on(
        self, info: IndexInfo, reply: asyncio.Future[Reply], until: float | None
    ) -> Reply:
        """The reply to what goes on with an earlier request, and has no meaning for another index."""
        try:
            return await reply
        except WarpdexError as error:
            now = await self._successor(error, info, until)
            raise _changed(info, now, "; what was begun does not go on in it") from error

    async def latest(self, until: float | None) -> IndexInfo:
        """What the index is now. Raises `INDEX_CHANGED` where it has other types than it was known to have."""
        known = self.definition.known
        self.definition.forget()
        now = await self.definition.get(until)
        if known is not None and not _same_types(known, now):
            raise _changed(known, now)
        return now

    def _start(
        self, op: str, encode: Callable[[int], bytes], until: float | None, is_ahead: bool = False
    ) -> asyncio.Future[Reply]:
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

        def send() -> None:
            if reply.done():
                return
            try:
                answer = self.connection.start(op, encode, None)
            except WarpdexError as error:
                reply.set_exception(error.again())
                return
            answer.add_done_callback(lambda _: _pass_on(answer, reply))
            reply.add_done_callback(lambda _: answer.cancel())

        if is_ahead:
            send()
        else:
            self.lane.push(send)
        return self.connection.bound(reply, until)

    def _start_all(
        self, info: IndexInfo, calls: Sequence[DataCall], until: float | None
    ) -> list[_Started]:
        return [_Started(call, self.start(info, call, until)) for call in calls]

    async def _answer(
        self, info: IndexInfo, call: DataCall, started: list[_Started], until: float | None
    ) -> Answer:
        while True:
            try:
                return Answer(info, await self._parts(info, started, until))
            except WarpdexError as error:
                # Places within a key, or between entries, are those of one index.
                if "sequences" in call.columns or "tokens" in call.columns:
                    now = await self._successor(error, info, until)
                    raise _changed(info, now, "; what was begun does not go on in it") from error
                info = await self._like_successor(error, info, until)
            started = self._start_all(info, call.pieces, until)

    async def _parts(
        self, info: IndexInfo, started: list[_Started], until: float | None
    ) -> list[Part]:
        """The replies in order. What would be too large is asked for again in halves."""
        parts: list[Part] = []
        try:
            for call, reply in started:
                try:
                    parts.append(Part(call, await reply))
                except WarpdexError as error:
                    halves = call.halves if error.code == "TOO_LARGE" else []
                    if not halves:
                        raise
                    parts += await self._parts(info, self._start_all(info, halves, until), until)
        except BaseException:
            for _, reply in started:
                if reply.done() and not reply.cancelled():
                    reply.exception()
                reply.cancel()
            raise
        return parts

    async def _write_pieces(
        self, info: IndexInfo, pieces: list[DataCall], until: float | None
    ) -> Codes:
        """Sends a batch one piece after the other. Requests to the index that are made meanwhile wait until the last one is sent."""
        codes: list[Codes] = []
        turns = Turns(self.connection)
        turns.take(self.lane)
        try:
            await turns.come(until)
            for piece in pieces:
                if codes:
                    started = self.start(info, piece, until, is_ahead=True)
                    if piece is pieces[-1]:
                        turns.leave()
                    reply = await self.go_on(info, started, until)
                else:
                    # There is no batch yet that another index would break.
                    send = partial(self.start, call=piece, until=until, is_ahead=True)
                    info, reply = await self.run(info, send, until)
                codes.append(Answer(info, [Part(piece, reply)]).numbers("codes", "u8"))
        except WarpdexError as error:
            # What was stored in an index that is no more has gone with it.
            stored = [] if error.code == "INDEX_CHANGED" else codes
            raise BatchError(error, np.concatenate([np.empty(0, np.uint8), *stored])) from error
        finally:
            turns.leave()
        return np.concatenate(codes)

    async def _open(self) -> IndexInfo:
        """Asked for ahead of what waits for a batch, which may have to wait for it."""
        fields, _ = await self.connection.request("open", {"index": self.name}, None)
        handle = fields["handle"], fields["generation"]
        definition = {
            name: value for name, value in fields.items() if name not in ("handle", "generation")
        }
        return IndexInfo(
            fields["name"], fields["keyType"], fields["payloadKind"], *handle, definition
        )

    async def _successor(
        self, error: WarpdexError, known: IndexInfo, until: float | None
    ) -> IndexInfo:
        """What the index is now. Raises the error where it is not for that."""
        if error.code not in REOPENING:
            raise error
        if self.definition.known == known:
            self.definition.forget()
        now = await self.definition.get(until)
        if (now.handle, now.generation) == (known.handle, known.generation):
            raise error
        return now

    async def _like_successor(
        self, error: WarpdexError, known: IndexInfo, until: float | None
    ) -> IndexInfo:
        """The same for what can be made again in an index of the same types. Raises `INDEX_CHANGED` for another one."""
        now = await self._successor(error, known, until)
        if not _same_types(known, now):
            raise _changed(known, now) from error
        return now


async def request_in_turn(
    connection: Connection,
    indexes: Sequence[IndexCalls],
    op: str,
    fields: Mapping[str, Any],
    deadline: float | None,
) -> Mapping[str, Any]:
    """Sends a control request after what was called on these indexes before, and ahead of what is called later. Returns the reply's fields."""
    until = connection.until(deadline)
    turns = Turns(connection)
    try:
        waiters = []
        for calls in indexes:
            if calls.definition.is_awaited:
                waiters.append(calls.definition.get(until))
                turns.take_behind(waiters[-1], calls.lane)
            else:
                turns.take(calls.lane)
        # Why it did not come is told to the calls that need it.
        await asyncio.gather(*waiters, return_exceptions=True)
        await turns.come(until)
        reply = connection.start(
            op, lambda id: encode_control({"id": id, "op": op, **fields}), until
        )
    finally:
        turns.leave()
    return (await reply).fields


def _pass_on(answer: asyncio.Future[Reply], reply: asyncio.Future[Reply]) -> None:
    if answer.cancelled():
        return
    error = answer.exception()
    if reply.done():
        return
    if error is None:
        reply.set_result(answer.result())
    else:
        reply.set_exception(error)


def _same_types(known: IndexInfo, now: IndexInfo) -> bool:
    return (now.key_type, now.payload_kind) == (known.key_type, known.payload_kind)


def _changed(known: IndexInfo, now: IndexInfo, consequence: str = "") -> WarpdexError:
    was, has = (f"{info.key_type} keys and {info.payload_kind} payloads" for info in (known, now))
    message = f'index "{known.name}" is another one than before: it had {was}, and has {has} now{consequence}'
    return WarpdexError("INDEX_CHANGED", message)
