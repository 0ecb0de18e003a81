"""The tower of docs/DESIGN.md in PyTorch, BFloat16 throughout, over items of one length: encode, and a training step.

As a PyTorch user would write it for speed: every sum of a row or a softmax inside one operation of the library, the
residual in BFloat16 too, long items' scores in blocks of queries so that they stay in cache. A step is AdamW on
softmax pairs, gradients through autograd without recomputation.
"""
import math

import torch
import torch.nn.functional as functional

import peer

HEAD = 64
QUERIES = 512  # of a long item at once


def read_parameters(path):
    kinds = {"BF16": torch.bfloat16, "F32": torch.float32}
    return {
        name: torch.frombuffer(data, dtype=kinds[kind]).reshape(shape).to(torch.bfloat16)
        for name, (kind, shape, data) in peer.read_checkpoint(path).items()
    }


def rmsnorm(x, scale):
    return x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6).to(x.dtype) * scale


class Tower:
    def __init__(self, path, length):
        self.parameters, self.length = read_parameters(path), length
        self.depth = sum(name.endswith("mlp.down") for name in self.parameters)
        angles = torch.arange(length).double()[:, None] * 10000.0 ** (-torch.arange(32).double() / 32)
        self.cosines, self.sines = (f(angles).to(torch.bfloat16)[:, None] for f in (torch.cos, torch.sin))
        # One product for gate and up, as for q, k and v.
        for i in range(self.depth):
            parts = [self.parameters.pop("blocks.%d.mlp.%s" % (i, part)) for part in ("gate", "up")]
            self.parameters["blocks.%d.mlp.gate_up" % i] = torch.cat(parts)

    def rotate(self, x):  # [items, length, heads, 64]
        a, b = x[..., :32], x[..., 32:]
        return torch.cat((a * self.cosines - b * self.sines, b * self.cosines + a * self.sines), -1)

    def attention(self, qkv):
        """[items, length, 3, heads, 64] to [items * length, hidden]."""
        q, k, v = (part.transpose(1, 2) for part in (self.rotate(qkv[:, :, 0]) * 0.125, self.rotate(qkv[:, :, 1]), qkv[:, :, 2]))
        k = k.transpose(2, 3)
        blocks = [torch.softmax(q[:, :, i : i + QUERIES] @ k, -1) @ v for i in range(0, self.length, QUERIES)]
        attended = blocks[0] if len(blocks) == 1 else torch.cat(blocks, 2)
        return attended.transpose(1, 2).flatten(2).flatten(0, 1)

    def states(self, ids):
        w, linear = self.parameters, functional.linear
        x = functional.embedding(ids, w["text.embedding"])
        for i in range(self.depth):
            block = "blocks.%d." % i
            qkv = linear(rmsnorm(x, w[block + "attention.norm"]), w[block + "attention.qkv"])
            a = self.attention(qkv.view(-1, self.length, 3, x.shape[1] // HEAD, HEAD))
            x = x + linear(a, w[block + "attention.output"])
            gate, up = linear(rmsnorm(x, w[block + "mlp.norm"]), w[block + "mlp.gate_up"]).chunk(2, -1)
            x = x + linear(functional.silu(gate) * up, w[block + "mlp.down"])
        return rmsnorm(x, w["norm"])

    def encode(self, ids):
        w = self.parameters
        s = self.states(ids).view(-1, self.length, w["norm"].numel() // HEAD, HEAD)
        scores = (s * w["pool.query"].view(-1, HEAD)).sum(-1).float() / 8
        pooled = torch.einsum("ith,ithc->ihc", torch.softmax(scores, 1).to(s.dtype), s).flatten(1)
        hidden = functional.silu(functional.linear(pooled, w["pool.hidden"]))
        return functional.normalize((pooled + functional.linear(hidden, w["pool.output"])).float(), dim=-1)


def read_ids(folder):
    with open(folder + "/texts", "rb") as file:
        return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).long()


def encode(folder, length, count, threads):
    torch.set_num_threads(threads)
    tower, ids = Tower(folder + "/model", length), read_ids(folder)

    def run():
        with torch.inference_mode():
            return tower.encode(ids)

    with open(folder + "/answer", "wb") as file:
        file.write(run().numpy().tobytes())
    return run


def train(folder, length, count, threads):
    torch.set_num_threads(threads)
    tower, ids = Tower(folder + "/model", length), read_ids(folder)
    learned = [w.requires_grad_() for name, w in tower.parameters.items() if not name.startswith("contrastive.")]
    optimizer = torch.optim.AdamW(learned, lr=1e-3)
    pairs = torch.arange(count // 2)

    def run():
        embeddings = tower.encode(ids)
        logits = 10 * embeddings[: count // 2] @ embeddings[count // 2 :].t()
        loss = (functional.cross_entropy(logits, pairs) + functional.cross_entropy(logits.t(), pairs)) / 2
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()

    first, last = run(), [run() for _ in range(3)][-1]
    if not (math.isfinite(last) and last < first):
        raise SystemExit("torch: the loss does not fall: from %g to %g" % (first, last))
    return run


peer.serve("pytorch_" + ".".join(torch.__version__.split(".")[:2]), {"encode": encode, "train": train})
