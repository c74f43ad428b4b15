"""The next entries of each of many ranges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._calls import Answer, DataCall, each_entry
from .._columns import Array
from ..errors import WarpdexError
from ..results import RowsColumn
from ._index_calls import IndexCalls


class RangesPage:
    """Ranges keep their numbers over all pages; a finished one has no entries."""

    def __init__(
        self,
        calls: IndexCalls,
        call: DataCall,
        count: int,
        numbers: Array,
        answer: Answer,
        deadline: float | None,
    ) -> None:
        self._calls = calls
        self._call = call
        self._numbers = numbers
        self._answer = answer
        self._deadline = deadline
        self.keys: RowsColumn = answer.keys(each_entry)
        self.payloads: RowsColumn = answer.payloads(each_entry)
        groups = answer.groups
        more = answer.numbers("more", "u8") == 1
        if bool((more & (groups[1:] == groups[:-1])).any()):
            raise WarpdexError(
                "INTERNAL", "the server sent a range without entries and says that it has more"
            )
        #: Whether each range may have more entries behind this page.
        self.more = np.zeros(count, np.bool_)
        self.more[numbers] = more
        lengths = np.zeros(count, np.uint32)
        lengths[numbers] = np.diff(groups)
        #: Entries of range i are number offsets[i] to offsets[i + 1] of `keys` and `payloads`.
        self.offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)

    def __len__(self) -> int:
        return len(self.more)

    async def next(self) -> RangesPage | None:
        """The next page of all ranges that may have more entries; None when no range has. May be called again later."""
        left = np.flatnonzero(self.more[self._numbers])
        if len(left) == 0:
            return None
        until = self._calls.connection.until(self._deadline)
        columns = {**self._call.columns, "tokens": self._answer.tokens}
        call = replace(self._call, columns=columns).pick(left)
        answer = await self._calls.ask(self._answer.info, call, until)
        return RangesPage(self._calls, call, len(self), self._numbers[left], answer, self._deadline)
