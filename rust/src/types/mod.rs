//! What every verb shares, as `types.h` has it: statuses, scalars, classes, errors, executors, arenas, views of rows.

mod arena;
mod crossing;
mod elements;
mod error;
mod executor;
mod limits;
mod machine;
mod names;
mod rows;

pub use arena::Arena;
pub use elements::{BF16, Element, F16};
pub use error::{Detail, Error, Result};
pub use executor::Executor;
pub use limits::Limits;
pub use machine::{Capabilities, GPUDevice, capabilities, gpu_devices, version};
pub use names::{
    CPUClass, GPUClass, LateInteractionSide, Modality, Mood, MultimemTier, Negatives, Objective, PairLossForm, Scalar,
    Status,
};
pub use rows::{Rows, RowsTape, Tape};

pub(crate) use crossing::{bytes_of, per_item, pointer_or_null, run_at_once};
pub(crate) use error::refuse;
pub(crate) use names::or_zero;

/// Refuses to compile where a struct of ours that C writes into is not laid out as C's.
macro_rules! same_layout {
    ($ours:ty, $theirs:ty { $($field:ident),* $(,)? }) => {
        const _: () = {
            assert!(size_of::<$ours>() == size_of::<$theirs>() && align_of::<$ours>() == align_of::<$theirs>());
            $(assert!(std::mem::offset_of!($ours, $field) == std::mem::offset_of!($theirs, $field));)*
        };
    };
}
pub(crate) use same_layout;
