//! How values cross to C, and verbs that take no executor.

use std::ptr;

use super::error::{Result, refuse};
use super::names::Status;
use crate::call::{Call, Place, run_here};
use crate::sys;

/// Bytes as C takes them.
pub(crate) fn bytes_of(bytes: &[u8]) -> sys::uform_bytes_view_t {
    sys::uform_bytes_view_t { data: bytes.as_ptr().cast(), length: bytes.len() }
}

/// Where a slice starts, NULL where it is empty: how C leaves an optional array out.
pub(crate) fn pointer_or_null<T>(slice: &[T]) -> *const T {
    if slice.is_empty() { ptr::null() } else { slice.as_ptr() }
}

/// Refuses an optional array that is there and not one per item.
pub(crate) fn per_item<T>(slice: &[T], count: usize, message: &'static str) -> Result<*const T> {
    if !slice.is_empty() && slice.len() != count {
        return Err(refuse(Status::ShapeMismatch, message));
    }
    Ok(pointer_or_null(slice))
}

/// Runs a verb that takes no executor and is final on return.
pub(crate) fn run_at_once(verb: impl FnOnce(*mut sys::uform_outcome_t)) -> Result<()> {
    struct Once<F>(Option<F>);
    impl<F: FnOnce(*mut sys::uform_outcome_t)> Call for Once<F> {
        type Output = ();
        unsafe fn submit(&mut self, place: &Place) -> Result<()> {
            if let Some(verb) = self.0.take() {
                verb(place.outcome);
            }
            Ok(())
        }
        unsafe fn take(&mut self) {}
    }
    run_here(Once(Some(verb)), None, ptr::null_mut())
}
