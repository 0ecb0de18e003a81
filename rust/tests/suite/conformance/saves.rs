//! Saving a trainer, and resuming it as the same run or another.

use std::path::Path;

use uform::*;

use super::runs::{Run, init, joint};
use super::{Replay, with};
use crate::support::Folder;
use crate::training::right;

pub(super) fn saves(mut replay: Replay) -> Result<()> {
    let (local, other, folder) = (Executor::default(), Executor::for_ram(&[], None, 2)?, Folder::new());
    let trainer = Trainer::init_ram(&local, right())?;
    let (path, taken) = (folder.0.join("run.safetensors"), folder.0.join("taken"));
    std::fs::create_dir_all(taken.join("full")).unwrap();
    let on = trainer.on(&local);
    replay.row("another executor", trainer.on(&other).save(&path));
    replay.row("no path", on.save(""));
    replay.row("a NUL inside", on.save("a\0b"));
    replay.row("longer than paths are", on.save("p".repeat(5000)));
    replay.row("no such folder", on.save(folder.0.join("no/such/folder/run.safetensors")));
    replay.row("over a folder", on.save(&taken));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1, "failures leave nothing behind");
    replay.end()
}

/// A row, and the field it changes.
type Change = (&'static str, fn(&mut Run));

/// Saves a run, and goes on from there with one field changed, for each of them.
fn resumed(replay: &mut Replay, right: fn() -> Run, changes: &[Change]) -> Result<()> {
    let (local, folder) = (Executor::default(), Folder::new());
    // A config that lives for ever names a path that does.
    let path: &Path = Box::leak(folder.0.join("run.safetensors").into_boxed_path());
    Trainer::init_ram(&local, right())?.on(&local).save(path)?;
    for (what, change) in changes {
        let mut config = right();
        change(&mut config);
        replay.row(what, init(TrainerInitRamConfig { resume: path, ..config }));
    }
    Ok(())
}

/// Every term switched on, and the widths it names.
fn whole() -> Run {
    with!(joint();
        batch.max_choices_per_item = 4, choices.weight = 1.0, late_interaction.weight = 1.0,
        contrastive.matryoshka_dimensions = &[64, 128],
        regularizers.coding_rate_weight = 0.02, regularizers.lipschitz_weight = 0.01)
}

pub(super) fn another_run(mut replay: Replay) -> Result<()> {
    resumed(
        &mut replay,
        whole,
        &[
            ("hidden: saved 128, asked 256", |run| run.hidden = 256),
            ("depth: saved 1, asked 2", |run| run.depth = 2),
            ("context: saved 32, asked 33", |run| run.batch.max_columns_per_row = 33),
            ("seed: saved 7, asked 8", |run| run.seed = 8),
            ("objective: saved joint, asked contrastive", |run| run.objective = Objective::Contrastive),
            ("schedule.steps: saved 20, asked 21", |run| run.schedule.steps = 21),
            ("schedule.warmup_steps: saved 2, asked 3", |run| run.schedule.warmup_steps = 3),
            ("schedule.learning_rate: saved 0.00050000", |run| run.schedule.learning_rate = 1e-3),
            ("schedule.min_learning_rate: saved ", |run| run.schedule.min_learning_rate = 2e-5),
            ("masking.token_mask_probability: saved 0.15", |run| run.masking.token_mask_probability = 0.25),
            ("masking.token_mean_span: saved 16, asked 8", |run| run.masking.token_mean_span = 8.0),
            ("masking.replace_fraction: saved 0.8", |run| run.masking.replace_fraction = 0.5),
            ("masking.random_fraction: saved 0.1", |run| run.masking.random_fraction = 0.125),
            ("masking.text_weight: saved 1, asked 2", |run| run.masking.text_weight = 2.0),
            ("contrastive.matryoshka_dimensions: saved 64,128, asked 64", |run| {
                run.contrastive.matryoshka_dimensions = &[64];
            }),
            ("contrastive.matryoshka_dimensions: saved 64,128, asked 128", |run| {
                run.contrastive.matryoshka_dimensions = &[];
            }),
            ("contrastive.pair_loss: saved sigmoid, asked softmax", |run| {
                run.contrastive.pair_loss = PairLossForm::Softmax
            }),
            ("contrastive.negatives: saved ambient, asked named", |run| run.contrastive.negatives = Negatives::Named),
            ("contrastive.ambient_repulsion_weight: saved 1, asked 0.5", |run| {
                run.contrastive.ambient_repulsion_weight = 0.5;
            }),
            ("contrastive.temperature_groups: saved 1, asked 2", |run| run.contrastive.temperature_groups = 2),
            ("regularizers.coding_rate_weight: saved 0.01999", |run| run.regularizers.coding_rate_weight = 0.0),
            ("regularizers.coding_rate_epsilon_squared: saved 0.5, asked 0.25", |run| {
                run.regularizers.coding_rate_epsilon_squared = 0.25;
            }),
            ("regularizers.lipschitz_weight: saved 0.0099", |run| run.regularizers.lipschitz_weight = 1.0),
            ("regularizers.lipschitz_iterations: saved 4, asked 5", |run| run.regularizers.lipschitz_iterations = 5),
            ("late_interaction.weight: saved 1, asked 0", |run| run.late_interaction.weight = 0.0),
            ("late_interaction.pair_loss: saved ranked, asked balanced", |run| {
                run.late_interaction.pair_loss = PairLossForm::Balanced;
            }),
            ("late_interaction.max_query_span: saved 64, asked 8", |run| run.late_interaction.max_query_span = 8),
            ("late_interaction.prefix_tokens: saved 0, asked 3", |run| run.late_interaction.prefix_tokens = 3),
            ("late_interaction.width: saved 128, asked 64", |run| run.late_interaction.width = 64),
            ("choices.weight: saved 1, asked 0", |run| run.choices.weight = 0.0),
            ("choices.brier_weight: saved 0, asked 1", |run| run.choices.brier_weight = 1.0),
            ("choices.temperature_groups: saved 1, asked 2", |run| run.choices.temperature_groups = 2),
        ],
    )?;
    replay.end()
}

pub(super) fn no_part_of_a_run(mut replay: Replay) -> Result<()> {
    resumed(
        &mut replay,
        whole,
        &[
            ("nothing", |_| ()),
            ("room", |run| (run.batch.max_rows_per_device, run.batch.max_segments_per_device) = (5, 5)),
            ("bags", |run| run.batch.max_bags_per_device = 5),
            ("choices", |run| run.batch.max_choices_per_item = 5),
            ("edges", |run| run.contrastive.max_edges_per_device = 50),
            ("documents", |run| run.late_interaction.max_documents_per_device = 5),
            ("temperature", |run| run.contrastive.inverse_temperature = 5.0),
            ("bias", |run| (run.contrastive.bias, run.late_interaction.bias) = (-1.0, -1.0)),
            ("the same widths elsewhere", |run| {
                static WIDTHS: [usize; 3] = [64, 128, 0];
                run.contrastive.matryoshka_dimensions = &WIDTHS[..2];
            }),
            ("defaults by name", |run| {
                run.contrastive.pair_loss = PairLossForm::Sigmoid;
                run.late_interaction.pair_loss = PairLossForm::Ranked;
                run.regularizers.coding_rate_epsilon_squared = 0.5;
                run.regularizers.lipschitz_iterations = 4;
                run.masking.token_mean_span = 16.0;
                run.schedule.warmup_steps = 2;
                run.late_interaction.width = 128;
            }),
        ],
    )?;
    replay.end()
}

/// A run of every medium.
fn of_media() -> Run {
    let image = ImageShape { patch_side: 8, channels: 3 };
    with!(joint(); batch.image = image, batch.video.patch_side = 4, batch.audio.chunk_samples = 40)
}

pub(super) fn resumed_entries(mut replay: Replay) -> Result<()> {
    resumed(
        &mut replay,
        of_media,
        &[
            ("image.patch_side: saved 8, asked 0", |run| run.batch.image = ImageShape::default()),
            ("image.channels: saved 3, asked 4", |run| run.batch.image.channels = 0),
            ("video.patch_side: saved 4, asked 5", |run| run.batch.video.patch_side = 5),
            ("video.tube_frames: saved 2, asked 1", |run| run.batch.video.tube_frames = 1),
            ("video.frame_stride: saved 1, asked 3", |run| run.batch.video.frame_stride = 3),
            ("audio.chunk_samples: saved 40, asked 0", |run| run.batch.audio = AudioShape::default()),
            ("audio.sample_rate: saved 16000, asked 8000", |run| run.batch.audio.sample_rate = 8000),
            ("masking.image_mask_ratio: saved 0.75, asked 0.5", |run| run.masking.image_mask_ratio = 0.5),
            ("masking.image_weight: saved 1, asked 2", |run| run.masking.image_weight = 2.0),
            ("masking.video_mask_ratio: saved 0.75, asked 0.5", |run| run.masking.video_mask_ratio = 0.5),
            ("masking.video_weight: saved 1, asked 2", |run| run.masking.video_weight = 2.0),
            ("masking.audio_mask_ratio: saved 0.75, asked 0.5", |run| run.masking.audio_mask_ratio = 0.5),
            ("masking.audio_weight: saved 1, asked 2", |run| run.masking.audio_weight = 2.0),
        ],
    )?;
    replay.end()
}
