//! A handler of progress between C, which calls it, and Rust, whose panics must not cross C's frames.

use std::any::Any;
use std::ffi::c_void;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crate::sys;

/// A handler of a call's progress, told how much is completed of how much; `Break` stops the call, which then fails as
/// [`Status::Cancelled`](crate::Status::Cancelled). Any thread of the executor's may call it, one at a time.
pub type Progress<'c> = &'c mut (dyn FnMut(usize, usize) -> ControlFlow<()> + Send + 'c);

type Panic = Box<dyn Any + Send>;

/// A handler whose borrow is kept by whoever runs the call.
type Erased<'c> = NonNull<dyn FnMut(usize, usize) -> ControlFlow<()> + Send + 'c>;

/// A handler while its call runs, and what it panicked with, kept from crossing C's frames.
pub(super) struct Handler {
    handler: Option<Erased<'static>>,
    pub(super) panic: Option<Panic>,
}

impl Handler {
    /// The caller keeps the handler borrowed until the call is final.
    pub(super) fn new(handler: Option<Progress<'_>>) -> Self {
        // SAFETY: the lifetime alone goes, and the caller keeps the handler borrowed until no more reports are made.
        let erase = |handler| unsafe { std::mem::transmute::<Erased<'_>, Erased<'static>>(NonNull::from_mut(handler)) };
        Self { handler: handler.map(erase), panic: None }
    }

    pub(super) fn as_c(this: *mut Self) -> sys::uform_progress_t {
        // SAFETY: callers give a pointer to a handler of theirs that no report reads yet.
        let reports = unsafe { (*this).handler.is_some() };
        sys::uform_progress_t { callback: reports.then_some(report as sys::callback_t), context: this.cast() }
    }
}

unsafe extern "C" fn report(completed: usize, total: usize, context: *mut c_void) -> bool {
    // SAFETY: C makes one report at a time, and nobody else looks here until the call is final.
    let this = unsafe { &mut *context.cast::<Handler>() };
    let Some(mut handler) = this.handler.filter(|_| this.panic.is_none()) else { return false };
    // SAFETY: the handler is borrowed until the call is final, and nobody else calls it meanwhile.
    match catch_unwind(AssertUnwindSafe(|| unsafe { handler.as_mut() }(completed, total))) {
        Ok(flow) => flow.is_continue(),
        Err(panic) => {
            this.panic = Some(panic);
            false
        }
    }
}
