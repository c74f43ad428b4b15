"""Kinds of calls that are made of rows: keys that are read, and items that are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ._calls import Answer, DataCall, each, each_entry
from ._columns import Column
from .results import GetAllResult, GetResult, NextResult


@dataclass(frozen=True)
class Kind:
    """What calls have in common that can share a request."""

    op: str
    #: Makes a result of the answer, of which element i is that of row i.
    read: Callable[[Answer], Any]
    reverse: bool = False
    mode: str = "append"

    def call(self, columns: Mapping[str, Column], **options: Any) -> DataCall:
        return DataCall(
            self.op, columns["keys"].rows, columns, reverse=self.reverse, mode=self.mode, **options
        )


def _get(answer: Answer) -> GetResult:
    has_sequences = answer.parts[0].asked.with_sequences
    sequences = answer.numbers("sequences", "u32") if has_sequences else None
    return GetResult(answer.flags("found"), answer.payloads(each), sequences)


def _next(answer: Answer) -> NextResult:
    sequences = answer.numbers("sequences", "u32")
    return NextResult(answer.flags("found"), answer.keys(each), answer.payloads(each), sequences)


def _codes(answer: Answer) -> Any:
    return answer.numbers("codes", "u8")


GET = Kind("get", _get)
GET_ALL = Kind("getAll", lambda answer: GetAllResult(answer.groups, answer.payloads(each_entry)))
COUNT = Kind("count", lambda answer: answer.numbers("counts", "u32"))
NEXT = Kind("getNext", _next)
PREVIOUS = Kind("getNext", _next, reverse=True)
EXPLAIN = Kind("explain", lambda answer: answer.parts[0].reply.fields["explanation"])
WRITE = Kind("write", _codes)
DELETE = Kind("delete", _codes)
#: Inserts, by what becomes of a key that is there.
INSERTS = {
    "add": Kind("insert", _codes),
    "keep": Kind("insert", _codes, mode="ifAbsent"),
    "replace": Kind("insert", _codes, mode="replace"),
}
