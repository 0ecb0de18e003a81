"""The peers' side of bench/peers.hpp in Python: lines in, lines out, and the checkpoint they are about."""
import json
import struct
import sys
import time


def read_checkpoint(path):
    """A safetensors file as {name: (dtype, shape, bytes)}."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    return {
        name: (entry["dtype"], entry["shape"], bytearray(data[slice(*entry["data_offsets"])]))
        for name, entry in header.items()
    }


def seconds_of(body, least):
    repeats, start, spent = 0, time.perf_counter(), 0
    while not repeats or spent < least:
        body()
        repeats, spent = repeats + 1, time.perf_counter() - start
    return spent / repeats


def serve(name, verbs):
    """Answers until there are no more lines. `verbs[verb](folder, length, count, threads)` returns one run of the work."""
    answers, body = sys.stdout, None
    sys.stdout = sys.stderr  # what a library prints is no answer
    print(name, file=answers, flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "go":
            print("%.9g" % seconds_of(body, float(words[0])), file=answers, flush=True)
        elif verb in verbs:
            body = None  # frees the last work before the next one allocates
            body = verbs[verb](words[0], *map(int, words[1:]))
            print("ready", file=answers, flush=True)
        else:
            print("skip %s is not for it" % verb, file=answers, flush=True)
