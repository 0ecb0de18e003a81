"""Progress handlers and the calls they answer: cycles, waits for oneself, calls lost and calls made within one."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest

import uform

TEXTS = [f"text number {index} of a batch" for index in range(64)]


class Witness:
    """A handler, or what one holds, whose end can be seen."""

    call = None

    def __call__(self, completed, total):
        return True


@pytest.mark.parametrize("moment", ["in flight", "final"])
def test_a_call_that_its_handler_holds_is_collected(model, executor, moment):
    handler = Witness()
    gone = weakref.ref(handler)
    handler.call = model.deferred(executor).text_encode(TEXTS * 4, uform.Arena(), progress=handler)
    while moment == "final" and handler.call.status is uform.Status.DEFERRED:
        time.sleep(0.001)
    del handler
    gc.collect()
    assert gone() is None
    model.on(executor).text_encode(["x"], uform.Arena())  # and the executor is free


def within_handler(model, executor, what):
    """What `what(call)` raised inside the handler of the call it is given."""
    raised, made = [], threading.Event()
    calls = []

    def handler(completed, total):
        made.wait(30)
        try:
            what(calls)
        except uform.Error as error:
            raised.append(error)
        calls.clear()

    calls.append(model.deferred(executor).text_encode(["text"], uform.Arena(), progress=handler))
    keep = calls[0]
    made.set()
    keep.wait()
    return raised


@pytest.mark.parametrize("what", ["wait", "close", "drain", "with"])
def test_a_handler_that_waits_for_its_own_call_is_refused(model, executor, what):
    def act(calls):
        if what == "wait":
            calls[0].wait()
        elif what == "with":
            with executor:
                pass
        else:
            getattr(executor, what)()

    raised = within_handler(model, executor, act)
    assert [type(error) for error in raised] == [uform.ContendedError]
    model.on(executor).text_encode(["x"], uform.Arena())


@pytest.mark.parametrize("way", ["dropped", "collected"])
def test_a_handler_may_lose_its_own_call(model, executor, way):
    """Dropping a call waits for it, except where that would be for ever: what it holds goes after it."""
    calls, made, done = [], threading.Event(), threading.Event()

    class Handler(Witness):
        def __call__(self, completed, total):
            made.wait(30)
            calls.clear()
            gc.collect()
            done.set()

    handler = Handler()
    gone = weakref.ref(handler)
    calls.append(model.deferred(executor).text_encode(["text"], uform.Arena(), progress=handler))
    if way == "collected":
        handler.call = calls[0]
    del handler
    made.set()
    assert done.wait(30)
    while gone() is not None:
        try:
            model.on(executor).text_encode(["x"], uform.Arena())  # lets go of what was lost, once it is final
        except uform.ContendedError:
            time.sleep(0.001)
        gc.collect()


def test_a_handler_may_start_calls(model, executor):
    inner = []

    def handler(completed, total):
        inner.append(np.array(model.text_encode(["inner"], uform.Arena()).embeddings))
        with pytest.raises(uform.ContendedError):
            model.on(executor).text_encode(["x"], uform.Arena())

    model.on(executor).text_encode(["outer"], uform.Arena(), progress=handler)
    assert inner and np.array_equal(inner[0], np.array(model.text_encode(["inner"], uform.Arena()).embeddings))
