"""Several addresses, by nodes of a replica set that has nothing."""

from __future__ import annotations

import math
import unittest
from importlib import import_module
from importlib.metadata import version
from typing import Any

import msgpack
import warpdex
from warpdex import WarpdexError, aio
from warpdex._frames import PROTOCOL_VERSION, encode_control

_IS_NEW = int(version("websockets").split(".")[0]) >= 14
_server: Any = import_module("websockets.asyncio.server" if _IS_NEW else "websockets")

NOWHERE = "ws://127.0.0.1:9"


class Node:
    """Lists no indexes, after so many requests that it refuses by `NOT_OWNER`."""

    def __init__(self, refusals: float = 0, owner: str | None = None) -> None:
        self.refusals = refusals
        self.owner = owner
        #: Of its connections.
        self.paths: list[str] = []

    async def __aenter__(self) -> Node:
        self._listener = await _server.serve(self._serve, "127.0.0.1", 0)
        port = next(iter(self._listener.sockets)).getsockname()[1]
        self.url = f"ws://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listener.close()
        await self._listener.wait_closed()

    async def _serve(self, socket: Any) -> None:
        self.paths.append(socket.request.path if _IS_NEW else socket.path)
        async for frame in socket:
            await socket.send(encode_control(self._answer(msgpack.unpackb(frame[4:]))))

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["op"] == "hello":
            return {"id": request["id"], "ok": True, "protocol": PROTOCOL_VERSION}
        if self.refusals == 0:
            return {"id": request["id"], "ok": True, "indexes": []}
        self.refusals -= 1
        error = {"code": "NOT_OWNER", "message": "ask another one", "owner": self.owner}
        return {"id": request["id"], "ok": False, "error": error}


class Nodes(unittest.IsolatedAsyncioTestCase):
    async def test_a_client_goes_to_the_owner_from_the_first_node_that_answers(self) -> None:
        async with Node() as owner, Node(math.inf, owner.url) as follower:
            async with await aio.connect([NOWHERE, follower.url]) as client:
                self.assertEqual(await client.list_indexes(), [])
                self.assertEqual(await client.list_indexes(), [])
            self.assertEqual((len(follower.paths), len(owner.paths)), (1, 1))

    async def test_a_client_asks_again_while_there_is_no_owner(self) -> None:
        async with Node(3) as node:
            client = await aio.connect(node.url, reconnect_delay=0.001)
            self.assertEqual(await client.list_indexes(), [])
            await client.close()
            self.assertEqual(len(node.paths), 4)
            node.refusals = math.inf
            async with await aio.connect(
                node.url, reconnect_delay=0.001, reconnect_attempts=2
            ) as client:
                with self.assertRaises(WarpdexError) as raised:
                    await client.list_indexes()
            self.assertEqual((raised.exception.code, len(node.paths)), ("NOT_OWNER", 7))

    async def test_whoever_reads_what_any_node_has_says_so(self) -> None:
        async with Node() as node:
            for url in (node.url, f"{node.url}/?a=b"):
                await (await aio.connect(url, reads="any")).close()
            self.assertEqual(
                [path.replace("&redirected=0", "") for path in node.paths],
                ["/?reads=any", "/?a=b&reads=any"],
            )

    def test_what_is_no_address_and_no_way_to_read(self) -> None:
        wrong: list[Any] = [[], [1], None, b"ws://a"]
        for urls in wrong:
            with self.subTest(urls), self.assertRaisesRegex(WarpdexError, "takes the address"):
                warpdex.connect(urls)
        with self.assertRaisesRegex(WarpdexError, '"latest" or "any", not'):
            warpdex.connect(NOWHERE, reads="some")
