"""Entries in the order of their keys, one by one or in pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Generic, TypeVar

from ..results import Page

T = TypeVar("T")


class Scan(Generic[T]):
    """
    `async for` goes through what a scan gives one by one, `pages()` through its pages without work for each entry. Every loop starts
    anew. Each page shows the index as of its own request, and every entry that is there all along comes exactly once.
    """

    def __init__(
        self, pages: Callable[[], AsyncIterator[Page]], items: Callable[[Page], Iterable[T]]
    ) -> None:
        self._pages = pages
        #: What is given of a page.
        self.items = items

    def pages(self) -> AsyncIterator[Page]:
        return self._pages()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self._pages():
            for item in self.items(page):
                yield item
