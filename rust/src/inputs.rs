//! What a batch may be: items of their own, gathered into one tape, or a tape that is lent as it is.

use std::marker::PhantomData;

use crate::sys;
use crate::types::{Element, Result, Status, refuse};

/// What a receiver takes as a verb's inputs and config: a blocking one anything, a deferred one what it can own.
#[diagnostic::on_unimplemented(
    message = "a deferred receiver needs owned inputs",
    label = "`{T}` is borrowed, and the library reads it after the verb returned",
    note = "give items in a `Vec` or an array of owned or `'static` values, or a tape as `(Vec<_>, Vec<usize>)`"
)]
///
/// # Safety
///
/// Where the receiver defers, the library reads a `T` after the verb returned: it must own what it holds.
pub unsafe trait Accepts<T> {}

/// What a deferred call can own until it is final.
///
/// # Safety
///
/// Everything in it is owned, or lives for ever.
#[diagnostic::on_unimplemented(
    message = "a deferred receiver needs owned inputs",
    label = "`{Self}` is borrowed, and the library reads it after the verb returned",
    note = "give items in a `Vec` or an array of owned or `'static` values, or a tape as `(Vec<_>, Vec<usize>)`"
)]
pub unsafe trait Owned {}

// SAFETY: items are gathered, and what they borrow lives for ever.
unsafe impl<I: 'static> Owned for Vec<I> {}
// SAFETY: the same.
unsafe impl<I: 'static, const N: usize> Owned for [I; N] {}
// SAFETY: both halves are moved in, and their memory stays where it is.
unsafe impl<E: Element> Owned for (Vec<E>, Vec<usize>) {}
// SAFETY: the same.
unsafe impl Owned for (String, Vec<usize>) {}

// SAFETY: it is `Owned`.
unsafe impl<R, T: Owned> Accepts<T> for crate::DeferredOn<'_, R> {}

/// One item of a batch: text or bytes, or samples.
pub trait Item<E: Element> {
    /// Its elements.
    fn elements(&self) -> &[E];
}

impl Item<u8> for str {
    fn elements(&self) -> &[u8] {
        self.as_bytes()
    }
}
impl Item<u8> for String {
    fn elements(&self) -> &[u8] {
        self.as_bytes()
    }
}
impl<E: Element> Item<E> for [E] {
    fn elements(&self) -> &[E] {
        self
    }
}
impl<E: Element, const N: usize> Item<E> for [E; N] {
    fn elements(&self) -> &[E] {
        self
    }
}
impl<E: Element> Item<E> for Vec<E> {
    fn elements(&self) -> &[E] {
        self
    }
}
impl<E: Element, I: Item<E> + ?Sized> Item<E> for &I {
    fn elements(&self) -> &[E] {
        (**self).elements()
    }
}

/// A tape's two parts, wherever they live.
pub trait Parts<E: Element> {
    /// The elements of all items, and where items start and end.
    fn parts(&self) -> (&[E], &[usize]);
}

/// A batch of items, or a tape.
pub trait Items<E: Element> {
    #[doc(hidden)]
    type Tape: Parts<E>;

    #[doc(hidden)]
    fn into_tape(self) -> Result<Self::Tape>;
}

/// Items copied end to end.
#[derive(Debug)]
pub struct Gathered<E> {
    data: Vec<E>,
    offsets: Vec<usize>,
}

impl<E: Element> Parts<E> for Gathered<E> {
    fn parts(&self) -> (&[E], &[usize]) {
        (&self.data, &self.offsets)
    }
}

fn gather<E: Element, I: Item<E>>(items: &[I]) -> Result<Gathered<E>> {
    let out_of_memory = |_| refuse(Status::OutOfMemory, "memory for the items' tape is out");
    let (mut data, mut offsets) = (Vec::new(), Vec::new());
    offsets.try_reserve_exact(items.len() + 1).map_err(out_of_memory)?;
    let mut total = 0usize;
    offsets.push(0);
    for item in items {
        total = total.saturating_add(item.elements().len());
        offsets.push(total);
    }
    data.try_reserve_exact(total).map_err(out_of_memory)?;
    items.iter().for_each(|item| data.extend_from_slice(item.elements()));
    // An item whose length changes between two looks would leave offsets beyond the data: `view_of` checks them.
    Ok(Gathered { data, offsets })
}

macro_rules! gathered {
    ($(($($generics:tt)*) $type:ty;)*) => { $(
        impl<E: Element, I: Item<E>, $($generics)*> Items<E> for $type {
            type Tape = Gathered<E>;

            fn into_tape(self) -> Result<Gathered<E>> {
                gather(&self[..])
            }
        }
    )* };
}
gathered! {
    () &[I];
    () &Vec<I>;
    () Vec<I>;
    (const N: usize) &[I; N];
    (const N: usize) [I; N];
}

/// A tape of the caller's.
#[derive(Debug)]
pub struct Lent<E, D, O>(D, O, PhantomData<E>);

impl<E: Element, D: AsRef<[E]>, O: AsRef<[usize]>> Parts<E> for Lent<E, D, O> {
    fn parts(&self) -> (&[E], &[usize]) {
        (self.0.as_ref(), self.1.as_ref())
    }
}

impl<E: Element, D: AsRef<[E]>, O: AsRef<[usize]>> Items<E> for (D, O) {
    type Tape = Lent<E, D, O>;

    fn into_tape(self) -> Result<Self::Tape> {
        Ok(Lent(self.0, self.1, PhantomData))
    }
}

/// What is said of the tape of an argument: that it has no offsets, and that they go beyond its data.
pub(crate) type Told = (&'static str, &'static str);

/// The words for an argument whose elements are its `data`, or its `ids`.
macro_rules! tape {
    ($name:literal) => {
        crate::inputs::tape!($name, "data")
    };
    ($name:literal, $elements:literal) => {
        (
            concat!($name, ".offsets are one more than the items, so at least one"),
            concat!($name, ".offsets go beyond ", $name, ".", $elements),
        )
    };
}
pub(crate) use tape;

/// A tape as C takes it, with its items counted. Offsets beyond the data are refused here, since C cannot see where it
/// ends; ones that decrease are C's to refuse, which it does before it reads any item.
pub(crate) fn view_of<E: Element>(
    (data, offsets): (&[E], &[usize]),
    (no_offsets, beyond): Told,
) -> Result<(sys::uform_tape_view_t, usize)> {
    if offsets.is_empty() {
        return Err(refuse(Status::InvalidArgument, no_offsets));
    }
    if offsets.iter().fold(0, |most, &offset| most.max(offset)) > data.len() {
        return Err(refuse(Status::InvalidArgument, beyond));
    }
    let view = sys::uform_tape_view_t {
        data: data.as_ptr().cast(),
        offsets: offsets.as_ptr(),
        scalar: E::SCALAR as sys::uform_scalar_t,
    };
    Ok((view, offsets.len() - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets_of(items: impl Items<u8>) -> (Vec<u8>, Vec<usize>) {
        let tape = items.into_tape().unwrap();
        let (data, offsets) = tape.parts();
        (data.to_vec(), offsets.to_vec())
    }

    #[test]
    #[allow(clippy::needless_borrows_for_generic_args)] // a borrow is one of the forms
    fn every_form_of_a_batch_is_the_same_tape() {
        let expected = (b"onethree".to_vec(), vec![0, 3, 3, 8]);
        assert_eq!(offsets_of(["one", "", "three"]), expected);
        assert_eq!(offsets_of(&["one", "", "three"]), expected);
        assert_eq!(offsets_of(&["one", "", "three"][..]), expected);
        assert_eq!(offsets_of(vec!["one", "", "three"]), expected);
        assert_eq!(offsets_of(["one", "", "three"].map(String::from)), expected);
        assert_eq!(offsets_of(&vec![b"one".to_vec(), vec![], b"three".to_vec()]), expected);
        assert_eq!(offsets_of([b"one".as_slice(), b"", b"three"]), expected);
        assert_eq!(offsets_of((b"onethree".as_slice(), [0usize, 3, 3, 8])), expected);
        assert_eq!(offsets_of((b"onethree".to_vec(), vec![0usize, 3, 3, 8])), expected);
        assert_eq!(offsets_of(("onethree", &[0usize, 3, 3, 8][..])), expected);
        assert_eq!(offsets_of([""; 0]), (vec![], vec![0]));
    }

    #[test]
    fn tapes_stay_inside_their_data() {
        let seen = |offsets: &[usize]| view_of((&[1f32, 2.0][..], offsets), tape!("samples"));
        for (offsets, words) in [(&[][..], "samples.offsets are one more"), (&[0, 3], "go beyond samples.data")] {
            let error = seen(offsets).unwrap_err();
            assert!(error.status == Status::InvalidArgument && error.message.contains(words), "{error}");
        }
        assert_eq!(seen(&[0, usize::MAX, 1]).unwrap_err().status, Status::InvalidArgument);
        let (view, count) = seen(&[1, 2, 2]).unwrap();
        assert_eq!((view.scalar, count), (sys::uform_scalar_f32_k, 2));
    }
}
