//! What decoding may ask for.

use crate::sys;

/// The most that decoding one file may ask for: `uform_limits_t`. Zeros are the library's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Width times height of an image; zero: 2^27.
    pub max_pixels: u64,
    /// Width times height of a video's frame; zero: 2^26.
    pub max_frame_pixels: u64,
    /// Encoded bytes of one item; zero: 2^32.
    pub max_file_bytes: u64,
    /// Seconds that are decoded; zero: 3,600.
    pub max_seconds: u64,
}

impl Limits {
    pub(crate) fn as_c(self) -> sys::uform_limits_t {
        sys::uform_limits_t {
            max_pixels: self.max_pixels,
            max_frame_pixels: self.max_frame_pixels,
            max_file_bytes: self.max_file_bytes,
            max_seconds: self.max_seconds,
        }
    }
}
