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

/// A checkpoint with every head of text, as its seed draws it.
fn draw_checkpoint(executor: &Executor, path: &std::path::Path) -> Result<()> {
    let trainer = Trainer::init_ram(
        executor,
        TrainerInitRamConfig {
            depth: 1,
            hidden: 128,
            batch: BatchShape {
                max_rows_per_device: 16,
                max_segments_per_device: 32,
                max_columns_per_row: 64,
                max_choices_per_item: 8,
                ..BatchShape::default()
            },
            objective: Objective::Contrastive,
            late_interaction: LateInteraction { weight: 1.0, width: 32, ..LateInteraction::default() },
            choices: Choices { weight: 1.0, temperature_groups: 2, ..Choices::default() },
            schedule: Schedule { steps: 10, ..Schedule::default() },
            seed: 7,
            ..TrainerInitRamConfig::default()
        },
    )?;
    trainer.on(executor).save(path)
}

type Answers = BTreeMap<String, String>;

fn answer_on(executor: &Executor, deferred: bool) -> Result<Answers> {
    let (folder, mut arena, mut other) = (Folder::new(), Arena::new()?, Arena::new()?);
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
    let path = folder.0.join("drawn.safetensors");
    draw_checkpoint(executor, &path)?;
    let drawn = serial_model(&path);
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

#[test]
fn bits_are_those_of_c_on_any_threads() -> Result<()> {
    let serial = |threads| Executor::for_ram(&[], Some(CPUClass::Serial), threads);
    let first = answer_on(&serial(1)?, false)?;
    if !cfg!(feature = "stub") {
        let kept = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../test/golden/abi.txt")).unwrap();
        let kept: Answers = kept
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, hash)| (name.into(), hash.into()))
            .collect();
        assert_eq!(first, kept);
    }
    assert_eq!(answer_on(&serial(2)?, false)?, first);
    assert_eq!(answer_on(&serial(3)?, true)?, first, "deferred");
    Ok(())
}
