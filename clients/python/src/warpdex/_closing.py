"""What `with` and `async with` close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

S = TypeVar("S")


class Closing(ABC):
    @abstractmethod
    def close(self) -> None:
        ...

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClosing(ABC):
    @abstractmethod
    async def close(self) -> None:
        ...

    async def __aenter__(self: S) -> S:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
