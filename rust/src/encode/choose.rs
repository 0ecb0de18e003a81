//! Choosing between bytes, as a call.

use std::ptr;

use super::configs::TextChooseConfig;
use super::landing::NO_TAPE;
use crate::call::{Call, Place};
use crate::inputs::{Parts, tape, view_of};
use crate::model::Model;
use crate::sys;
use crate::types::{Arena, Result, RowsTape, Scalar, Status, Tape, per_item, refuse};

pub(super) struct Choose<'a, 'c, T, C> {
    model: sys::uform_model_t,
    inputs: (T, C),
    groups: &'c [u32],
    outputs_scalar: Scalar,
    stats: *mut sys::uform_encode_stats_t,
    count: usize,
    probabilities: sys::uform_rows_tape_t,
    arena: &'a mut Arena,
}

impl<'a, 'c, T, C> Choose<'a, 'c, T, C> {
    pub(super) fn new(model: &Model, inputs: (T, C), config: TextChooseConfig<'c>, arena: &'a mut Arena) -> Self {
        Self {
            model: model.handle,
            inputs,
            groups: config.temperature_groups,
            outputs_scalar: config.outputs_scalar,
            stats: config.stats.map_or(ptr::null_mut(), |stats| ptr::from_mut(stats).cast()),
            count: 0,
            probabilities: NO_TAPE,
            arena,
        }
    }
}

impl<'a, T: Parts<u8>, C: Parts<u8>> Call for Choose<'a, '_, T, C> {
    type Output = Tape<'a>;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        let (texts, count) = view_of(self.inputs.0.parts(), tape!("texts"))?;
        let (choices, choosing) = view_of(self.inputs.1.parts(), tape!("choices"))?;
        if choosing != count {
            return Err(refuse(Status::ShapeMismatch, "choices are not one set per text"));
        }
        self.count = count;
        let mut arguments = sys::uform_text_choose_t {
            model: self.model,
            executor: place.executor,
            outcome: place.outcome,
            completion: place.completion,
            texts,
            choices,
            temperature_groups: per_item(self.groups, count, "temperature_groups are not one per text")?,
            count,
            probabilities: &mut self.probabilities,
            arena: self.arena.handle,
            outputs_scalar: self.outputs_scalar as i32,
            stats: self.stats,
            progress: place.progress,
        };
        // SAFETY: what the struct points to is in `self` and the place, which stay where they are until the outcome is
        // final.
        unsafe { sys::uform_text_choose(&mut arguments) };
        Ok(())
    }

    unsafe fn take(&mut self) -> Tape<'a> {
        Tape(RowsTape::of(self.probabilities, self.count, self.arena.on_device))
    }
}
