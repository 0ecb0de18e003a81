//! One optimizer step: its items, the edges between them, what it answers and what it did.

use std::ops::Deref;
use std::ptr;

use crate::call::{Call, Place};
use crate::encode::{NO_ROWS, NO_TAPE};
use crate::inputs::{Owned, Parts, Told, tape, view_of};
use crate::sys;
use crate::types::{
    Arena, Element, LateInteractionSide, Limits, Modality, Result, Rows, RowsTape, Scalar, Status, per_item, refuse,
    same_layout,
};

/// Links from items to items as compressed sparse rows: `uform_edges_view_t`. Empty offsets: none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Edges<'c> {
    /// One more than there are items, never decreasing.
    pub offsets: &'c [usize],
    /// Items of this step, ascending within a run.
    pub ids: &'c [u32],
    /// One per id; empty: all 1.
    pub weights: &'c [f32],
}

impl Edges<'_> {
    fn as_c(&self, count: usize, told: Told) -> Result<sys::uform_edges_view_t> {
        if self.offsets.is_empty() {
            return Ok(sys::uform_edges_view_t { offsets: ptr::null(), ids: ptr::null(), weights: ptr::null() });
        }
        if self.offsets.len() - 1 != count {
            return Err(refuse(Status::ShapeMismatch, "edges' offsets are not one more than the items"));
        }
        view_of((self.ids, self.offsets), told)?;
        let weights = per_item(self.weights, self.ids.len(), "edges' weights are not one per id")?;
        Ok(sys::uform_edges_view_t { offsets: self.offsets.as_ptr(), ids: self.ids.as_ptr(), weights })
    }
}

/// What each ordered pair of a step is: `uform_relations_view_t`. The first set that names a pair decides: ignore,
/// attract, repel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Relations<'c> {
    /// Pairs that belong together.
    pub attract: Edges<'c>,
    /// Pairs that do not.
    pub repel: Edges<'c>,
    /// Pairs left out.
    pub ignore: Edges<'c>,
}

/// What a step did: `uform_trainer_step_stats_t`. Losses are means over the world.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct TrainerStepStats {
    /// The one just applied, counted from one over all resumes.
    pub step: usize,
    /// Of that step.
    pub learning_rate: f32,
    /// The sum that was minimized.
    pub loss: f32,
    /// Zero where the objective is masked alone.
    pub contrastive_loss: f32,
    /// Without its weight; zero where absent.
    pub masked_text_loss: f32,
    /// Without its weight; zero where absent.
    pub masked_image_loss: f32,
    /// Without its weight; zero where absent.
    pub masked_video_loss: f32,
    /// Without its weight; zero where absent.
    pub masked_audio_loss: f32,
    /// With its weight; zero where absent.
    pub late_interaction_loss: f32,
    /// Without its weight, with its Brier score; zero where absent.
    pub choices_loss: f32,
    /// Items cut to a row.
    pub truncated: usize,
    /// Items that found no room since stats were last read.
    pub dropped: usize,
    /// Euclidean, over all tensors.
    pub gradient_norm: f32,
    /// In nats, without its weight; zero where off.
    pub coding_rate: f32,
    /// The largest singular value squared, without its weight; zero where off.
    pub lipschitz: f32,
    /// Directions filled; zero where masked alone.
    pub effective_rank: f32,
    /// Through the tower in this step.
    pub tokens: usize,
}
same_layout!(
    TrainerStepStats,
    sys::uform_trainer_step_stats_t {
        step,
        learning_rate,
        loss,
        contrastive_loss,
        masked_text_loss,
        masked_image_loss,
        masked_video_loss,
        masked_audio_loss,
        late_interaction_loss,
        choices_loss,
        truncated,
        dropped,
        gradient_norm,
        coding_rate,
        lipschitz,
        effective_rank,
        tokens,
    }
);

/// A step beyond its items: `uform_trainer_step_t`. An empty slice leaves a field out.
#[derive(Default)]
pub struct TrainerStepConfig<'c, 'a> {
    /// One per item; items of one bag share a device.
    pub bags: &'c [u32],
    /// One per item; empty: all zero.
    pub temperature_groups: &'c [u32],
    /// One per item: the part it plays in late interaction.
    pub sides: &'c [LateInteractionSide],
    /// The legal bytes of each item, as a tape's data and offsets.
    pub choices: (&'c [u8], &'c [usize]),
    /// A probability for each of `choices`, as a tape's data and offsets.
    pub choice_targets: (&'c [f32], &'c [usize]),
    /// Read unless the objective is masked alone.
    pub relations: Relations<'c>,
    /// Of media files.
    pub limits: Limits,
    /// Where the pooled embeddings land that the loss scored; `None`: they are not copied.
    pub arena: Option<&'a mut Arena>,
    /// Land the token vectors beside them, as late interaction scored them; it takes an arena.
    pub token_vectors: bool,
    /// What outputs land as.
    pub outputs_scalar: Scalar,
    /// Filled on success; `None`: losses are not even read back.
    pub stats: Option<&'c mut TrainerStepStats>,
}

// SAFETY: all but the arena lives for ever, and the arena is borrowed for as long as the answer is.
unsafe impl Owned for TrainerStepConfig<'static, '_> {}

/// What a step scored before its update: the embeddings, as which it is also read, and the token vectors that were
/// asked for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Scored<'a> {
    /// `[count, hidden]`, zeros for items that found no room.
    pub embeddings: Rows<'a>,
    /// `[tokens, token_width]` of all items; none of those that found no room.
    pub token_vectors: Option<RowsTape<'a>>,
}

impl<'a> Deref for Scored<'a> {
    type Target = Rows<'a>;

    fn deref(&self) -> &Rows<'a> {
        &self.embeddings
    }
}

pub(super) struct Step<'c, 'a, M, T> {
    trainer: sys::uform_trainer_t,
    modalities: M,
    contents: T,
    config: TrainerStepConfig<'c, 'a>,
    count: usize,
    embeddings: sys::uform_rows_t,
    token_vectors: sys::uform_rows_tape_t,
}

impl<'c, 'a, M, T> Step<'c, 'a, M, T> {
    pub(super) fn new(
        trainer: sys::uform_trainer_t,
        modalities: M,
        contents: T,
        config: TrainerStepConfig<'c, 'a>,
    ) -> Self {
        Self { trainer, modalities, contents, config, count: 0, embeddings: NO_ROWS, token_vectors: NO_TAPE }
    }
}

/// A tape that may be left out, with one item per item of the step.
fn optional<E: Element>(
    parts: (&[E], &[usize]),
    count: usize,
    told: Told,
    message: &'static str,
) -> Result<sys::uform_tape_view_t> {
    if parts.1.is_empty() {
        let scalar = sys::uform_scalar_default_k;
        return Ok(sys::uform_tape_view_t { data: ptr::null(), offsets: ptr::null(), scalar });
    }
    match view_of(parts, told)? {
        (view, items) if items == count => Ok(view),
        _ => Err(refuse(Status::ShapeMismatch, message)),
    }
}

impl<'a, M: AsRef<[Modality]>, T: Parts<u8>> Call for Step<'_, 'a, M, T> {
    type Output = Option<Scored<'a>>;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        let config = &mut self.config;
        let (contents, count) = view_of(self.contents.parts(), tape!("contents"))?;
        self.count = count;
        let modalities = per_item(self.modalities.as_ref(), count, "modalities are not one per item")?;
        let sides = per_item(config.sides, count, "sides are not one per item")?;
        let relations = &config.relations;
        let mut arguments = sys::uform_trainer_step_t {
            trainer: self.trainer,
            executor: place.executor,
            outcome: place.outcome,
            completion: place.completion,
            count,
            modalities: modalities.cast(),
            contents,
            bags: per_item(config.bags, count, "bags are not one per item")?,
            temperature_groups: per_item(config.temperature_groups, count, "temperature_groups are not one per item")?,
            sides: sides.cast(),
            choices: optional(config.choices, count, tape!("choices"), "choices are not one set per item")?,
            choice_targets: optional(
                config.choice_targets,
                count,
                tape!("choice_targets"),
                "choice_targets are not one set per item",
            )?,
            relations: sys::uform_relations_view_t {
                attract: relations.attract.as_c(count, tape!("relations.attract", "ids"))?,
                repel: relations.repel.as_c(count, tape!("relations.repel", "ids"))?,
                ignore: relations.ignore.as_c(count, tape!("relations.ignore", "ids"))?,
            },
            limits: config.limits.as_c(),
            embeddings: if config.arena.is_some() { &mut self.embeddings } else { ptr::null_mut() },
            token_vectors: if config.token_vectors { &mut self.token_vectors } else { ptr::null_mut() },
            arena: config.arena.as_ref().map_or(ptr::null_mut(), |arena| arena.handle),
            outputs_scalar: config.outputs_scalar as i32,
            stats: config.stats.as_deref_mut().map_or(ptr::null_mut(), |stats| ptr::from_mut(stats).cast()),
        };
        // SAFETY: what the struct points to is in `self` and the place, which stay where they are until the outcome is
        // final.
        unsafe { sys::uform_trainer_step(&mut arguments) };
        Ok(())
    }

    unsafe fn take(&mut self) -> Option<Scored<'a>> {
        let on_device = self.config.arena.as_ref()?.on_device;
        let tape = || RowsTape::of(self.token_vectors, self.count, on_device);
        let token_vectors = self.config.token_vectors.then(tape);
        Some(Scored { embeddings: Rows::of(self.embeddings, on_device), token_vectors })
    }
}

const _: fn() = || {
    // The library is handed our slices of enums as they are.
    let _: [u8; size_of::<i32>()] = [0; size_of::<Modality>()];
    let _: [u8; size_of::<i32>()] = [0; size_of::<LateInteractionSide>()];
};
