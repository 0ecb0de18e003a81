//! The crate through its public face, against whichever library is linked: the engine, or the stub by feature.
// Errors carry their detail in place, and batches are lent as users lend them.
#![allow(clippy::result_large_err, clippy::needless_borrows_for_generic_args)]

#[path = "suite/abuse.rs"]
mod abuse;
#[path = "suite/conformance/mod.rs"]
mod conformance;
#[path = "suite/deferred.rs"]
mod deferred;
#[path = "suite/golden.rs"]
mod golden;
#[path = "suite/lifetimes.rs"]
mod lifetimes;
#[path = "suite/media.rs"]
mod media;
#[path = "suite/media_training.rs"]
mod media_training;
#[path = "suite/mesh.rs"]
mod mesh;
#[path = "suite/reference.rs"]
mod reference;
#[path = "suite/statuses.rs"]
mod statuses;
#[path = "suite/support.rs"]
mod support;
#[path = "suite/training.rs"]
mod training;
