//! Arenas: the memory that outputs land in.

use std::ptr;

use super::crossing::run_at_once;
use super::error::Result;
use super::executor::Executor;
use crate::sys;

/// The memory that outputs land in: `uform_arena_t`.
///
/// Each call that names it rewinds it, so it is lent as `&mut`, and views of the call before are gone by then. It keeps
/// the largest size it ever needed. Dropping it waits for a call that writes into it.
#[derive(Debug)]
pub struct Arena {
    pub(crate) handle: sys::uform_arena_t,
    pub(crate) on_device: bool,
}

// SAFETY: C lets any thread name an arena; calls lock it.
unsafe impl Send for Arena {}
// SAFETY: nothing is done through `&Arena`: a call takes `&mut`, a view reads memory that stays until the next.
unsafe impl Sync for Arena {}

impl Arena {
    /// Host pages, for calls on the calling thread: `uform_arena_init`.
    pub fn new() -> Result<Self> {
        Self::made(ptr::null_mut(), false)
    }

    /// Memory where `executor` computes: `uform_arena_init`.
    pub fn new_in(executor: &Executor) -> Result<Self> {
        Self::made(executor.handle, executor.on_device)
    }

    fn made(executor: sys::uform_executor_t, on_device: bool) -> Result<Self> {
        let mut arena = ptr::null_mut();
        run_at_once(|outcome| {
            let mut arguments = sys::uform_arena_init_t { arena: &mut arena, executor, outcome };
            // SAFETY: the struct and all it points to live until the verb returns, and then its outcome is final.
            unsafe { sys::uform_arena_init(&mut arguments) }
        })?;
        Ok(Self { handle: arena, on_device })
    }
}

impl Drop for Arena {
    /// `uform_arena_free`.
    fn drop(&mut self) {
        // SAFETY: the handle is NULL or this value's own, and nothing names it afterwards.
        unsafe { sys::uform_arena_free(self.handle) }
    }
}
