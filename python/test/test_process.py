"""The process around the extension: import, signals, forks, exits, other interpreters, leaks."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import uform
from conftest import NANO, engine_only


def run(program, *arguments, timeout=120):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program), *arguments], capture_output=True, text=True,
                          timeout=timeout)


def check(program, *arguments):
    done = run(program, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_importing_takes_no_time_no_thread_and_no_numpy():
    """Seconds of this process's own, most of which the codecs' shared libraries take: the machine may be busy."""
    program = """
        import sys, threading, time
        begun = time.process_time()
        import uform
        print(time.process_time() - begun)
        assert "numpy" not in sys.modules and "asyncio" not in sys.modules and threading.active_count() == 1
        assert len(__import__("os").listdir("/proc/self/task")) == 1
    """
    best = min(float(check(program)) for _ in range(3))
    assert best < 0.1, best


@pytest.mark.parametrize("where", ["model", "model.on(executor)"])
def test_ctrl_c_ends_a_long_call(where):
    done = run(f"""
        import os, signal, sys, threading, time, uform
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell puts in the background ignores it
        model = uform.Model.load_ram(sys.argv[1])
        executor = uform.Executor.for_ram(threads=2)
        arena = uform.Arena()
        model.text_encode(["warm"], arena)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic()
        try:
            while True:  # of the stub, or a fast machine, one batch may be over in no time
                {where}.text_encode(["x" * 500] * 20_000, arena)
        except KeyboardInterrupt:
            print("heard after", time.monotonic() - begun)
        {where}.text_encode(["fine"], arena)
    """, str(NANO))
    assert done.returncode == 0 and "heard after" in done.stdout, done.stdout + done.stderr
    assert float(done.stdout.split()[-1]) < 5


@pytest.fixture
def heard():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_wait_but_not_the_call(model, executor, heard):
    inside, go = threading.Event(), threading.Event()

    def hold(completed, total):
        inside.set()
        go.wait(30)

    call = model.deferred(executor).text_encode(["text"] * 10, uform.Arena(), progress=hold)
    assert inside.wait(30)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        call.wait()
    assert call.status is uform.Status.DEFERRED
    go.set()
    assert call.wait().embeddings.shape == (10, 128)


def test_a_fork_after_use():
    """In either library a child goes on with its parent's models and arenas, and with executors of its own."""
    check("""
        import os, sys, uform
        model = uform.Model.load_ram(sys.argv[1])
        executor, arena = uform.Executor.for_ram(threads=2), uform.Arena()
        before = bytes(model.on(executor).text_encode(["text"], arena).embeddings)
        model.deferred(executor).text_encode(["text"], uform.Arena()).wait()
        child = os.fork()
        if child == 0:
            try:
                assert bytes(model.text_encode(["text"], arena).embeddings) == before
                own = uform.Executor.for_ram(threads=2)
                assert bytes(model.on(own).text_encode(["text"], arena).embeddings) == before
                assert bytes(model.deferred(own).text_encode(["text"], arena).wait().embeddings) == before
                os._exit(0)
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(2)
        _, status = os.waitpid(child, 0)
        assert bytes(model.on(executor).text_encode(["text"], arena).embeddings) == before
        sys.exit(os.waitstatus_to_exitcode(status))
    """, str(NANO))


@engine_only
def test_a_forked_child_gets_answers_or_refusals():
    check("""
        import os, sys, threading, uform
        model = uform.Model.load_ram(sys.argv[1])
        executor, arena = uform.Executor.for_ram(threads=2), uform.Arena()
        before = bytes(model.on(executor).text_encode(["text"], arena).embeddings)
        inside, go = threading.Event(), threading.Event()
        def hold(completed, total):
            inside.set()
            go.wait(60)
        busy = uform.Executor.for_ram(threads=1)
        call = model.deferred(busy).text_encode(["text"], uform.Arena(), progress=hold)
        assert inside.wait(30)
        child = os.fork()
        if child == 0:
            try:
                assert bytes(model.text_encode(["text"], arena).embeddings) == before
                for refused in (lambda: model.on(executor).text_encode(["text"], arena), call.wait, lambda: call.status):
                    try:
                        refused()
                    except uform.UnsupportedError:
                        continue
                    os._exit(1)
                own = uform.Executor.for_ram(threads=2)
                assert bytes(model.on(own).text_encode(["text"], arena).embeddings) == before
                del call  # which will never end here
                os._exit(0)
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(2)
        _, status = os.waitpid(child, 0)
        go.set()
        assert bytes(call.wait().embeddings) == before
        sys.exit(os.waitstatus_to_exitcode(status))
    """, str(NANO))


@pytest.mark.parametrize("handler", ["None", "lambda completed, total: None"])
def test_leaving_with_a_call_in_flight(handler):
    check(f"""
        import sys, uform
        model = uform.Model.load_ram(sys.argv[1])
        executor = uform.Executor.for_ram(threads=2)
        call = model.deferred(executor).text_encode(["x" * 500] * 2_000, uform.Arena(), progress={handler})
        kept = [call, lambda: call]  # alive when the interpreter ends
    """, str(NANO))


def test_other_interpreters_are_refused():
    check("""
        import sys, uform
        try:
            import _interpreters as interpreters
        except ImportError:
            try:
                import _xxsubinterpreters as interpreters
            except ImportError:
                sys.exit(0)
        other = interpreters.create()
        program = '''
        try:
            import uform
        except ImportError:
            pass
        else:
            raise SystemError("it loaded")
        '''
        import textwrap
        failure = interpreters.run_string(other, textwrap.dedent(program))
        assert failure is None, failure
        interpreters.destroy(other)
    """)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def churn(model, executor, rounds):
    """Every way in and out, a hundred calls a round."""
    arena, other = uform.Arena(), uform.Arena()
    texts, tape = ["one", "zwei", "三"], (b"onetwo", np.array([0, 3, 6], np.uint64))
    outputs = uform.Outputs.EMBEDDINGS | uform.Outputs.STATES
    for _ in range(rounds):
        for _ in range(10):
            np.array(model.text_encode(texts, arena, outputs=outputs, stats=uform.TextEncodeStats()).states)
            model.text_encode(tape, arena).embeddings.shape
            memoryview(model.text_encode(texts, other).embeddings).release()
            model.on(executor).text_encode([b"x", bytearray(b"y")], arena, progress=lambda completed, total: True)
            for wrong in (dict(dimensions=999), dict(progress=lambda completed, total: 1 / 0), dict(outputs=3)):
                try:
                    model.text_encode(texts, arena, **wrong)
                except (uform.Error, ZeroDivisionError, TypeError):
                    pass
            call = model.deferred(executor).text_encode(texts, arena)
            call.status, call.wait().embeddings
            repr(model.describe())
            model.deferred(executor).text_encode(texts, arena)


def test_ten_thousand_calls_leak_nothing(model, executor):
    import gc
    import tracemalloc

    churn(model, executor, 20)
    gc.collect()
    tracemalloc.start()
    traced, held = tracemalloc.get_traced_memory()[0], resident()
    churn(model, executor, 100)  # 10,000 calls
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - traced
    tracemalloc.stop()
    assert grown < 20_000, grown
    assert resident() - held < 2 << 20, resident() - held


def test_handles_come_and_go(nano_path):
    def once():
        with uform.Executor.for_ram(threads=1) as executor:
            model = uform.Model.load_ram(nano_path, executor=executor)
            model.on(executor).text_encode(["x"], uform.Arena(executor))

    for _ in range(5):
        once()
    held = resident()
    for _ in range(30):
        once()
    assert resident() - held < 8 << 20, resident() - held


def test_exit_while_threads_start_calls(nano_path):
    program = f"""
import sys, threading, uform
model = uform.Model.load_ram({str(nano_path)!r})
def encode():
    arena = uform.Arena()
    while True:
        model.text_encode(["a text"], arena, progress=lambda completed, total: True)
for _ in range(4):
    threading.Thread(target=encode, daemon=True).start()
sys.exit(4)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60, stderr=subprocess.DEVNULL).returncode == 4
