//! What the crate adds to a call of C's: each case is the same call through C's own struct and through the crate.
//!
//! Run: cargo run --release --example overhead -- ../models/nano-text.safetensors
//!
//! Two calls that cost C next to nothing: a batch without items, and a batch that is refused. The first has the
//! crate's way in and out, the second also gathers a text into a tape and carries the error back. The least of many
//! rounds counts, which a busy machine does not move. Exits with 1 where a case is beyond its 200 ns.
#![allow(clippy::result_large_err, clippy::needless_borrows_for_generic_args)]

use std::hint::black_box;
use std::ptr;
use std::time::Instant;

use uform::*;

const CALLS: u32 = 200_000;
const ROUNDS: u32 = 100;
const LIMIT: f64 = 200.0;

/// The least nanoseconds a call took, of each in turns.
fn least(mut first: impl FnMut(), mut second: impl FnMut()) -> (f64, f64) {
    let time = |action: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..CALLS / ROUNDS).for_each(|_| action());
        start.elapsed().as_nanos() as f64 / f64::from(CALLS / ROUNDS)
    };
    (0..ROUNDS).fold((f64::MAX, f64::MAX), |least, _| (least.0.min(time(&mut first)), least.1.min(time(&mut second))))
}

/// A call over C's struct, which answers its status.
struct InC {
    model: sys::uform_model_t,
    arena: sys::uform_arena_t,
}

impl InC {
    fn new(path: &str) -> Self {
        let mut outcome = std::mem::MaybeUninit::<sys::uform_outcome_t>::uninit();
        let (mut model, mut arena) = (ptr::null_mut(), ptr::null_mut());
        let none = sys::uform_progress_t { callback: None, context: ptr::null_mut() };
        unsafe {
            sys::uform_model_load_ram(&mut sys::uform_model_load_ram_t {
                model: &mut model,
                executor: ptr::null_mut(),
                outcome: outcome.as_mut_ptr(),
                completion: 0,
                path: sys::uform_bytes_view_t { data: path.as_ptr().cast(), length: path.len() },
                quantization: 0,
                cpu_class: 0,
                memory_domains: ptr::null(),
                memory_domains_count: 0,
                progress: none,
            });
            let executor = ptr::null_mut();
            sys::uform_arena_init(&mut sys::uform_arena_init_t {
                arena: &mut arena,
                executor,
                outcome: outcome.as_mut_ptr(),
            });
        }
        assert!(!model.is_null() && !arena.is_null());
        Self { model, arena }
    }

    fn encode(&self, data: &[u8], offsets: &[usize], dimensions: usize) -> i32 {
        let mut outcome = std::mem::MaybeUninit::<sys::uform_outcome_t>::uninit();
        let mut embeddings = std::mem::MaybeUninit::<sys::uform_rows_t>::uninit();
        let mut arguments = sys::uform_text_encode_t {
            model: self.model,
            executor: ptr::null_mut(),
            outcome: outcome.as_mut_ptr(),
            completion: 0,
            texts: sys::uform_tape_view_t { data: data.as_ptr().cast(), offsets: offsets.as_ptr(), scalar: 0 },
            count: offsets.len() - 1,
            dimensions,
            embeddings: embeddings.as_mut_ptr(),
            states: ptr::null_mut(),
            token_vectors: ptr::null_mut(),
            arena: self.arena,
            outputs_scalar: 0,
            stats: ptr::null_mut(),
            progress: sys::uform_progress_t { callback: None, context: ptr::null_mut() },
        };
        unsafe {
            sys::uform_text_encode(&mut arguments);
            outcome.assume_init_ref().status
        }
    }
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "../models/nano-text.safetensors".into());
    let (in_c, model, mut arena) = (InC::new(&path), Model::load_ram(&path)?, Arena::new()?);
    let (text, offsets) = ("a cat on a mat", [0, 14]);

    let mut nothing = || model.text_encode((&b""[..], [0usize]), Outputs::EMBEDDINGS, Scalar::F32, &mut arena).is_ok();
    assert!(nothing() && in_c.encode(b"", &[0], 0) == 0, "both succeed");
    let (c, rust) = least(|| _ = black_box(in_c.encode(b"", &[0], 0)), || _ = black_box(nothing()));
    println!("a batch without items:                 C {c:6.1} ns, crate {rust:6.1} ns, {:6.1} ns more", rust - c);
    let mut beyond = rust - c > LIMIT;

    let mut refused = || {
        let config = TextEncodeConfig { dimensions: 129, ..TextEncodeConfig::default() };
        model.text_encode(&[black_box(text)], Outputs::EMBEDDINGS, config, &mut arena).unwrap_err().status
    };
    let in_bytes = text.as_bytes();
    assert!(refused() as i32 == in_c.encode(in_bytes, &offsets, 129), "both are refused alike");
    let (c, rust) = least(|| _ = black_box(in_c.encode(in_bytes, &offsets, 129)), || _ = black_box(refused()));
    println!("a text gathered and refused:           C {c:6.1} ns, crate {rust:6.1} ns, {:6.1} ns more", rust - c);
    beyond |= rust - c > LIMIT;

    std::process::exit(i32::from(beyond));
}
