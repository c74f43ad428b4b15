"""Looks up feature vectors for a model, as one array:

    PYTHONPATH=clients/python/src python3 examples/features.py

A vector of up to 64 bytes lies beside its key on the device. Keys go in as an array, and vectors come out as one, without an object per key.
"""

import os

import numpy as np

import warpdex

USERS = 100_000
DIMENSIONS = 8


def main() -> None:
    random = np.random.default_rng(7)
    with warpdex.connect(os.environ.get("WARPDEX_URL", "ws://127.0.0.1:7070")) as client:
        features = client.create_index(
            "features", "u32", f"fixed({4 * DIMENSIONS})", unique=True, if_not_exists=True
        )
        users = np.arange(USERS, dtype=np.uint32)
        vectors = random.random((USERS, DIMENSIONS), dtype=np.float32)
        features.put_many(users, vectors.view(np.uint8))

        asked = np.array([3, 99_999, 100_000], dtype=np.uint32)
        result = features.get_many(asked)
        rows = np.ascontiguousarray(result.payloads).view(np.float32)
        print("found:", result.found.tolist())
        print("equal to what was stored:", bool((rows[:2] == vectors[asked[:2]]).all()))
        scores = rows @ np.ones(DIMENSIONS, dtype=np.float32)
        print("scores:", np.round(scores, 2).tolist())


if __name__ == "__main__":
    main()
