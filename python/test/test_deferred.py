"""Submitted calls: polled, waited for, awaited, dropped; many threads, many loops, many executors."""

import asyncio
import gc
import threading
import time
import weakref

import numpy as np
import pytest

import uform

TEXTS = [f"text number {index} of a batch" for index in range(64)]


@pytest.fixture(scope="module")
def expected(model):
    return np.array(model.text_encode(TEXTS, uform.Arena()).embeddings)


def test_wait_answers_the_same_again(model, executor, expected):
    call = model.deferred(executor).text_encode(TEXTS, uform.Arena())
    encoded = call.wait()
    assert call.status is uform.Status.SUCCESS and call.wait() is encoded
    assert np.array_equal(np.asarray(encoded.embeddings), expected)


def test_refusals_of_the_library_raise_at_wait(model, executor):
    call = model.deferred(executor).text_encode(TEXTS, uform.Arena(), dimensions=999)
    for _ in range(2):
        with pytest.raises(uform.ShapeMismatchError):
            call.wait()
    assert call.status is uform.Status.SHAPE_MISMATCH


class Gate:
    """A progress handler that holds its call until opened."""

    def __init__(self):
        self.inside, self.open = threading.Event(), threading.Event()

    def __call__(self, completed, total):
        self.inside.set()
        self.open.wait(30)


def test_what_a_call_holds_is_contended(model, executor):
    gate, arena = Gate(), uform.Arena()
    call = model.deferred(executor).text_encode(TEXTS, arena, progress=gate)
    assert gate.inside.wait(30) and call.status is uform.Status.DEFERRED
    with pytest.raises(uform.ContendedError):
        model.text_encode(["x"], arena)
    second = model.deferred(executor).text_encode(["x"], uform.Arena())
    with pytest.raises(uform.ContendedError):
        second.wait()
    with pytest.raises(uform.ContendedError):
        model.on(executor).text_encode(["x"], uform.Arena())
    gate.open.set()
    call.wait()
    model.on(executor).text_encode(["x"], uform.Arena())


def test_a_result_rewound_before_it_was_fetched_is_stale(model, executor):
    arena = uform.Arena()
    call = model.deferred(executor).text_encode(TEXTS, arena)
    while call.status is uform.Status.DEFERRED:
        time.sleep(0.001)
    model.text_encode(["x"], arena)
    with pytest.raises(uform.InvalidArgumentError):
        np.asarray(call.wait().embeddings)


def test_dropping_waits(model, executor, expected):
    for _ in range(20):
        model.deferred(executor).text_encode(list(TEXTS), uform.Arena())
        gc.collect()
        assert np.array_equal(np.array(model.on(executor).text_encode(TEXTS, uform.Arena()).embeddings), expected)


def test_closing_waits_for_what_was_submitted(model):
    with uform.Executor.for_ram(threads=2) as executor:
        call = model.deferred(executor).text_encode(TEXTS * 4, uform.Arena())
    assert call.status is uform.Status.SUCCESS and call.wait().embeddings.shape == (256, 128)


def test_drain_waits_and_sets_the_mood(model, executor):
    call = model.deferred(executor).text_encode(TEXTS * 4, uform.Arena())
    executor.drain(uform.Mood.PARKED)
    assert call.status is uform.Status.SUCCESS
    executor.drain()
    with pytest.raises(uform.InvalidArgumentError):
        executor.drain(7)


def test_many_threads_wait_for_one_call(model, executor, expected):
    for _ in range(20):
        call = model.deferred(executor).text_encode(TEXTS, uform.Arena())
        got = []
        threads = [threading.Thread(target=lambda: got.append(call.wait())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(got) == 8 and all(each is got[0] for each in got)


def test_eight_threads_share_a_model(model, expected):
    failures = []

    def work(seed):
        try:
            with uform.Executor.for_ram(threads=1) as executor:
                arena, order = uform.Arena(executor), np.random.default_rng(seed).permutation(len(TEXTS))
                for _ in range(10):
                    rows = np.array(model.on(executor).text_encode([TEXTS[i] for i in order], arena).embeddings)
                    if not np.array_equal(rows, expected[order]):
                        failures.append(seed)
        except BaseException as error:  # a thread's own would be lost
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_thirty_two_calls_over_four_executors(model, expected):
    async def work():
        executors = [uform.Executor.for_ram(threads=1) for _ in range(4)]
        free = [asyncio.Lock() for _ in executors]  # an executor runs one call at a time

        async def encode(index):
            async with free[index % 4]:
                encoded = await model.deferred(executors[index % 4]).text_encode(TEXTS, uform.Arena())
            return np.array(encoded.embeddings)

        return await asyncio.gather(*(encode(index) for index in range(32)))

    for rows in asyncio.run(work()):
        assert np.array_equal(rows, expected)


def test_awaiting_raises_what_the_call_raised(model, executor):
    async def work():
        await model.deferred(executor).text_encode(TEXTS, uform.Arena(), progress=lambda completed, total: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(work())


def test_awaiting_needs_a_loop(model, executor):
    call = model.deferred(executor).text_encode(["x"], uform.Arena())
    with pytest.raises(RuntimeError):
        call.__await__()
    call.wait()


def test_the_loop_goes_on_meanwhile(model, executor):
    async def work():
        gate, beats = Gate(), 0
        call = asyncio.ensure_future(awaited(model.deferred(executor).text_encode(TEXTS, uform.Arena(), progress=gate)))
        while beats < 5:
            await asyncio.sleep(0.01)
            beats += 1
        assert not call.done()
        gate.open.set()
        return await call

    async def awaited(call):
        return await call

    assert asyncio.run(work()).embeddings.shape == (64, 128)


def test_an_answer_that_waits_for_itself_is_contended(model, executor):
    raised = []

    class Handler:
        def __call__(self, completed, total):
            return True

        def __del__(self):
            try:
                calls[0].wait()
            except uform.Error as error:
                raised.append(type(error))

    calls = [model.deferred(executor).text_encode(TEXTS, uform.Arena(), progress=Handler())]
    calls[0].wait()
    assert raised == [uform.ContendedError]


def test_many_wait_while_one_answers(model, executor):
    class Slow:
        def __call__(self, completed, total):
            return True

        def __del__(self):
            time.sleep(0.001)  # the others wake meanwhile

    for _ in range(50):
        call = model.deferred(executor).text_encode(TEXTS, uform.Arena(), progress=Slow())
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(call.wait())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answers) == 3 and answers.count(answers[0]) == 3


def test_a_failed_call_that_a_frame_holds_is_collected(model, executor):
    class Witness:
        pass

    def fail(witness):
        call = model.deferred(executor).text_encode(TEXTS, uform.Arena(), dimensions=999)
        try:
            call.wait()
        except uform.Error:
            pass

    witness = Witness()
    gone = weakref.ref(witness)
    fail(witness)
    del witness
    gc.collect()
    assert gone() is None
