"""The requests of a client to one index, and what it knows of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._calls import WRITES, Answer, DataCall, Part
from .._frames import Envelope, Reply, encode_control, encode_request
from .._inputs import IndexInfo
from ..errors import BatchError, WarpdexError
from ._connection import Connection
from ._lane import Lane, Remembered

Codes = npt.NDArray[np.uint8]

# After these the index is opened anew: a handle means nothing once its index is dropped, and who may not see all names is not told
# whether it does.
_REOPENING = ("INDEX_CHANGED", "UNKNOWN_INDEX", "UNAUTHORISED")


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
            left = self.connection.milliseconds_left(until)
            types = info.wire_key_type, info.wire_payload_type
            return encode_request(call, Envelope(id, info.handle, info.generation, *types, left))

        return self._start(call.op, encode, until, is_ahead)

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

    async def control(
        self, op: str, fields: Mapping[str, Any], deadline: float | None
    ) -> Mapping[str, Any]:
        """Sends a control request that means this index, after what was called on it before. Returns the reply's fields."""
        until = self.connection.until(deadline)
        await self.settled(until)
        reply = await self._start(
            op, lambda id: encode_control({"id": id, "op": op, **fields}), until
        )
        return reply.fields

    async def caught_up(self, until: float | None) -> None:
        """Waits until what was called before is sent."""
        await self.settled(until)
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lane.push(lambda: None if reached.done() else reached.set_result(None))
        await self.connection.bound(reached, until)

    @contextlib.asynccontextmanager
    async def turn(self, until: float | None) -> AsyncIterator[None]:
        """While it lasts what was called before is sent, and what is called later waits."""
        turn = self.connection.bound(self.lane.hold(), until)
        try:
            await turn
            yield
        finally:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.lane.release()

    async def settled(self, until: float | None) -> None:
        """Waits as calls do that wait for what the index is."""
        try:
            await self.definition.settled(until)
        except WarpdexError as error:
            # Others are told to the calls that need what they waited for.
            if error.code == "DEADLINE_EXCEEDED":
                raise

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
                reply.set_exception(WarpdexError(error.code, str(error)))
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
                now = await self._successor(error, info, until)
                # Places within a key, or between entries, are those of one index.
                if "sequences" in call.columns or "tokens" in call.columns:
                    raise _changed(info, now, "; what was begun does not go on in it") from error
                if not _same_types(info, now):
                    raise _changed(info, now) from error
            info = now
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
        turn = self.connection.bound(self.lane.hold(), until)
        is_held = True
        try:
            await turn
            for piece in pieces:
                call = replace(piece, write_id=self.connection.session.new_write_id())
                reply = self.start(info, call, until, is_ahead=True)
                if piece is pieces[-1]:
                    is_held = False
                    self.lane.release()
                if codes:
                    part = Part(call, await self.go_on(info, reply, until))
                    codes.append(Answer(info, [part]).numbers("codes", "u8"))
                else:
                    answer = await self._first_piece(info, call, reply, until)
                    info = answer.info
                    codes.append(answer.numbers("codes", "u8"))
        except WarpdexError as error:
            # What was stored in an index that is no more has gone with it.
            stored = [] if error.code == "INDEX_CHANGED" else codes
            raise BatchError(error, np.concatenate([np.empty(0, np.uint8), *stored])) from error
        finally:
            if is_held and turn.done() and not turn.cancelled() and turn.exception() is None:
                self.lane.release()
        return np.concatenate(codes)

    async def _first_piece(
        self, info: IndexInfo, call: DataCall, reply: asyncio.Future[Reply], until: float | None
    ) -> Answer:
        """Made again where the index is another one of the same types now; there is no batch yet that it would break."""
        try:
            return Answer(info, [Part(call, await reply)])
        except WarpdexError as error:
            now = await self._successor(error, info, until)
            if not _same_types(info, now):
                raise _changed(info, now) from error
        call = replace(call, write_id=None)
        return Answer(now, [Part(call, await self.start(now, call, until, is_ahead=True))])

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
        if error.code not in _REOPENING:
            raise error
        if self.definition.known == known:
            self.definition.forget()
        now = await self.definition.get(until)
        if (now.handle, now.generation) == (known.handle, known.generation):
            raise error
        return now


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
