//! What a verb is called on, which decides where it runs and how it completes.

use std::ptr;

use super::{Call, Deferred, Progress, run_here};
use crate::inputs::Accepts;
use crate::types::{Executor, Result};

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

/// A receiver whose verbs block on an executor, and fail as [`Contended`](crate::Status::Contended) while another call
/// holds it.
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
        // SAFETY: every verb asks `Self: Accepts` of each input and of the config, which here admits what lives for ever alone.
        unsafe { Deferred::submit(call, progress, self.executor) }
    }
}

// SAFETY: it blocks.
unsafe impl<T> Accepts<T> for crate::Model {}
// SAFETY: it blocks.
unsafe impl<R, T> Accepts<T> for On<'_, R> {}
