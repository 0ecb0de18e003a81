//! Every form of call that the crate promises, as a user writes it. What needs a GPU answers `unsupported` here.

use std::ops::ControlFlow;
use std::path::Path;

use uform::*;

use crate::support::{Folder, block_on, headed, nano, nano_path};

#[test]
fn quickstart() -> Result<()> {
    let path = nano_path();
    let executor = Executor::for_ram(&[], None, 0)?;
    let mut arena = Arena::new_in(&executor)?;
    let model = Model::load_ram(&path)?;

    let texts = ["a cat on a mat", "a dog in the fog"];
    let encoded = model.on(&executor).text_encode(&texts, Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
    let Some(embeddings) = encoded.embeddings else { panic!("embeddings were asked for") };
    let values: &[f32] = embeddings.values()?;
    assert_eq!(values.len(), texts.len() * model.describe()?.dimensions);
    for row in values.chunks(embeddings.columns()) {
        let length: f32 = row.iter().map(|value| value * value).sum();
        // A sum of 128 squares of floats: each rounding is at most 2^-24 of the running sum of at most one.
        assert!((length - 1.0).abs() < 2.0 * 128.0 * f32::EPSILON, "{length}");
    }
    Ok(())
}

#[test]
fn deferred_calls() -> Result<()> {
    let (model, executor) = (nano(), Executor::for_ram(&[], None, 2)?);
    let mut arena = Arena::new_in(&executor)?;
    let texts = vec![String::from("a cat on a mat"), String::from("a dog in the fog")];
    let call = model.deferred(&executor).text_encode(texts, Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
    if call.status() == Err(Status::Deferred) {
        // other work
    }
    let encoded = block_on(async { call.await }).0?;
    assert_eq!(encoded.embeddings.map(|rows| rows.count()), Some(2));

    let call = model.deferred(&executor).text_encode(["a", "b"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
    let encoded = std::thread::scope(|scope| scope.spawn(move || call.wait()).join()).unwrap()?;
    assert_eq!(encoded.embeddings.map(|rows| rows.count()), Some(2));
    Ok(())
}

#[test]
fn executors() -> Result<()> {
    let threads = Executor::for_ram(&[], None, 8)?;
    let serial = Executor::for_ram(&[], Some(CPUClass::Serial), 0)?;
    let local = Executor::default();
    threads.drain(Mood::Spinning)?;
    serial.drain(Mood::Parked)?;
    local.drain(Mood::default())?;

    let absent = Executor::for_ram(&[usize::MAX], None, 0).unwrap_err();
    assert_eq!(absent.status, Status::InvalidArgument, "two NUMA nodes are asked for alike, where there are two");
    let mut devices = [GPUDevice::default(); 4];
    assert_eq!(gpu_devices(&mut devices), 0);
    let streams = unsafe { Executor::for_vram(&[0, 1], None, &[], None, &[], 0) };
    assert_eq!(streams.unwrap_err().status, Status::Unsupported);
    let pool = std::ptr::null_mut();
    let shared = unsafe { Executor::on_pool(&[], None, pool, 0) };
    assert_eq!(shared.unwrap_err().status, Status::Unsupported);
    Ok(())
}

#[test]
fn arenas() -> Result<()> {
    let (model, executor) = (nano(), Executor::for_ram(&[], None, 2)?);
    let batches = vec![vec!["one", "two"], vec![], vec!["three"]];
    let mut consumed = Vec::new();
    let mut arena = Arena::new_in(&executor)?;
    for batch in &batches {
        let encoded = model.on(&executor).text_encode(batch, Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
        consumed.push(encoded.embeddings.map(|rows| rows.values::<f32>()).transpose()?.map_or(0, <[f32]>::len));
    }
    assert_eq!(consumed, [256, 0, 128]);
    Ok(())
}

#[test]
fn tapes() -> Result<()> {
    let (model, mut arena) = (nano(), Arena::new()?);
    let tape = (b"first documentthe second".as_slice(), [0usize, 14, 24]);
    let encoded = model.text_encode(tape, Outputs::STATES, Scalar::BF16, &mut arena)?;
    let states = encoded.states.expect("STATES were asked for");
    let offsets = states.offsets()?;
    let second = states.item(1)?;
    assert_eq!(offsets, [0, 14, 24]);
    assert_eq!((second.count(), second.columns(), second.scalar()), (10, 128, Scalar::BF16));
    assert_eq!(second.values::<BF16>()?, &states.rows().values::<BF16>()?[14 * 128..]);
    assert_eq!(second.values::<f32>().unwrap_err().status, Status::InvalidArgument);
    assert_eq!(second.as_bytes()?.len(), 10 * second.stride());
    assert_eq!(states.item(2).unwrap_err().status, Status::InvalidArgument);
    assert!(encoded.embeddings.is_none() && encoded.token_vectors.is_none());
    Ok(())
}

#[test]
fn configs() -> Result<()> {
    let (model, mut arena) = (nano(), Arena::new()?);
    let texts = vec!["some text"; 100];
    let mut stats = TextEncodeStats::default();
    let mut handler =
        |completed, total| if completed * 2 < total { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let config = TextEncodeConfig {
        stats: Some(&mut stats),
        progress: Some(&mut handler),
        ..TextEncodeConfig::from(Scalar::F32)
    };
    let encoded = model.text_encode(&texts, Outputs::EMBEDDINGS, config, &mut arena);
    assert_eq!(encoded.unwrap_err().status, Status::Cancelled);
    assert_eq!(stats, TextEncodeStats::default(), "nothing is published");

    let config = TextEncodeConfig { stats: Some(&mut stats), dimensions: 64, ..TextEncodeConfig::from(Scalar::I8) };
    let encoded = model.text_encode(&texts, Outputs::default(), config, &mut arena)?;
    let rows = encoded.embeddings.unwrap();
    assert_eq!((rows.count(), rows.columns(), rows.scalar()), (100, 64, Scalar::I8));
    assert_eq!(rows.values::<i8>()?.len(), 6400);
    assert_eq!(stats, TextEncodeStats { truncated: 0, tokens: 900 });
    Ok(())
}

#[test]
fn choices() -> Result<()> {
    let (model, mut arena) = (headed(), Arena::new()?);
    let config = TextChooseConfig { temperature_groups: &[0, 1], ..TextChooseConfig::default() };
    let texts = ["keep this candidate?", "expand which neighbour?"];
    let probabilities = model.text_choose(&texts, &["yn", "ABCD"], config, &mut arena)?;
    let expand: &[f32] = probabilities.item(1)?;
    assert_eq!(expand.len(), 4);
    assert!((expand.iter().sum::<f32>() - 1.0).abs() < 8.0 * f32::EPSILON);
    assert_eq!(probabilities.offsets()?, [0, 2, 6]);
    assert_eq!(probabilities.values::<f32>()?.len(), 6);
    let refused = nano().text_choose(&["y?"], &["yn"], Scalar::F32, &mut arena).unwrap_err();
    assert_eq!(refused.status, Status::Unsupported);
    Ok(())
}

#[test]
fn reranking() -> Result<()> {
    let (model, executor) = (headed(), Executor::for_ram(&[], None, 2)?);
    let (mut queries, mut documents, mut scored) = (Arena::new()?, Arena::new()?, Arena::new()?);
    let query = model.text_encode(&["cat"], Outputs::TOKEN_VECTORS, Scalar::F32, &mut queries)?;
    let query = query.token_vectors.unwrap().item(0)?;
    let texts = ["a cat", "cat", "fog"];
    let found = model.text_encode(&texts, Outputs::TOKEN_VECTORS, Scalar::F32, &mut documents)?;
    let scores = executor.rerank(query, found.token_vectors.unwrap(), Scalar::F32, &mut scored)?;
    let scores: &[f32] = scores.values()?;
    assert_eq!(scores.len(), 3);
    assert!((scores[1] - 1.0).abs() < 1e-5, "a text's vectors find themselves: {scores:?}");
    Ok(())
}

#[test]
fn models() -> Result<()> {
    let executor = Executor::for_ram(&[], None, 1)?;
    let vram = Model::load_vram(ModelLoadVramConfig {
        executor: Some(&executor),
        devices: &[0],
        quantization: Scalar::E4M3,
        ..ModelLoadVramConfig::from("model.safetensors")
    });
    assert_eq!(vram.unwrap_err().status, Status::Unsupported);
    let bytes = std::fs::read(nano_path()).unwrap();
    assert_eq!(Model::load_vram_buffer(&bytes).unwrap_err().status, Status::Unsupported);

    let mut reports = 0;
    let mut handler = |_, _| {
        reports += 1;
        ControlFlow::Continue(())
    };
    let path = nano_path();
    let model = Model::load_ram(ModelLoadRamConfig {
        executor: Some(&executor),
        quantization: Scalar::E4M3,
        cpu_class: Some(CPUClass::Serial),
        progress: Some(&mut handler),
        ..ModelLoadRamConfig::from(&path)
    })?;
    assert!(reports > 0);
    let description = model.on(&executor).describe()?;
    assert_eq!((description.dimensions, description.depth, description.context), (128, 4, 512));
    assert_eq!((description.quantization, description.cpu_class), (Scalar::E4M3, Some(CPUClass::Serial)));
    assert_eq!((description.gpu_class, description.token_width, description.image), (None, 0, ImageShape::default()));
    let other = Model::load_ram_buffer(&bytes)?.describe()?;
    assert!(other.quantization == Scalar::BF16 && other.memory_usage > description.memory_usage);
    Ok(())
}

#[test]
fn training_needs_gpus_in_vram() -> Result<()> {
    let executor = Executor::for_ram(&[], None, 2)?;
    let folder = Folder::new();
    let mesh = Mesh::bootstrap(
        &executor,
        &MeshOptions {
            host_domain_index: 0,
            host_domain_count: 1,
            directory: Path::new(&folder.0),
            job: "run-17",
            ..MeshOptions::default()
        },
    )?;
    let trainer = Trainer::init_vram(
        &executor,
        TrainerInitVramConfig {
            mesh: Some(&mesh),
            depth: 12,
            hidden: 512,
            objective: Objective::Joint,
            batch: BatchShape {
                max_rows_per_device: 64,
                max_segments_per_device: 256,
                max_columns_per_row: 1024,
                max_bags_per_device: 128,
                image: ImageShape { patch_side: 16, channels: 0 },
                ..BatchShape::default()
            },
            schedule: Schedule { steps: 100_000, ..Schedule::default() },
            seed: 42,
            ..TrainerInitVramConfig::default()
        },
    );
    assert_eq!(trainer.unwrap_err().status, Status::Unsupported);
    let description = mesh.describe()?;
    assert_eq!((description.host_domain_index, description.host_domain_count, description.devices), (0, 1, 1));
    assert_eq!((description.multimem_tier, description.gpu_class), (MultimemTier::None, None));
    Ok(())
}

#[test]
fn training() -> Result<()> {
    let (executor, folder) = (Executor::for_ram(&[], None, 2)?, Folder::new());
    let mesh = Mesh::bootstrap(&executor, &MeshOptions { job: "run-17", ..MeshOptions::default() })?;
    let trainer = Trainer::init_ram(
        &executor,
        TrainerInitRamConfig {
            mesh: Some(&mesh),
            depth: 1,
            hidden: 128,
            objective: Objective::Joint,
            batch: BatchShape {
                max_rows_per_device: 4,
                max_segments_per_device: 8,
                max_columns_per_row: 64,
                max_bags_per_device: 4,
                ..BatchShape::default()
            },
            schedule: Schedule { steps: 100, ..Schedule::default() },
            seed: 42,
            ..TrainerInitRamConfig::default()
        },
    )?;
    let modalities = [Modality::Text; 4];
    let contents = ["zwei", "two", "Hund", "dog"];

    let mut stats = TrainerStepStats::default();
    let relations = Relations {
        attract: Edges { offsets: &[0, 1, 2, 3, 4], ids: &[1, 0, 3, 2], weights: &[] },
        ..Relations::default()
    };
    let config =
        TrainerStepConfig { bags: &[0, 0, 1, 1], relations, stats: Some(&mut stats), ..TrainerStepConfig::default() };
    assert!(trainer.on(&executor).step(&modalities, &contents, config)?.is_none());
    let path = folder.0.join("checkpoint.safetensors");
    trainer.on(&executor).save(&path)?;
    assert_eq!((stats.step, stats.dropped, Model::load_ram(&path)?.describe()?.depth), (1, 0, 1));
    Ok(())
}

#[test]
fn errors() -> Result<()> {
    let (model, executor, mut arena) = (nano(), Executor::for_ram(&[], None, 1)?, Arena::new()?);
    let texts = ["one"];
    match model.on(&executor).text_encode(&texts, Outputs::EMBEDDINGS, Scalar::F32, &mut arena) {
        Ok(encoded) => assert_eq!(encoded.embeddings.map_or(0, |rows| rows.count()), 1),
        Err(Error { status: Status::Contended, .. }) => panic!("the arena serves another call"),
        Err(error) => panic!("{}: {}", error.status, error.message),
    }
    assert_eq!(Status::ShapeMismatch.to_string(), "shape-mismatch");
    assert_eq!("intel-haswell".parse::<CPUClass>()?, CPUClass::IntelHaswell);
    assert_eq!(MultimemTier::Multicast.to_string(), "multicast");
    assert_eq!("success".parse::<Status>().unwrap_err().status, Status::InvalidArgument);
    Ok(())
}
