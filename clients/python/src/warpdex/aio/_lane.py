"""The order of the requests to one index, and what calls on it wait for together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from ..errors import WarpdexError
from ._connection import Connection

T = TypeVar("T")


class Lane:
    """
    Sends requests in the order of their calls where some do not leave at once: single keys that are being gathered leave before the
    next request, and requests wait for a batch that leaves in pieces, or that is one of several indexes.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_held = False
        #: Sends the single keys that are being gathered.
        self._flush: Callable[[], None] | None = None

    def push(self, send: Callable[[], None]) -> None:
        """Sends now, or when what was pushed before is sent."""
        self.flush()
        self._waiting.append(send)
        self._go_on()

    def gather(self, flush: Callable[[], None]) -> None:
        """Has `flush` called, which pushes, before the next request or at the end of the loop's turn."""
        self.flush()
        self._flush = flush
        asyncio.get_running_loop().call_soon(lambda: self.flush() if self._flush is flush else None)

    def flush(self) -> None:
        flush, self._flush = self._flush, None
        if flush is not None:
            flush()

    def hold(self) -> asyncio.Future[None]:
        """Resolves when all that was pushed before is sent; what is pushed after it waits for `release()`."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def take() -> None:
            # Whoever waited for the turn may have given up.
            if not turn.done():
                self._is_held = True
                turn.set_result(None)

        self.push(take)
        return turn

    def release(self) -> None:
        self._is_held = False
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting and not self._is_held:
            self._waiting.popleft()()


class Turns:
    """
    What takes turns on lanes, one on each: what was called before is sent before it, and what is called later waits until it leaves them.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._taken: list[tuple[Lane, asyncio.Future[None]]] = []
        self._are_left = False

    def take(self, lane: Lane) -> None:
        if not self._are_left:
            self._taken.append((lane, lane.hold()))

    def take_behind(self, waiter: asyncio.Future[Any], lane: Lane) -> None:
        """Takes a turn as a call does that waits for what the index is."""
        if waiter.done():
            self.take(lane)
        else:
            waiter.add_done_callback(lambda _: self.take(lane))

    async def come(self, until: float | None) -> None:
        """Waits until all have come that are taken."""
        for _, turn in self._taken:
            await self._connection.bound(turn, until)

    def leave(self) -> None:
        """May be called more than once."""
        self._are_left = True
        for lane, turn in self._taken:
            if not turn.done():
                turn.cancel()
            elif not turn.cancelled() and turn.exception() is None:
                lane.release()
        self._taken.clear()


class Remembered(Generic[T]):
    """
    What is asked for once and shared by all calls that need it, until it is forgotten or could not be had. Calls that wait for it go on in
    their order, and those that come before they have all gone on wait behind them.
    """

    def __init__(self, connection: Connection, ask: Callable[[], Awaitable[T]]) -> None:
        #: The answer, once all calls have gone on that waited for it.
        self.known: T | None = None
        self._connection = connection
        self._ask = ask
        self._waiting: deque[asyncio.Future[T]] = deque()

    def get(self, until: float | None) -> asyncio.Future[T]:
        """Done at once where the answer is known."""
        waiter: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self.known is not None:
            waiter.set_result(self.known)
            return waiter
        self._waiting.append(waiter)
        if len(self._waiting) == 1:
            self._connection.spawn(self._answer())
        return self._connection.bound(waiter, until)

    @property
    def is_awaited(self) -> bool:
        return bool(self._waiting)

    def forget(self) -> None:
        self.known = None

    async def _answer(self) -> None:
        """Asks without bounds, because all calls share the answer; each waits for it within its own."""
        try:
            answer = await self._ask()
        except WarpdexError as error:
            waiting, self._waiting = self._waiting, deque()
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_exception(error.again())
            return
        told = 0
        while told < len(self._waiting):
            for waiter in list(self._waiting)[told:]:
                told += 1
                if not waiter.done():
                    waiter.set_result(answer)
            # They go on before this does.
            await asyncio.sleep(0)
        self.known = answer
        self._waiting.clear()
