//! Calls that run on after their verb returned, and the futures they become.

use std::cell::UnsafeCell;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use super::handler::{Handler, Progress};
use super::{Call, Place};
use crate::sys;
use crate::types::{Error, Executor, Result, Status, refuse};

/// What a deferred call needs in place until it is final.
struct State<C: ?Sized> {
    outcome: UnsafeCell<MaybeUninit<sys::uform_outcome_t>>,
    handler: UnsafeCell<Handler>,
    call: UnsafeCell<C>,
}

/// A submitted call. It owns the inputs that the library reads, borrows the model and the executor for `'r`, and the
/// arena as `T` does.
///
/// [`wait`](Self::wait) blocks without spinning; `.await` polls, so that other tasks run meanwhile. Dropping it waits.
/// Leaking it is safe: what it names waits for the call before it is freed.
#[must_use = "dropping a deferred call waits for it"]
pub struct Deferred<'r, T> {
    state: NonNull<State<dyn Call<Output = T>>>,
    borrowed: PhantomData<&'r ()>,
}

// SAFETY: what crosses threads is gathered data, a handler that is `Send`, and `T`; the executor is not touched any more.
unsafe impl<T: Send> Send for Deferred<'_, T> {}

impl<'r, T> Deferred<'r, T> {
    /// # Safety
    ///
    /// Whatever the call or the handler borrow, other than what `T` does, lives for ever: `Accepts` saw to that.
    pub(crate) unsafe fn submit<C>(call: C, progress: Option<Progress<'_>>, executor: &Executor) -> Result<Self>
    where
        C: Call<Output = T>,
    {
        let boxed = Box::new(State {
            outcome: UnsafeCell::new(MaybeUninit::uninit()),
            handler: UnsafeCell::new(Handler::new(progress)),
            call: UnsafeCell::new(call),
        });
        let state = NonNull::from(Box::leak(boxed));
        // SAFETY: the box was leaked just now, and is taken back where the call is final.
        let shared = unsafe { state.as_ref() };
        let place = Place {
            executor: executor.handle,
            outcome: shared.outcome.get().cast(),
            completion: sys::uform_completion_queued_k,
            progress: Handler::as_c(shared.handler.get()),
        };
        // SAFETY: the state stays on the heap until the outcome is final; nobody else looks into the cell.
        if let Err(error) = unsafe { (*shared.call.get()).submit(&place) } {
            // SAFETY: nothing was called, so the state is this function's alone.
            drop(unsafe { Box::from_raw(state.as_ptr()) });
            return Err(error);
        }
        let state: NonNull<State<dyn Call<Output = T> + '_>> = state;
        // SAFETY: the lifetime alone goes; what the call borrows lives for ever or as `T` does.
        let state = unsafe {
            std::mem::transmute::<NonNull<State<dyn Call<Output = T> + '_>>, NonNull<State<dyn Call<Output = T>>>>(
                state,
            )
        };
        Ok(Self { state, borrowed: PhantomData })
    }

    fn outcome(&self) -> *const sys::uform_outcome_t {
        // SAFETY: the state lives as long as `self`.
        unsafe { self.state.as_ref() }.outcome.get().cast()
    }

    /// `Ok` once the call succeeded, [`Status::Deferred`] while it is not final, else its failure:
    /// `uform_outcome_status`.
    pub fn status(&self) -> std::result::Result<(), Status> {
        // SAFETY: C wrote the outcome as deferred before the verb returned, and reads its status atomically.
        match unsafe { sys::uform_outcome_status(self.outcome()) } {
            sys::uform_status_success_k => Ok(()),
            status => Err(Status::from_c(status).unwrap_or(Status::Internal)),
        }
    }

    /// Blocks until the call is final: `uform_outcome_wait`.
    pub fn wait(self) -> Result<T> {
        // SAFETY: C wrote the outcome as deferred before the verb returned.
        unsafe { sys::uform_outcome_wait(self.outcome()) };
        self.finish()
    }

    /// Whether a call that is waited for is not final, and so never will be: the library says of one whose threads
    /// stayed in the process that forked this one that it is over, but nobody writes its outcome.
    fn is_torn_by_fork(&self) -> bool {
        // SAFETY: C wrote the status, and nobody writes it after a wait returned.
        unsafe { (&raw const (*self.outcome()).status).read() == sys::uform_status_deferred_k }
    }

    /// Takes what a final call left behind.
    fn finish(self) -> Result<T> {
        let this = ManuallyDrop::new(self);
        if this.is_torn_by_fork() {
            // All of it may be half written: it is leaked.
            return Err(refuse(Status::Unsupported, "the call was left behind in the process that forked"));
        }
        // SAFETY: the call is final, so C is done with the box that `submit` leaked.
        let mut state = unsafe { Box::from_raw(this.state.as_ptr()) };
        if let Some(panic) = state.handler.get_mut().panic.take() {
            drop(state);
            resume_unwind(panic);
        }
        // SAFETY: a final outcome is written.
        let outcome = unsafe { state.outcome.get_mut().assume_init_ref() };
        if outcome.status != sys::uform_status_success_k {
            return Err(Error::of(outcome));
        }
        // SAFETY: the outcome is a success.
        Ok(unsafe { state.call.get_mut().take() })
    }
}

impl<T> Drop for Deferred<'_, T> {
    fn drop(&mut self) {
        // SAFETY: C wrote the outcome as deferred before the verb returned.
        unsafe { sys::uform_outcome_wait(self.outcome()) };
        if self.is_torn_by_fork() {
            return;
        }
        // SAFETY: the call is final, so C is done with the box that `submit` leaked.
        let mut state = unsafe { Box::from_raw(self.state.as_ptr()) };
        let panic = state.handler.get_mut().panic.take();
        drop(state);
        if let Some(panic) = panic
            && !std::thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

impl<T> std::fmt::Debug for Deferred<'_, T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Deferred").field(&self.status()).finish()
    }
}

/// What `.await` polls. The library has no wake-up to offer, so each poll asks to be polled again.
#[derive(Debug)]
pub struct DeferredFuture<'r, T>(Option<Deferred<'r, T>>);

impl<T> Future for DeferredFuture<'_, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let call = self.0.take().expect("polled after it was ready");
        if call.status() == Err(Status::Deferred) {
            self.0 = Some(call);
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(call.finish())
    }
}

impl<'r, T> IntoFuture for Deferred<'r, T> {
    type Output = Result<T>;
    type IntoFuture = DeferredFuture<'r, T>;

    fn into_future(self) -> Self::IntoFuture {
        DeferredFuture(Some(self))
    }
}
