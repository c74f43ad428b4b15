"""The blocking client: what `warpdex.aio` has, driven in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic

from . import aio
from ._closing import Closing
from ._rows import ColumnBatch
from ._runner import Blocking, Runner, blocking, iterating, standing
from ._snapshots import ReadVersion
from .aio._scan import P, Paged
from .aio._write_batch import Gathering
from .results import KeysPage, Page, RangesPage, ValuesPage


class Scan(Generic[P]):
    """As `aio.Scan` and `aio.Ranges`: a loop goes through entries one by one, `pages()` through pages."""

    def __init__(self, runner: Runner, scan: Paged[P]) -> None:
        self._runner = runner
        self._scan = scan

    def pages(self) -> Iterator[P]:
        return self._runner.iterate(self._scan.pages())

    def __iter__(self) -> Iterator[Any]:
        for page in self.pages():
            yield from page


class WriteBatch(Gathering, Blocking):
    """As `aio.WriteBatch`: an ordered mix of writes to one index, and what is expected of it."""

    def __init__(self, runner: Runner, own: aio.WriteBatch) -> None:
        super().__init__(runner, own)
        self.part = own.part

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
    batch = standing(aio.Index.batch, WriteBatch)
    entries = standing(aio.Index.entries, Scan[Page])
    keys = standing(aio.Index.keys, Scan[KeysPage])
    values = standing(aio.Index.values, Scan[ValuesPage])
    ranges = standing(aio.Index.ranges, Scan[RangesPage])
    watch = iterating(aio.Index.watch)


class Relation(Blocking):
    """As `aio.Relation`: rows in columns."""

    _own: aio.Relation

    @property
    def name(self) -> str:
        return self._own.name

    definition = blocking(aio.Relation.definition)
    stats = blocking(aio.Relation.stats)
    append = blocking(aio.Relation.append)
    delete_rows = blocking(aio.Relation.delete_rows)
    update_rows = blocking(aio.Relation.update_rows)
    create_index = blocking(aio.Relation.create_index, Index)
    read = blocking(aio.Relation.read)
    pages = iterating(aio.Relation.pages)

    def batch(self, rows: Any) -> aio.RowBatch:
        """Rows to be added by `Client.write` together with other writes, as `aio.Relation.batch`."""
        return self._own.batch(rows)


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


class Snapshot(ReadVersion, Closing):
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


class Client(Blocking, Closing):
    """
    As `aio.Client`: a server's client, of which any number of threads may make calls at a time. Methods wait for their answer; those of
    several threads are under way together.
    """

    _own: aio.Client

    index = standing(aio.Client.index, Index)
    create_index = blocking(aio.Client.create_index, Index)
    drop_index = blocking(aio.Client.drop_index)
    list_indexes = blocking(aio.Client.list_indexes)
    relation = standing(aio.Client.relation, Relation)
    create_relation = blocking(aio.Client.create_relation, Relation)
    drop_relation = blocking(aio.Client.drop_relation)
    list_relations = blocking(aio.Client.list_relations)
    rename_index = blocking(aio.Client.rename_index)
    swap_indexes = blocking(aio.Client.swap_indexes)
    stats = blocking(aio.Client.stats)
    write = blocking(aio.Client.write)
    snapshot = blocking(aio.Client.snapshot, Snapshot)
    position = blocking(aio.Client.position)
    reached = blocking(aio.Client.reached)
    take_snapshot = blocking(aio.Client.take_snapshot)
    back_up = blocking(aio.Client.back_up)
    slow_requests = blocking(aio.Client.slow_requests)
    calibration = blocking(aio.Client.calibration)
    query = standing(aio.Client.query, QueryResult)
    explain_query = blocking(aio.Client.explain_query)
    sql = standing(aio.Client.sql, QueryResult)
    explain_sql = blocking(aio.Client.explain_sql)

    @property
    def server(self) -> Mapping[str, Any]:
        """What the server said of itself when the connection was last made."""
        return self._own.server

    def close(self, *, now: bool = False) -> None:
        """Closes the client, after all calls are answered that were made before; with `now` they fail with `CANCELLED`."""
        if self._runner.is_open:
            self._runner.run(self._own.close(now=now))
            self._runner.close()


def connect(url: str | Sequence[str], **options: Any) -> Client:
    """Connects to a server, as `aio.connect`."""
    runner = Runner()
    try:
        return Client(runner, runner.run(aio.connect(url, **options)))
    except BaseException:
        runner.close()
        raise
