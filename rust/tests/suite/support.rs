//! What the suite shares: the model that ships, small checkpoints drawn here, a folder, a tiny executor of futures.

use std::future::IntoFuture;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use uform::*;

/// The checkpoint that ships, 128 wide, without a token head or a decoder.
pub fn nano_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/nano-text.safetensors")
}

pub fn nano() -> Model {
    Model::load_ram(&nano_path()).unwrap()
}

/// The bytes of a model 128 wide and one block deep, whose values `test/golden/answers.c` draws alike.
pub fn checkpoint(token_width: usize, choice_groups: usize) -> Vec<u8> {
    let mut tensors: Vec<(&str, bool, Vec<usize>)> = vec![
        ("text.embedding", false, vec![258, 128]),
        ("blocks.0.attention.norm", true, vec![128]),
        ("blocks.0.attention.qkv", false, vec![384, 128]),
        ("blocks.0.attention.output", false, vec![128, 128]),
        ("blocks.0.mlp.norm", true, vec![128]),
        ("blocks.0.mlp.gate", false, vec![512, 128]),
        ("blocks.0.mlp.up", false, vec![512, 128]),
        ("blocks.0.mlp.down", false, vec![128, 512]),
        ("norm", true, vec![128]),
        ("pool.query", false, vec![128]),
        ("pool.hidden", false, vec![128, 128]),
        ("pool.output", false, vec![128, 128]),
    ];
    let mut metadata = String::from(r#""format":"uform","version":"4","hidden":"128","depth":"1","context":"64""#);
    if token_width > 0 {
        tensors.push(("tokens.projection", false, vec![token_width, 128]));
        metadata += &format!(r#","token_width":"{token_width}""#);
    }
    if choice_groups > 0 {
        tensors.push(("decoder.weight", false, vec![256, 128]));
        tensors.push(("decoder.bias", false, vec![256]));
        tensors.push(("choices.inverse_temperatures", true, vec![choice_groups]));
    }
    let (mut header, mut data, mut state) = (format!(r#"{{"__metadata__":{{{metadata}}}"#), Vec::new(), 1u32);
    for (name, wide, shape) in &tensors {
        let (start, count) = (data.len(), shape.iter().product::<usize>());
        for _ in 0..count {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            match wide {
                true => data.extend(1f32.to_le_bytes()),
                false => data.extend((0x3e00 | state >> 25 | state >> 9 & 0x8000).to_le_bytes()[..2].iter()),
            }
        }
        let dtype = if *wide { "F32" } else { "BF16" };
        let shape = format!("{shape:?}").replace(' ', "");
        header +=
            &format!(r#","{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{start},{}]}}"#, data.len());
    }
    header += "}";
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

/// A model with a token head and two groups of choices.
pub fn headed() -> Model {
    Model::load_ram_buffer(&checkpoint(24, 2)).unwrap()
}

pub fn embeddings(encoded: &Encoded<'_>) -> Vec<f32> {
    encoded.embeddings.unwrap().values::<f32>().unwrap().to_vec()
}

/// A folder of its own, removed with all that is in it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("uform-rust-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct CountedWakes(AtomicUsize);

impl Wake for CountedWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls a future until it is ready, and answers how often it was woken too.
pub fn block_on<F: IntoFuture>(future: F) -> (F::Output, usize) {
    let wakes = Arc::new(CountedWakes(AtomicUsize::new(0)));
    let waker = Waker::from(wakes.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future.into_future());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return (output, wakes.0.load(Ordering::Relaxed));
        }
        std::thread::yield_now();
    }
}

/// Polls futures in turn until all are ready: what `join` of a library of futures does.
pub async fn join_all<F: IntoFuture>(futures: Vec<F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.into_iter().map(|future| Box::pin(future.into_future())).collect();
    let mut outputs: Vec<Option<F::Output>> = pending.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, output) in pending.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}
