"""Batches of several indexes and relations, and what they expect, of a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import warpdex
from relay import Relay
from warpdex import ResultCode, WarpdexError, aio

from server import URL, AsyncWithServer, WithServer

INSERTED, REPLACED, DELETED = ResultCode.INSERTED, ResultCode.REPLACED, ResultCode.DELETED


class Batches(WithServer):
    """By the blocking client."""

    def setUp(self) -> None:
        self.client = warpdex.connect(URL)
        self.addCleanup(self.client.close)
        name = self.unused()
        self.stock = self.client.create_index(f"{name} stock", "string", "u32", unique=True)
        self.orders = self.client.create_index(f"{name} orders", "u64", "json")
        self.log = self.client.create_relation(f"{name} log", {"what": "string?"})
        self.addCleanup(self.client.drop_relation, self.log.name, if_exists=True)

    def assert_code(self, code: str, message: str, call: Any, *args: Any) -> WarpdexError:
        with self.assertRaisesRegex(WarpdexError, message) as raised:
            call(*args)
        self.assertEqual(raised.exception.code, code)
        return raised.exception

    def test_several_are_written_together(self) -> None:
        first, second, rows = self.client.write(
            [
                self.stock.batch().put("tea", 7).put("rice", 3).delete("tea"),
                self.orders.batch().insert(1, {"of": "tea"}).insert(1, {"of": "rice"}),
                self.log.batch({"what": ["ordered", None]}),
            ]
        )
        self.assertEqual([list(first), list(second)], [[INSERTED, INSERTED, DELETED], [0, 0]])
        self.assertEqual(rows, range(0, 2))
        self.assertEqual(list(self.stock.entries()), [("rice", 3)])
        self.assertEqual(self.orders.get_all(1), [{"of": "tea"}, {"of": "rice"}])
        self.assertEqual(self.log.read()["what"].tolist(), ["ordered", None])
        self.assertEqual(self.client.write([]), [])

    def test_nothing_is_written_where_something_is_not_as_expected(self) -> None:
        self.stock.put("rice", 3)
        self.orders.put(1, {"of": "tea"})

        def sold() -> list[Any]:
            return self.client.write(
                [
                    self.log.batch({"what": ["sold"]}),
                    self.stock.batch()
                    .expect("tea", exists=False)
                    .expect("rice", payload=3)
                    .put("rice", 2),
                    self.orders.batch()
                    .expect(1, payload={"of": "tea"})
                    .expect(2, exists=False)
                    .put(2, None),
                ]
            )

        place, codes, others = sold()
        self.assertEqual(
            (place, codes.tolist(), others.tolist()), (range(0, 1), [REPLACED], [INSERTED])
        )
        self.assertEqual(self.assert_code("CONDITION_FAILED", "wants another", sold).item, 1)
        self.stock.put("rice", 3)
        self.assertEqual(self.assert_code("CONDITION_FAILED", "wants no payload", sold).item, 3)
        self.assertEqual((self.stock.get("rice"), len(self.log.read()["what"])), (3, 1))

    def test_a_batch_of_one_index_may_expect_something(self) -> None:
        stock = self.stock
        self.assertEqual(
            stock.batch().expect("tea", exists=False).put("tea", 1).write().tolist(), [INSERTED]
        )
        again = stock.batch().put("tea", 2).expect("tea", exists=False)
        self.assertEqual(
            self.assert_code("CONDITION_FAILED", "wants no payload", again.write).item, 0
        )
        self.assertEqual(stock.batch().expect("tea", exists=True).write().tolist(), [])
        lists = self.client.create_index(self.unused(), "u32", "u32")
        lists.insert_many([1, 1], [5, 5])
        sequences = lists.get_many([1], sequences=True).sequences
        assert sequences is not None
        sequence = int(sequences[0])
        lists.batch().expect(1, sequence=sequence).insert(1, 5).write()
        lists.put(1, 5)
        stale = lists.batch().expect(1, sequence=sequence).delete(1)
        self.assert_code("CONDITION_FAILED", "", stale.write)

    def test_none_is_a_payload_of_kind_json(self) -> None:
        self.orders.insert_many([1, 1], [None, 7])
        self.orders.batch().expect(1, payload=None).put(2, 1).write()
        self.assertTrue(self.orders.delete(1, payload=None))
        self.orders.batch().delete(1, payload=None).insert(1, None).write()
        self.assertEqual(self.orders.get_all(1), [7, None])

    def test_what_does_not_do_is_refused_before_anything_is_written(self) -> None:
        stock, orders, log = self.stock, self.orders, self.log
        none = self.client.index("there is none")
        with warpdex.connect(URL) as other:
            wrong: Any = stock.batch()
            unlike: Any = "x"
            for code, message, batches in (
                ("BAD_REQUEST", "different indexes", [stock.batch(), stock.batch().put("b", 1)]),
                ("BAD_REQUEST", "relation", [log.batch({"what": []}), log.batch({"what": []})]),
                ("BAD_REQUEST", "of one client", [stock.batch(), other.index("x").batch()]),
                ("BAD_REQUEST", "takes a list of batches", wrong),
                ("BAD_REQUEST", "takes a list of batches", [stock]),
                ("BAD_REQUEST", "u64", [stock.batch().put("a", 1), orders.batch().put(unlike, 1)]),
                ("BAD_REQUEST", "when", [stock.batch().put("a", 1), log.batch({"when": [1]})]),
                ("UNKNOWN_INDEX", "", [stock.batch().put("a", 1), none.batch().delete(1)]),
            ):
                with self.subTest(message):
                    self.assert_code(code, message, self.client.write, batches)
            self.assert_code("BAD_REQUEST", "one of exists", stock.batch().expect, "a")
            with self.assertRaises(WarpdexError):
                stock.batch().expect("a", exists=True, payload=1)
            self.assertIsNone(stock.get("a"))

    def test_names_that_come_to_mean_another_index(self) -> None:
        name = self.stock.name
        self.stock.put("a", 0)
        with warpdex.connect(URL) as other:
            other.drop_index(name)
            other.create_index(name, "string", "u32", unique=True)
            self.client.write([self.orders.batch().put(1, 1), self.stock.batch().put("a", 1)])
            self.assertEqual(other.index(name).get("a"), 1)
            other.drop_index(name)
            other.create_index(name, "u32", "u32")
            both = [self.orders.batch().put(1, 2), self.stock.batch().put("a", 1)]
            self.assert_code("INDEX_CHANGED", "", self.client.write, both)
            self.assertEqual(self.orders.get(1), 1)


class AsyncBatches(AsyncWithServer):
    """By the client for asyncio."""

    async def open(self, url: str = URL) -> aio.Client:
        client = await aio.connect(url, reconnect_delay=0.005)
        self.addAsyncCleanup(client.close)
        return client

    async def test_read_compute_write(self) -> None:
        client = await self.open()
        stock = await client.create_index(self.unused(), "string", "u32")
        await stock.put("tea", 0)

        async def add() -> None:
            while True:
                count = await stock.get("tea")
                try:
                    await stock.batch().expect("tea", payload=count).put("tea", count + 1).write()
                    return
                except WarpdexError as error:
                    self.assertEqual((error.code, error.item), ("CONDITION_FAILED", 0))

        await asyncio.gather(*(add() for _ in range(12)))
        self.assertEqual(await stock.get("tea"), 12)

    async def test_calls_before_and_after_it(self) -> None:
        maker = await self.open()
        name = self.unused()
        for part in ("stock", "orders"):
            await maker.create_index(f"{name} {part}", "u32", "u32")
        for opened in ([], ["stock"], ["orders"], ["stock", "orders"]):
            client = await self.open()
            stock, orders = client.index(f"{name} stock"), client.index(f"{name} orders")
            for part in opened:
                await client.index(f"{name} {part}").definition()
            await maker.write([maker.index(one.name).batch().delete(1) for one in (stock, orders)])
            before, one, _, after, other, snapshot = await asyncio.gather(
                stock.get(1),
                orders.count(1),
                client.write([orders.batch().put(1, 1), stock.batch().put(1, 1)]),
                stock.get(1),
                orders.count_many([1]),
                client.snapshot(),
            )
            async with snapshot:
                self.assertEqual((before, one, after, other.tolist()), (None, 0, 1, [1]))
                self.assertEqual(await stock.get(1, snapshot=snapshot), 1)

    async def test_writes_of_the_same_indexes_do_not_wait_for_each_other_forever(self) -> None:
        client = await self.open()
        name = self.unused()
        one, other = [await client.create_index(f"{name} {i}", "u32", "u32") for i in range(2)]
        both = [[one, other], [other, one]]
        for i in range(20):
            if i % 3 == 0:
                client = await self.open()
            pairs = [
                [client.index(index.name).batch().insert(1, i) for index in pair] for pair in both
            ]
            await asyncio.wait_for(asyncio.gather(*map(client.write, pairs)), 10)
        self.assertEqual(await asyncio.gather(one.count(1), other.count(1)), [40, 40])

    async def test_who_gives_up_leaves_others_their_turn(self) -> None:
        client = await self.open()
        index = await client.create_index(self.unused(), "u32", "u32")
        missing = client.index("there is none")
        fails = client.write([index.batch().put(1, 1), missing.batch().put(1, 1)])
        cancelled = asyncio.ensure_future(client.write([index.batch().put(1, 2)]))
        await asyncio.sleep(0)
        cancelled.cancel()
        later = asyncio.ensure_future(index.put(1, 3))
        with self.assertRaises(WarpdexError):
            await fails
        await asyncio.wait_for(later, 10)
        self.assertEqual(await asyncio.wait_for(index.get_all(1), 10), [3])

    async def test_a_batch_is_written_once_over_lost_connections(self) -> None:
        async with Relay(URL) as relay:
            client = await self.open(relay.url)
            name = self.unused()
            one, other = [await client.create_index(f"{name} {i}", "u32", "u32") for i in range(2)]
            log = await client.create_relation(f"{name} log", {"n": "u32"})
            for cut in ("cut_before", "cut_after"):
                left = [True]
                setattr(relay, cut, lambda: bool(left) and left.pop())
                batches = [
                    one.batch().insert(1, 1),
                    other.batch().insert(1, 1),
                    log.batch({"n": [1]}),
                ]
                await client.write(batches)
                setattr(relay, cut, lambda: False)
            self.assertEqual(await asyncio.gather(one.count(1), other.count(1)), [2, 2])
            self.assertEqual((await log.read())["n"].tolist(), [1, 1])
            await client.drop_relation(log.name)
