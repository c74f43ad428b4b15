"""Entries of many ranges at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import numpy as np

from .. import _limits
from .._calls import Answer, each_entry
from .._columns import Array
from .._inputs import Keys
from .._ranges import ranges_of, scan_call
from .._snapshots import ReadVersion, version_of
from ..errors import WarpdexError, bad_request
from ..results import RangesPage
from ._index_calls import IndexCalls
from ._scan import Paged


@dataclass(frozen=True)
class RangesOptions:
    """Ranges of keys: one for each of `from_`, of `to`, or of both together."""

    #: Entries of each range that a page has at most; fewer where the payloads would be too large for a frame.
    page_size: int
    #: Smallest key of each. Leading parts of a tuple stand for all keys that begin with them.
    from_: Keys | None = None
    #: Largest key of each.
    to: Keys | None = None
    from_exclusive: bool = False
    to_exclusive: bool = False
    #: From the largest key of each down, and within a key from the last payload to the first.
    reverse: bool = False
    #: The moment that all pages show; each its own by default.
    snapshot: ReadVersion | None = None
    #: Seconds for each page.
    deadline: float | None = None

    def __post_init__(self) -> None:
        if self.from_ is None and self.to is None:
            raise bad_request("ranges need from_, to or both; entries() goes through a whole index")
        if not 1 <= self.page_size <= _limits.SCAN_ENTRIES:
            most = _limits.SCAN_ENTRIES
            raise bad_request(
                f"a page of ranges has 1 to {most} entries of each, not {self.page_size}"
            )


class Ranges(Paged[RangesPage]):
    """
    Scans of many ranges, in as few requests as it takes: `async for` goes through their entries, `pages()` through pages without work for each
    entry. A page has the next entries of every range that is not at its end, so the entries of a range come in their order, but between
    those of others. Every loop starts anew.
    """

    def __init__(self, calls: IndexCalls, options: RangesOptions) -> None:
        self._calls = calls
        self._options = options

    async def pages(self) -> AsyncIterator[RangesPage]:
        options = self._options
        version = version_of(options.snapshot)
        info, until = await self._calls.begin(options.deadline)
        ranges = ranges_of(
            options.from_, options.to, options.from_exclusive, options.to_exclusive, info
        )
        call = replace(
            scan_call(ranges, options.page_size, options.reverse, None, info), version=version
        )
        numbers = np.arange(call.count)
        while True:
            answer = await self._calls.ask(info, call, until)
            page = _page(answer, numbers, ranges.count)
            yield page
            left = np.flatnonzero(page.more[numbers])
            if len(left) == 0:
                return
            info, numbers = answer.info, numbers[left]
            call = replace(call, columns={**call.columns, "tokens": answer.tokens}).pick(left)
            until = self._calls.connection.until(options.deadline)


def _page(answer: Answer, numbers: Array, count: int) -> RangesPage:
    """What is answered of the ranges of these numbers, in a page of all ranges."""
    groups = answer.groups
    own = answer.numbers("more", "u8") == 1
    if bool((own & (groups[1:] == groups[:-1])).any()):
        raise WarpdexError(
            "INTERNAL", "the server sent a range without entries and says that it has more"
        )
    more = np.zeros(count, np.bool_)
    more[numbers] = own
    lengths = np.zeros(count, np.uint32)
    lengths[numbers] = np.diff(groups)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    return RangesPage(answer.keys(each_entry), answer.payloads(each_entry), offsets, more)
