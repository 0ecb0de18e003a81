//! Runs that train on pictures, clips and recordings beside texts: steps over files, and checkpoints that keep entries.

use uform::*;

use crate::support::{Folder, block_on, clip, picture, recording, refused, samples};

const MALFORMED: Status = Status::Malformed;

/// A joint run of 8-pixel patches, and of clips and recordings.
fn run<'c, 'm>() -> TrainerInitRamConfig<'c, 'm> {
    TrainerInitRamConfig {
        depth: 1,
        hidden: 128,
        batch: BatchShape {
            max_rows_per_device: 8,
            max_segments_per_device: 6,
            max_columns_per_row: 32,
            image: ImageShape { patch_side: 8, channels: 3 },
            video: VideoShape { patch_side: 16, ..VideoShape::default() },
            audio: AudioShape { chunk_samples: 40, ..AudioShape::default() },
            ..BatchShape::default()
        },
        objective: Objective::Joint,
        late_interaction: LateInteraction { weight: 0.5, width: 16, ..LateInteraction::default() },
        schedule: Schedule { steps: 20, ..Schedule::default() },
        seed: 7,
        ..TrainerInitRamConfig::default()
    }
}

const CAPTIONED: [Modality; 4] = [Modality::Image, Modality::Text, Modality::Image, Modality::Text];
const SIDES: [LateInteractionSide; 4] = [
    LateInteractionSide::Document,
    LateInteractionSide::Query,
    LateInteractionSide::QueryAndDocument,
    LateInteractionSide::QueryAndDocument,
];

fn paired<'c, 'a>() -> TrainerStepConfig<'c, 'a> {
    let attract = Edges { offsets: &[0, 1, 2, 3, 4], ids: &[1, 0, 3, 2], weights: &[] };
    TrainerStepConfig { relations: Relations { attract, ..Relations::default() }, sides: &SIDES, ..Default::default() }
}

fn captioned() -> Vec<Vec<u8>> {
    vec![picture(), b"four pixels".to_vec(), picture(), b"grey".to_vec()]
}

#[test]
fn steps_take_pictures_and_answer_token_vectors() -> Result<()> {
    let (executor, mut arena) = (Executor::for_ram(&[], None, 2)?, Arena::new()?);
    let trainer = Trainer::init_ram(&executor, run())?;
    let mut stats = TrainerStepStats::default();
    let config =
        TrainerStepConfig { arena: Some(&mut arena), token_vectors: true, stats: Some(&mut stats), ..paired() };
    let scored = trainer.on(&executor).step(CAPTIONED, &captioned(), config)?.expect("an arena was lent");
    assert_eq!((scored.count(), scored.columns(), scored.embeddings.values::<f32>()?.len()), (4, 128, 512));
    let vectors = scored.token_vectors.expect("they were asked for");
    assert_eq!((vectors.offsets()?, vectors.columns()), (&[0, 1, 12, 13, 17][..], 16));
    for row in vectors.rows().values::<f32>()?.chunks(16) {
        let length: f32 = row.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 2f32.powi(-7), "rounded to BFloat16: {length}");
    }
    assert_eq!((stats.step, stats.tokens, stats.truncated), (1, 1 + 11 + 1 + 4, 0));
    assert_eq!((stats.masked_video_loss, stats.masked_audio_loss), (0.0, 0.0));

    let config = TrainerStepConfig { arena: Some(&mut arena), token_vectors: true, ..paired() };
    let call = trainer.deferred(&executor).step(CAPTIONED, captioned(), config)?;
    assert_eq!(block_on(call).0?.unwrap().token_vectors.unwrap().count(), 17);
    let without = TrainerStepConfig { token_vectors: true, ..paired() };
    refused(trainer.on(&executor).step(CAPTIONED, &captioned(), without), Status::InvalidArgument, "arena", None);
    Ok(())
}

/// Every medium in one step: a clip of 3 layers of 2 x 3 patches, a recording of 3 chunks of 40 samples, a picture of
/// one patch, a text.
#[test]
fn steps_take_every_medium() -> Result<()> {
    let (executor, mut arena) = (Executor::for_ram(&[], None, 2)?, Arena::new()?);
    let trainer = Trainer::init_ram(&executor, run())?;
    let modalities = vec![Modality::Video, Modality::Audio, Modality::Image, Modality::Text];
    let contents = vec![clip("h264.mp4"), recording(&samples(100)), picture(), b"a caption".to_vec()];
    let mut stats = TrainerStepStats::default();
    for step in 1..=3 {
        let config = TrainerStepConfig { stats: Some(&mut stats), ..paired() };
        assert!(trainer.on(&executor).step(&modalities, &contents, config)?.is_none());
        assert_eq!((stats.step, stats.tokens, stats.dropped), (step, 3 * 6 + 3 + 1 + 9, 0));
    }
    if !cfg!(feature = "stub") {
        assert!(stats.loss > 0.0 && stats.masked_video_loss > 0.0 && stats.masked_audio_loss > 0.0);
    }
    let config = TrainerStepConfig { arena: Some(&mut arena), ..paired() };
    let call = trainer.deferred(&executor).step(modalities.clone(), contents.clone(), config)?;
    assert_eq!(call.wait()?.unwrap().count(), 4);
    let mut broken = contents;
    broken[1].truncate(30);
    refused(trainer.on(&executor).step(&modalities, &broken, paired()), MALFORMED, "", Some(1));
    broken[0].clear();
    refused(trainer.on(&executor).step(&modalities, &broken, paired()), MALFORMED, "", Some(0));
    Ok(())
}

#[test]
fn steps_refuse_files() -> Result<()> {
    let local = Executor::default();
    let trainer = Trainer::init_ram(
        &local,
        TrainerInitRamConfig {
            batch: BatchShape { video: VideoShape::default(), audio: AudioShape::default(), ..run().batch },
            ..run()
        },
    )?;
    let step = |modalities: [Modality; 4], file: &[u8], limits| {
        let contents = [&picture()[..], b"a", file, b"b"];
        trainer.on(&local).step(modalities, &contents, TrainerStepConfig { limits, ..paired() }).map(drop)
    };
    let (whole, any) = (picture(), Limits::default());
    refused(step(CAPTIONED, b"<html>404</html>", any), Status::UnknownKind, "", Some(2));
    refused(step(CAPTIONED, &whole[..20], any), MALFORMED, "", Some(2));
    refused(step(CAPTIONED, b"", any), MALFORMED, "", Some(2));
    refused(step(CAPTIONED, &whole, Limits { max_pixels: 3, ..any }), MALFORMED, "max_pixels", Some(0));
    for left_out in [Modality::Video, Modality::Audio] {
        let modalities = [Modality::Image, Modality::Text, left_out, Modality::Text];
        refused(step(modalities, &whole, any), Status::Unsupported, "modalities", Some(2));
    }
    step(CAPTIONED, &whole, any)
}

#[test]
fn runs_keep_their_entries() -> Result<()> {
    let (local, folder) = (Executor::default(), Folder::new());
    let path = folder.0.join("run");
    Trainer::init_ram(&local, run())?.on(&local).save(&path)?;
    let description = Model::load_ram(&path)?.describe()?;
    assert_eq!((description.image, description.audio.chunk_samples), (run().batch.image, 40));
    let wider = BatchShape { image: ImageShape { patch_side: 8, channels: 0 }, ..run().batch };
    let masks = Masking { image_mask_ratio: 0.5, ..Masking::default() };
    for (config, detail) in [
        (TrainerInitRamConfig { batch: wider, ..run() }, "image.channels: saved 3, asked 4"),
        (TrainerInitRamConfig { masking: masks, ..run() }, "masking.image_mask_ratio: saved 0.75, asked 0.5"),
    ] {
        let error = Trainer::init_ram(&local, TrainerInitRamConfig { resume: &path, ..config }).unwrap_err();
        assert_eq!((error.status, &*error.detail), (Status::ConfigMismatch, detail));
    }
    Trainer::init_ram(&local, TrainerInitRamConfig { resume: &path, ..run() }).map(drop)
}
