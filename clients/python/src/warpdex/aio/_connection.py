"""A client's lasting connection: WebSockets to the server one after the other, under one session."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import random
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from .._frames import Reply, WireColumn, decode_reply, encode_control
from .._session import Session
from ..errors import WarpdexError, bad_request, connection_lost
from ._socket import open_socket

T = TypeVar("T")

# Another attempt to connect would fail in the same way.
_FINAL = ("UNAUTHORISED", "BAD_REQUEST", "CANCELLED")
# How long it waits at most before it asks a replica set again that has no owner.
_MOST_OWNERLESS = 0.5


@dataclass(frozen=True)
class ConnectOptions:
    """Options of a client. All times are in seconds."""

    #: What the server knows the client by, where it demands a token.
    token: str | None = None
    #: Certificates in PEM form that vouch for a server at wss://, in place of those that the system trusts.
    ca: str | bytes | None = None
    #: For one attempt to connect.
    connect_timeout: float = 10
    #: Deadline of the calls that name none.
    deadline: float | None = None
    #: Attempts to come back after a lost connection, one after the other, before the client gives up; None for ever.
    reconnect_attempts: int | None = None
    #: Before the first attempt; it doubles from attempt to attempt, less a random part of up to a half.
    reconnect_delay: float = 0.05
    #: The longest of them.
    reconnect_max_delay: float = 5
    #: Of a replica set: "any" reads what the node has that the client is connected to, which may be behind the owner; by default reads go to
    #: the owner. A write goes to the owner in any case, and the client with it.
    reads: Literal["latest", "any"] = "latest"
    #: Called when the connection is lost, before the first attempt to come back.
    on_disconnect: Callable[[WarpdexError], None] | None = None
    #: Called when the connection is there again; what can be sent again is sent after this.
    on_reconnect: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if self.reads not in ("latest", "any"):
            raise bad_request(f'connect: reads is "latest" or "any", not {self.reads!r}')


class Connection:
    """Sends a client's requests, and comes back after a loss. Belongs to the event loop in which it was opened."""

    def __init__(self, urls: str | Sequence[str], options: ConnectOptions) -> None:
        attempts = options.reconnect_attempts
        self.session = Session(math.inf if attempts is None else attempts)
        #: What the server said of itself when the connection was last made.
        self.server: Mapping[str, Any] = {}
        #: One, or those of the nodes of a replica set.
        self._urls = _checked(urls)
        self._next_urls = itertools.cycle(self._urls)
        #: That of the last attempt.
        self._url = self._urls[0]
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._socket: Any = None
        self._frames: deque[bytes] = deque()
        self._has_frames = asyncio.Event()
        self._has_less = asyncio.Event()
        self._is_closing = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._under_way = 0
        #: What nobody waits for at the end: the requests of feeds.
        self._endless: set[asyncio.Future[Any]] = set()
        self._life: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Raises `WarpdexError` when the first attempt fails, at the last of the addresses."""
        for left in reversed(range(len(self._urls))):
            try:
                await self._open_socket()
                break
            except WarpdexError:
                if left == 0:
                    raise
        self._life = self._loop.create_task(self._stay_connected())

    def check_open(self) -> None:
        """Raises `CANCELLED` after `close()`."""
        if self.session.end is not None:
            raise self.session.end.again()
        if self._is_closing.is_set():
            raise _closed()

    def until(self, deadline: float | None) -> float | None:
        """
        When a call that begins ends at the latest, by the loop's clock.
        Raises `CANCELLED` for one that begins after `close()`.
        """
        self.check_open()
        seconds = self._options.deadline if deadline is None else deadline
        return None if seconds is None else self._loop.time() + seconds

    def milliseconds_left(self, until: float | None) -> int:
        """What a request says of the time that is left for it: 0 where that is longer than it can say."""
        if until is None:
            return 0
        left = math.ceil((until - self._loop.time()) * 1000)
        return 0 if left > 0xFFFFFFFF else max(left, 1)

    def start(
        self, op: str, encode: Callable[[int], bytes], until: float | None
    ) -> asyncio.Future[Reply]:
        """Sends a request, now or when there is room or a connection again."""
        future: asyncio.Future[Reply] = self._loop.create_future()
        id = self.session.start(op, encode, lambda answer: self._settle(future, answer))
        future.add_done_callback(lambda _: self._forget(id))
        self.bound(future, until)
        return future

    def bound(self, future: asyncio.Future[T], until: float | None) -> asyncio.Future[T]:
        """Has a future fail with `DEADLINE_EXCEEDED` at a time."""
        if until is None:
            return future

        def expire() -> None:
            if not future.done():
                message = "the call was not answered before its deadline"
                future.set_exception(WarpdexError("DEADLINE_EXCEEDED", message))

        timer = self._loop.call_at(until, expire)
        future.add_done_callback(lambda _: timer.cancel())
        return future

    def endless(self, future: asyncio.Future[T]) -> asyncio.Future[T]:
        """Has a future fail with `CANCELLED` when the client is to be closed, which does not wait for it."""
        self._endless.add(future)
        future.add_done_callback(self._endless.discard)
        return future

    async def request(
        self,
        op: str,
        fields: Mapping[str, Any],
        until: float | None,
        sections: Mapping[str, WireColumn] | None = None,
    ) -> tuple[Mapping[str, Any], Mapping[str, WireColumn]]:
        """Sends a control request. Returns the reply's fields and sections."""
        reply = await self.start(
            op, lambda id: encode_control({"id": id, "op": op, **fields}, sections), until
        )
        return reply.fields, reply.columns

    async def close_version(self, version: int) -> None:
        """Gives a read version up. Where the server does not hear of it, it ends by itself."""
        with contextlib.suppress(WarpdexError):
            await self.request("closeVersion", {"version": version}, None)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs what a client does by itself, and has `close()` wait for it."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end_task)

    async def during(self, work: Coroutine[Any, Any, T]) -> T:
        """Has `close()` wait for a call that may have no request under way for some time."""
        self._under_way += 1
        try:
            return await work
        finally:
            self._under_way -= 1
            self._has_less.set()

    async def close(self, now: bool) -> None:
        """Closes the connection, after what is under way unless that is to end now."""
        self._is_closing.set()
        for future in list(self._endless):
            if not future.done():
                future.set_exception(_closed())
        while not now and self.session.end is None:
            # What follows from an answer is on its way by then.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if not (self.session.is_busy or self._tasks or self._under_way):
                break
            self._has_less.clear()
            await self._has_less.wait()
        self._finish(_closed())
        life, self._life = self._life, None
        if life is not None:
            life.cancel()
            await asyncio.gather(life, return_exceptions=True)

    def _settle(self, future: asyncio.Future[Reply], answer: Reply | WarpdexError) -> None:
        if future.done():
            return
        if isinstance(answer, WarpdexError):
            future.set_exception(answer.again())
        else:
            future.set_result(answer)

    def _forget(self, id: int) -> None:
        self.session.abandon(id)
        self._has_less.set()

    def _end_task(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self._has_less.set()

    def _finish(self, reason: WarpdexError) -> None:
        self._is_closing.set()
        self.session.finish(reason)
        self._has_less.set()

    def _address(self) -> str:
        """Where to connect: to the owner, or to the next in turn."""
        owner, self.session.owner = self.session.owner, None
        url = owner or next(self._next_urls)
        if self._options.reads == "latest":
            return url
        return f"{url}{'&' if '?' in url else '?'}reads=any"

    async def _open_socket(self) -> None:
        self._url = self._address()
        try:
            await asyncio.wait_for(self._say_hello(), self._options.connect_timeout)
        except asyncio.TimeoutError:
            message = f"no connection to {self._url}: no answer within {self._options.connect_timeout} seconds"
            raise connection_lost(message) from None

    async def _say_hello(self) -> None:
        socket = await open_socket(self._url, self._options.token, self._options.ca)
        try:
            await socket.send(self.session.hello())
            reply = decode_reply(await socket.recv())
        except BaseException as error:
            await socket.close()
            if isinstance(error, Exception) and not isinstance(error, WarpdexError):
                raise connection_lost(f"no connection to {self._url}: {error}") from error
            raise
        if reply.error is not None:
            await socket.close()
            raise reply.error
        self.server = reply.fields
        self._socket = socket

    async def _stay_connected(self) -> None:
        try:
            while True:
                reason = await self._serve()
                self.session.lost(reason)
                self._has_less.set()
                if self._options.on_disconnect is not None:
                    self._options.on_disconnect(reason)
                await self._come_back(reason)
                if self._options.on_reconnect is not None:
                    self._options.on_reconnect()
        except WarpdexError as error:
            self._finish(error)
        except Exception as error:  # What a callback of the caller raised.
            self._finish(WarpdexError("INTERNAL", f"{type(error).__name__}: {error}"))

    async def _serve(self) -> WarpdexError:
        """Sends and receives until the connection is lost. Returns why it was."""
        socket = self._socket
        self._frames.clear()
        sender = self._loop.create_task(self._send_frames(socket))
        self.session.connected(self._enqueue)
        try:
            while True:
                frame = await socket.recv()
                if isinstance(frame, str):
                    raise connection_lost("the server sent text instead of a frame")
                self.session.receive(frame)
        except Exception as error:
            reason = (
                f"{error}"
                if isinstance(error, WarpdexError)
                else f"no connection to {self._url}: {error}"
            )
            return connection_lost(reason)
        finally:
            sender.cancel()
            await asyncio.gather(sender, socket.close(), return_exceptions=True)

    def _enqueue(self, frame: bytes) -> None:
        self._frames.append(frame)
        self._has_frames.set()

    async def _send_frames(self, socket: Any) -> None:
        while True:
            while self._frames:
                await socket.send(self._frames.popleft())
            self._has_frames.clear()
            await self._has_frames.wait()

    async def _come_back(self, reason: WarpdexError) -> None:
        options = self._options
        failure, attempt = reason, 0
        max_delay = options.reconnect_max_delay
        moves = self.session.moves
        if len(self._urls) > 1 or moves > 0:
            # Another node may be the owner by now.
            max_delay = min(max_delay, _MOST_OWNERLESS)
        while options.reconnect_attempts is None or attempt < options.reconnect_attempts:
            delay = min(max_delay, options.reconnect_delay * 2 ** min(attempt + moves, 32))
            # Half of the delay is left to chance, so that the clients of a restarted server do not all come at once.
            delay *= 0.5 + random.random() / 2
            # Whoever closes the client waits for an owner, and does not ask for it without pauses.
            await (self.pause(delay) if moves == 0 else asyncio.sleep(delay))
            try:
                return await self._open_socket()
            except WarpdexError as error:
                failure = error
            # Whoever closes the client does not wait for a server that is gone.
            if failure.code in _FINAL or self._is_closing.is_set():
                break
            attempt += 1
        raise failure

    async def pause(self, seconds: float) -> None:
        """Ends early when the client is to be closed."""
        try:
            await asyncio.wait_for(self._is_closing.wait(), seconds)
        except asyncio.TimeoutError:
            pass


def _checked(urls: str | Sequence[str]) -> Sequence[str]:
    addresses = [urls] if isinstance(urls, str) else urls
    if isinstance(addresses, Sequence) and addresses and all(isinstance(a, str) for a in addresses):
        return addresses
    right = 'the address of a server, such as "ws://127.0.0.1:7070", or several'
    raise bad_request(f"connect takes {right}, not {urls!r}")


def _closed() -> WarpdexError:
    return WarpdexError("CANCELLED", "the client was closed")
