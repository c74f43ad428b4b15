"""A cluster of two replica sets, whose nodes forward: WARPDEX_NODES has the addresses of its nodes."""

from __future__ import annotations

import os
import unittest

import warpdex

NODES = os.environ["WARPDEX_NODES"].split(",")


class Cluster(unittest.TestCase):
    def setUp(self) -> None:
        self.client = warpdex.connect(NODES)
        self.addCleanup(self.client.close)

    def test_an_index_on_several_replica_sets(self) -> None:
        # The test that starts this one has made it, from key 1000 on on the other replica set.
        index = self.client.index("spread")
        keys = list(range(0, 2000, 10))
        index.put_many(keys, keys)
        index.bulk_load([([5, 1005], [1, 2])])
        self.assertEqual([index.get(990), index.get(1990), index.get(7)], [990, 1990, None])
        self.assertEqual(list(index.get_many([1990, 0]).payloads), [1990, 0])
        entries = [key for key, _ in index.entries(from_=900, to=1100, page_size=3)]
        self.assertEqual(entries, [*range(900, 1000, 10), 1000, 1005, *range(1010, 1101, 10)])
        with self.client.snapshot() as snapshot:
            self.assertEqual(index.delete_range(from_=0, to=1500), 153)
            self.assertEqual(list(index.count_many([0, 1000], snapshot=snapshot)), [1, 1])
        self.assertEqual(list(index.count_many([0, 1000])), [0, 0])
        index.batch().put(1, 1).put(1001, 2).expect(1002, exists=False).write()
        with self.assertRaises(warpdex.WarpdexError) as raised:
            index.batch().put(1, 3).put(1001, 3).expect(1001, exists=False).write()
        self.assertEqual(raised.exception.code, "CONDITION_FAILED")
        self.assertEqual(list(index.batch().put(1001, 4).put(1, 4).write()), [1, 1])
        self.assertEqual([index.get(1), index.get(1001)], [4, 4])

    def test_what_is_created(self) -> None:
        for name in ("one", "two", "three"):
            index = self.client.create_index(name, "string", "text", unique=True)
            again = self.client.create_index(name, "string", "text", unique=True, if_not_exists=True)
            index.batch().expect("a", exists=False).put("a", name).write()
            self.assertEqual(again.get("a"), name)
            with self.assertRaises(warpdex.WarpdexError) as raised:
                index.batch().expect("a", exists=False).put("a", "b").write()
            self.assertEqual(raised.exception.code, "CONDITION_FAILED")
        placed = {index["placement"][0]["set"] for index in self.client.list_indexes()}
        self.assertEqual(placed, {0, 1})
        relation = self.client.create_relation("prices", {"price": "u32"})
        relation.append({"price": [1, 2, 3]})
        self.assertEqual(list(self.client.sql("select sum(price) s from prices").rows()), [{"s": 6}])
