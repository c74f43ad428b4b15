"""Reads of one moment, of a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import warpdex
from warpdex import WarpdexError, aio

from server import URL, AsyncWithServer, WithServer

KEYS = 50
ORIGINAL = list(range(KEYS))


class Snapshots(WithServer):
    """By the blocking client."""

    def setUp(self) -> None:
        self.client = warpdex.connect(URL)
        self.addCleanup(self.client.close)
        self.numbers = self.client.create_index(self.unused(), "u32", "u32")
        self.numbers.put_many(ORIGINAL, ORIGINAL)

    def test_reads_see_the_moment_that_they_name(self) -> None:
        numbers = self.numbers
        texts = self.client.create_index(self.unused() + " texts", "string", "json")
        texts.put("a", {"n": 1})
        with self.client.snapshot(seconds=30) as at:
            numbers.put_many([1, 2, 3], [10, 20, 30])
            numbers.insert(4, 40)
            numbers.delete_range(from_=5, to=9)
            texts.put("a", {"n": 2})
            self.assertEqual([texts.get("a", snapshot=at), texts.get("a")], [{"n": 1}, {"n": 2}])
            self.assertEqual([numbers.get(1, snapshot=at), numbers.get(1)], [1, 10])
            self.assertEqual([numbers.has(7, snapshot=at), numbers.has(7)], [True, False])
            self.assertEqual([numbers.get_all(4, snapshot=at), numbers.get_all(4)], [[4], [4, 40]])
            self.assertEqual([numbers.count(4, snapshot=at), numbers.count(4)], [1, 2])
            self.assertEqual(numbers.get_next(4, snapshot=at), (5, 5, 0))
            self.assertEqual(list(numbers.get_many([1, 7], snapshot=at)), [1, 7])
            self.assertEqual(numbers.has_many([1, 7], snapshot=at).tolist(), [True, True])
            self.assertEqual(numbers.count_many([4, 7], snapshot=at).tolist(), [1, 1])
            self.assertEqual(numbers.get_next_many([4], snapshot=at).keys.tolist(), [5])
            self.assertEqual(numbers.get_all_many([4], snapshot=at)[0], [4])
            self.assertEqual(numbers.count_ranges(from_=[0], to=[9], snapshot=at).tolist(), [10])
            self.assertEqual(list(numbers.keys(snapshot=at, page_size=7)), ORIGINAL)
            self.assertEqual(list(numbers.values(snapshot=at)), ORIGINAL)
            pages = numbers.ranges(from_=[0, 5], page_size=3, snapshot=at).pages()
            self.assertEqual(next(pages).keys.tolist(), [0, 1, 2, 5, 6, 7])
            self.assertEqual(next(pages).keys.tolist(), [3, 4, 5, 8, 9, 10])

    def test_a_scan_sees_one_moment(self) -> None:
        seen = []
        for key in self.numbers.keys(page_size=7):
            seen.append(key)
            if key % 10 == 0:
                self.numbers.delete(key + 9)
                self.numbers.put(1000 + key, 0)
        self.assertEqual(seen, ORIGINAL)
        self.assertEqual(len(list(self.numbers.keys())), KEYS)
        for _ in self.numbers.entries(page_size=3):
            break
        self.assertEqual(list(self.numbers.keys(limit=5)), [0, 1, 2, 3, 4])

    def test_what_is_closed_or_no_snapshot_is_refused(self) -> None:
        snapshot = self.client.snapshot()
        snapshot.close()
        snapshot.close()
        wrong: Any = 1
        for read, message in (
            (lambda: self.numbers.get(1, snapshot=snapshot), "the snapshot is closed"),
            (lambda: list(self.numbers.keys(snapshot=snapshot)), "the snapshot is closed"),
            (lambda: self.numbers.get_many([1], snapshot=wrong), "client.snapshot"),
            (lambda: self.client.snapshot(seconds=4000), "from 1 to 3600"),
        ):
            with self.assertRaisesRegex(WarpdexError, message) as raised:
                read()
            self.assertEqual(raised.exception.code, "BAD_REQUEST")


class AsyncSnapshots(AsyncWithServer):
    """By the client for asyncio."""

    async def asyncSetUp(self) -> None:
        self.client = await aio.connect(URL)
        self.addAsyncCleanup(self.client.close)
        self.numbers = await self.client.create_index(self.unused(), "u32", "u32")
        await self.numbers.put_many(ORIGINAL, ORIGINAL)

    async def versions(self) -> int:
        # What a scan does at its end is sent in the next turn.
        await asyncio.sleep(0)
        stats = await self.client.stats()
        open: int = stats["server"]["versions"]["open"]
        return open

    async def test_what_is_written_before_and_after(self) -> None:
        numbers = self.numbers
        before = asyncio.ensure_future(numbers.put(1, 10))
        await asyncio.sleep(0)
        opening = asyncio.ensure_future(self.client.snapshot())
        after = asyncio.gather(numbers.put_many([2, 3], [20, 30]), numbers.put(4, 40))
        async with await opening as at:
            await asyncio.gather(before, after)
            found = await numbers.get_many([1, 2, 3, 4], snapshot=at)
            self.assertEqual(list(found), [10, 2, 3, 4])
            # Calls of a turn do not share requests with those of another moment.
            gets = (numbers.get(2, snapshot=at), numbers.get(2), numbers.get(3, snapshot=at))
            self.assertEqual(await asyncio.gather(*gets), [2, 20, 3])
        self.assertEqual(await self.versions(), 0)

    async def test_a_batch_in_pieces_is_not_cut_by_a_snapshot(self) -> None:
        rows = np.arange(1_200_000, dtype="u4")
        writing = asyncio.ensure_future(self.numbers.put_many(rows, rows))
        await asyncio.sleep(0)
        snapshot, later = await asyncio.gather(self.client.snapshot(), self.numbers.delete(0))
        await writing
        async with snapshot:
            counts = await self.numbers.count_ranges(snapshot=snapshot)
            self.assertEqual((counts.tolist(), later), ([len(rows)], True))

    async def test_the_version_of_a_scan_is_given_up(self) -> None:
        keys = [key async for key in self.numbers.keys(page_size=7)]
        self.assertEqual((keys, await self.versions()), (ORIGINAL, 0))
        pages = self.numbers.entries(page_size=3).pages()
        self.assertEqual(len(await pages.__anext__()), 3)
        self.assertEqual(await self.versions(), 1)
        await pages.aclose()  # type: ignore[attr-defined]
        self.assertEqual(await self.versions(), 0)
