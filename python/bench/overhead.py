"""What a call from Python costs beyond the same call from C.

    python python/bench/overhead.py models/nano-text.safetensors --library build/release/libuform.so

The C call is the verb on structs that lie ready, through ctypes on the library of the same build; what ctypes costs is
timed by a call that does nothing, and taken off. Calls take turns, medians are compared, answers before anything is
timed. The stub's own library shows the difference best, since its verb does nearly nothing; the engine's shows its share.
"""

import argparse
import ctypes
import json
import statistics
import time

import numpy as np

import uform

SHORT = "a short text of some thirty bytes"


def structs():
    """`uform_text_encode_t` and what it holds, as c/uform/encode.h lays them out."""
    size, pointer = ctypes.c_size_t, ctypes.c_void_p

    class Outcome(ctypes.Structure):
        _fields_ = [("status", ctypes.c_int32), ("message", pointer), ("item", size), ("detail", ctypes.c_char * 256)]

    class Tape(ctypes.Structure):
        _fields_ = [("data", pointer), ("offsets", pointer), ("scalar", ctypes.c_int32)]

    class Rows(ctypes.Structure):
        _fields_ = [("data", pointer), ("count", size), ("columns", size), ("stride", size), ("scalar", ctypes.c_int32)]

    class View(ctypes.Structure):
        _fields_ = [("data", pointer), ("length", size)]

    class Progress(ctypes.Structure):
        _fields_ = [("callback", pointer), ("context", pointer)]

    class Load(ctypes.Structure):
        _fields_ = [("model", pointer), ("executor", pointer), ("outcome", pointer), ("completion", ctypes.c_int32),
                    ("path", View), ("quantization", ctypes.c_int32), ("cpu_class", ctypes.c_int32), ("domains", pointer),
                    ("domains_count", size), ("progress", Progress)]

    class Init(ctypes.Structure):
        _fields_ = [("arena", pointer), ("executor", pointer), ("outcome", pointer)]

    class Encode(ctypes.Structure):
        _fields_ = [("model", pointer), ("executor", pointer), ("outcome", pointer), ("completion", ctypes.c_int32),
                    ("texts", Tape), ("count", size), ("dimensions", size), ("embeddings", pointer), ("states", pointer),
                    ("token_vectors", pointer), ("arena", pointer), ("outputs_scalar", ctypes.c_int32), ("stats", pointer),
                    ("progress", Progress)]

    return Outcome, Tape, Rows, View, Load, Init, Encode


class Bare:
    """The verb on structs that lie ready: what a call costs when nothing is converted."""

    def __init__(self, library, model, texts):
        Outcome, Tape, Rows, View, Load, Init, Encode = structs()
        self.engine = ctypes.CDLL(library)
        self.outcome, self.rows = Outcome(), Rows()
        out = ctypes.addressof(self.outcome)
        self.model, self.arena = ctypes.c_void_p(), ctypes.c_void_p()
        path = model.encode()
        load = Load(model=ctypes.addressof(self.model), outcome=out)
        load.path = View(ctypes.cast(ctypes.c_char_p(path), ctypes.c_void_p), len(path))
        self.engine.uform_model_load_ram(ctypes.byref(load))
        assert self.outcome.status == 0
        self.engine.uform_arena_init(ctypes.byref(Init(arena=ctypes.addressof(self.arena), outcome=out)))
        encoded = [text.encode() for text in texts]
        self.data = np.frombuffer(b"".join(encoded), np.uint8)
        self.offsets = np.cumsum([0] + [len(text) for text in encoded]).astype(np.uint64)
        self.call = Encode(model=self.model, outcome=out, count=len(texts), arena=self.arena,
                           embeddings=ctypes.addressof(self.rows))
        self.call.texts = Tape(self.data.ctypes.data, self.offsets.ctypes.data, 0)
        self.verb, self.argument = self.engine.uform_text_encode, ctypes.byref(self.call)

    def __call__(self):
        self.verb(self.argument)

    def answer(self):
        floats = ctypes.POINTER(ctypes.c_float)
        row = self.rows.stride // 4
        flat = np.ctypeslib.as_array(ctypes.cast(self.rows.data, floats), (self.rows.count * row,))
        return flat.reshape(-1, row)[:, : self.rows.columns]


def interleaved(calls, rounds, repeats):
    """Medians of each call's seconds, the calls taking turns, so that a busy machine is busy for all of them."""
    seconds = [[] for _ in calls]
    for _ in range(rounds):
        for index, call in enumerate(calls):
            begun = time.perf_counter()
            for _ in range(repeats):
                call()
            seconds[index].append((time.perf_counter() - begun) / repeats)
    return [statistics.median(each) for each in seconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--library", dest="engine", help="libuform.so of the same build", required=True)
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true", help="fail above 5 us a call or 1 us an item; for the stub")
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()

    model, arena = uform.Model.load_ram(options.model), uform.Arena()
    found = {}
    for name, texts, repeats in (("one short text", [SHORT], 200), ("1,000 short texts", [SHORT] * 1000, 1),
                                 ("10,000 empty texts", [""] * 10_000, 1)):
        bare = Bare(options.engine, options.model, texts)
        ctypes_free = bare.engine.uform_arena_free
        bare()
        assert np.array_equal(np.array(model.text_encode(texts, arena).embeddings), bare.answer())
        rounds = options.rounds if len(texts) < 10_000 else 9
        python, c, crossing = interleaved(
            [lambda: model.text_encode(texts, arena), bare, lambda: ctypes_free(None)], rounds, repeats)
        c -= crossing  # what ctypes adds to the bare call
        found[name] = {"python_us": python * 1e6, "c_us": c * 1e6, "beyond_us": (python - c) * 1e6,
                       "beyond_us_per_item": (python - c) * 1e6 / len(texts), "share": (python - c) / python}
        print(f"{name}: {python * 1e6:.1f} us from Python, {c * 1e6:.1f} us from C, beyond it "
              f"{(python - c) * 1e6:.2f} us, {(python - c) * 1e6 / len(texts):.3f} us an item, "
              f"{(python - c) / python:.2%} of the whole")
    if options.check:
        assert found["one short text"]["beyond_us"] < 5 and found["10,000 empty texts"]["beyond_us_per_item"] < 1
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
