"""
Measures the clients for Python: a line of JSON in names what to do, a line of JSON out has the rows a second. `python-clients.ts` has it take
turns with the client for JavaScript.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np
import warpdex

URL, NAME, KEYS, BATCH = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
# Payloads are the keys.
BATCHES = np.random.default_rng(1).integers(0, KEYS, (16, BATCH), np.uint32)


def check(found: Any, keys: np.ndarray) -> None:
    if isinstance(found, warpdex.GetResult) and not (found.payloads[:8] == keys[:8]).all():
        raise RuntimeError("an answer is wrong")


async def by_asyncio(index: warpdex.aio.Index, method: str, depth: int, seconds: float) -> float:
    numbers, start = count(), time.perf_counter()
    done = 0

    async def lane() -> None:
        nonlocal done
        while time.perf_counter() - start < seconds:
            keys = BATCHES[next(numbers) % len(BATCHES)]
            check(
                await (index.get_many(keys) if method == "get" else index.put_many(keys, keys)),
                keys,
            )
            done += BATCH

    await asyncio.gather(*(lane() for _ in range(depth)))
    return done / (time.perf_counter() - start)


def blocking(index: warpdex.Index, method: str, depth: int, seconds: float) -> float:
    numbers, start = count(), time.perf_counter()

    def lane(_: int) -> int:
        done = 0
        while time.perf_counter() - start < seconds:
            keys = BATCHES[next(numbers) % len(BATCHES)]
            check(index.get_many(keys) if method == "get" else index.put_many(keys, keys), keys)
            done += BATCH
        return done

    with ThreadPoolExecutor(depth) as lanes:
        done = sum(lanes.map(lane, range(depth)))
    return done / (time.perf_counter() - start)


async def main() -> None:
    index = (await warpdex.aio.connect(URL)).index(NAME)
    own = warpdex.connect(URL).index(NAME)
    while line := await asyncio.to_thread(sys.stdin.readline):
        task = json.loads(line)
        given = task["method"], task["depth"], task["seconds"]
        if task["client"] == "asyncio":
            rate = await by_asyncio(index, *given)
        else:
            rate = await asyncio.to_thread(blocking, own, *given)
        print(json.dumps(rate), flush=True)


asyncio.run(main())
