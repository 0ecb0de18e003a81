//! Where an encode verb's outputs land, and the call that carries its inputs there.

use std::marker::PhantomData;
use std::ptr;

use super::configs::{EncodeStats, Outputs};
use crate::call::{Call, Place};
use crate::model::Model;
use crate::sys;
use crate::types::{Arena, Result, Rows, RowsTape, Scalar};

/// What an encode verb answers: views into the arena it was lent, `None` where [`Outputs`] left a surface out.
#[derive(Clone, Copy, Debug)]
pub struct Encoded<'a> {
    /// `[count, dimensions]`, of unit length.
    pub embeddings: Option<Rows<'a>>,
    /// `[tokens, hidden]`.
    pub states: Option<RowsTape<'a>>,
    /// `[tokens, token_width]`, of unit length.
    pub token_vectors: Option<RowsTape<'a>>,
}

/// What the encode verbs share: where outputs land, and the knobs.
pub(super) struct Landing {
    pub(super) model: sys::uform_model_t,
    pub(super) outputs: Outputs,
    pub(super) dimensions: usize,
    pub(super) arena: sys::uform_arena_t,
    on_device: bool,
    pub(super) outputs_scalar: sys::uform_scalar_t,
    pub(super) stats: *mut sys::uform_encode_stats_t,
    pub(super) count: usize,
    pub(super) embeddings: sys::uform_rows_t,
    pub(super) states: sys::uform_rows_tape_t,
    pub(super) token_vectors: sys::uform_rows_tape_t,
}

pub(crate) const NO_ROWS: sys::uform_rows_t =
    sys::uform_rows_t { data: ptr::null(), count: 0, columns: 0, stride: 0, scalar: sys::uform_scalar_default_k };
pub(crate) const NO_TAPE: sys::uform_rows_tape_t = sys::uform_rows_tape_t {
    data: ptr::null(),
    count: 0,
    columns: 0,
    stride: 0,
    scalar: sys::uform_scalar_default_k,
    offsets: ptr::null(),
};

impl Landing {
    pub(super) fn new(model: &Model, outputs: Outputs, dimensions: usize, knobs: Knobs<'_>, arena: &mut Arena) -> Self {
        Self {
            model: model.handle,
            outputs,
            dimensions,
            arena: arena.handle,
            on_device: arena.on_device,
            outputs_scalar: knobs.0 as i32,
            stats: knobs.1.map_or(ptr::null_mut(), |stats| ptr::from_mut(stats).cast()),
            count: 0,
            embeddings: NO_ROWS,
            states: NO_TAPE,
            token_vectors: NO_TAPE,
        }
    }

    fn take<'a>(&self) -> Encoded<'a> {
        let tape =
            |raw, asked: Outputs| self.outputs.contains(asked).then(|| RowsTape::of(raw, self.count, self.on_device));
        Encoded {
            embeddings: self.outputs.contains(Outputs::EMBEDDINGS).then(|| Rows::of(self.embeddings, self.on_device)),
            states: tape(self.states, Outputs::STATES),
            token_vectors: tape(self.token_vectors, Outputs::TOKEN_VECTORS),
        }
    }
}

/// What outputs land as, and where stats go.
pub(super) type Knobs<'c> = (Scalar, Option<&'c mut EncodeStats>);

/// Where an output goes, NULL where it was not asked for.
pub(super) fn asked<T>(landing: Outputs, output: Outputs, place: &mut T) -> *mut T {
    if landing.contains(output) { place } else { ptr::null_mut() }
}

/// Writes the fields that every encode verb's struct has, around those of its own.
macro_rules! encode_arguments {
    ($struct:ident, $landing:expr, $place:expr, { $($own:tt)* }) => {{
        let landing: &mut Landing = $landing;
        sys::$struct {
            model: landing.model,
            executor: $place.executor,
            outcome: $place.outcome,
            completion: $place.completion,
            $($own)*
            count: landing.count,
            dimensions: landing.dimensions,
            embeddings: asked(landing.outputs, Outputs::EMBEDDINGS, &mut landing.embeddings),
            states: asked(landing.outputs, Outputs::STATES, &mut landing.states),
            token_vectors: asked(landing.outputs, Outputs::TOKEN_VECTORS, &mut landing.token_vectors),
            arena: landing.arena,
            outputs_scalar: landing.outputs_scalar,
            stats: landing.stats,
            progress: $place.progress,
        }
    }};
}
pub(super) use encode_arguments;

/// An encode verb: its own inputs, and how they reach C.
pub(super) struct Encode<'a, I, F> {
    landing: Landing,
    inputs: I,
    verb: F,
    arena: PhantomData<&'a mut Arena>,
}

impl<'a, I, F> Call for Encode<'a, I, F>
where
    F: FnMut(&I, &mut Landing, &Place) -> Result<()>,
{
    type Output = Encoded<'a>;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        (self.verb)(&self.inputs, &mut self.landing, place)
    }

    unsafe fn take(&mut self) -> Encoded<'a> {
        self.landing.take()
    }
}

pub(super) fn encode<'a, I, F>(landing: Landing, inputs: I, verb: F) -> Encode<'a, I, F>
where
    F: FnMut(&I, &mut Landing, &Place) -> Result<()>,
{
    Encode { landing, inputs, verb, arena: PhantomData }
}
