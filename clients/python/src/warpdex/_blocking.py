"""The blocking client: what `warpdex.aio` has, driven in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar

from . import aio
from ._columns import Array
from ._inputs import Key, Keys, Payload
from ._rows import ColumnBatch
from ._runner import Blocking, Runner, blocking, iterating
from ._snapshots import ReadVersion
from .results import KeysPage, Page, RowsColumn, ValuesPage

P = TypeVar("P", bound="Page | KeysPage | ValuesPage")


class Scan(Generic[P]):
    """As `aio.Scan`: a loop goes through entries one by one, `pages()` through pages."""

    def __init__(self, runner: Runner, scan: aio.Scan[P]) -> None:
        self._runner = runner
        self._scan = scan

    def pages(self) -> Iterator[P]:
        return self._runner.iterate(self._scan.pages())

    def __iter__(self) -> Iterator[Any]:
        for page in self.pages():
            yield from page


class RangesPage(Blocking):
    """As `aio.RangesPage`."""

    _own: aio.RangesPage

    def __len__(self) -> int:
        return len(self._own)

    @property
    def keys(self) -> RowsColumn:
        return self._own.keys

    @property
    def payloads(self) -> RowsColumn:
        return self._own.payloads

    @property
    def offsets(self) -> Array:
        """Entries of range i are number offsets[i] to offsets[i + 1] of `keys` and `payloads`."""
        return self._own.offsets

    @property
    def more(self) -> Array:
        """Whether each range may have more entries behind this page."""
        return self._own.more

    def next(self) -> RangesPage | None:
        """The next page of all ranges that may have more entries; None when no range has."""
        page = self._runner.run(self._own.next())
        return None if page is None else RangesPage(self._runner, page)


class WriteBatch(Blocking):
    """As `aio.WriteBatch`: an ordered mix of writes, which is applied as a whole by `write()`."""

    _own: aio.WriteBatch

    def __len__(self) -> int:
        return len(self._own)

    def put(self, key: Key, payload: Payload) -> WriteBatch:
        """Puts a payload in the place of all that the key has."""
        self._own.put(key, payload)
        return self

    def insert(self, key: Key, payload: Payload, *, if_exists: str = "add") -> WriteBatch:
        """Adds a payload as `Index.insert_many` does."""
        self._own.insert(key, payload, if_exists=if_exists)
        return self

    def delete(self, key: Key, *, payload: Payload | None = None) -> WriteBatch:
        """Deletes all payloads of the key or, with `payload`, those that equal it."""
        self._own.delete(key, payload=payload)
        return self

    write = blocking(aio.WriteBatch.write)


class Index(Blocking):
    """As `aio.Index`: an index of the server."""

    _own: aio.Index

    @property
    def name(self) -> str:
        return self._own.name

    definition = blocking(aio.Index.definition)
    stats = blocking(aio.Index.stats)
    get = blocking(aio.Index.get)
    has = blocking(aio.Index.has)
    put = blocking(aio.Index.put)
    insert = blocking(aio.Index.insert)
    delete = blocking(aio.Index.delete)
    count = blocking(aio.Index.count)
    get_all = blocking(aio.Index.get_all)
    get_next = blocking(aio.Index.get_next)
    get_many = blocking(aio.Index.get_many)
    has_many = blocking(aio.Index.has_many)
    get_all_many = blocking(aio.Index.get_all_many)
    count_many = blocking(aio.Index.count_many)
    get_next_many = blocking(aio.Index.get_next_many)
    explain = blocking(aio.Index.explain)
    put_many = blocking(aio.Index.put_many)
    insert_many = blocking(aio.Index.insert_many)
    delete_many = blocking(aio.Index.delete_many)
    count_ranges = blocking(aio.Index.count_ranges)
    delete_range = blocking(aio.Index.delete_range)
    bulk_load = blocking(aio.Index.bulk_load)

    def batch(self) -> WriteBatch:
        """An ordered mix of writes, which is applied as a whole by its `write()`."""
        return WriteBatch(self._runner, self._own.batch())

    def entries(self, **options: Any) -> Scan[Page]:
        """Keys and payloads in the order of the keys; options are those of `ScanOptions`."""
        return Scan(self._runner, self._own.entries(**options))

    def keys(self, **options: Any) -> Scan[KeysPage]:
        """As `entries`, without their payloads: each key as often as it has payloads."""
        return Scan(self._runner, self._own.keys(**options))

    def values(self, **options: Any) -> Scan[ValuesPage]:
        """As `entries`, without their keys."""
        return Scan(self._runner, self._own.values(**options))

    def ranges(
        self, *, limit: int, from_: Keys | None = None, to: Keys | None = None, **options: Any
    ) -> RangesPage:
        """The first entries, up to `limit` of each, of many ranges, as `aio.Index.ranges`."""
        page = self._runner.run(self._own.ranges(limit=limit, from_=from_, to=to, **options))
        return RangesPage(self._runner, page)


class Relation(Blocking):
    """As `aio.Relation`: rows in columns."""

    _own: aio.Relation

    @property
    def name(self) -> str:
        return self._own.name

    definition = blocking(aio.Relation.definition)
    stats = blocking(aio.Relation.stats)
    append = blocking(aio.Relation.append)
    create_index = blocking(aio.Relation.create_index)
    read = blocking(aio.Relation.read)
    pages = iterating(aio.Relation.pages)


class QueryResult(Blocking):
    """As `aio.QueryResult`: a loop goes through the batches of a query's result."""

    _own: aio.QueryResult

    def __iter__(self) -> Iterator[ColumnBatch]:
        return self._runner.iterate(self._own.__aiter__())

    rows = blocking(aio.QueryResult.rows)
    columns = blocking(aio.QueryResult.columns)
    to_arrow = blocking(aio.QueryResult.to_arrow)
    to_pandas = blocking(aio.QueryResult.to_pandas)
    keep = blocking(aio.QueryResult.keep)


class Snapshot(ReadVersion):
    __doc__ = ReadVersion.__doc__

    def __init__(self, runner: Runner, own: aio.Snapshot) -> None:
        super().__init__(own.version)
        self._runner = runner
        self._own = own

    def close(self) -> None:
        """Gives up what the server keeps for it. May be called more than once."""
        self.is_closed = True
        if self._runner.is_open:
            self._runner.run(self._own.close())

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Client(Blocking):
    """
    As `aio.Client`: a server's client, of which any number of threads may make calls at a time. Methods wait for their answer; those of
    several threads are under way together.
    """

    _own: aio.Client

    drop_index = blocking(aio.Client.drop_index)
    list_indexes = blocking(aio.Client.list_indexes)
    drop_relation = blocking(aio.Client.drop_relation)
    list_relations = blocking(aio.Client.list_relations)
    rename_index = blocking(aio.Client.rename_index)
    swap_indexes = blocking(aio.Client.swap_indexes)
    stats = blocking(aio.Client.stats)
    take_snapshot = blocking(aio.Client.take_snapshot)
    back_up = blocking(aio.Client.back_up)
    calibration = blocking(aio.Client.calibration)
    explain_query = blocking(aio.Client.explain_query)

    @property
    def server(self) -> Mapping[str, Any]:
        """What the server said of itself when the connection was last made."""
        return self._own.server

    def index(self, name: str) -> Index:
        """An index by name. Nothing is sent: the first call on it says whether it exists."""
        return Index(self._runner, self._own.index(name))

    def create_index(self, name: str, key_type: str, payload_kind: str, **options: Any) -> Index:
        """Creates an index, as `aio.Client.create_index`."""
        return Index(
            self._runner,
            self._runner.run(self._own.create_index(name, key_type, payload_kind, **options)),
        )

    def snapshot(self, *, seconds: float | None = None, deadline: float | None = None) -> Snapshot:
        """Opens a moment of all indexes for reads that name it, as `aio.Client.snapshot`."""
        own = self._runner.run(self._own.snapshot(seconds=seconds, deadline=deadline))
        return Snapshot(self._runner, own)

    def relation(self, name: str) -> Relation:
        """A relation by name. Nothing is sent: the first call on it says whether it exists."""
        return Relation(self._runner, self._own.relation(name))

    def create_relation(
        self, name: str, columns: Mapping[str, str] | Sequence[Mapping[str, Any]], **options: Any
    ) -> Relation:
        """Creates a relation, as `aio.Client.create_relation`."""
        return Relation(
            self._runner, self._runner.run(self._own.create_relation(name, columns, **options))
        )

    def query(self, query: Mapping[str, Any], *, deadline: float | None = None) -> QueryResult:
        """A query over relations, as `aio.Client.query`."""
        return QueryResult(self._runner, self._own.query(query, deadline=deadline))

    def close(self, *, now: bool = False) -> None:
        """Closes the client, after all calls are answered that were made before; with `now` they fail with `CANCELLED`."""
        if self._runner.is_open:
            self._runner.run(self._own.close(now=now))
            self._runner.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def connect(url: str, **options: Any) -> Client:
    """Connects to a server, as `aio.connect`."""
    runner = Runner()
    try:
        return Client(runner, runner.run(aio.connect(url, **options)))
    except BaseException:
        runner.close()
        raise
