//! What must not compile against the crate `uform`, each case with the words of the compiler: `tests/refusals.rs`.
