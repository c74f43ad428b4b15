"""A relation of the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from .. import _limits
from .._columns import Array
from .._frames import WireColumn, encode_control
from .._queries import pack_query
from .._relations import Cells, batches, cells_of, join_cells, pack_rows, sections_of
from .._rows import ColumnBatch
from ..errors import WarpdexError
from ._connection import Connection
from ._index import Index
from ._lane import Remembered

_DEFINITION_ERRORS = ("UNKNOWN_RELATION", "BAD_REQUEST")


class Relation:
    """A relation of the server: rows in columns. `deadline` of a method is in seconds."""

    def __init__(self, connection: Connection, name: str, index_of: Callable[[str], Index]) -> None:
        self.name = name
        self._connection = connection
        #: Gives an index of the client by its name.
        self._index_of = index_of
        self._definition = Remembered(connection, self._stats)

    def forget(self) -> None:
        """The relation may be another one from now on."""
        self._definition.forget()

    async def definition(self, *, deadline: float | None = None) -> Mapping[str, Any]:
        """What the relation was created as; asked for once."""
        stats = await self._definition.get(self._connection.until(deadline))
        return {"name": stats["name"], "columns": stats["columns"]}

    async def stats(self, *, deadline: float | None = None) -> Mapping[str, Any]:
        """Rows of the relation and its memory."""
        fields, _ = await self._request("stats", {}, self._connection.until(deadline))
        stats: Mapping[str, Any] = fields["relations"][0]
        return stats

    async def append(self, rows: Any, *, deadline: float | None = None) -> range:
        """
        Adds rows at the end: a mapping of lists and arrays by column, a pandas DataFrame, or a pyarrow table or record batch. Nullable columns
        may be missing; a missing value is None, or masked. What is over the limits of a request goes out in several, one after the other,
        each of which is stored as a whole. Returns the numbers of the rows.
        """
        until = self._connection.until(deadline)
        stats = await self._definition.get(until)
        types = _types(stats)
        count, columns = pack_rows(rows, types)
        first, stored = None, 0
        for size, part in batches(count, columns):
            write_id = self._connection.session.new_write_id()
            fields = {"rows": size, "columns": list(part), "writeId": write_id}
            reply, _ = await self._request("append", fields, until, sections_of(part, types))
            first = reply["first"] if first is None else first
            stored += reply["rows"]
        return range(first or 0, (first or 0) + stored)

    async def delete_rows(
        self, where: Mapping[str, Any], /, *, deadline: float | None = None
    ) -> int:
        """Deletes the rows for which a condition is true, an expression as queries have them. Returns how many there were."""
        reply = await self._change({"where": where}, deadline)
        changed: int = reply["changed"]
        return changed

    async def update_rows(
        self,
        where: Mapping[str, Any],
        set_: Mapping[str, Mapping[str, Any]],
        /,
        *,
        deadline: float | None = None,
    ) -> range:
        """
        Gives rows for which a condition is true other values: expressions over the old ones, by column. The rows move to the end; returns
        their new numbers.
        """
        reply = await self._change({"where": where, "set": set_}, deadline)
        first = reply.get("first") or 0
        return range(first, first + reply["changed"])

    async def _change(
        self, change: Mapping[str, Any], deadline: float | None
    ) -> Mapping[str, Any]:
        packed, sections = pack_query(change)
        write_id = self._connection.session.new_write_id()
        fields = {**packed["query"], "lists": packed["lists"], "writeId": write_id}
        until = self._connection.until(deadline)
        reply, _ = await self._request("changeRows", fields, until, sections)
        return reply

    def batch(self, rows: Any) -> RowBatch:
        """Rows as `append` takes them, to be added by `Client.write` together with other writes, in one request."""
        return RowBatch(RowPart(self._connection, self.name, self._definition, rows))

    async def create_index(
        self,
        name: str,
        columns: Sequence[str],
        /,
        *,
        if_not_exists: bool = False,
        deadline: float | None = None,
        **layout: Any,
    ) -> Index:
        """
        Creates an index over columns, with the rows that are there and those that are going to be appended. Its keys are the values of one
        column, or tuples of those of several, and its payloads numbers of rows. With `if_not_exists` an equal index that is there already is
        right. Raises `INDEX_EXISTS`.
        """
        fields = {"index": name, "columns": list(columns), "ifNotExists": if_not_exists, **layout}
        await self._request("createRelationIndex", fields, self._connection.until(deadline))
        return self._index_of(name)

    async def read(
        self,
        *,
        columns: Sequence[str] | None = None,
        from_: int = 0,
        limit: int | None = None,
        deadline: float | None = None,
    ) -> dict[str, Array]:
        """Values of rows, from row `from_` on in the order in which they were appended, as arrays by column."""
        pages = [
            page
            async for page in self.pages(
                columns=columns, from_=from_, limit=limit, deadline=deadline
            )
        ]
        parts: dict[str, list[Cells]] = {}
        for page in pages:
            for name, (_, cells) in page.cells.items():
                parts.setdefault(name, []).append(cells)
        types = {name: type for name, (type, _) in pages[0].cells.items()}
        return {name: join_cells(cells, types[name]) for name, cells in parts.items()}

    async def pages(
        self,
        *,
        columns: Sequence[str] | None = None,
        from_: int = 0,
        limit: int | None = None,
        deadline: float | None = None,
    ) -> AsyncIterator[ColumnBatch]:
        """As `read`, in pages of as many rows as a reply holds; there is one at least. The deadline is that of each page."""
        left, numbering = limit, None
        names = None if columns is None else list(columns)
        while True:
            size = _limits.BATCH_ITEMS if left is None else min(left, _limits.BATCH_ITEMS)
            fields = {"columns": names, "from": from_, "limit": size, "numbering": numbering}
            reply, sections = await self._request(
                "readRelation", fields, self._connection.until(deadline)
            )
            rows = reply["rows"]
            cells = {
                column["name"]: (column["type"], cells_of(i, column["type"], rows, sections))
                for i, column in enumerate(reply["columns"])
            }
            yield ColumnBatch(rows, cells)
            from_ = reply.get("next", from_ + rows)
            # The pages after this one are of the same numbers.
            numbering = reply["numbering"]
            left = None if left is None else left - rows
            if rows == 0 or left == 0 or from_ >= reply["total"]:
                return

    async def _stats(self) -> Mapping[str, Any]:
        return await self.stats()

    async def _request(
        self,
        op: str,
        fields: Mapping[str, Any],
        until: float | None,
        sections: Mapping[str, WireColumn] | None = None,
    ) -> tuple[Mapping[str, Any], Mapping[str, WireColumn]]:
        try:
            return await self._connection.request(
                op, {"relation": self.name, **fields}, until, sections
            )
        except WarpdexError as error:
            # The relation may have been dropped, and made anew with other columns.
            if error.code in _DEFINITION_ERRORS:
                self.forget()
            raise


class RowPart:
    """Rows for a relation, as part of a batch."""

    def __init__(
        self,
        connection: Connection,
        relation: str,
        definition: Remembered[Mapping[str, Any]],
        rows: Any,
    ) -> None:
        self.connection = connection
        self.index = None
        self.lane = None
        self._relation = relation
        self._definition = definition
        self._rows = rows

    def __len__(self) -> int:
        return 0

    def learn(self, until: float | None) -> asyncio.Future[Mapping[str, Any]]:
        return self._definition.get(until)

    async def learn_again(self, error: WarpdexError, known: Any, until: float | None) -> Any:
        if error.code in _DEFINITION_ERRORS:
            self._definition.forget()
        return known

    def frames(self, known: Mapping[str, Any], traversal: Mapping[str, Any]) -> list[bytes]:
        types = _types(known)
        count, columns = pack_rows(self._rows, types)
        about = {"id": 0, "op": "append", "relation": self._relation}
        fields = {**about, "rows": count, "columns": list(columns)}
        return [encode_control(fields, sections_of(columns, types))]


class RowBatch:
    """Rows for one relation, which `Client.write` writes."""

    def __init__(self, part: RowPart) -> None:
        self.part = part


def _types(definition: Mapping[str, Any]) -> dict[str, str]:
    return {column["name"]: column["type"] for column in definition["columns"]}
