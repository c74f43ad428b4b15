"""Ranges of keys, as columns of their ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._calls import DataCall
from ._columns import Column, cut_rows
from ._inputs import IndexInfo, Key, Keys, blob_column, key_column, listed
from ._limits import KEY_BYTES
from ._tuples import tuple_parts
from .errors import bad_request


@dataclass(frozen=True)
class Range:
    """Ends of ranges as columns, of which an absent one leaves that end open."""

    count: int
    columns: dict[str, Column]
    from_exclusive: bool
    to_exclusive: bool

    def call(self, op: str, **options: Any) -> DataCall:
        """What an operation asks of these ranges."""
        return DataCall(
            op,
            self.count,
            self.columns,
            from_exclusive=self.from_exclusive,
            to_exclusive=self.to_exclusive,
            **options,
        )


def ranges_of(
    from_: Keys | None, to: Keys | None, from_exclusive: bool, to_exclusive: bool, info: IndexInfo
) -> Range:
    """Many ranges, one for each of their ends."""
    columns = {}
    if from_ is not None:
        columns["from"] = _ends(from_, from_exclusive, info)
    if to is not None:
        columns["to"] = _ends(to, not to_exclusive, info)
    counts = {column.rows for column in columns.values()}
    if len(counts) > 1:
        raise bad_request(
            f"ranges have as many ends from as to, not {' and '.join(map(str, counts))}"
        )
    return Range(counts.pop() if counts else 1, columns, from_exclusive, to_exclusive)


def prefix_range(prefix: Key, info: IndexInfo) -> Range:
    """All keys that begin with a text, with bytes, or with leading parts of a tuple."""
    if info.has_fixed_keys:
        raise bad_request(
            f'keys of index "{info.name}" are {info.key_type} and have no prefix; use from_ and to'
        )
    first = key_column([prefix], info, are_ends=True)
    end = _successor(first.row(0))
    columns = {"from": first} if end is None else {"from": first, "to": cut_rows([end])}
    return Range(1, columns, False, True)


def _ends(keys: Keys, behind: bool, info: IndexInfo) -> Column:
    """
    Ends of ranges. Leading parts of tuples stand before all tuples that begin with them; `behind` puts them behind these. No tuple is
    equal to such an end, so it does not matter whether it is excluded.
    """
    if not info.key_type.startswith("tuple(") or blob_column(keys) is not None:
        return key_column(keys, info, are_ends=True)
    given: list[Any] = listed(keys, "ends of ranges")
    column = key_column(given, info, are_ends=True)
    parts = len(tuple_parts(info.key_type))
    if not behind or all(len(key) == parts for key in given):
        return column
    # Stands behind every tuple: none of them is as long and has such bytes only.
    behind_all = b"\xff" * KEY_BYTES
    rows = [column.row(i) for i in range(column.rows)]
    return cut_rows(
        [
            row if len(key) == parts else _successor(row) or behind_all
            for key, row in zip(given, rows)
        ]
    )


def _successor(prefix: bytes) -> bytes | None:
    """The first bytes behind all that begin with the prefix; None where there are none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def scan_call(
    range: Range, limit: int, reverse: bool, after: bytes | None, info: IndexInfo
) -> DataCall:
    """Asks for entries, up to `limit` of each range; one range may go on behind a token."""
    call = range.call("scan", limit=limit, reverse=reverse)
    if after is None:
        return call
    token = np.frombuffer(after, np.uint8)
    cuts = None if info.has_fixed_keys else np.array([0, len(token)], "<u4")
    tokens = Column(token.reshape(1, -1) if cuts is None else token, cuts)
    return replace(call, columns={**call.columns, "tokens": tokens})
