//! Trainers and meshes: what a step refuses and answers, saving and resuming, runs of one process.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use uform::*;

use crate::support::{Folder, block_on, refused};

fn right<'c, 'm>() -> TrainerInitRamConfig<'c, 'm> {
    TrainerInitRamConfig {
        depth: 1,
        hidden: 128,
        batch: BatchShape {
            max_rows_per_device: 8,
            max_segments_per_device: 6,
            max_columns_per_row: 32,
            ..BatchShape::default()
        },
        objective: Objective::Contrastive,
        schedule: Schedule { steps: 20, ..Schedule::default() },
        seed: 7,
        ..TrainerInitRamConfig::default()
    }
}

const TEXTS: [&str; 4] = ["zwei", "two", "Hund", "dog"];
const ALL_TEXT: [Modality; 0] = [];
const PAIRS: Relations<'static> = Relations {
    attract: Edges { offsets: &[0, 1, 2, 3, 4], ids: &[1, 0, 3, 2], weights: &[1.0, 1.0, 0.5, 0.5] },
    repel: Edges { offsets: &[], ids: &[], weights: &[] },
    ignore: Edges { offsets: &[], ids: &[], weights: &[] },
};

fn paired<'a>() -> TrainerStepConfig<'static, 'a> {
    TrainerStepConfig { relations: PAIRS, ..TrainerStepConfig::default() }
}

const INVALID: Status = Status::InvalidArgument;
const SHAPE: Status = Status::ShapeMismatch;

#[test]
fn runs_are_refused() -> Result<()> {
    let (local, folder) = (Executor::default(), Folder::new());
    let missing = folder.0.join("missing");
    let init = |config| Trainer::init_ram(&local, config);
    for (config, word) in [
        (TrainerInitRamConfig { depth: 0, ..right() }, "size"),
        (TrainerInitRamConfig { depth: 1025, ..right() }, "size"),
        (TrainerInitRamConfig { hidden: 192, ..right() }, "hidden"),
        (TrainerInitRamConfig { schedule: Schedule::default(), ..right() }, "schedule.steps"),
        (TrainerInitRamConfig { batch: BatchShape::default(), ..right() }, "batch.max_rows_per_device"),
        (TrainerInitRamConfig { choices: Choices { weight: -1.0, ..Choices::default() }, ..right() }, "choices"),
        (
            TrainerInitRamConfig { contrastive: Contrastive { bias: f32::NAN, ..Contrastive::default() }, ..right() },
            "bias",
        ),
    ] {
        refused(init(config), INVALID, word, None);
    }
    let video = VideoShape { patch_side: 16, channels: 4, ..VideoShape::default() };
    let batch = BatchShape { video, ..right().batch };
    refused(init(TrainerInitRamConfig { batch, ..right() }), INVALID, "batch.video.channels", None);
    refused(init(TrainerInitRamConfig { resume: &missing, ..right() }), Status::Io, "", None);
    refused(init(TrainerInitRamConfig { initial: &folder.0, ..right() }), Status::Io, "", None);
    init(right()).map(drop)
}

#[test]
fn steps_are_refused() -> Result<()> {
    let (local, other) = (Executor::default(), Executor::for_ram(&[], None, 1)?);
    let trainer = Trainer::init_ram(&local, right())?;
    let on = trainer.on(&local);
    refused(trainer.on(&other).step(ALL_TEXT, &TEXTS, paired()), INVALID, "executor", None);
    refused(on.step(ALL_TEXT, &[""; 0], TrainerStepConfig::default()), INVALID, "count", None);
    refused(on.step(ALL_TEXT, &["x"; 7], TrainerStepConfig::default()), SHAPE, "count", None);
    let decreasing = (b"abcdefgh".as_slice(), [0usize, 2, 1, 3, 4]);
    refused(on.step(ALL_TEXT, decreasing, paired()), INVALID, "contents.offsets", Some(1));
    let image = [Modality::Text, Modality::Text, Modality::Image, Modality::Text];
    refused(on.step(image, &TEXTS, paired()), Status::Unsupported, "modalities", Some(2));
    refused(on.step([Modality::Text], &TEXTS, paired()), SHAPE, "modalities", None);
    let groups = TrainerStepConfig { temperature_groups: &[0, 1, 0, 0], ..paired() };
    refused(on.step(ALL_TEXT, &TEXTS, groups), INVALID, "temperature_groups", Some(1));
    let bags = TrainerStepConfig { bags: &[0], ..paired() };
    refused(on.step(ALL_TEXT, &TEXTS, bags), SHAPE, "bags", None);
    let choices = TrainerStepConfig { choices: (b"ynyn", &[0, 1, 2, 3, 4]), ..paired() };
    refused(on.step(ALL_TEXT, &TEXTS, choices), Status::Unsupported, "choices", None);
    refused(on.step(ALL_TEXT, &TEXTS, TrainerStepConfig::default()), INVALID, "relations.attract", None);
    for (edges, status, word) in [
        (Edges { offsets: &[0, 1, 2, 3, 5], ids: &[1, 0, 3, 2], weights: &[] }, INVALID, "offsets"),
        (Edges { offsets: &[0, 1, 2], ids: &[1, 0], weights: &[] }, SHAPE, "offsets"),
        (Edges { offsets: &[0, 1, 2, 3, 4], ids: &[1, 0, 3, 2], weights: &[1.0] }, SHAPE, "weights"),
        (Edges { offsets: &[0, 1, 2, 3, 4], ids: &[1, 0, 3, 9], weights: &[] }, INVALID, "relations.attract"),
    ] {
        let relations = Relations { attract: edges, ..Relations::default() };
        let answer = on.step(ALL_TEXT, &TEXTS, TrainerStepConfig { relations, ..TrainerStepConfig::default() });
        let Err(error) = answer else { panic!("{edges:?} succeeded") };
        assert_eq!(error.status, status, "{error}");
        assert!(error.message.contains(word), "{error} does not name {word}");
    }
    on.step(ALL_TEXT, &TEXTS, paired()).map(drop)
}

#[test]
fn a_step_answers_what_it_scored() -> Result<()> {
    let (executor, mut arena) = (Executor::for_ram(&[], None, 2)?, Arena::new()?);
    let trainer = Trainer::init_ram(&executor, right())?;
    let mut stats = TrainerStepStats::default();
    let config = TrainerStepConfig { arena: Some(&mut arena), stats: Some(&mut stats), ..paired() };
    let rows = trainer.on(&executor).step([Modality::Text; 4], &TEXTS, config)?.expect("an arena was lent");
    assert_eq!((rows.count(), rows.columns()), (4, 128));
    for row in rows.values::<f32>()?.chunks(128) {
        let length: f32 = row.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 2.0 * 128.0 * f32::EPSILON);
    }
    // Every text is its bytes.
    assert_eq!((stats.step, stats.tokens, stats.truncated, stats.dropped), (1, 14, 0, 0));
    assert!(stats.learning_rate > 0.0);
    let texts = TEXTS.map(String::from).to_vec();
    let call = trainer.deferred(&executor).step(vec![Modality::Text; 4], texts, paired())?;
    assert!(block_on(call).0?.is_none());
    let config = TrainerStepConfig { stats: Some(&mut stats), arena: Some(&mut arena), ..paired() };
    trainer.on(&executor).step(ALL_TEXT, &TEXTS, config)?;
    assert_eq!(stats.step, 3, "the deferred one between counts");
    Ok(())
}

#[test]
fn a_run_is_saved_and_resumed() -> Result<()> {
    let (executor, folder) = (Executor::for_ram(&[], None, 2)?, Folder::new());
    let [first, second, whole] = ["first", "second", "whole"].map(|name| folder.0.join(name));
    let step = |trainer: &Trainer<'_>| trainer.on(&executor).step(ALL_TEXT, &TEXTS, paired()).map(drop);
    let save = |trainer: &Trainer<'_>, path: &std::path::Path| {
        trainer.on(&executor).save(TrainerSaveConfig { optimizer: true, ..TrainerSaveConfig::from(path) })
    };
    let never_stopped = Trainer::init_ram(&executor, right())?;
    step(&never_stopped)?;
    save(&never_stopped, &first)?;
    step(&never_stopped)?;
    save(&never_stopped, &whole)?;
    let resumed = Trainer::init_ram(&executor, TrainerInitRamConfig { resume: &first, ..right() })?;
    step(&resumed)?;
    save(&resumed, &second)?;
    assert!(std::fs::read(&whole).unwrap() == std::fs::read(&second).unwrap(), "a resume repeats every bit");
    let other = Trainer::init_ram(&executor, TrainerInitRamConfig { resume: &first, seed: 8, ..right() });
    let error = other.unwrap_err();
    assert_eq!(error.status, Status::ConfigMismatch);
    assert!(error.detail.contains("seed: saved 7, asked 8"), "{error}");

    refused(resumed.on(&executor).save(""), INVALID, "path", None);
    refused(resumed.on(&executor).save("/nowhere/at/all"), Status::Io, "", None);
    let mut stop = |_, _| ControlFlow::Break(());
    let config = TrainerSaveConfig { progress: Some(&mut stop), ..TrainerSaveConfig::from(&second) };
    refused(resumed.on(&executor).save(config), Status::Cancelled, "", None);
    resumed.deferred(&executor).save(folder.0.join("deferred"))?.wait()?;
    assert_eq!(Model::load_ram(folder.0.join("deferred"))?.describe()?.dimensions, 128);
    Ok(())
}

#[test]
fn a_mesh_of_one() -> Result<()> {
    let executor = Executor::for_ram(&[], None, 1)?;
    let joined = AtomicUsize::new(0);
    let progress = |completed: usize, _: usize| {
        joined.store(completed, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    let options = MeshOptions { job: "alone", progress: Some(&progress), ..MeshOptions::default() };
    let mesh = Mesh::bootstrap(&executor, &options)?;
    assert_eq!((joined.load(Ordering::Relaxed), mesh.describe()?.devices), (1, 1));
    let trainer = Trainer::init_ram(&executor, TrainerInitRamConfig { mesh: Some(&mesh), ..right() })?;
    trainer.on(&executor).step(ALL_TEXT, &TEXTS, paired())?;
    drop(trainer);
    drop(mesh);
    let beyond = MeshOptions { host_domain_index: 1, ..MeshOptions::default() };
    refused(Mesh::bootstrap(&executor, &beyond), INVALID, "host_domain_index", None);
    let long = "x".repeat(129);
    refused(Mesh::bootstrap(&executor, &MeshOptions { job: &long, ..MeshOptions::default() }), INVALID, "job", None);
    Ok(())
}
