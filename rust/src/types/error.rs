//! Failures: a status, C's message in static storage, the item at fault, and what varies, all without an allocation.

use std::ffi::CStr;
use std::fmt;
use std::ops::Deref;

use super::names::Status;
use crate::sys;

/// What every fallible call answers.
pub type Result<T> = std::result::Result<T, Error>;

/// How a call failed. Nothing in it is on the heap, so it can tell that memory ran out; it is about 280 bytes for that.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Error {
    /// What kind of failure.
    pub status: Status,
    /// What went wrong, naming the argument where one is at fault.
    pub message: &'static str,
    /// The item of the batch at fault, where one is.
    pub item: Option<usize>,
    /// What varies: a tensor's name, both values.
    pub detail: Detail,
}

/// Up to 255 bytes of text in place; it dereferences to `str`.
#[derive(Clone, Copy)]
pub struct Detail {
    bytes: [u8; sys::UFORM_DETAIL_CAPACITY as usize],
    length: usize,
}

impl Detail {
    const EMPTY: Self = Self { bytes: [0; sys::UFORM_DETAIL_CAPACITY as usize], length: 0 };

    fn of(text: &[std::ffi::c_char; sys::UFORM_DETAIL_CAPACITY as usize]) -> Self {
        let bytes = text.map(|byte| byte as u8);
        let ended = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        let length = match std::str::from_utf8(&bytes[..ended]) {
            Ok(_) => ended,
            Err(error) => error.valid_up_to(),
        };
        Self { bytes, length }
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        // SAFETY: `of` measured how much of it is UTF-8.
        unsafe { std::str::from_utf8_unchecked(&self.bytes[..self.length]) }
    }
}

impl Deref for Detail {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for Detail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), formatter)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.status, self.message)?;
        if let Some(item) = self.item {
            write!(formatter, " (item {item})")?;
        }
        if !self.detail.is_empty() {
            write!(formatter, ": {}", self.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// A failure that the binding itself sees, before or after the call.
#[cold]
pub(crate) fn refuse(status: Status, message: &'static str) -> Error {
    Error { status, message, item: None, detail: Detail::EMPTY }
}

impl Error {
    /// Reads a final outcome that is not a success.
    #[cold]
    pub(crate) fn of(outcome: &sys::uform_outcome_t) -> Self {
        // SAFETY: the message is a NUL-ended text in static storage, never NULL once final.
        let message: &'static CStr = unsafe { CStr::from_ptr(outcome.message) };
        Self {
            status: Status::from_c(outcome.status).unwrap_or(Status::Internal),
            message: message.to_str().unwrap_or("a message that is not UTF-8"),
            item: (outcome.item != usize::MAX).then_some(outcome.item),
            detail: Detail::of(&outcome.detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_ends_at_its_nul_or_where_utf8_does() {
        let mut text = [0 as std::ffi::c_char; 256];
        assert_eq!(Detail::of(&text).as_str(), "");
        for (to, from) in text.iter_mut().zip("größe".bytes()) {
            *to = from as std::ffi::c_char;
        }
        assert_eq!(&*Detail::of(&text), "größe");
        text[3] = 0;
        assert_eq!(&*Detail::of(&text), "gr", "half a letter is left out");
        assert_eq!(Detail::of(&[b'x' as std::ffi::c_char; 256]).len(), 256);
    }

    #[test]
    fn an_error_says_what_it_has() {
        let mut error = refuse(Status::Internal, "odd");
        (error.item, error.detail) = (Some(3), Detail::of(&[b'!' as std::ffi::c_char; 256]));
        assert_eq!((error.message, error.item, &error.detail[..2]), ("odd", Some(3), "!!"));
        assert!(format!("{error:?}").contains("\"odd\""));
    }
}
