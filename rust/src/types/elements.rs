//! Types that elements are stored as, halves among them.

use super::names::Scalar;

mod sealed {
    pub trait Sealed {}
}

/// A type that elements of outputs and tapes are stored as.
///
/// # Safety
///
/// Sealed: every bit pattern of each is a value, and `SCALAR` is what C calls it.
pub unsafe trait Element: Copy + Send + Sync + 'static + sealed::Sealed {
    /// The scalar it is.
    const SCALAR: Scalar;
}

/// The bits of a BFloat16, for crates that compute with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct BF16(pub u16);

/// The bits of an IEEE 754 binary16, for crates that compute with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

impl From<BF16> for f32 {
    fn from(value: BF16) -> f32 {
        f32::from_bits(u32::from(value.0) << 16)
    }
}

impl From<F16> for f32 {
    fn from(value: F16) -> f32 {
        let (sign, exponent) = (u32::from(value.0 & 0x8000) << 16, u32::from(value.0 >> 10 & 31));
        let fraction = u32::from(value.0 & 1023) << 13;
        match exponent {
            // Steps of 2^-24, which f32 holds as normal numbers.
            0 => f32::from_bits(sign | (f32::from(value.0 & 1023) / 16_777_216.0).to_bits()),
            31 => f32::from_bits(sign | 0x7f80_0000 | fraction),
            _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction),
        }
    }
}

macro_rules! elements {
    ($($type:ty = $scalar:ident,)*) => { $(
        impl sealed::Sealed for $type {}
        // SAFETY: a number, or its bits in a transparent struct: any bits are a value, and C calls it `$scalar`.
        unsafe impl Element for $type {
            const SCALAR: Scalar = Scalar::$scalar;
        }
    )* };
}
elements! { f32 = F32, BF16 = BF16, F16 = F16, i8 = I8, u8 = U8, u32 = U32, u64 = U64, }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_widen() {
        assert_eq!(f32::from(BF16(0x3f80)), 1.0);
        assert_eq!(f32::from(BF16(0xc040)), -3.0);
        let smallest = 1.0 / 16_777_216.0;
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (1, smallest), (0x7bff, 65504.0), (0, 0.0), (0x83ff, -1023.0 * smallest)]
        {
            assert_eq!(f32::from(F16(bits)), value);
        }
        assert_eq!(f32::from(F16(0xfc00)), f32::NEG_INFINITY);
        assert!(f32::from(F16(0x7c01)).is_nan());
    }
}
