"""
A client's requests, without I/O: which of them are sent, which wait for room or a connection, and which are sent again after a loss. Whoever
has a connection gives frames in and takes them out.
"""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from . import _limits
from ._frames import PROTOCOL_VERSION, Reply, decode_reply, encode_control
from .errors import WarpdexError, connection_lost

HELLO_ID = 0

# A read does no harm however often it is sent, but one that ends every connection must not go on for ever.
_READ_SENDS = 4
# How often other requests are sent.
_SENDS: dict[str, float] = {
    # Whether something was there before cannot be known after a loss, so these are for the caller to repeat.
    **dict.fromkeys(("createIndex", "dropIndex", "createRelation", "dropRelation"), 1),
    **dict.fromkeys(("createRelationIndex", "renameIndex", "swapIndexes", "backup"), 1),
    # A result ends with the connection that it was asked for on.
    **dict.fromkeys(("queryNext", "queryEnd"), 1),
    # A write is sent again once, under the same write id, so that the server applies it once.
    **dict.fromkeys(("insert", "delete", "deleteRange", "write", "load"), 2),
    **dict.fromkeys(("append", "changeRows", "batch"), 2),
    # A feed goes on however often the connection is lost while it waits.
    "watch": math.inf,
}

# Not of each client: so a snapshot of another client names nothing that this one has open.
_versions = itertools.count(1)

#: Told of an answer, or of why there is none.
Settle = Callable[[Reply | WarpdexError], None]


@dataclass
class _Call:
    """A request on its way to an answer."""

    id: int
    op: str
    frame: bytes
    #: How often it may still be sent.
    sends: float
    settle: Settle


class Session:
    """The requests of a client, over one connection after the other."""

    def __init__(self, most_moves: float = math.inf) -> None:
        """After so many moves in a row calls fail with `NOT_OWNER`."""
        #: Scopes the write ids and the numbers of versions.
        self.client = secrets.token_hex(16)
        #: Why the client is closed for good, if it is.
        self.end: WarpdexError | None = None
        #: Calls that are sent, up to the server's bounds, and those that wait behind them, in their order.
        self._sent: dict[int, _Call] = {}
        self._waiting: dict[int, _Call] = {}
        self._sent_bytes = 0
        #: Sends a frame, while there is a connection.
        self._send: Callable[[bytes], None] | None = None
        #: The owner of the server's replica set, as a server told that is not: the address to try next.
        self.owner: str | None = None
        #: Changes of the server in a row, none of which has answered any call.
        self.moves = 0
        self._most_moves = most_moves
        #: Whether the server leaves calls to the owner, so that nothing more is sent to it.
        self._is_moving = False
        self._next_id = HELLO_ID + 1
        self._next_write_id = 1

    def hello(self) -> bytes:
        """The first frame of a connection; the others follow when it is answered."""
        fields = {
            "id": HELLO_ID,
            "op": "hello",
            "protocol": PROTOCOL_VERSION,
            "client": self.client,
        }
        return encode_control(fields)

    @property
    def is_busy(self) -> bool:
        return bool(self._sent or self._waiting)

    def new_write_id(self) -> int:
        """A write id that was not used before."""
        id = self._next_write_id
        self._next_write_id += 1
        return id

    def new_version(self) -> int:
        """A number for a read version that was not used before."""
        return next(_versions)

    def start(self, op: str, encode: Callable[[int], bytes], settle: Settle) -> int:
        """
        Sends a request, now or when there is room or a connection again.
        Returns its id; raises `WarpdexError` for what cannot be encoded, and once the client is closed.
        """
        if self.end is not None:
            raise self.end
        id = self._next_id
        self._next_id += 1
        call = _Call(id, op, encode(id), _SENDS.get(op, _READ_SENDS), settle)
        if self._waiting or not self._send_call(call):
            self._waiting[id] = call
        return id

    def abandon(self, id: int) -> None:
        """Nobody waits for the answer any more."""
        if self._take_sent(id) is None:
            self._waiting.pop(id, None)
        elif self._send is not None:
            self._send(encode_control({"id": self._next_id, "op": "cancel", "target": id}))
            self._next_id += 1
            self._send_waiting()

    def connected(self, send: Callable[[bytes], None]) -> None:
        """There is a connection, and the server has said hello."""
        self._send = send
        self._send_waiting()

    def receive(self, frame: bytes) -> None:
        """
        Takes a server's frame. Raises `WarpdexError` where the connection is of no more use: also where the server leaves calls to the owner
        of its replica set, and has answered all others.
        """
        try:
            reply = decode_reply(frame)
        except WarpdexError as error:
            raise connection_lost(f"the server sent what is no frame: {error}") from error
        if reply.id is None:
            raise reply.error or connection_lost("the server sent a reply without an id")
        call = self._take_sent(reply.id)
        # Replies to abandoned calls, and to the cancel requests that followed them, have no call.
        if call is not None:
            self._answer(call, reply)
        # A feed may wait for ever, and is asked for again.
        if self._is_moving and all(call.op == "watch" for call in self._sent.values()):
            raise connection_lost("the server does not own its replica set")
        self._send_waiting()

    def lost(self, reason: WarpdexError) -> None:
        """The connection is gone: calls that were sent wait again before all others, or fail if they may not."""
        self._send = None
        self._is_moving = False
        sent = self._take_all_sent()
        again = {call.id: call for call in sent if call.sends > 0}
        self._waiting = dict(sorted({**again, **self._waiting}.items()))
        for call in sent:
            if call.sends == 0:
                call.settle(reason)

    def finish(self, reason: WarpdexError) -> None:
        """Closes for good: nothing is sent any more, and whatever is under way fails."""
        if self.end is not None:
            return
        self.end = reason
        self._send = None
        calls = [*self._take_all_sent(), *self._waiting.values()]
        self._waiting.clear()
        for call in calls:
            call.settle(reason)

    def _answer(self, call: _Call, reply: Reply) -> None:
        error = reply.error
        if error is None or error.code != "NOT_OWNER":
            self.moves = 0
        elif self._is_moving or self.moves < self._most_moves:
            # It has done nothing, and is for another server.
            call.sends += 1
            self._waiting[call.id] = call
            if not self._is_moving:
                self.moves += 1
            self._is_moving = True
            self.owner = error.owner
            return
        call.settle(error or reply)

    def _send_call(self, call: _Call) -> bool:
        """False where a call has to wait: for a connection, or because the server has enough to do."""
        size = self._sent_bytes + len(call.frame)
        has_room = not self._sent or (
            len(self._sent) < _limits.REQUESTS_IN_FLIGHT and size <= _limits.BYTES_IN_FLIGHT
        )
        if self._send is None or self._is_moving or not has_room:
            return False
        self._sent[call.id] = call
        self._sent_bytes = size
        call.sends -= 1
        self._send(call.frame)
        return True

    def _take_sent(self, id: int) -> _Call | None:
        call = self._sent.pop(id, None)
        if call is not None:
            self._sent_bytes -= len(call.frame)
        return call

    def _take_all_sent(self) -> list[_Call]:
        calls = list(self._sent.values())
        self._sent.clear()
        self._sent_bytes = 0
        return calls

    def _send_waiting(self) -> None:
        while self._waiting:
            call = next(iter(self._waiting.values()))
            if not self._send_call(call):
                return
            # Sending may have failed all of them.
            self._waiting.pop(call.id, None)
