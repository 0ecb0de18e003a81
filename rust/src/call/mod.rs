//! How a call runs: on the calling thread, on an executor, or deferred; and what becomes of it.
//!
//! A verb packs its inputs and its outputs' places into a [`Call`]; the receiver decides where that lives meanwhile: a
//! blocking call on the stack, a deferred one in the one box it allocates.

mod deferred;
mod handler;
mod receiver;
#[cfg(test)]
mod tests;

use std::mem::MaybeUninit;
use std::panic::resume_unwind;

use crate::sys;
use crate::types::{Error, Result};

pub use deferred::{Deferred, DeferredFuture};
use handler::Handler;
pub use handler::Progress;
pub use receiver::{DeferredOn, On, Receiver};

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
    // SAFETY: call, outcome and handler stay in this frame, and a blocking verb is done with them when it returns.
    unsafe { call.submit(&place)? };
    if let Some(panic) = handler.panic.take() {
        resume_unwind(panic);
    }
    // SAFETY: the verb was called, and a blocking one's outcome is written when it returns.
    let outcome = unsafe { outcome.assume_init_ref() };
    if outcome.status != sys::uform_status_success_k {
        return Err(Error::of(outcome));
    }
    // SAFETY: the outcome is a success.
    Ok(unsafe { call.take() })
}
