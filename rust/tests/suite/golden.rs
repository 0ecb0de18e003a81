//! The bits that C answers on the serial class, as `test/golden/abi.txt` keeps them: FNV-1a hashes of the rows' bytes.
//! The stub makes its rows up, so there the same calls are compared among threads and ways to complete alone.

use std::collections::BTreeMap;

use uform::*;

use crate::support::{Folder, nano_path};

const TEXTS: [&str; 5] = ["Hello, world", "a", "", "über 日本", "0123456789abcdefghijklmnopqrstuvwxyz"];
const CHOICES: [&str; 5] = ["yn", "ABCD", "", "z", "0123456789"];

fn hashed(bytes: &[u8]) -> String {
    let hash =
        bytes.iter().fold(0xCBF29CE484222325u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100000001B3));
    format!("{hash:016x}")
}

fn hash_rows(rows: Rows<'_>) -> String {
    assert!(rows.count() < 2 || rows.stride() == rows.columns() * rows.scalar().bytes());
    hashed(rows.as_bytes().unwrap())
}

fn serial_model(path: &std::path::Path) -> Model {
    let config = ModelLoadRamConfig { cpu_class: Some(CPUClass::Serial), ..ModelLoadRamConfig::from(path) };
    Model::load_ram(config).unwrap()
}

/// What every drawn checkpoint has: one block of 128, a token head, seed 7.
fn drawn<'c, 'm>() -> TrainerInitRamConfig<'c, 'm> {
    TrainerInitRamConfig {
        depth: 1,
        hidden: 128,
        batch: BatchShape {
            max_rows_per_device: 16,
            max_segments_per_device: 32,
            max_columns_per_row: 64,
            ..BatchShape::default()
        },
        objective: Objective::Contrastive,
        late_interaction: LateInteraction { weight: 1.0, width: 32, ..LateInteraction::default() },
        schedule: Schedule { steps: 10, ..Schedule::default() },
        seed: 7,
        ..TrainerInitRamConfig::default()
    }
}

/// A model as its seed draws it, never trained.
fn draw(executor: &Executor, config: TrainerInitRamConfig<'_, '_>) -> Result<Model> {
    let folder = Folder::new();
    let path = folder.0.join("drawn.safetensors");
    Trainer::init_ram(executor, config)?.on(executor).save(&path)?;
    Ok(serial_model(&path))
}

type Answers = BTreeMap<String, String>;

fn answer_on(executor: &Executor, deferred: bool) -> Result<Answers> {
    let (mut arena, mut other) = (Arena::new()?, Arena::new()?);
    let (nano, mut answers) = (serial_model(&nano_path()), Answers::new());
    for (name, scalar, dimensions) in [
        ("embeddings_f32", Scalar::F32, 0),
        ("embeddings_bf16", Scalar::BF16, 0),
        ("embeddings_f16", Scalar::F16, 0),
        ("embeddings_i8", Scalar::I8, 0),
        ("embeddings_64", Scalar::F32, 64),
    ] {
        let config = TextEncodeConfig { dimensions, ..TextEncodeConfig::from(scalar) };
        let encoded = match deferred {
            true => nano.deferred(executor).text_encode(TEXTS, Outputs::EMBEDDINGS, config, &mut arena)?.wait()?,
            false => nano.on(executor).text_encode(&TEXTS, Outputs::EMBEDDINGS, config, &mut arena)?,
        };
        answers.insert(name.into(), hash_rows(encoded.embeddings.unwrap()));
    }
    let drawn = draw(
        executor,
        TrainerInitRamConfig {
            batch: BatchShape { max_choices_per_item: 8, ..drawn().batch },
            choices: Choices { weight: 1.0, temperature_groups: 2, ..Choices::default() },
            ..drawn()
        },
    )?;
    let config = TextChooseConfig { temperature_groups: &[0, 1, 0, 1, 0], ..TextChooseConfig::default() };
    let probabilities = match deferred {
        true => drawn.deferred(executor).text_choose(TEXTS, CHOICES, config, &mut arena)?.wait()?,
        false => drawn.on(executor).text_choose(&TEXTS, &CHOICES, config, &mut arena)?,
    };
    let bytes: Vec<u8> = probabilities.values::<f32>()?.iter().flat_map(|value| value.to_ne_bytes()).collect();
    answers.insert("probabilities".into(), hashed(&bytes));
    let asked = Outputs::STATES | Outputs::TOKEN_VECTORS;
    let encoded = drawn.on(executor).text_encode(&TEXTS, asked, Scalar::F32, &mut arena)?;
    let vectors = encoded.token_vectors.unwrap();
    answers.insert("states".into(), hash_rows(encoded.states.unwrap().rows()));
    answers.insert("token_vectors".into(), hash_rows(vectors.rows()));
    let scores = executor.rerank(vectors.item(0)?, vectors, Scalar::F32, &mut other)?;
    answers.insert("scores".into(), hash_rows(scores));
    Ok(answers)
}

const HEIGHTS: [usize; 3] = [16, 8, 33];
const WIDTHS: [usize; 3] = [24, 8, 17];
const LENGTHS: [usize; 3] = [3200, 641, 1];

/// Byte `i` of picture `p` is the low byte of `i * i + 31 * p`.
fn pixels() -> Vec<Vec<u8>> {
    let picture = |item: usize| (0..HEIGHTS[item] * WIDTHS[item] * 3).map(move |i| (i * i + 31 * item) as u8).collect();
    (0..3).map(picture).collect()
}

/// Sample `i` of recording `r` is `((i * i + 17 * r) mod 2001 - 1000) / 1024`.
fn samples() -> Vec<Vec<f32>> {
    let sample = |i: usize, item: usize| (((i * i + 17 * item) % 2001) as f32 - 1000.0) / 1024.0;
    (0..3).map(|item| (0..LENGTHS[item]).map(|i| sample(i, item)).collect()).collect()
}

fn keep(answers: &mut Answers, name: &str, encoded: Encoded<'_>) {
    answers.insert(name.into(), hash_rows(encoded.embeddings.unwrap()));
    answers.insert(format!("{name}_states"), hash_rows(encoded.states.unwrap().rows()));
    answers.insert(format!("{name}_token_vectors"), hash_rows(encoded.token_vectors.unwrap().rows()));
}

/// Of a file; one that this build was configured not to read has none.
fn keep_file(answers: &mut Answers, name: &str, encoded: Result<Encoded<'_>>) {
    match encoded {
        Err(error) if error.status == Status::Unsupported => println!("{name}: {error}"),
        encoded => _ = answers.insert(name.into(), hash_rows(encoded.unwrap().embeddings.unwrap())),
    }
}

fn answer_media_on(executor: &Executor, deferred: bool) -> Result<Answers> {
    let batch = BatchShape {
        image: ImageShape { patch_side: 8, ..ImageShape::default() },
        video: VideoShape { patch_side: 16, ..VideoShape::default() },
        audio: AudioShape { chunk_samples: 320, ..AudioShape::default() },
        ..drawn().batch
    };
    let model = draw(executor, TrainerInitRamConfig { batch, ..drawn() })?;
    let (on, later, mut arena, mut answers) =
        (model.on(executor), model.deferred(executor), Arena::new()?, BTreeMap::new());
    let (all, f32) = (Outputs::EMBEDDINGS | Outputs::STATES | Outputs::TOKEN_VECTORS, Scalar::F32);
    keep(
        &mut answers,
        "pixels",
        match deferred {
            true => later.image_encode_pixels(pixels(), HEIGHTS, WIDTHS, all, f32, &mut arena)?.wait()?,
            false => on.image_encode_pixels(&pixels(), HEIGHTS, WIDTHS, all, f32, &mut arena)?,
        },
    );
    keep(
        &mut answers,
        "samples",
        match deferred {
            true => later.audio_encode_samples(samples(), 16_000, all, f32, &mut arena)?.wait()?,
            false => on.audio_encode_samples(&samples(), 16_000, all, f32, &mut arena)?,
        },
    );
    let case = |name| std::fs::read(std::path::Path::new(ROOT).join("test/cases").join(name)).unwrap();
    let (picture, recording) = (case("image/rgb8.png"), case("audio/mono_s16.wav"));
    keep_file(&mut answers, "image_file", on.image_encode([picture], Outputs::EMBEDDINGS, f32, &mut arena));
    keep_file(&mut answers, "audio_file", on.audio_encode([recording], Outputs::EMBEDDINGS, f32, &mut arena));
    Ok(answers)
}

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The lines of a file of `test/golden`, a name and a hash each.
fn kept(name: &str) -> Answers {
    let text = std::fs::read_to_string(std::path::Path::new(ROOT).join("test/golden").join(name)).unwrap();
    text.lines().filter_map(|line| line.split_once(' ')).map(|(name, hash)| (name.into(), hash.into())).collect()
}

fn serial(threads: usize) -> Result<Executor> {
    Executor::for_ram(&[], Some(CPUClass::Serial), threads)
}

#[test]
fn bits_are_those_of_c_on_any_threads() -> Result<()> {
    let first = answer_on(&serial(1)?, false)?;
    if !cfg!(feature = "stub") {
        assert_eq!(first, kept("abi.txt"));
    }
    assert_eq!(answer_on(&serial(2)?, false)?, first);
    assert_eq!(answer_on(&serial(3)?, true)?, first, "deferred");
    Ok(())
}

#[test]
fn bits_of_media_are_those_of_c_on_any_threads() -> Result<()> {
    let first = answer_media_on(&serial(1)?, false)?;
    if !cfg!(feature = "stub") {
        let mut kept = kept("media.txt");
        kept.retain(|name, _| first.contains_key(name) || !name.ends_with("_file"));
        assert_eq!(first, kept);
    }
    assert_eq!(answer_media_on(&serial(2)?, false)?, first);
    assert_eq!(answer_media_on(&serial(3)?, true)?, first, "deferred");
    Ok(())
}
