//! Encoding texts, choosing, reranking.

use uform::*;

use super::Replay;
use crate::support::{checkpoint, headed};

const TEXTS: [&str; 3] = ["Hello, world", "", "zwei"];

pub(super) fn encode(mut replay: Replay) -> Result<()> {
    let (model, bare, mut arena) = (headed(), Model::load_ram_buffer(&checkpoint(0, 0))?, Arena::new()?);
    let all = Outputs::EMBEDDINGS | Outputs::STATES | Outputs::TOKEN_VECTORS;
    let data = b"Hello, worldzwei".as_slice();
    let mut tape = |replay: &mut Replay, what, data: &[u8], offsets: &[usize]| {
        replay.row(what, model.text_encode((data, offsets), all, Scalar::F32, &mut arena));
    };
    tape(&mut replay, "no offsets", data, &[]);
    tape(&mut replay, "offsets that decrease", data, &[0, 4, 3, 5]);
    tape(&mut replay, "offsets that decrease last", data, &[0, 4, 5, 4]);
    tape(&mut replay, "offsets beyond memory", data, &[0, 4, 5, usize::MAX]);
    tape(&mut replay, "no data", b"", &[0, 12, 12, 16]);
    for (what, dimensions) in [("too many dimensions", 129), ("endless dimensions", usize::MAX)] {
        let config = TextEncodeConfig { dimensions, ..TextEncodeConfig::default() };
        replay.row(what, model.text_encode(&TEXTS, all, config, &mut arena));
    }
    replay.row("states as i8", model.text_encode(&TEXTS, all, Scalar::I8, &mut arena));
    replay.row("a model without a token head", bare.text_encode(&TEXTS, all, Scalar::F32, &mut arena));
    for scalar in [Scalar::E4M3, Scalar::U8, Scalar::U32, Scalar::U64] {
        replay.row("landing as no output does", model.text_encode(&TEXTS, all, scalar, &mut arena));
    }
    model.text_encode(&TEXTS, all, Scalar::F32, &mut arena)?;
    replay.end()
}

pub(super) fn choose(mut replay: Replay) -> Result<()> {
    let (model, bare, mut arena) = (headed(), Model::load_ram_buffer(&checkpoint(24, 0))?, Arena::new()?);
    let (texts, choices) = (["Is it? ", "", "Which? ", "Nothing"], ["yn", "ab", "abcd", ""]);
    let decreasing = (b"abcdefgh".as_slice(), [0usize, 3, 2, 4, 5]);
    let empty = (b"".as_slice(), [0usize, 1, 2, 3, 4]);
    let nothing = (b"abcdefgh".as_slice(), [0usize; 0]);
    replay.row("no texts", model.text_choose(nothing, &choices, Scalar::F32, &mut arena));
    replay.row("texts that decrease", model.text_choose(decreasing, &choices, Scalar::F32, &mut arena));
    replay.row("texts without data", model.text_choose(empty, &choices, Scalar::F32, &mut arena));
    replay.row("no choices", model.text_choose(&texts, nothing, Scalar::F32, &mut arena));
    replay.row("choices that decrease", model.text_choose(&texts, decreasing, Scalar::F32, &mut arena));
    replay.row("choices without data", model.text_choose(&texts, empty, Scalar::F32, &mut arena));
    let twice = ["yn", "aba", "abcd", ""];
    replay.row("a choice twice", model.text_choose(&texts, &twice, Scalar::F32, &mut arena));
    let config = TextChooseConfig { temperature_groups: &[0, 1, 2, 0], ..TextChooseConfig::default() }; // two groups
    replay.row("a group beyond", model.text_choose(&texts, &choices, config, &mut arena));
    replay.row("landing as i8", model.text_choose(&texts, &choices, Scalar::I8, &mut arena));
    replay.row("landing as e4m3", model.text_choose(&texts, &choices, Scalar::E4M3, &mut arena));
    replay.row("a model without a decoder", bare.text_choose(&texts, &choices, Scalar::F32, &mut arena));
    model.text_choose(&texts, &choices, Scalar::F32, &mut arena)?;
    replay.end()
}

pub(super) fn rerank(mut replay: Replay) -> Result<()> {
    let (local, mut arena) = (Executor::default(), Arena::new()?);
    let query = ([1f32, 0.0, 0.0, 1.0].as_slice(), 2);
    let vectors = [1f32, 0.0, 0.0, 1.0, -1.0, 0.0, 0.6, 0.8, -0.6, -0.8];
    let offsets = [0usize, 2, 3, 4, 5];
    let right = (vectors.as_slice(), offsets.as_slice(), 2);
    let halves = [BF16(0x3f80); 10];
    let nobody: (&[f32], usize) = (&[], 2);
    replay.row("a query without rows", local.rerank(nobody, right, Scalar::F32, &mut arena));
    let other = (halves.as_slice(), offsets.as_slice(), 2);
    replay.row("another scalar", local.rerank(query, other, Scalar::F32, &mut arena));
    replay.row(
        "another width",
        local.rerank(query, (vectors.as_slice(), offsets.as_slice(), 1), Scalar::F32, &mut arena),
    );
    for (what, offsets) in [
        ("no offsets", &[][..]),
        ("offsets that decrease", &[0, 2, 1, 4, 5]),
        ("offsets past the rows", &[0, 2, 3, 4, 6]),
        ("a document without rows", &[0, 2, 2, 4, 5]),
    ] {
        let documents = (vectors.as_slice(), offsets, 2);
        replay.row(what, local.rerank(query, documents, Scalar::F32, &mut arena));
    }
    replay.row("landing as i8", local.rerank(query, right, Scalar::I8, &mut arena));
    replay.row("landing as e4m3", local.rerank(query, right, Scalar::E4M3, &mut arena));
    local.rerank(query, right, Scalar::F32, &mut arena)?;
    replay.end()
}
