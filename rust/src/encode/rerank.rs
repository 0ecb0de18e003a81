//! Reranking, which takes no model: token vectors come from an arena, or from wherever they were kept.

use super::landing::NO_ROWS;
use crate::call::{Call, Deferred, DeferredOn, Place, Progress, run_here};
use crate::inputs::Owned;
use crate::sys;
use crate::types::{Arena, Element, Executor, Result, Rows, RowsTape, Scalar, Status, refuse};

/// How `rerank` answers: `uform_rerank_t`. A bare [`Scalar`], what scores land as, is one with defaults.
#[derive(Default)]
pub struct RerankConfig<'c> {
    /// What the scores land as.
    pub outputs_scalar: Scalar,
    /// Counts documents; `Break` stops the call.
    pub progress: Option<Progress<'c>>,
}

impl From<Scalar> for RerankConfig<'_> {
    fn from(outputs_scalar: Scalar) -> Self {
        Self { outputs_scalar, progress: None }
    }
}

// SAFETY: its progress handler lives for ever, and the rest is its own.
unsafe impl Owned for RerankConfig<'static> {}

mod sealed {
    use super::*;

    /// What crosses is pointers, so nobody else makes them.
    pub trait Sealed {}
    impl Sealed for Rows<'_> {}
    impl<E: Element> Sealed for (&[E], usize) {}
    impl<E: Element> Sealed for (Vec<E>, usize) {}
    impl Sealed for RowsTape<'_> {}
    impl<E: Element> Sealed for (&[E], &[usize], usize) {}
    impl<E: Element> Sealed for (Vec<E>, Vec<usize>, usize) {}
}

/// Vectors of one query: [`Rows`] of an arena, or a pair of elements kept elsewhere and how many a row has.
pub trait Vectors: sealed::Sealed {
    #[doc(hidden)]
    fn as_c(&self) -> Result<sys::uform_rows_t>;
}

/// Vectors of documents: a [`RowsTape`] of an arena, or elements kept elsewhere, in rows where each document starts and
/// behind the last one where it ends, and how many elements a row has.
pub trait VectorsTape: sealed::Sealed {
    /// The vectors, and how many documents they are of.
    #[doc(hidden)]
    fn as_c(&self) -> Result<(sys::uform_rows_tape_t, usize)>;
}

fn rows_of<E: Element>(data: &[E], columns: usize) -> Result<sys::uform_rows_t> {
    if columns == 0 || !data.len().is_multiple_of(columns) {
        return Err(refuse(Status::ShapeMismatch, "vectors are not rows of so many columns"));
    }
    let (count, stride) = (data.len() / columns, columns * size_of::<E>());
    Ok(sys::uform_rows_t { data: data.as_ptr().cast(), count, columns, stride, scalar: E::SCALAR as i32 })
}

/// Offsets beyond the rows are C's to refuse, since it knows how many there are.
fn tape_of<E: Element>(data: &[E], offsets: &[usize], columns: usize) -> Result<(sys::uform_rows_tape_t, usize)> {
    let sys::uform_rows_t { data, count, columns, stride, scalar } = rows_of(data, columns)?;
    if offsets.is_empty() {
        return Err(refuse(
            Status::InvalidArgument,
            "documents.offsets are one more than the documents, so at least one",
        ));
    }
    let offsets_start = offsets.as_ptr();
    let tape = sys::uform_rows_tape_t { data, count, columns, stride, scalar, offsets: offsets_start };
    Ok((tape, offsets.len() - 1))
}

impl Vectors for Rows<'_> {
    fn as_c(&self) -> Result<sys::uform_rows_t> {
        Ok(self.raw)
    }
}
impl<E: Element> Vectors for (&[E], usize) {
    fn as_c(&self) -> Result<sys::uform_rows_t> {
        rows_of(self.0, self.1)
    }
}
impl<E: Element> Vectors for (Vec<E>, usize) {
    fn as_c(&self) -> Result<sys::uform_rows_t> {
        rows_of(&self.0, self.1)
    }
}

impl VectorsTape for RowsTape<'_> {
    fn as_c(&self) -> Result<(sys::uform_rows_tape_t, usize)> {
        Ok((self.raw, self.items))
    }
}
impl<E: Element> VectorsTape for (&[E], &[usize], usize) {
    fn as_c(&self) -> Result<(sys::uform_rows_tape_t, usize)> {
        tape_of(self.0, self.1, self.2)
    }
}
impl<E: Element> VectorsTape for (Vec<E>, Vec<usize>, usize) {
    fn as_c(&self) -> Result<(sys::uform_rows_tape_t, usize)> {
        tape_of(&self.0, &self.1, self.2)
    }
}
// SAFETY: the elements are moved in, and their memory stays where it is.
unsafe impl<E: Element> Owned for (Vec<E>, usize) {}
// SAFETY: the same.
unsafe impl<E: Element> Owned for (Vec<E>, Vec<usize>, usize) {}

struct Rerank<'a, Q, D> {
    query: Q,
    documents: D,
    outputs_scalar: Scalar,
    scores: sys::uform_rows_t,
    arena: &'a mut Arena,
}

impl<'a, Q: Vectors, D: VectorsTape> Call for Rerank<'a, Q, D> {
    type Output = Rows<'a>;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        let (documents, count) = self.documents.as_c()?;
        let mut arguments = sys::uform_rerank_t {
            executor: place.executor,
            outcome: place.outcome,
            completion: place.completion,
            query: self.query.as_c()?,
            documents,
            count,
            scores: &mut self.scores,
            arena: self.arena.handle,
            outputs_scalar: self.outputs_scalar as i32,
            progress: place.progress,
        };
        // SAFETY: what the struct points to is in `self` and the place, which stay where they are until the outcome is
        // final.
        unsafe { sys::uform_rerank(&mut arguments) };
        Ok(())
    }

    unsafe fn take(&mut self) -> Rows<'a> {
        Rows::of(self.scores, self.arena.on_device)
    }
}

fn rerank<'a, 'c, Q, D>(
    query: Q,
    documents: D,
    config: RerankConfig<'c>,
    arena: &'a mut Arena,
) -> (Rerank<'a, Q, D>, Option<Progress<'c>>) {
    let RerankConfig { outputs_scalar, progress } = config;
    (Rerank { query, documents, outputs_scalar, scores: NO_ROWS, arena }, progress)
}

impl Executor {
    /// Scores documents against one query by late interaction (MaxSim), one score each, in their order:
    /// `uform_rerank`. It takes no model: the inputs are token vectors of any, in another arena than the scores'.
    pub fn rerank<'a, 'c>(
        &self,
        query: impl Vectors,
        documents: impl VectorsTape,
        config: impl Into<RerankConfig<'c>>,
        arena: &'a mut Arena,
    ) -> Result<Rows<'a>> {
        let (call, progress) = rerank(query, documents, config.into(), arena);
        run_here(call, progress, self.handle)
    }
}

impl<'r> DeferredOn<'r, Executor> {
    /// [`Executor::rerank`], submitted: over vectors that the call owns, since views die with their arena.
    pub fn rerank<'a>(
        &self,
        query: impl Vectors + Owned,
        documents: impl VectorsTape + Owned,
        config: impl Into<RerankConfig<'static>>,
        arena: &'a mut Arena,
    ) -> Result<Deferred<'r, Rows<'a>>> {
        let (call, progress) = rerank(query, documents, config.into(), arena);
        // SAFETY: query, documents and config are `Owned`.
        unsafe { Deferred::submit(call, progress, self.executor) }
    }
}
