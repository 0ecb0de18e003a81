//! Views of what landed in an arena, borrowed from it and never copied.

use std::marker::PhantomData;
use std::slice;

use super::elements::Element;
use super::error::{Result, refuse};
use super::names::{Scalar, Status};
use crate::sys;

/// A matrix in an arena: `uform_rows_t`. It borrows the arena, and is as cheap to copy as a reference.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    pub(crate) raw: sys::uform_rows_t,
    pub(crate) on_device: bool,
    pub(crate) arena: PhantomData<&'a [u8]>,
}

// SAFETY: a view reads memory that nobody writes while its arena is borrowed.
unsafe impl Send for Rows<'_> {}
// SAFETY: the same.
unsafe impl Sync for Rows<'_> {}

impl<'a> Rows<'a> {
    pub(crate) fn of(raw: sys::uform_rows_t, on_device: bool) -> Self {
        Self { raw, on_device, arena: PhantomData }
    }

    /// Rows.
    pub fn count(&self) -> usize {
        self.raw.count
    }

    /// Elements of a row.
    pub fn columns(&self) -> usize {
        self.raw.columns
    }

    /// Bytes from one row's start to the next's.
    pub fn stride(&self) -> usize {
        self.raw.stride
    }

    /// How an element is stored.
    pub fn scalar(&self) -> Scalar {
        Scalar::from_c(self.raw.scalar).unwrap_or_default()
    }

    /// Where the first row starts, on the device where the arena is there; for handing rows to another library.
    pub fn as_ptr(&self) -> *const u8 {
        self.raw.data.cast()
    }

    fn readable(&self) -> Result<()> {
        if self.on_device {
            return Err(refuse(Status::Device, "rows are in device memory"));
        }
        Ok(())
    }

    /// All bytes from the first row's start to the last one's end.
    pub fn as_bytes(&self) -> Result<&'a [u8]> {
        self.readable()?;
        if self.raw.count == 0 {
            return Ok(&[]);
        }
        let length = (self.raw.count - 1) * self.raw.stride + self.raw.columns * self.scalar().bytes();
        // SAFETY: C landed `count` rows `stride` bytes apart, of which the last is `columns` long, in an arena that is
        // borrowed for `'a`.
        Ok(unsafe { slice::from_raw_parts(self.as_ptr(), length) })
    }

    fn typed<E: Element>(&self) -> Result<()> {
        self.readable()?;
        if E::SCALAR != self.scalar() {
            return Err(refuse(Status::InvalidArgument, "rows hold another scalar"));
        }
        Ok(())
    }

    /// All elements, `count` times `columns`: refused where the rows hold another scalar, or are padded.
    pub fn values<E: Element>(&self) -> Result<&'a [E]> {
        self.typed::<E>()?;
        if self.raw.count == 0 {
            return Ok(&[]);
        }
        if self.raw.count > 1 && self.raw.stride != self.raw.columns * size_of::<E>() {
            return Err(refuse(Status::ShapeMismatch, "rows are padded: read them one by one"));
        }
        // SAFETY: the rows are dense, of `E`, aligned for it, and in an arena that is borrowed for `'a`.
        Ok(unsafe { slice::from_raw_parts(self.raw.data.cast(), self.raw.count * self.raw.columns) })
    }

    /// One row: refused where the rows hold another scalar, or there are fewer.
    pub fn row<E: Element>(&self, index: usize) -> Result<&'a [E]> {
        self.typed::<E>()?;
        if index >= self.raw.count {
            return Err(refuse(Status::InvalidArgument, "no such row"));
        }
        // SAFETY: `index` is below the count, so the row starts within what C landed.
        let start = unsafe { self.as_ptr().add(index * self.raw.stride) };
        // SAFETY: a row is `columns` of `E`, aligned for it, in an arena that is borrowed for `'a`.
        Ok(unsafe { slice::from_raw_parts(start.cast(), self.raw.columns) })
    }
}

/// Rows grouped by item: `uform_rows_tape_t`. Item `i` owns rows `offsets[i]` up to `offsets[i + 1]`.
#[derive(Clone, Copy, Debug)]
pub struct RowsTape<'a> {
    pub(crate) raw: sys::uform_rows_tape_t,
    pub(crate) items: usize,
    on_device: bool,
    arena: PhantomData<&'a [u8]>,
}

// SAFETY: as of `Rows`.
unsafe impl Send for RowsTape<'_> {}
// SAFETY: as of `Rows`.
unsafe impl Sync for RowsTape<'_> {}

impl<'a> RowsTape<'a> {
    pub(crate) fn of(raw: sys::uform_rows_tape_t, items: usize, on_device: bool) -> Self {
        Self { raw, items, on_device, arena: PhantomData }
    }

    /// Items.
    pub fn items(&self) -> usize {
        self.items
    }

    /// Rows of all items together.
    pub fn count(&self) -> usize {
        self.raw.count
    }

    /// Elements of a row.
    pub fn columns(&self) -> usize {
        self.raw.columns
    }

    /// Bytes from one row's start to the next's.
    pub fn stride(&self) -> usize {
        self.raw.stride
    }

    /// How an element is stored.
    pub fn scalar(&self) -> Scalar {
        self.rows().scalar()
    }

    /// The rows of all items as one matrix.
    pub fn rows(&self) -> Rows<'a> {
        let sys::uform_rows_tape_t { data, count, columns, stride, scalar, .. } = self.raw;
        Rows::of(sys::uform_rows_t { data, count, columns, stride, scalar }, self.on_device)
    }

    /// Where each item's rows start, and behind the last item where they end.
    pub fn offsets(&self) -> Result<&'a [usize]> {
        self.rows().readable()?;
        // SAFETY: C landed an offset per item and one more, in an arena that is borrowed for `'a`.
        Ok(unsafe { slice::from_raw_parts(self.raw.offsets, self.items + 1) })
    }

    /// The rows of one item.
    pub fn item(&self, index: usize) -> Result<Rows<'a>> {
        if index >= self.items {
            return Err(refuse(Status::InvalidArgument, "no such item"));
        }
        let offsets = self.offsets()?;
        let mut raw = self.rows().raw;
        raw.count = offsets[index + 1] - offsets[index];
        if raw.count > 0 {
            // SAFETY: offsets are rows of the tape, and this item has at least one.
            raw.data = unsafe { raw.data.byte_add(offsets[index] * raw.stride) };
        }
        Ok(Rows::of(raw, self.on_device))
    }
}

/// Values grouped by item, one column of a [`RowsTape`]: what `text_choose` answers.
#[derive(Clone, Copy, Debug)]
pub struct Tape<'a>(pub(crate) RowsTape<'a>);

impl<'a> Tape<'a> {
    /// Items.
    pub fn items(&self) -> usize {
        self.0.items()
    }

    /// How a value is stored.
    pub fn scalar(&self) -> Scalar {
        self.0.scalar()
    }

    /// Where each item's values start, and behind the last item where they end.
    pub fn offsets(&self) -> Result<&'a [usize]> {
        self.0.offsets()
    }

    /// The values of one item: refused where they are of another scalar.
    pub fn item<E: Element>(&self, index: usize) -> Result<&'a [E]> {
        self.0.item(index)?.values()
    }

    /// The values of all items.
    pub fn values<E: Element>(&self) -> Result<&'a [E]> {
        self.0.rows().values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tape<'a>(data: &'a [f32], stride: usize, columns: usize, offsets: &'a [usize]) -> RowsTape<'a> {
        let count = *offsets.last().unwrap();
        let (scalar, items) = (sys::uform_scalar_f32_k, offsets.len() - 1);
        let (data, offsets) = (data.as_ptr().cast(), offsets.as_ptr());
        RowsTape::of(sys::uform_rows_tape_t { data, count, columns, stride, scalar, offsets }, items, false)
    }

    #[test]
    fn items_are_rows_between_offsets() {
        let data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let tape = tape(&data, 8, 2, &[0, 1, 1, 3]);
        assert_eq!((tape.items(), tape.count(), tape.columns(), tape.scalar()), (3, 3, 2, Scalar::F32));
        assert_eq!(tape.rows().values::<f32>().unwrap(), data);
        assert_eq!(tape.item(0).unwrap().values::<f32>().unwrap(), [1.0, 2.0]);
        assert!(tape.item(1).unwrap().values::<f32>().unwrap().is_empty());
        assert_eq!(tape.item(2).unwrap().row::<f32>(1).unwrap(), [5.0, 6.0]);
        assert_eq!(Tape(tape).item::<f32>(2).unwrap(), [3.0, 4.0, 5.0, 6.0]);
        assert_eq!(tape.item(3).unwrap_err().status, Status::InvalidArgument);
        assert_eq!(tape.item(2).unwrap().row::<f32>(2).unwrap_err().status, Status::InvalidArgument);
        assert_eq!(tape.rows().values::<i8>().unwrap_err().status, Status::InvalidArgument);
    }

    #[test]
    fn padded_rows_are_read_one_by_one() {
        let data = [1.0, 2.0, 0.0, 4.0, 5.0];
        let tape = tape(&data, 12, 2, &[0, 2]);
        assert_eq!(tape.rows().values::<f32>().unwrap_err().status, Status::ShapeMismatch);
        assert_eq!(tape.rows().row::<f32>(1).unwrap(), [4.0, 5.0]);
    }

    #[test]
    fn device_rows_are_not_read() {
        let mut rows = tape(&[1.0], 4, 1, &[0, 1]).rows();
        rows.on_device = true;
        assert_eq!(rows.values::<f32>().unwrap_err().status, Status::Device);
        assert_eq!(rows.as_bytes().unwrap_err().status, Status::Device);
        assert!(!rows.as_ptr().is_null());
    }
}
