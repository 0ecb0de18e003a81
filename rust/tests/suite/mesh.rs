//! Two processes that train as one: this program, started again for each of them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use uform::*;

use crate::support::{Folder, refused};
use crate::training::{ALL_TEXT, PAIRS, TEXTS, paired, right};

/// What a step did, and the rows it scored.
struct Stepped {
    stats: TrainerStepStats,
    rows: Vec<f32>,
}

fn step(executor: &Executor, mesh: Option<&Mesh>, texts: &[&str], attract: Edges<'_>) -> Result<Stepped> {
    let (mut stats, mut arena) = (TrainerStepStats::default(), Arena::new()?);
    let trainer = Trainer::init_ram(executor, TrainerInitRamConfig { mesh, ..right() })?;
    let relations = Relations { attract, ..Relations::default() };
    let config = TrainerStepConfig {
        relations,
        arena: Some(&mut arena),
        stats: Some(&mut stats),
        ..TrainerStepConfig::default()
    };
    let scored = trainer.on(executor).step(ALL_TEXT, texts, config)?.expect("an arena was lent");
    let rows = scored.values::<f32>()?.to_vec();
    Ok(Stepped { stats, rows })
}

fn options<'c>(rank: usize, folder: &'c Path, deadline_milliseconds: usize) -> MeshOptions<'c> {
    MeshOptions {
        host_domain_index: rank,
        host_domain_count: 2,
        directory: folder,
        job: "pair",
        deadline_milliseconds,
        ..MeshOptions::default()
    }
}

const ROLE: &str = "UFORM_MESH_RANK";
const FOLDER: &str = "UFORM_MESH_FOLDER";

/// One of the two, which writes what it saw for the other test to read.
#[test]
#[ignore = "a process of two_processes_step_as_one"]
fn a_process_of_two() -> Result<()> {
    let rank: usize = std::env::var(ROLE).unwrap().parse().unwrap();
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let executor = Executor::for_ram(&[], None, 1)?;
    let mesh = Mesh::bootstrap(&executor, &options(rank, &folder, 60_000))?;
    let description = mesh.describe()?;
    assert_eq!((description.host_domain_index, description.host_domain_count, description.devices), (rank, 2, 2));
    let weights = &PAIRS.attract.weights[2 * rank..2 * rank + 2];
    let stepped = step(
        &executor,
        Some(&mesh),
        &TEXTS[2 * rank..2 * rank + 2],
        Edges { offsets: &[0, 1, 2], ids: &[1, 0], weights },
    )?;
    let TrainerStepStats { loss, gradient_norm, .. } = stepped.stats;
    let values: Vec<u8> =
        [&[loss, gradient_norm][..], &stepped.rows].concat().into_iter().flat_map(f32::to_le_bytes).collect();
    std::fs::write(folder.join(format!("told-{rank}")), values).unwrap();
    Ok(())
}

fn start(rank: usize, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "mesh::a_process_of_two", "--nocapture"])
        .envs([(ROLE, rank.to_string().as_ref()), (FOLDER, folder.as_os_str())])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// Whether this library joins processes at all: the stub never does, the engine where UCX is.
fn joins() -> Result<bool> {
    let folder = Folder::new();
    match Mesh::bootstrap(&Executor::default(), &options(0, &folder.0, 1)) {
        Err(Error { status: Status::Unsupported, message, .. }) => {
            eprintln!("skipped: {message}");
            Ok(false)
        }
        answer => Ok(answer.unwrap_err().status == Status::Io),
    }
}

#[test]
fn two_processes_step_as_one() -> Result<()> {
    if !joins()? {
        return Ok(());
    }
    let folder = Folder::new();
    for mut process in [start(0, &folder.0), start(1, &folder.0)] {
        assert!(process.wait().unwrap().success());
    }
    let alone = step(&Executor::for_ram(&[], None, 1)?, None, &TEXTS, paired().relations.attract)?;
    for rank in 0..2 {
        let bytes = std::fs::read(folder.0.join(format!("told-{rank}"))).unwrap();
        let values: Vec<f32> = bytes.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
        let (sums, rows) = values.split_at(2);
        // Sums over the world differ in their order alone: by 1e-5 of a tensor's gradient at step one, so of its norm.
        for (value, expected) in sums.iter().zip([alone.stats.loss, alone.stats.gradient_norm]) {
            assert!((value - expected).abs() <= 1e-5 * expected, "rank {rank}: {value}, alone {expected}");
        }
        assert!(rows == &alone.rows[256 * rank..256 * (rank + 1)], "rank {rank}: an item's row is its own");
    }
    Ok(())
}

#[test]
fn a_peer_that_never_comes_is_named_at_the_deadline() -> Result<()> {
    if !joins()? {
        return Ok(());
    }
    let (folder, started) = (Folder::new(), Instant::now());
    let error = Mesh::bootstrap(&Executor::default(), &options(0, &folder.0, 300)).unwrap_err();
    assert_eq!(&*error.detail, "rank 1 of 2 did not come within 300 ms; 1 in all are missing");
    refused(Err::<(), _>(error), Status::Io, "did not come before the deadline", None);
    assert!((Duration::from_millis(300)..Duration::from_secs(10)).contains(&started.elapsed()));
    Ok(())
}
