"""A replica set whose owner changes while the client writes: WARPDEX_NODES has the addresses of its nodes, that of the first owner last."""

from __future__ import annotations

import os
import unittest

import warpdex


class ReplicaSet(unittest.TestCase):
    def test_calls_go_on_with_the_next_owner(self) -> None:
        nodes = os.environ["WARPDEX_NODES"].split(",")
        with warpdex.connect(nodes[0], reads="any") as reader:
            reader.list_indexes()
            self.assertEqual(reader.stats()["server"]["replica"]["role"], "following")
        with warpdex.connect(nodes) as client:
            index = client.create_index("written", "u32", "u32")
            count, owner = 0, None
            while owner in (None, nodes[-1]):
                for count in range(count + 1, count + 51):
                    index.insert(count, count)
                owner = client.stats()["server"]["replica"].get("owner")
            self.assertIn(owner, nodes)
            with warpdex.connect(nodes, reads="any") as reader:
                reached = reader.reached(client.position(), deadline=10)
                self.assertEqual(reader.index("written").get(count), count)
                self.assertIn(type(reached.behind), (float, type(None)))
            # Each is there once.
            self.assertEqual(list(index.entries()), [(i, i) for i in range(1, count + 1)])
