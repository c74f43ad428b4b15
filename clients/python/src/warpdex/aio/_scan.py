"""Entries in the order of their keys, one by one or in pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from .. import _limits
from .._calls import Answer, each_entry
from .._inputs import IndexInfo, Key
from .._ranges import Range, prefix_range, ranges_of, scan_call
from .._snapshots import ReadVersion, version_of
from ..errors import WarpdexError, bad_request
from ..results import KeysPage, Page, RangesPage, ValuesPage
from ._index_calls import IndexCalls

#: A page of one kind or another.
P = TypeVar("P", bound="Page | KeysPage | ValuesPage | RangesPage")


@dataclass(frozen=True)
class ScanOptions:
    """A range of keys, and how to go through it."""

    #: Smallest key. Leading parts of a tuple stand for all keys that begin with them.
    from_: Key | None = None
    #: Largest key.
    to: Key | None = None
    #: What all keys begin with, instead of `from_` and `to`: a text, bytes, or leading parts of a tuple.
    prefix: Key | None = None
    from_exclusive: bool = False
    to_exclusive: bool = False
    #: From the largest key down, and within a key from the last payload to the first.
    reverse: bool = False
    #: Entries in all.
    limit: int | None = None
    #: Entries of a page.
    page_size: int = 8192
    #: Token of a page, to continue behind it.
    after: bytes | None = None
    #: The moment that all pages show; that of the first by default.
    snapshot: ReadVersion | None = None
    #: Seconds for each page.
    deadline: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.page_size <= _limits.SCAN_ENTRIES:
            most = _limits.SCAN_ENTRIES
            raise bad_request(f"a page has 1 to {most} entries, not {self.page_size}")
        others = (self.from_, self.to, self.from_exclusive or None, self.to_exclusive or None)
        if self.prefix is not None and any(other is not None for other in others):
            raise bad_request("a scan has a prefix, or from_ and to, not both")

    def range(self, info: IndexInfo) -> Range:
        if self.prefix is not None:
            return prefix_range(self.prefix, info)
        ends: list[Any] = [None if end is None else [end] for end in (self.from_, self.to)]
        return ranges_of(ends[0], ends[1], self.from_exclusive, self.to_exclusive, info)


@dataclass(frozen=True)
class Pages(Generic[P]):
    """What a scan goes through."""

    read: Callable[[Answer, bytes], P]
    without_keys: bool = False
    without_payloads: bool = False


ENTRIES = Pages(
    lambda answer, token: Page(answer.keys(each_entry), answer.payloads(each_entry), token)
)
KEYS = Pages(lambda answer, token: KeysPage(answer.keys(each_entry), token), without_payloads=True)
VALUES = Pages(
    lambda answer, token: ValuesPage(answer.payloads(each_entry), token), without_keys=True
)


class _Place(NamedTuple):
    """Where a scan goes on, and as of what."""

    after: bytes | None
    #: The index that the pages before were of, if there were any.
    of: IndexInfo | None
    version: int | None
    opens_version: bool


class Paged(Generic[P]):
    """What comes in pages."""

    def pages(self) -> AsyncIterator[P]:
        raise NotImplementedError

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for page in self.pages():
            for item in page:
                yield item


class Scan(Paged[P]):
    """
    `async for` goes through what a scan gives one by one, `pages()` through its pages without work for each entry. Every loop starts
    anew. All pages show one moment, that of the first or of `snapshot`; a page of a loop that stood still for ten minutes fails with
    `VERSION_GONE`. Where the name has come to mean another index between two pages, the next one fails with `INDEX_CHANGED`.
    """

    def __init__(self, calls: IndexCalls, pages: Pages[P], options: ScanOptions) -> None:
        self._calls = calls
        self._pages = pages
        self._options = options

    async def pages(self) -> AsyncIterator[P]:
        options = self._options
        connection = self._calls.connection
        given = version_of(options.snapshot)
        # Further pages, if there may be any, see what the first one sees.
        is_long = options.limit is None or options.limit > options.page_size
        own = connection.session.new_version() if given is None and is_long else None
        place = _Place(options.after, None, given if own is None else own, own is not None)
        left, is_open = options.limit, False
        try:
            while left is None or left > 0:
                size = options.page_size if left is None else min(left, options.page_size)
                answer, more = await self._fetch(size, place)
                is_open = is_open or (more and own is not None)
                entries, after = int(answer.groups[-1]), answer.tokens.row(0)
                if entries > 0:
                    yield self._pages.read(answer, after)
                if not more:
                    return
                left = None if left is None else left - entries
                place = _Place(after, answer.info, place.version, False)
        finally:
            if own is not None and is_open:
                connection.spawn(connection.close_version(own))

    async def _fetch(self, size: int, place: _Place) -> tuple[Answer, bool]:
        """The next page, and whether there is more behind it."""
        options, asks = self._options, self._pages
        known, until = await self._calls.begin(options.deadline)
        info = place.of or known
        call = replace(
            scan_call(options.range(info), size, options.reverse, place.after, info),
            without_keys=asks.without_keys,
            without_payloads=asks.without_payloads,
            version=place.version,
            opens_version=place.opens_version,
        )
        answer = await self._calls.ask(info, call, until)
        more = bool(answer.numbers("more", "u8")[0] == 1)
        if more and answer.groups[-1] == 0:
            message = "the server sent an empty page and says that there is more"
            raise WarpdexError("INTERNAL", message)
        return answer, more
