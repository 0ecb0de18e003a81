"""Answers many small requests at once in one event loop: a pool of executors, an arena for each, awaited calls.

    python gather_async.py models/nano-text.safetensors
"""

import argparse
import asyncio
import pathlib

import numpy as np

import uform


class Pool:
    """Executors to borrow: each runs one call at a time, in an arena of its own."""

    def __init__(self, model: uform.Model, count: int) -> None:
        self.model = model
        self.free: asyncio.Queue[tuple[uform.Executor, uform.Arena]] = asyncio.Queue()
        for _ in range(count):
            executor = uform.Executor.for_ram(threads=1)
            self.free.put_nowait((executor, uform.Arena(executor)))

    async def encode(self, texts: list[str]) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        executor, arena = await self.free.get()
        try:
            encoded = await self.model.deferred(executor).text_encode(texts, arena)
            return np.array(encoded.embeddings)
        finally:
            self.free.put_nowait((executor, arena))


async def answer(path: pathlib.Path, requests: int) -> None:
    pool = Pool(uform.Model.load_ram(path), 4)
    rows = await asyncio.gather(*(pool.encode([f"request {index}", "and its text"]) for index in range(requests)))
    print(f"{len(rows)} answers of {rows[0].shape}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--requests", type=int, default=32)
    options = parser.parse_args()
    asyncio.run(answer(options.model, options.requests))


if __name__ == "__main__":
    main()
