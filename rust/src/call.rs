//! How a call runs: on the calling thread, on an executor, or deferred; and what becomes of it.
//!
//! A verb packs its inputs and its outputs' places into a [`Call`]; the receiver decides where that lives meanwhile: a
//! blocking call on the stack, a deferred one in the one box it allocates.

use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll};

use crate::inputs::Accepts;
use crate::sys;
use crate::types::{Error, Executor, Result, Status};

/// A handler of a call's progress, told how much is completed of how much; `Break` stops the call, which then fails as
/// [`Status::Cancelled`]. Any thread of the executor's may call it, one at a time.
pub type Progress<'c> = &'c mut (dyn FnMut(usize, usize) -> ControlFlow<()> + Send + 'c);

type Panic = Box<dyn Any + Send>;

/// A handler whose borrow is kept by whoever runs the call.
type Erased<'c> = NonNull<dyn FnMut(usize, usize) -> ControlFlow<()> + Send + 'c>;

/// A handler while its call runs, and what it panicked with, kept from crossing C's frames.
struct Handler {
    handler: Option<Erased<'static>>,
    panic: Option<Panic>,
}

impl Handler {
    /// The caller keeps the handler borrowed until the call is final.
    fn new(handler: Option<Progress<'_>>) -> Self {
        // The lifetime alone goes.
        let erase = |handler| unsafe { std::mem::transmute::<Erased<'_>, Erased<'static>>(NonNull::from_mut(handler)) };
        Self { handler: handler.map(erase), panic: None }
    }

    fn as_c(this: *mut Self) -> sys::uform_progress_t {
        let reports = unsafe { (*this).handler.is_some() };
        sys::uform_progress_t { callback: reports.then_some(report as sys::callback_t), context: this.cast() }
    }
}

unsafe extern "C" fn report(completed: usize, total: usize, context: *mut c_void) -> bool {
    // C makes one report at a time, and nobody else looks here until the call is final.
    let this = unsafe { &mut *context.cast::<Handler>() };
    let Some(mut handler) = this.handler.filter(|_| this.panic.is_none()) else { return false };
    match catch_unwind(AssertUnwindSafe(|| unsafe { handler.as_mut() }(completed, total))) {
        Ok(flow) => flow.is_continue(),
        Err(panic) => {
            this.panic = Some(panic);
            false
        }
    }
}

/// Where a call runs and where it answers.
pub struct Place {
    pub(crate) executor: sys::uform_executor_t,
    pub(crate) outcome: *mut sys::uform_outcome_t,
    pub(crate) completion: sys::uform_completion_t,
    pub(crate) progress: sys::uform_progress_t,
}

/// A verb with its inputs and the places of its outputs.
pub trait Call {
    /// What it answers on success.
    type Output;

    /// Checks what C cannot see, and calls the verb with pointers into `self`.
    ///
    /// # Safety
    ///
    /// `self` and the place stay where they are until the outcome is final. Where this fails nothing was called.
    unsafe fn submit(&mut self, place: &Place) -> Result<()>;

    /// Takes the outputs.
    ///
    /// # Safety
    ///
    /// The outcome is a success.
    unsafe fn take(&mut self) -> Self::Output;
}

/// Runs a call to its end: on the calling thread where `executor` is NULL.
pub(crate) fn run_here<C: Call>(
    mut call: C,
    progress: Option<Progress<'_>>,
    executor: sys::uform_executor_t,
) -> Result<C::Output> {
    let mut outcome = MaybeUninit::<sys::uform_outcome_t>::uninit();
    let mut handler = Handler::new(progress);
    let place = Place {
        executor,
        outcome: outcome.as_mut_ptr(),
        completion: sys::uform_completion_blocking_k,
        progress: Handler::as_c(&mut handler),
    };
    unsafe { call.submit(&place)? };
    if let Some(panic) = handler.panic.take() {
        resume_unwind(panic);
    }
    // A blocking verb's outcome is final on return.
    let outcome = unsafe { outcome.assume_init_ref() };
    if outcome.status != sys::uform_status_success_k {
        return Err(Error::of(outcome));
    }
    Ok(unsafe { call.take() })
}

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

// What crosses threads is gathered data, a handler that is `Send`, and `T`; the executor is not touched any more.
unsafe impl<T: Send> Send for Deferred<'_, T> {}

impl<'r, T> Deferred<'r, T> {
    /// # Safety
    ///
    /// Whatever the call or the handler borrow, other than what `T` does, lives for ever: `Accepts` saw to that.
    unsafe fn submit<C>(call: C, progress: Option<Progress<'_>>, executor: &Executor) -> Result<Self>
    where
        C: Call<Output = T>,
    {
        let boxed = Box::new(State {
            outcome: UnsafeCell::new(MaybeUninit::uninit()),
            handler: UnsafeCell::new(Handler::new(progress)),
            call: UnsafeCell::new(call),
        });
        let state = NonNull::from(Box::leak(boxed));
        let shared = unsafe { state.as_ref() };
        let place = Place {
            executor: executor.handle,
            outcome: shared.outcome.get().cast(),
            completion: sys::uform_completion_queued_k,
            progress: Handler::as_c(shared.handler.get()),
        };
        if let Err(error) = unsafe { (*shared.call.get()).submit(&place) } {
            drop(unsafe { Box::from_raw(state.as_ptr()) });
            return Err(error);
        }
        let state: NonNull<State<dyn Call<Output = T> + '_>> = state;
        // The lifetime alone goes, as for the handler.
        let state = unsafe {
            std::mem::transmute::<NonNull<State<dyn Call<Output = T> + '_>>, NonNull<State<dyn Call<Output = T>>>>(
                state,
            )
        };
        Ok(Self { state, borrowed: PhantomData })
    }

    fn outcome(&self) -> *const sys::uform_outcome_t {
        unsafe { self.state.as_ref() }.outcome.get().cast()
    }

    /// `Ok` once the call succeeded, [`Status::Deferred`] while it is not final, else its failure:
    /// `uform_outcome_status`.
    pub fn status(&self) -> std::result::Result<(), Status> {
        match unsafe { sys::uform_outcome_status(self.outcome()) } {
            sys::uform_status_success_k => Ok(()),
            status => Err(Status::from_c(status).unwrap_or(Status::Internal)),
        }
    }

    /// Blocks until the call is final: `uform_outcome_wait`.
    pub fn wait(self) -> Result<T> {
        unsafe { sys::uform_outcome_wait(self.outcome()) };
        self.finish()
    }

    /// Takes what a final call left behind.
    fn finish(self) -> Result<T> {
        let this = ManuallyDrop::new(self);
        let mut state = unsafe { Box::from_raw(this.state.as_ptr()) };
        if let Some(panic) = state.handler.get_mut().panic.take() {
            drop(state);
            resume_unwind(panic);
        }
        let outcome = unsafe { state.outcome.get_mut().assume_init_ref() };
        if outcome.status != sys::uform_status_success_k {
            return Err(Error::of(outcome));
        }
        Ok(unsafe { state.call.get_mut().take() })
    }
}

impl<T> Drop for Deferred<'_, T> {
    fn drop(&mut self) {
        unsafe { sys::uform_outcome_wait(self.outcome()) };
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

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Model {}
    impl<R> Sealed for super::On<'_, R> {}
    impl<R> Sealed for super::DeferredOn<'_, R> {}
}

/// What a verb is called on: it decides where the verb runs and how it completes.
pub trait Receiver: sealed::Sealed {
    /// What a verb answers: its output, or a [`Deferred`] of it.
    type Answer<T>;

    #[doc(hidden)]
    fn run<C: Call>(&self, call: C, progress: Option<Progress<'_>>) -> Result<Self::Answer<C::Output>>;
}

/// A receiver whose verbs block on an executor, and fail as [`Status::Contended`] while another call holds it.
#[derive(Debug)]
pub struct On<'r, R> {
    pub(crate) receiver: &'r R,
    pub(crate) executor: &'r Executor,
}

/// A receiver whose verbs submit a call to an executor and answer a [`Deferred`].
#[derive(Debug)]
pub struct DeferredOn<'r, R> {
    pub(crate) receiver: &'r R,
    pub(crate) executor: &'r Executor,
}

// Two references: copies, whether or not what they refer to is.
impl<R> Clone for On<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for On<'_, R> {}
impl<R> Clone for DeferredOn<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for DeferredOn<'_, R> {}

impl Receiver for crate::Model {
    type Answer<T> = T;

    fn run<C: Call>(&self, call: C, progress: Option<Progress<'_>>) -> Result<C::Output> {
        run_here(call, progress, ptr::null_mut())
    }
}

impl<R> Receiver for On<'_, R> {
    type Answer<T> = T;

    fn run<C: Call>(&self, call: C, progress: Option<Progress<'_>>) -> Result<C::Output> {
        run_here(call, progress, self.executor.handle)
    }
}

impl<'r, R> Receiver for DeferredOn<'r, R> {
    type Answer<T> = Deferred<'r, T>;

    fn run<C: Call>(&self, call: C, progress: Option<Progress<'_>>) -> Result<Deferred<'r, C::Output>> {
        // Every verb asks `Self: Accepts` of each input and of the config, which here admits what lives for ever alone.
        unsafe { Deferred::submit(call, progress, self.executor) }
    }
}

unsafe impl<T> Accepts<T> for crate::Model {}
unsafe impl<R, T> Accepts<T> for On<'_, R> {}
