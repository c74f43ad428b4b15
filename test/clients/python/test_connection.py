"""Lost connections, and the order of calls, by the client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
from relay import Relay
from warpdex import WarpdexError, aio

from server import URL, AsyncWithServer


def once() -> Callable[[], bool]:
    """True the first time that it is asked."""
    left = [True]
    return lambda: bool(left) and left.pop()


class Connections(AsyncWithServer):
    async def open(self, url: str = URL, **options: Any) -> aio.Client:
        client = await aio.connect(url, reconnect_delay=0.005, reconnect_max_delay=0.02, **options)
        self.addAsyncCleanup(client.close, now=True)
        return client

    async def assert_code(self, code: str, call: Any) -> None:
        with self.assertRaises(WarpdexError) as raised:
            await call
        self.assertEqual(raised.exception.code, code, raised.exception)

    async def test_a_write_is_applied_once_however_often_it_is_sent(self) -> None:
        async with Relay(URL) as relay:
            told: list[str] = []
            client = await self.open(
                relay.url,
                on_disconnect=lambda reason: told.append(reason.code),
                on_reconnect=lambda: told.append("back"),
            )
            index = await client.create_index(self.unused(), "u32", "u32")
            await index.definition()
            relay.cut_after = once()
            await index.insert_many([1, 2], [10, 20])
            relay.cut_before = once()
            await index.insert(1, 11)
            relay.cut_after = once()
            appended = asyncio.gather(index.insert(1, 12), index.insert_many([2], [21]))
            await appended
            self.assertEqual((await index.get_all_many([1, 2]))[0], [10, 11, 12])
            self.assertEqual((await index.get_all_many([1, 2]))[1], [20, 21])
            self.assertEqual(told, ["CONNECTION_LOST", "back"] * 3)
            self.assertEqual(relay.connections, 4)

    async def test_a_server_may_redirect_to_itself(self) -> None:
        async with Relay(URL) as relay:
            relay.redirects = True
            client = await self.open(relay.url)
            self.assertEqual((client.server["protocol"], relay.connections), (2, 2))

    async def test_reads_are_sent_again_and_what_creates_is_not(self) -> None:
        async with Relay(URL) as relay:
            client = await self.open(relay.url)
            index = await client.create_index(self.unused(), "u32", "u32")
            await index.put(1, 10)
            relay.cut_after = once()
            self.assertEqual(await index.get(1), 10)
            relay.cut_after = once()
            await self.assert_code(
                "CONNECTION_LOST", client.create_index(self.unused(), "u32", "u32")
            )
            self.assertEqual(await index.get(1), 10)

    async def test_calls_wait_for_a_connection_within_their_deadlines(self) -> None:
        async with Relay(URL) as relay:
            client = await self.open(relay.url)
            index = await client.create_index(self.unused(), "u32", "u32")
            await index.put(1, 10)
            relay.cut_before = lambda: True
            waiting = asyncio.gather(index.get(1), index.get_many([1]))
            await self.assert_code("DEADLINE_EXCEEDED", index.get_many([1], deadline=0.05))
            await self.assert_code("DEADLINE_EXCEEDED", index.get(1, deadline=0.05))
            relay.cut_before = lambda: False
            self.assertEqual((await waiting)[0], 10)

    async def test_a_client_gives_up_when_it_is_told_to(self) -> None:
        async with Relay(URL) as relay:
            client = await self.open(relay.url, reconnect_attempts=2)
            relay.cut_before = lambda: True
            await self.assert_code("CONNECTION_LOST", client.stats())
            await self.assert_code("CONNECTION_LOST", client.stats())

    async def test_a_call_that_is_cancelled(self) -> None:
        client = await self.open()
        index = await client.create_index(self.unused(), "u32", "u32")
        call = asyncio.ensure_future(index.get_many(np.arange(1000)))
        await asyncio.sleep(0)
        call.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await call
        self.assertIsNone(await index.get(1))

    async def test_calls_to_an_index_are_carried_out_in_their_order(self) -> None:
        client = await self.open()
        # The first calls of all wait for what the index is.
        await client.create_index(name := self.unused(), "u32", "u32")
        for index in (client.index(name), client.index(name)):
            answers = await asyncio.gather(
                index.put(1, 10),
                index.get(1),
                index.put(1, 11),
                index.get_many([1]),
                index.delete(1),
                index.has(1),
                index.put_many([1], [12]),
                index.get(1),
                index.insert(1, 13),
                index.count_many([1]),
                index.batch().delete(1).write(),
                index.get(1),
            )
            self.assertEqual(answers[1], 10)
            self.assertEqual(answers[3][0], 11)
            self.assertEqual(answers[4:6], [True, False])
            self.assertEqual(answers[7], 12)
            self.assertEqual(answers[9].tolist(), [2])
            self.assertIsNone(answers[11])

    async def test_calls_wait_for_a_batch_that_leaves_in_pieces(self) -> None:
        client = await self.open()
        index = await client.create_index(self.unused(), "u32", "u32")
        await index.definition()
        keys = np.arange((1 << 20) + 1, dtype=np.uint32)
        _, last, found = await asyncio.gather(
            index.insert_many(keys, keys), index.get(1 << 20), index.count_many(keys[-1:])
        )
        self.assertEqual((last, found.tolist()), (1 << 20, [1]))

    async def test_single_calls_of_a_turn_have_their_own_answers(self) -> None:
        client = await self.open()
        index = await client.create_index(self.unused(), "u32", "u32", unique=True)
        await asyncio.gather(*(index.put(i, i * 2) for i in range(500)))
        calls = [index.get(i) if i % 7 else index.get(f"{i}") for i in range(500)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        self.assertEqual(
            [a for i, a in enumerate(answers) if i % 7], [i * 2 for i in range(500) if i % 7]
        )
        self.assertTrue(all(isinstance(a, WarpdexError) for a in answers[::7]))
        added = await asyncio.gather(*(index.insert(i, 0) for i in range(495, 505)))
        self.assertEqual(added, [False] * 5 + [True] * 5)

    async def test_a_client_that_is_closed(self) -> None:
        client = await self.open()
        index = await client.create_index(self.unused(), "u32", "u32")
        await index.definition()
        under_way = asyncio.gather(index.put(1, 10), index.get(1), index.get_many([1]))
        await asyncio.sleep(0)
        await client.close()
        self.assertEqual((await under_way)[1], 10)
        await self.assert_code("CANCELLED", index.get(1))
        await client.close()
