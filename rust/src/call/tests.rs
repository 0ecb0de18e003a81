//! Calls without a library, for Miri: this file answers for the few functions that waiting goes through, and a thread
//! of its own plays the executor. Linked tests call C instead, so all of it is Miri's alone.
#![cfg(miri)]

use std::ffi::CStr;
use std::future::IntoFuture;
use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use super::{Call, Deferred, Place, run_here};
use crate::sys;
use crate::types::{Executor, Result, Status, refuse};

/// As C does it: the status word alone is shared while a call runs.
fn word(outcome: *const sys::uform_outcome_t) -> &'static AtomicI32 {
    unsafe { AtomicI32::from_ptr(ptr::addr_of!((*outcome).status).cast_mut()) }
}

#[unsafe(no_mangle)]
extern "C" fn uform_outcome_status(outcome: *const sys::uform_outcome_t) -> i32 {
    word(outcome).load(Ordering::Acquire)
}

#[unsafe(no_mangle)]
extern "C" fn uform_outcome_wait(outcome: *const sys::uform_outcome_t) -> i32 {
    loop {
        match uform_outcome_status(outcome) {
            sys::uform_status_deferred_k => thread::yield_now(),
            status => return status,
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn uform_executor_free(_: sys::uform_executor_t) {}

/// Stores a final status behind everything else, as C does.
unsafe fn finish(outcome: *mut sys::uform_outcome_t, status: i32) {
    const MESSAGE: &CStr = c"the message";
    unsafe {
        (*outcome).message = MESSAGE.as_ptr();
        (*outcome).item = 3;
        (*outcome).detail = [0; 256];
    }
    word(outcome).store(status, Ordering::Release);
}

/// A verb that sums bytes into a place of its own, on another thread where it is queued.
struct Sum {
    input: Vec<u8>,
    refused: bool,
    output: usize,
}

impl Sum {
    fn of(input: &[u8]) -> Self {
        Self { input: input.to_vec(), refused: false, output: 0 }
    }
}

/// What C keeps of a call: raw pointers into it.
struct Job {
    input: *const [u8],
    output: *mut usize,
    outcome: *mut sys::uform_outcome_t,
    progress: sys::uform_progress_t,
}
unsafe impl Send for Job {}

impl Job {
    unsafe fn run(self) {
        let input = unsafe { &*self.input };
        for completed in 0..=input.len() {
            let goes_on = self
                .progress
                .callback
                .is_none_or(|call| unsafe { call(completed, input.len(), self.progress.context) });
            if !goes_on {
                return unsafe { finish(self.outcome, sys::uform_status_cancelled_k) };
            }
        }
        unsafe { self.output.write(input.iter().map(|&byte| usize::from(byte)).sum()) };
        unsafe { finish(self.outcome, sys::uform_status_success_k) }
    }
}

impl Call for Sum {
    type Output = usize;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        if self.refused {
            return Err(refuse(Status::InvalidArgument, "refused"));
        }
        let (outcome, progress) = (place.outcome, place.progress);
        let job = Job { input: &raw const *self.input, output: &raw mut self.output, outcome, progress };
        unsafe { (*outcome).status = sys::uform_status_deferred_k };
        if place.completion == sys::uform_completion_queued_k {
            thread::spawn(move || {
                let job = job; // whole, and so `Send`
                thread::yield_now();
                unsafe { job.run() }
            });
        } else {
            unsafe { job.run() };
        }
        Ok(())
    }

    unsafe fn take(&mut self) -> usize {
        self.output
    }
}

type Handler = dyn FnMut(usize, usize) -> ControlFlow<()> + Send;

/// Submits a sum whose handler lives for ever, as `Accepts` demands of callers.
fn submit(input: &[u8], handler: Option<Box<Handler>>) -> Deferred<'static, usize> {
    let progress = handler.map(|handler| Box::leak(handler) as _);
    unsafe { Deferred::submit(Sum::of(input), progress, &ManuallyDrop::new(Executor::default())) }.unwrap()
}

#[test]
fn blocks_and_reports() {
    let mut seen = Vec::new();
    let mut handler = |completed, total| {
        seen.push((completed, total));
        ControlFlow::Continue(())
    };
    assert_eq!(run_here(Sum::of(&[1, 2]), Some(&mut handler), ptr::null_mut()).unwrap(), 3);
    assert_eq!(seen, [(0, 2), (1, 2), (2, 2)]);
    let mut stop = |_, _| ControlFlow::Break(());
    let error = run_here(Sum::of(&[1]), Some(&mut stop), ptr::null_mut()).unwrap_err();
    assert_eq!((error.status, error.message, error.item), (Status::Cancelled, "the message", Some(3)));
    let refused = run_here(Sum { refused: true, ..Sum::of(&[]) }, None, ptr::null_mut());
    assert_eq!(refused.unwrap_err().message, "refused");
}

#[test]
fn waits_polls_drops_and_moves_between_threads() {
    assert_eq!(submit(&[1, 2, 3], None).wait().unwrap(), 6);
    drop(submit(&[1, 2, 3], None));
    let call = submit(&[4, 5], None);
    assert_eq!(thread::spawn(move || call.wait().unwrap()).join().unwrap(), 9);
    let mut future = pin!(submit(&[7; 20], None).into_future());
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(sum) => break assert_eq!(sum.unwrap(), 140),
            Poll::Pending => thread::yield_now(),
        }
    }
    let half = submit(&[1], None).into_future();
    drop(half);
    let refused = unsafe { Deferred::submit(Sum { refused: true, ..Sum::of(&[]) }, None, &Executor::default()) };
    assert_eq!(refused.unwrap_err().message, "refused");
}

#[test]
fn panics_come_back_from_a_wait_a_poll_and_a_drop() {
    let panicking = || submit(&[1, 2], Some(Box::new(|_, _| panic!("words"))));
    let words = |action: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(action)).unwrap_err();
        assert_eq!(*panic.downcast_ref::<&str>().unwrap(), "words");
    };
    words(&|| _ = panicking().wait());
    words(&|| drop(panicking()));
    let mut only = |_, _| panic!("words");
    let blocking = catch_unwind(AssertUnwindSafe(|| run_here(Sum::of(&[1]), Some(&mut only), ptr::null_mut()).is_ok()));
    assert!(blocking.is_err());
    let unwinding = catch_unwind(|| {
        let _call = panicking();
        panic!("the caller's");
    });
    assert_eq!(*unwinding.unwrap_err().downcast_ref::<&str>().unwrap(), "the caller's");
}
