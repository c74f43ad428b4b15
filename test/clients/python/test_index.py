"""Indexes of a real server, by the blocking client."""

from __future__ import annotations

import threading
import unittest
from typing import Any

import numpy as np
import warpdex
from warpdex import Batch, BatchError, Blob, Entry, LoadError, ResultCode, WarpdexError

from server import URL, WithServer


class Indexes(WithServer):
    def setUp(self) -> None:
        self.client = warpdex.connect(URL)
        self.addCleanup(self.client.close)

    def create(self, key_type: str, payload_kind: str = "u32", **options: Any) -> warpdex.Index:
        return self.client.create_index(self.unused(), key_type, payload_kind, **options)

    def assert_code(self, code: str, call: Any, *args: Any, **options: Any) -> WarpdexError:
        with self.assertRaises(WarpdexError) as raised:
            call(*args, **options)
        self.assertEqual(raised.exception.code, code, raised.exception)
        return raised.exception

    def test_single_keys(self) -> None:
        index = self.create("u32", unique=True)
        self.assertTrue(index.insert(7, 70))
        self.assertFalse(index.insert(7, 71))
        self.assert_code("KEY_EXISTS", index.insert, 7, 71, if_exists="error")
        self.assertEqual((index.get(7), index.get(8)), (70, None))
        self.assertIsInstance(index.get(7), int)
        index.put(7, 72)
        self.assertEqual((index.get(7), index.has(7), index.has(8)), (72, True, False))
        self.assertFalse(index.delete(7, payload=1))
        self.assertTrue(index.delete(7))
        self.assertFalse(index.delete(7))

    def test_many_keys_of_every_fixed_type(self) -> None:
        for type, low in (
            ("u32", 0),
            ("i32", -50),
            ("u64", 2**63),
            ("i64", -(2**62)),
            ("f32", -50),
            ("f64", -50),
        ):
            with self.subTest(type):
                index = self.create(type, "u64")
                dtype = {"u": "<u", "i": "<i", "f": "<f"}[type[0]] + str(int(type[1:]) // 8)
                keys = (np.arange(100, dtype="u8" if type == "u64" else "i8") + low).astype(dtype)
                payloads = np.arange(100, dtype="u8") + 2**60
                self.assertTrue((index.put_many(keys, payloads) == ResultCode.INSERTED).all())
                found = index.get_many(keys[::-1].copy())
                self.assertTrue(found.found.all())
                self.assertTrue((found.payloads == payloads[::-1]).all())
                self.assertEqual(found.payloads.dtype, np.uint64)
                # Lists, and arrays of other types that hold the same numbers.
                self.assertEqual(list(index.get_many(keys[:3].tolist())), payloads[:3].tolist())
                pages = list(index.entries(page_size=30).pages())
                self.assertEqual([len(page) for page in pages], [30, 30, 30, 10])
                self.assertTrue((np.concatenate([page.keys for page in pages]) == keys).all())
                self.assertEqual(pages[0].keys.dtype, np.dtype(dtype))

    def test_columns_are_views_of_the_reply(self) -> None:
        index = self.create("u32")
        index.put_many(np.arange(100, dtype="u4"), np.arange(100, dtype="u4"))
        self.assertFalse(index.get_many(np.arange(100, dtype="u4")).payloads.flags.owndata)

    def test_texts_bytes_and_payloads_of_any_length(self) -> None:
        words = ["", "Łódź", "a", "a\0b", "b" * 4096]
        index = self.create("string", "bytes")
        payloads = [word.encode() * 2 for word in words]
        index.put_many(words, payloads)
        self.assertEqual(list(index.get_many([*words, "missing"])), [*payloads, None])
        self.assertEqual([key for key, _ in index.entries()], sorted(words))
        self.assertEqual([key for key in index.keys(prefix="a")], ["a", "a\0b"])
        page = next(index.entries(limit=3).pages())
        again = index.get_many(Blob(page.keys.values, page.keys.offsets))
        self.assertTrue(again.found.all())
        self.assertEqual(page.keys[-1], page.keys[len(page.keys) - 1])
        self.assertEqual(
            list(index.get_many(page.keys[1:3])), list(index.get_many(list(page.keys)[1:3]))
        )
        raw = self.create("bytes", "fixed(3)")
        raw.put_many([b"\xff\x00", b"k"], np.arange(6, dtype=np.uint8).reshape(2, 3))
        self.assertEqual((raw.get(b"\xff\x00"), raw.get(b"k")), (b"\0\1\2", b"\3\4\5"))
        self.assertEqual(raw.get_many([b"k"]).payloads.shape, (1, 3))

    def test_texts_and_json_as_payloads(self) -> None:
        texts = self.create("u32", "text")
        texts.put_many([1, 2], ["ü", ""])
        self.assertEqual(list(texts.get_many([1, 2, 3])), ["ü", "", None])
        self.assertEqual((texts.get(1), texts.delete(1), texts.get(1)), ("ü", True, None))
        self.assert_code("BAD_REQUEST", texts.put, 1, b"x")
        values = [{"a": [1, 2.5, None, "Łódź"]}, [], "text", 7, None]
        documents = self.create("u32", "json")
        documents.put_many(range(5), values)
        self.assertEqual(list(documents.values()), values)
        self.assertEqual(list(documents.get_many([0, 99])), [values[0], None])
        documents.batch().put(9, {"b": 1}).delete(0).write()
        self.assertEqual((documents.get(9), documents.get(0)), ({"b": 1}, None))
        self.assert_code("BAD_REQUEST", documents.put, 1, float("nan"))

    def test_tuples(self) -> None:
        index = self.create("tuple(i32,string,f64)")
        keys = [(-1, "a", -0.5), (-1, "a", 2.0), (-1, "a\0", 0.0), (3, "", 1e300)]
        index.put_many(keys, range(4))
        self.assertEqual(list(index.keys()), keys)
        self.assertEqual(list(index.keys(prefix=(-1, "a"))), keys[:2])
        self.assertEqual(list(index.keys(from_=(-1, "a"), to=(-1,))), keys[:3])
        self.assertEqual(list(index.keys(from_=(-1, "a"), from_exclusive=True)), keys[2:])
        self.assertEqual(index.get((3, "", 1e300)), 3)

    def test_several_payloads_a_key(self) -> None:
        index = self.create("u32")
        codes = index.insert_many([1, 1, 2], [10, 11, 20])
        self.assertEqual(codes.tolist(), [0, 0, 0])
        self.assertEqual(index.insert_many([1, 3], [12, 30], if_exists="keep").tolist(), [2, 0])
        self.assertEqual((index.count(1), index.get_all(1), index.get_all(9)), (2, [10, 11], []))
        self.assertEqual(index.get_next(1), (2, 20, 0))
        self.assertEqual(index.get_next(1, sequence=0), (1, 11, 1))
        self.assertEqual(index.get_next(2, reverse=True), (1, 11, 1))
        self.assertIsNone(index.get_next(3))
        every = index.get_all_many([1, 9, 3])
        self.assertEqual([every[i] for i in range(len(every))], [[10, 11], [], [30]])
        self.assertEqual(index.count_many([1, 9]).tolist(), [2, 0])
        self.assertEqual(index.has_many([1, 9]).tolist(), [True, False])
        self.assertEqual(index.delete_many([1, 1], payloads=[10, 99]).tolist(), [3, 4])
        self.assertEqual(index.delete_many([1, 9]).tolist(), [3, 4])
        first = index.get_many([2], sequences=True)
        step = index.get_next_many([2], sequences=first.sequences)
        self.assertEqual(
            (step.found.tolist(), step.keys.tolist(), step.payloads.tolist()), ([True], [3], [30])
        )
        self.assertFalse(index.get_next_many([2], reverse=True).found[0])

    def test_scans(self) -> None:
        index = self.create("u32")
        index.insert_many(np.arange(1000), np.arange(1000) * 2)
        self.assertEqual(
            list(index.entries(from_=5, to=7)), [Entry(5, 10), Entry(6, 12), Entry(7, 14)]
        )
        self.assertEqual(
            list(index.values(from_=5, to=7, from_exclusive=True, to_exclusive=True)), [12]
        )
        self.assertEqual(list(index.keys(reverse=True, limit=3)), [999, 998, 997])
        first = next(index.entries(page_size=10).pages())
        self.assertEqual(list(index.keys(after=first.token, limit=2)), [10, 11])
        self.assertEqual(len(list(index.keys(page_size=64))), 1000)
        self.assertEqual(sum(len(page.keys) for page in index.keys(page_size=64).pages()), 1000)
        self.assertEqual(next(index.values(reverse=True).pages()).payloads[0], 999 * 2)
        counts = index.count_ranges(from_=[0, 500, 2000], to=[2, 510, 3000], to_exclusive=True)
        self.assertEqual(counts.tolist(), [2, 10, 0])
        self.assertEqual(index.count_ranges().tolist(), [1000])
        ranges = index.ranges(from_=[0, 500, 2000], to=[2, 510, 3000], page_size=4)
        seen: list[list[int]] = [[], [], []]
        for page in ranges.pages():
            for i in range(3):
                seen[i] += page.keys[page.offsets[i] : page.offsets[i + 1]].tolist()
        self.assertEqual(seen, [[0, 1, 2], list(range(500, 511)), []])
        self.assertEqual([page.more.tolist()[1] for page in ranges.pages()], [True, True, False])
        entries = list(ranges)
        self.assertEqual(entries[2:5], [(0, 2, 4), (1, 500, 1000), (1, 501, 1002)])
        self.assertEqual(len(entries), 14)
        none = list(index.ranges(from_=[], page_size=4).pages())
        self.assertEqual([len(page) for page in none], [0])

    def test_ranges_are_deleted(self) -> None:
        index = self.create("string")
        index.insert_many(["a", "ab", "ab", "b", "c"], range(5))
        self.assertEqual(index.delete_range(prefix="ab"), 2)
        self.assertEqual(index.delete_range(from_="a", to="c", from_exclusive=True), 2)
        self.assertEqual(list(index.keys()), ["a"])
        self.assertEqual((index.delete_range(), index.delete_range()), (1, 0))

    def test_a_batch_is_a_unit_in_order(self) -> None:
        index = self.create("u32", unique=True)
        batch = (
            index.batch()
            .insert(1, 10)
            .put(1, 11)
            .insert(1, 12)
            .insert(2, 20, if_exists="keep")
            .delete(1)
        )
        self.assertEqual(len(batch), 5)
        self.assertEqual(batch.write().tolist(), [0, 1, 2, 0, 3])
        self.assertEqual(list(index.entries()), [Entry(2, 20)])

    def test_large_batches_go_out_in_pieces(self) -> None:
        index = self.create("u32")
        keys = np.arange((1 << 20) + 5, dtype=np.uint32)
        self.assertEqual(len(index.insert_many(keys, keys)), len(keys))
        found = index.get_many(keys)
        self.assertTrue(found.found.all() and (found.payloads == keys).all())
        self.assertTrue((index.count_many(keys) == 1).all())

    def test_loads(self) -> None:
        index = self.create("u32", unique=True)
        told: list[int] = []
        counts = index.bulk_load(
            (Batch(np.arange(i, i + 500), np.arange(500)) for i in range(0, 5000, 500)),
            on_progress=lambda stored: told.append(stored.rows),
        )
        self.assertEqual((counts.rows, counts.inserted, told[-1]), (5000, 5000, 5000))
        self.assertEqual(index.bulk_load(Batch([1, 9999], [5, 6]), if_exists="keep").existing, 1)
        with self.assertRaises(LoadError) as raised:
            index.bulk_load([Batch([1], [1]), Batch(["x"], [1])], if_exists="replace")
        self.assertEqual((raised.exception.code, raised.exception.stored.rows), ("BAD_REQUEST", 0))

    def test_misuse_is_told(self) -> None:
        index = self.create("u32")
        self.assert_code("BAD_REQUEST", index.get, [1, 2])
        self.assert_code("BAD_REQUEST", index.get, "x")
        self.assert_code("BAD_REQUEST", index.get_many, 5)
        self.assert_code("BAD_REQUEST", index.get_many, "abc")
        self.assert_code("BAD_REQUEST", index.get_many, [2**32])
        self.assert_code("BAD_REQUEST", index.get_many, np.array([-1]))
        self.assert_code("WRONG_KEY_TYPE", index.get_many, np.array([1.0]))
        self.assert_code("BAD_REQUEST", index.put_many, [1, 2], [1])
        self.assert_code("BAD_REQUEST", index.insert, 1, 2, if_exists="maybe")
        self.assert_code("BAD_REQUEST", index.ranges, page_size=1)
        self.assert_code("BAD_REQUEST", index.ranges, from_=[1], page_size=0)
        self.assert_code("BAD_REQUEST", lambda: list(index.keys(prefix=1)))
        self.assert_code("UNKNOWN_INDEX", self.client.index("there is none").get, 1)
        self.assert_code("INDEX_EXISTS", self.client.create_index, index.name, "u32", "u64")
        texts = self.create("string")
        self.assert_code("BAD_REQUEST", texts.get_many, ["\ud800"])
        self.assert_code("TOO_LARGE", texts.get, "x" * 4097)
        floats = self.create("f64")
        self.assert_code("BAD_REQUEST", floats.put, float("nan"), 1)
        self.assertEqual(
            floats.put_many([1.0, float("nan")], [1, 2]).tolist(), [0, ResultCode.REFUSED]
        )

    def test_an_index_that_was_made_anew(self) -> None:
        index = self.create("u32")
        other = warpdex.connect(URL)
        self.addCleanup(other.close)
        index.put(1, 1)
        self.assertTrue(other.drop_index(index.name))
        self.assertFalse(other.drop_index(index.name, if_exists=True))
        other.create_index(index.name, "u32", "u32")
        self.assertIsNone(index.get(1))
        other.drop_index(index.name)
        other.create_index(index.name, "string", "u32")
        self.assert_code("INDEX_CHANGED", index.get, 1)
        index.put("a", 2)
        self.assertEqual(index.get("a"), 2)

    def test_names_that_come_to_mean_another_index(self) -> None:
        index, aside = self.create("u32"), self.create("u32")
        index.put(1, 10)
        aside.put(1, 20)
        self.client.swap_indexes(index.name, aside.name)
        self.assertEqual((index.get(1), aside.get(1)), (20, 10))
        self.client.rename_index(aside.name, free := self.unused())
        self.assertEqual(self.client.index(free).get(1), 10)
        self.assert_code("UNKNOWN_INDEX", aside.get, 1)
        self.assert_code("INDEX_EXISTS", self.client.rename_index, free, index.name)

    def test_what_is_told_of_indexes(self) -> None:
        index = self.create("u32", structure="prefix", layout="full", if_not_exists=True)
        self.assertEqual(index.definition()["layout"], "full")
        index.put(1, 2)
        self.assertEqual(index.stats()["keys"], 1)
        self.assertIn(index.name, [one["name"] for one in self.client.list_indexes()])
        self.assertIn("strategy", index.explain([1]))
        self.assertEqual(self.client.take_snapshot(index.name)[0]["index"], index.name)
        self.assertIn("indexes", self.client.stats())
        self.assertIn("requests", self.client.slow_requests(after=1))
        self.assertIn("adapter", self.client.calibration())
        self.assertEqual(self.client.server["protocol"], 2)

    def test_threads_share_a_client(self) -> None:
        index = self.create("u32")

        def put(start: int) -> None:
            for i in range(start, start + 50):
                index.put(i, i)

        threads = [threading.Thread(target=put, args=(start,)) for start in range(0, 400, 50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(list(index.keys()), list(range(400)))


class Errors(unittest.TestCase):
    def test_connections_that_cannot_be_made(self) -> None:
        for url, code in (
            ("ws://127.0.0.1:1", "CONNECTION_LOST"),
            ("cities", "BAD_REQUEST"),
            ("http://127.0.0.1:1", "BAD_REQUEST"),
            ("ws+unix:/there/is/none", "CONNECTION_LOST"),
        ):
            with self.subTest(url), self.assertRaises(WarpdexError) as raised:
                warpdex.connect(url)
            self.assertEqual(raised.exception.code, code)
        with self.assertRaises(WarpdexError) as raised:
            warpdex.connect("ws://127.0.0.1:1", token="two words")
        self.assertNotIn("two words", str(raised.exception))

    def test_what_is_stored_is_told(self) -> None:
        error = BatchError(WarpdexError("DISK_FULL", "no room"), np.zeros(3, np.uint8))
        self.assertEqual((error.code, error.stored), ("DISK_FULL", 3))
