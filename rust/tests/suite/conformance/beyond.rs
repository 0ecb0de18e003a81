//! Rows that no call in safe Rust is like, and what of the types is why.

use super::Row;

const COMPLETION: &str = "the receiver decides the completion";
const ENUM: &str = "enums have no value but theirs";
const OUTPUT: &str = "outputs are answered: no place for one can be left out, nor the arena";
const RECEIVER: &str = "a verb has its receiver";
const SCALAR: &str = "a tape's scalar is its elements' type, which the verb demands";
const SLICE: &str = "a slice, a path and a string have a place, as long as they say and aligned";
const STRIDE: &str = "strides are computed";
const TEXT: &str = "names are UTF-8";

/// How many rows each reason leaves out.
pub(super) const COUNTS: [(&str, usize); 8] =
    [(COMPLETION, 19), (ENUM, 34), (OUTPUT, 21), (RECEIVER, 9), (SCALAR, 15), (SLICE, 28), (STRIDE, 2), (TEXT, 1)];

/// `None`: the row is replayed.
pub(super) fn reason(row: &Row) -> Option<&'static str> {
    Some(match (row.test, row.what, row.before) {
        (_, "a completion below" | "a completion beyond", _) => COMPLETION,
        ("images.checkpoints_tell_their_entry" | "recordings.checkpoints_tell_their_entry", ..) => return None,
        ("trainer_init.refusals_of_contrastive_fields", "no form" | "no negatives", _) => ENUM,
        ("trainer_init.refusals_of_late_interaction_fields", "late_interaction.pair_loss", _) => ENUM,
        (_, "a class below" | "a class beyond" | "quantized as nothing" | "quantized beyond", _) => ENUM,
        (_, "an objective below" | "an objective beyond" | "a side below" | "a side beyond", _) => ENUM,
        (_, "no modality" | "landing as nothing" | "a query of e4m3" | "a query of nothing", _) => ENUM,
        ("encode_refusals.every_field", "landing as no output does", 4..) => ENUM,
        (_, "no output" | "no arena" | "embeddings and no arena", _) => OUTPUT,
        (_, "no model" | "no trainer", _) => RECEIVER,
        ("rerank.refusals", "another scalar", _) => return None,
        (_, "another scalar", _) => SCALAR,
        (_, what, _) if what.ends_with("of another scalar") => SCALAR,
        (_, "NULL nodes" | "NULL of a length" | "longer than memory" | "endless items", _) => SLICE,
        (_, "a crooked address" | "a query without data" | "no documents" | "no heights" | "no widths", _) => SLICE,
        (_, "a query's stride" | "a document's stride", _) => STRIDE,
        ("meshes.refusals", "options.job", 0) => TEXT,
        _ => return None,
    })
}
