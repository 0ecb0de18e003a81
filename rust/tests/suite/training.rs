//! Trainers and meshes: what a step answers, saving and resuming, runs of one process.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use uform::*;

use crate::support::{Folder, block_on, refused};

/// A contrastive run of the smallest model.
pub fn right<'c, 'm>() -> TrainerInitRamConfig<'c, 'm> {
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

pub const TEXTS: [&str; 4] = ["zwei", "two", "Hund", "dog"];
pub const ALL_TEXT: [Modality; 0] = [];
pub const PAIRS: Relations<'static> = Relations {
    attract: Edges { offsets: &[0, 1, 2, 3, 4], ids: &[1, 0, 3, 2], weights: &[1.0, 1.0, 0.5, 0.5] },
    repel: Edges { offsets: &[], ids: &[], weights: &[] },
    ignore: Edges { offsets: &[], ids: &[], weights: &[] },
};

/// Two pairs of texts, each drawn together.
pub fn paired<'a>() -> TrainerStepConfig<'static, 'a> {
    TrainerStepConfig { relations: PAIRS, ..TrainerStepConfig::default() }
}

const INVALID: Status = Status::InvalidArgument;
const SHAPE: Status = Status::ShapeMismatch;

/// Lengths that C takes on trust.
#[test]
fn steps_of_odd_lengths_are_refused() -> Result<()> {
    let local = Executor::default();
    let trainer = Trainer::init_ram(&local, right())?;
    let on = trainer.on(&local);
    refused(on.step([Modality::Text], &TEXTS, paired()), SHAPE, "modalities", None);
    for (config, word) in [
        (TrainerStepConfig { bags: &[0], ..paired() }, "bags"),
        (TrainerStepConfig { sides: &[LateInteractionSide::Query], ..paired() }, "sides"),
        (TrainerStepConfig { temperature_groups: &[0; 5], ..paired() }, "temperature_groups"),
        (TrainerStepConfig { choices: (b"yn", &[0, 2]), ..paired() }, "choices"),
        (TrainerStepConfig { choice_targets: (&[1.0], &[0, 1]), ..paired() }, "choice_targets"),
    ] {
        refused(on.step(ALL_TEXT, &TEXTS, config), SHAPE, word, None);
    }
    for (edges, status, word) in [
        (Edges { offsets: &[0, 1, 2, 3, 5], ids: &[1, 0, 3, 2], weights: &[] }, INVALID, "relations.attract.offsets"),
        (Edges { offsets: &[0, 1, 2], ids: &[1, 0], weights: &[] }, SHAPE, "offsets"),
        (Edges { offsets: &[0, 1, 2, 3, 4], ids: &[1, 0, 3, 2], weights: &[1.0] }, SHAPE, "weights"),
    ] {
        let relations = Relations { attract: edges, ..Relations::default() };
        refused(on.step(ALL_TEXT, &TEXTS, TrainerStepConfig { relations, ..paired() }), status, word, None);
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
    Ok(())
}
