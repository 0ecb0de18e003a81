//! What the suite shares: models, files of every medium, refusals, a folder, a tiny executor of futures.

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

/// A model of texts, pictures, clips and recordings, drawn and saved by a trainer.
pub fn seeing() -> Model {
    let (executor, folder) = (Executor::default(), Folder::new());
    let config = TrainerInitRamConfig {
        depth: 1,
        hidden: 128,
        batch: BatchShape {
            max_rows_per_device: 1,
            max_segments_per_device: 1,
            max_columns_per_row: 64,
            image: ImageShape { patch_side: 8, channels: 3 },
            video: VideoShape { patch_side: 16, ..VideoShape::default() },
            audio: AudioShape { chunk_samples: 320, ..AudioShape::default() },
            ..BatchShape::default()
        },
        schedule: Schedule { steps: 1, ..Schedule::default() },
        ..TrainerInitRamConfig::default()
    };
    let path = folder.0.join("seeing");
    Trainer::init_ram(&executor, config).unwrap().on(&executor).save(&path).unwrap();
    Model::load_ram(&path).unwrap()
}

/// A whole PNG of 4 x 1 grey pixels, 1 to 4.
pub fn picture() -> Vec<u8> {
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x04\0\0\0\x01\x08\0\0\0\0\xdc\x57\x50\x11\
      \0\0\0\rIDAT\x78\x9c\x63\x60\x64\x62\x66\x01\0\0\x19\0\x0b\xe7\x5a\x46\xa4\0\0\0\0IEND\xae\x42\x60\x82"
        .to_vec()
}

/// A rising tone, as samples.
pub fn samples(count: usize) -> Vec<f32> {
    (0..count).map(|index| (index as f32 * (0.1 + index as f32 * 1e-5)).sin()).collect()
}

/// A WAV of floats at 16 kHz.
pub fn recording(samples: &[f32]) -> Vec<u8> {
    let (data, number) = (samples.len() as u32 * 4, |value: u32| value.to_le_bytes());
    let mut file = [b"RIFF".as_slice(), &number(36 + data), b"WAVEfmt ", &number(16), &[3, 0, 1, 0]].concat();
    file.extend([number(16_000), number(64_000), [4, 0, 32, 0], *b"data", number(data)].concat());
    file.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    file
}

/// One of the small clips that the fuzzer starts from.
pub fn clip(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test/fuzz/corpus/video");
    std::fs::read(folder.join(name)).unwrap()
}

/// Expects a status, a word of the message, and where one item is at fault its index.
#[track_caller]
pub fn refused<T>(answer: Result<T>, status: Status, word: &str, item: Option<usize>) {
    let Err(error) = answer else { panic!("it succeeded") };
    assert_eq!((error.status, error.item), (status, item), "{error}");
    assert!(error.message.contains(word) && !error.message.is_empty(), "{error} does not name {word}");
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
