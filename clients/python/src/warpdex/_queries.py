"""Queries as they travel: long lists of constants leave the tree for sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _limits
from ._columns import DTYPES, OFFSETS, Column, bits, cut_rows, result_values
from ._frames import WireColumn
from ._relations import Cells, decode_texts
from ._rows import ColumnBatch
from .errors import WarpdexError, bad_request

# Constants that are left where they stand: a few of them take no more room there than a section does.
_INLINE = 64


class _Packing:
    """Goes through a tree once, and takes the constants of long lists of `in` out of it."""

    def __init__(self) -> None:
        self.lists: list[dict[str, WireColumn]] = []

    def packed(self, part: Any, depth: int = 0) -> Any:
        if depth > 3 * _limits.QUERY_DEPTH:
            raise bad_request(f"query: a query is at most {_limits.QUERY_DEPTH} levels deep")
        if isinstance(part, np.ndarray):
            return [_constant(value) for value in part.tolist()]
        if isinstance(part, np.generic):
            return part.item()
        if isinstance(part, Mapping):
            return self._mapping(part, depth)
        if isinstance(part, Sequence) and not isinstance(part, (str, bytes)):
            return [self.packed(element, depth + 1) for element in part]
        return part

    def _mapping(self, part: Mapping[str, Any], depth: int) -> Any:
        args = part.get("args")
        if part.get("op") != "in" or not isinstance(args, Sequence):
            return {name: self.packed(value, depth + 1) for name, value in part.items()}
        if len(args) == 2 and isinstance(args[1], (np.ndarray, list, tuple, set, frozenset)):
            # Plain values in the place of constants.
            args = [args[0], *map(_constant, _plain(args[1]))]
        given = {**part, "args": args}
        if len(args) > _INLINE + 1:
            return self._in(given, depth)
        return {name: self.packed(value, depth + 1) for name, value in given.items()}

    def _in(self, part: Mapping[str, Any], depth: int) -> Any:
        value, *others = part["args"]
        kinds: dict[str, dict[Any, None]] = {"i64": {}, "u64": {}, "f64": {}, "string": {}}
        left = []
        for other in others:
            listed = _listed(other)
            if listed is None:
                left.append(other)
            else:
                kinds[listed[0]][listed[1]] = None
        first = len(self.lists)
        for type in ("i64", "u64", "f64"):
            if kinds[type]:
                self.lists.append(
                    {"values": WireColumn(type, np.array(list(kinds[type]), DTYPES[type]))}
                )
        if kinds["string"]:
            texts = cut_rows([text.encode() for text in kinds["string"]])
            assert texts.offsets is not None
            self.lists.append(
                {
                    "texts": WireColumn("bytes", texts.values),
                    "offsets": WireColumn("u32", texts.offsets),
                }
            )
        args = [self.packed(one, depth + 2) for one in (value, *left)]
        return {**part, "args": args, "lists": list(range(first, len(self.lists)))}


def pack_query(tree: Any) -> tuple[dict[str, Any], dict[str, WireColumn]]:
    """The fields and sections of a query."""
    packing = _Packing()
    query = packing.packed(tree)
    sections = {
        f"{i}.{name}": section
        for i, one in enumerate(packing.lists)
        for name, section in one.items()
    }
    return {"query": query, "lists": len(packing.lists) or None}, sections


def _plain(values: Any) -> list[Any]:
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return listed


def _constant(value: Any) -> Any:
    """A constant as it travels: whole numbers past 2^53 are texts with a type."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**53:
        return {"value": str(value), "type": "i64" if value < 2**63 else "u64"}
    return {"value": value}


def _listed(constant: Any) -> tuple[str, Any] | None:
    """A constant whose type says all of it, with that; None for others, which are left to the tree."""
    if not isinstance(constant, Mapping) or not constant.keys() <= {"value", "type"}:
        return None
    value, type = constant.get("value"), constant.get("type")
    if type is None and isinstance(value, str):
        return "string", value
    if (
        type is None
        and isinstance(value, int)
        and not isinstance(value, bool)
        and abs(value) < 2**53
    ):
        return "i64", value
    if type is None and isinstance(value, float) and not value.is_integer():
        return "f64", value
    if type in ("i64", "u64") and isinstance(value, str):
        try:
            number = int(value)
        except ValueError:
            return None
        held = np.iinfo(DTYPES[type])
        return (type, number) if held.min <= number <= held.max else None
    return None


def batch_of(placed: Mapping[str, Any], sections: Mapping[str, WireColumn]) -> ColumnBatch:
    """Rows of a result, which are views of the reply's memory."""
    try:
        data = sections["data"].values.view(np.uint8)
        rows = placed["rows"]
        cells = {
            column["name"]: (column["type"], _cells(column, rows, data))
            for column in placed["columns"]
        }
    except (KeyError, ValueError) as error:
        raise WarpdexError(
            "INTERNAL", f"the server's reply to a query has no rows: {error}"
        ) from error
    return ColumnBatch(rows, cells)


def _cells(column: Mapping[str, Any], rows: int, data: Any) -> Cells:
    type = column["type"]
    values = result_values(data, column["values"], rows, type)
    validity = texts = None
    if column.get("validity") is not None:
        at = column["validity"]
        validity = bits(data[at : at + (rows + 7) // 8], rows)
    if column.get("texts") is not None:
        at, count = column["texts"]["offset"], column["texts"]["count"]
        ends = data[at : at + count * OFFSETS.itemsize].view(OFFSETS)
        offsets = np.concatenate([[0], ends]).astype(OFFSETS)
        texts = decode_texts(Column(data[at + ends.nbytes :], offsets))
    elif type == "string":
        texts = []
    return Cells(values, validity, texts)
