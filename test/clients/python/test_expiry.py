"""Entries that expire, in indexes of a real server."""

from __future__ import annotations

import time

import numpy as np
import warpdex
from warpdex import WarpdexError

from server import URL, WithServer


class Expiry(WithServer):
    def setUp(self) -> None:
        self.client = warpdex.connect(URL)
        self.addCleanup(self.client.close)
        self.index = self.client.create_index(self.unused(), "u32", "u32", unique=True, ttl=3600)

    def test_an_index_with_a_ttl(self) -> None:
        self.assertEqual(self.index.definition()["ttl"], 3600)

    def test_single_keys_go_at_their_time(self) -> None:
        self.index.put(1, 10, expire_at=time.time() - 1)
        self.assertTrue(self.index.insert(2, 20, expire_at=0.0001))
        self.index.put(3, 30, expire_at=time.time() + 3600)
        self.index.put(4, 40, expire_at=0)
        self.index.put(5, 50)
        self.index.put(6, 60, expire_at=time.time() + 0.2)
        time.sleep(0.3)
        self.assertEqual(list(self.index.entries()), [(3, 30), (4, 40), (5, 50)])

    def test_many_keys_go_at_one_time_or_each_at_its_own(self) -> None:
        past, later = time.time() - 1, time.time() + 3600
        self.index.put_many([1, 2], [10, 20], expire_at=past)
        self.index.put_many([3, 4], [30, 40], expire_at=[past, later])
        self.index.insert_many([5, 6, 7], [50, 60, 70], expire_at=np.array([0, past, later]))
        self.assertEqual(list(self.index.keys()), [4, 5, 7])

    def test_what_is_no_time(self) -> None:
        for wrong in (-1, float("nan"), float("inf"), 2.0**53, "soon", [1]):
            with self.subTest(wrong), self.assertRaises(WarpdexError) as raised:
                self.index.put_many([1, 2], [10, 20], expire_at=wrong)  # type: ignore[arg-type]
            self.assertEqual(raised.exception.code, "BAD_REQUEST")
        others = self.client.create_index(self.unused(), "u32", "u32")
        with self.assertRaises(WarpdexError) as raised:
            others.put(1, 10, expire_at=time.time() + 60)
        self.assertEqual(raised.exception.code, "BAD_REQUEST")
