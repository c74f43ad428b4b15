"""Feeds of changes, of a real server."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Iterable
from typing import Any

import numpy as np
import warpdex
from relay import Relay
from warpdex import Change, ChangeBatch, ChangeOp, DeletedRange, WarpdexError, aio

from server import URL, AsyncWithServer, WithServer

INSERT, PUT, DELETE = ChangeOp.INSERT, ChangeOp.PUT, ChangeOp.DELETE


def changes_of(batches: Iterable[ChangeBatch]) -> list[Change]:
    return [change for batch in batches for change in batch]


class Feeds(WithServer):
    """By the blocking client."""

    def setUp(self) -> None:
        self.client = warpdex.connect(URL)
        self.addCleanup(self.client.close)
        self.texts = self.client.create_index(self.unused(), "string", "text")

    def test_changes_come_as_they_were_made(self) -> None:
        texts = self.texts
        with self.client.snapshot() as begin:
            texts.batch().insert("a", "one").insert("a", "two").insert("b", "1").write()
            texts.insert_many(["b", "c"], ["two", "three"], if_exists="keep")
            texts.delete("nobody")
            texts.put("a", "new")
            texts.delete("b", payload="1")
            texts.delete("c")
            texts.delete_range(from_="a", to="b", from_exclusive=True)
            texts.delete_range(to="b", to_exclusive=True)
            feed = texts.watch(from_=begin)
            batches = list(itertools.islice(feed, 7))
        expected = [
            Change(INSERT, "a", "one"),
            Change(INSERT, "a", "two"),
            Change(INSERT, "b", "1"),
            Change(INSERT, "c", "three"),
            Change(PUT, "a", "new"),
            Change(ChangeOp.DELETE_PAYLOAD, "b", "1"),
            Change(DELETE, "c"),
            Change(ChangeOp.DELETE_RANGE, range=DeletedRange("a", "b", True, False)),
            Change(ChangeOp.DELETE_RANGE, range=DeletedRange(None, "b", False, True)),
        ]
        self.assertEqual(changes_of(batches), expected)
        self.assertEqual([batch[len(batch) - 1] for batch in batches], expected[2:])
        rest = texts.watch(from_=batches[4].position)
        self.assertEqual(changes_of(itertools.islice(rest, 2)), expected[7:])

    def test_columns_are_views_of_the_reply(self) -> None:
        index = self.client.create_index(self.unused(), "u32", "u64")
        with self.client.snapshot() as begin:
            index.put_many(np.arange(1000, dtype="u4"), np.arange(1000, dtype="u8"))
            index.delete_many([1, 2])
            batches = list(itertools.islice(index.watch(from_=begin), 2))
        self.assertEqual(batches[0].keys.tolist(), list(range(1000)))
        assert isinstance(batches[0].payloads, np.ndarray)
        self.assertEqual(batches[0].payloads.dtype, np.uint64)
        for column in (batches[0].ops, batches[0].keys, batches[0].payloads):
            self.assertFalse(column.flags.owndata)
        self.assertIsNone(batches[1].payloads)
        self.assertEqual(list(batches[1]), [Change(DELETE, 1), Change(DELETE, 2)])

    def test_a_feed_ends_with_its_client(self) -> None:
        other = warpdex.connect(URL)
        index = other.index(self.texts.name)
        seen: list[Any] = []

        def follow() -> None:
            try:
                for batch in index.watch():
                    seen.extend(batch)
                    other_saw.set()
            except WarpdexError as error:
                seen.append(error.code)

        other_saw = threading.Event()
        thread = threading.Thread(target=follow)
        thread.start()
        i = 0
        # Until the feed has begun.
        while not other_saw.wait(0.02):
            self.texts.put("a", f"{i}")
            i += 1
        other.close()
        thread.join(10)
        self.assertFalse(thread.is_alive())
        self.assertEqual(seen[-1], "CANCELLED")
        self.assertEqual(seen[0].op, PUT)
        for call in (lambda: index.get("a"), lambda: next(index.watch())):
            with self.assertRaises(WarpdexError) as raised:
                call()
            self.assertEqual(raised.exception.code, "CANCELLED")


class AsyncFeeds(AsyncWithServer):
    """By the client for asyncio."""

    async def open(self, url: str = URL, **options: Any) -> aio.Client:
        client = await aio.connect(url, reconnect_delay=0.005, **options)
        self.addAsyncCleanup(client.close)
        return client

    async def assert_code(self, code: str, feed: AsyncIterator[ChangeBatch]) -> None:
        with self.assertRaises(WarpdexError) as raised:
            await feed.__anext__()
        self.assertEqual(raised.exception.code, code, raised.exception)

    async def test_a_feed_begins_behind_what_is_durable(self) -> None:
        # The deadline of calls is none of a feed.
        client = await self.open(deadline=2)
        index = await client.create_index(self.unused(), "u32", "u32")
        await index.put(1, 1)
        feed = index.watch()
        first = asyncio.ensure_future(feed.__anext__())
        await asyncio.sleep(0)
        await index.get(1)
        await asyncio.sleep(2.2)
        await index.put(2, 2)
        self.assertEqual(list(await first), [Change(PUT, 2, 2)])
        waiting = asyncio.ensure_future(feed.__anext__())
        await asyncio.sleep(0)
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting

    async def test_what_has_become_of_its_index(self) -> None:
        client = await self.open()
        name = self.unused()
        index = await client.create_index(name, "u32", "u32")
        async with await client.snapshot() as begin:
            await index.put(1, 1)
            position = (await index.watch(from_=begin).__anext__()).position
        await self.assert_code("BAD_REQUEST", index.watch(from_="x"))
        await self.assert_code("BAD_REQUEST", index.watch(from_=begin))
        handle, generation, at = position.split(".")
        await self.assert_code(
            "POSITION_GONE", index.watch(from_=f"{handle}.{generation}.{int(at) + 9}")
        )
        renamed = asyncio.ensure_future(index.watch(from_=position).__anext__())
        other = await client.create_index(f"{name} other", "u32", "u32")
        await index.get(1)
        await client.swap_indexes(name, other.name)
        with self.assertRaises(WarpdexError) as raised:
            await renamed
        self.assertEqual(raised.exception.code, "INDEX_CHANGED")
        await self.assert_code("INDEX_CHANGED", index.watch(from_=position))
        dropped = asyncio.ensure_future(index.watch().__anext__())
        await asyncio.sleep(0)
        await index.get(1)
        await client.drop_index(name)
        with self.assertRaises(WarpdexError) as raised:
            await dropped
        self.assertEqual(raised.exception.code, "UNKNOWN_INDEX")

    async def test_every_batch_comes_once_over_lost_connections(self) -> None:
        writer = await self.open()
        index = await writer.create_index(self.unused(), "u32", "u32", unique=True)
        seen: list[int] = []
        positions: list[str] = []
        async with Relay(URL) as relay:
            reader = await self.open(relay.url)
            begin = await reader.snapshot()

            async def follow(begin: Any) -> None:
                async for batch in reader.index(index.name).watch(from_=begin):
                    positions.append(batch.position)
                    seen.extend(batch.keys.tolist())
                    if seen[-1] == 99 or len(seen) == 50:
                        return

            following = asyncio.ensure_future(follow(begin))
            for i in range(100):
                await index.put(i, i)
                if i % 10 == 9:
                    relay.cut()
                if i == 60:
                    await asyncio.wait_for(following, 10)
                    following = asyncio.ensure_future(follow(positions[-1]))
            await asyncio.wait_for(following, 10)
            self.assertGreater(relay.connections, 5)
            await begin.close()
            await reader.close(now=True)
        self.assertEqual(seen, list(range(100)))
        self.assertEqual(len(set(positions)), len(positions))

    async def test_a_client_that_closes_does_not_wait_for_its_feeds(self) -> None:
        client = await self.open()
        index = await client.create_index(self.unused(), "u32", "u32")
        waiting = asyncio.ensure_future(index.watch().__anext__())
        await index.get(1)
        await asyncio.wait_for(client.close(), 5)
        with self.assertRaises(WarpdexError) as raised:
            await waiting
        self.assertEqual(raised.exception.code, "CANCELLED")
