#!/usr/bin/env python3
"""Writes tower.json: what a small model answers, by an independent NumPy reading of the model's definition.

Run: python3 test/golden/make_tower.py > test/golden/tower.json     (needs python3-numpy)

It shares no code with the engine. Weights come from splitmix64, which the test repeats, so only answers are stored.
Everything is float64; the engine's double kit must agree to rounding.
"""
import json
import numpy as np

HIDDEN, DEPTH, CONTEXT, TOKEN_WIDTH, HEAD = 128, 2, 24, 32, 64
TEXTS = ["Hello, world", "a", "", "\u00fcber \u65e5\u672c\u8a9e", "0123456789abcdefghijklmnopqrstuvwxyz"]
MASK64 = (1 << 64) - 1


def splitmix(seed, count):
    out = np.empty(count)
    for i in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & MASK64
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
        out[i] = ((z ^ (z >> 31)) >> 11) * 2.0**-52 - 1.0
    return out


def weights():
    """Tensors in checkpoint order; tensor i draws from seed i. Norm scales are one plus the draw."""
    shapes = [("text.embedding", (258, HIDDEN))]
    for b in range(DEPTH):
        shapes += [(f"blocks.{b}.attention.norm", (HIDDEN,)), (f"blocks.{b}.attention.qkv", (3 * HIDDEN, HIDDEN)),
                   (f"blocks.{b}.attention.output", (HIDDEN, HIDDEN)), (f"blocks.{b}.mlp.norm", (HIDDEN,)),
                   (f"blocks.{b}.mlp.gate", (4 * HIDDEN, HIDDEN)), (f"blocks.{b}.mlp.up", (4 * HIDDEN, HIDDEN)),
                   (f"blocks.{b}.mlp.down", (HIDDEN, 4 * HIDDEN))]
    shapes += [("norm", (HIDDEN,)), ("pool.query", (HIDDEN,)), ("pool.hidden", (HIDDEN, HIDDEN)),
               ("pool.output", (HIDDEN, HIDDEN)), ("tokens.projection", (TOKEN_WIDTH, HIDDEN))]
    made = {}
    for index, (name, shape) in enumerate(shapes):
        values = 0.25 * splitmix(index, int(np.prod(shape))).reshape(shape)
        made[name] = 1 + values if name.endswith("norm") else values
    return made


def rmsnorm(x, scale):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def silu(x):
    return x / (1 + np.exp(-x))


def rotate(v, positions):
    angle = positions[:, None] * 10000.0 ** (-np.arange(32) / 32)[None]
    low, high = v[..., :32], v[..., 32:]
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
    return np.concatenate([low * cosine - high * sine, high * cosine + low * sine], -1)


def encode(w, text):
    ids = np.frombuffer(text.encode(), np.uint8)[:CONTEXT].astype(int)
    ids = ids if len(ids) else np.array([257])
    x, positions, heads = w["text.embedding"][ids], np.arange(len(ids), dtype=float), HIDDEN // HEAD
    for b in range(DEPTH):
        p = f"blocks.{b}."
        q, k, v = np.split(rmsnorm(x, w[p + "attention.norm"]) @ w[p + "attention.qkv"].T, 3, -1)
        q, k, v = (t.reshape(len(ids), heads, HEAD) for t in (q, k, v))
        q, k = rotate(q, positions), rotate(k, positions)
        alpha = softmax(np.einsum("qhc,khc->hqk", q, k) / 8)
        x = x + np.einsum("hqk,khc->qhc", alpha, v).reshape(len(ids), HIDDEN) @ w[p + "attention.output"].T
        n = rmsnorm(x, w[p + "mlp.norm"])
        x = x + (silu(n @ w[p + "mlp.gate"].T) * (n @ w[p + "mlp.up"].T)) @ w[p + "mlp.down"].T
    states = rmsnorm(x, w["norm"])
    slices = states.reshape(len(ids), heads, HEAD)
    alpha = softmax(np.einsum("thc,hc->ht", slices, w["pool.query"].reshape(heads, HEAD)) / 8)
    pooled = np.einsum("ht,thc->hc", alpha, slices).reshape(HIDDEN)
    e = pooled + w["pool.output"] @ silu(w["pool.hidden"] @ pooled)
    vectors = states @ w["tokens.projection"].T
    return e / np.linalg.norm(e), states, vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def main():
    w, items = weights(), []
    for text in TEXTS:
        embedding, states, vectors = encode(w, text)
        items.append({"bytes": list(text.encode()), "tokens": len(states), "embedding": embedding.tolist(),
                      "last_state": states[-1].tolist(), "last_vector": vectors[-1].tolist()})
    json.dump({"hidden": HIDDEN, "depth": DEPTH, "context": CONTEXT, "token_width": TOKEN_WIDTH, "items": items},
              __import__("sys").stdout, indent=1)


main()
