"""An event loop in a thread of its own, and how blocking objects stand for asynchronous ones in it."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from .errors import WarpdexError

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
P = ParamSpec("P")


class Runner:
    """Runs coroutines in a thread, for callers of any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="warpdex", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if not self.is_open:
            work.close()
            raise WarpdexError("CANCELLED", "the client was closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            # An interrupted caller does not wait for the answer any more.
            future.cancel()
            raise

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """Each item is asked for when the one before was taken."""

        async def following() -> T:
            return await items.__anext__()

        async def end() -> None:
            await items.aclose()  # type: ignore[attr-defined]

        while True:
            try:
                item = self.run(following())
            except StopAsyncIteration:
                return
            try:
                yield item
            except GeneratorExit:
                if self.is_open:
                    self.run(end())
                raise

    @property
    def is_open(self) -> bool:
        return not self._loop.is_closed()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Blocking:
    """Stands for an asynchronous object that lives in a runner's loop."""

    def __init__(self, runner: Runner, own: Any) -> None:
        self._runner = runner
        self._own = own


@overload
def blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], T]:
    ...


@overload
def blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]], kind: Callable[[Runner, T], B]
) -> Callable[Concatenate[Any, P], B]:
    ...


def blocking(method: Any, kind: Any = None) -> Any:
    """A method that waits for what the asynchronous one gives; an object of a kind stands for that in a blocking program."""

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        answer = self._runner.run(method(self._own, *args, **kwargs))
        return answer if kind is None else kind(self._runner, answer)

    functools.update_wrapper(call, method)
    return call


def standing(
    method: Callable[Concatenate[A, P], T], kind: Callable[[Runner, T], B]
) -> Callable[Concatenate[Any, P], B]:
    """A method that sends nothing: an object of a kind stands for what it gives."""

    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> B:
        return kind(self._runner, method(self._own, *args, **kwargs))

    functools.update_wrapper(call, method)
    return call


def iterating(
    method: Callable[Concatenate[A, P], AsyncIterator[T]],
) -> Callable[Concatenate[Any, P], Iterator[T]]:
    """A method that goes through what the asynchronous one goes through."""

    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        items: Iterator[T] = self._runner.iterate(method(self._own, *args, **kwargs))
        return items

    functools.update_wrapper(call, method)
    return call
