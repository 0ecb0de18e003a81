//! What makes a trainer, and meshes.

use std::ops::ControlFlow;
use std::path::Path;

use uform::*;

use super::{Replay, with};
use crate::support::Folder;
use crate::training::right;

pub(super) type Run = TrainerInitRamConfig<'static, 'static>;

pub(super) fn init(config: TrainerInitRamConfig<'_, '_>) -> Result<()> {
    Trainer::init_ram(&Executor::default(), config).map(drop)
}

fn of(objective: Objective) -> Run {
    with!(right(); objective = objective)
}

/// A field of floats that must lie in a range: NaN, infinity and what is below zero never do.
fn floats(replay: &mut Replay, right: fn() -> Run, what: &str, wrong: &[f32], set: impl Fn(&mut Run, f32)) {
    for &value in wrong.iter().chain(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0]) {
        let mut config = right();
        set(&mut config, value);
        replay.row(what, init(config));
    }
}

fn contrastive() -> Run {
    of(Objective::Contrastive)
}
fn masked() -> Run {
    of(Objective::Masked)
}
pub(super) fn joint() -> Run {
    of(Objective::Joint)
}

pub(super) fn sizes(mut replay: Replay) -> Result<()> {
    replay.row("no blocks", init(with!(right(); depth = 0)));
    replay.row("endless blocks", init(with!(right(); depth = 1025)));
    replay.row("no width", init(with!(right(); hidden = 0)));
    replay.row("half a width", init(with!(right(); hidden = 64)));
    replay.row("an odd width", init(with!(right(); hidden = 192)));
    replay.row("an endless width", init(with!(right(); hidden = usize::MAX / 128 * 128)));
    replay.row("no rows", init(with!(right(); batch.max_rows_per_device = 0)));
    replay.row("no items", init(with!(right(); batch.max_segments_per_device = 0)));
    replay.row("no tokens", init(with!(right(); batch.max_columns_per_row = 0)));
    replay.row("endless tokens", init(with!(right(); batch.max_columns_per_row = 65537)));
    replay.row("no steps", init(with!(right(); schedule.steps = 0)));
    replay.row("a climb longer than the run", init(with!(right(); schedule.warmup_steps = 21)));
    let rates = with!(right(); schedule.learning_rate = 1e-3, schedule.min_learning_rate = 2e-3);
    replay.row("a floor above the top", init(rates));
    replay.end()
}

pub(super) fn media(mut replay: Replay) -> Result<()> {
    for right in [joint, contrastive] {
        let picture = || with!(right(); batch.image.patch_side = 16);
        let clip = || with!(right(); batch.video.patch_side = 16);
        let recording = || with!(right(); batch.audio.chunk_samples = 320);
        replay.row("a patch too large", init(with!(right(); batch.image.patch_side = 65)));
        replay.row("an endless patch", init(with!(right(); batch.image.patch_side = 1 << 32)));
        replay.row("two channels", init(with!(picture(); batch.image.channels = 2)));
        replay.row("five channels", init(with!(picture(); batch.image.channels = 5)));
        replay.row("a tube too wide", init(with!(right(); batch.video.patch_side = 65)));
        replay.row("a tube too long", init(with!(clip(); batch.video.tube_frames = 65)));
        replay.row("an endless stride", init(with!(clip(); batch.video.frame_stride = usize::MAX)));
        replay.row("frames of four channels", init(with!(clip(); batch.video.channels = 4)));
        replay.row("an endless chunk", init(with!(right(); batch.audio.chunk_samples = usize::MAX)));
        replay.row("a rate too slow", init(with!(recording(); batch.audio.sample_rate = 999)));
        replay.row("a rate too fast", init(with!(recording(); batch.audio.sample_rate = 768_001)));
    }
    replay.end()
}

pub(super) fn choices(mut replay: Replay) -> Result<()> {
    for right in [masked, contrastive] {
        let choosing = || with!(right(); choices.weight = 1.0, batch.max_choices_per_item = 4);
        replay.row("no room for a choice", init(with!(choosing(); batch.max_choices_per_item = 0)));
        replay.row("a weight below zero", init(with!(right(); choices.weight = -1.0)));
        replay.row("a weight that is NaN", init(with!(right(); choices.weight = f32::NAN)));
        replay.row("a Brier weight below zero", init(with!(choosing(); choices.brier_weight = -1.0)));
        replay.row("a Brier weight without end", init(with!(choosing(); choices.brier_weight = f32::INFINITY)));
        replay.row("endless groups", init(with!(choosing(); choices.temperature_groups = 65537)));
    }
    replay.end()
}

pub(super) fn paths_and_prefixes(mut replay: Replay) -> Result<()> {
    let folder = Folder::new();
    let (missing, text) = (folder.0.join("missing"), folder.0.join("text"));
    std::fs::write(&text, "this is no checkpoint").unwrap();
    let paths = [
        ("a NUL inside", Path::new("a\0b")),
        ("a missing file", &missing),
        ("a folder", &folder.0),
        ("no checkpoint", &text),
    ];
    for (what, path) in paths {
        replay.row(what, init(with!(right(); resume = path)));
    }
    for (what, path) in paths {
        replay.row(what, init(with!(right(); initial = path)));
    }
    replay.row("both", init(with!(right(); resume = &missing, initial = &missing)));
    replay.row("a row and no text", init(with!(right(); query_prefix = &[b'q'; 32])));
    replay.row("a row and no text", init(with!(right(); document_prefix = &[b'q'; 32])));
    replay.end()
}

pub(super) fn schedule(mut replay: Replay) -> Result<()> {
    floats(&mut replay, masked, "schedule.learning_rate", &[], |run, value| run.schedule.learning_rate = value);
    floats(&mut replay, masked, "schedule.min_learning_rate", &[1.0], |run, value| {
        run.schedule.min_learning_rate = value;
    });
    replay.end()
}

/// Fields of floats by their names, which are their rows' too.
macro_rules! float_fields {
    ($replay:ident, $right:expr; $($($field:ident).+: $wrong:expr,)*) => { $(
        let what = concat!($(".", stringify!($field)),+);
        floats(&mut $replay, $right, &what[1..], &$wrong, |run, value| run.$($field).+ = value);
    )* };
}

pub(super) fn contrastive_fields(mut replay: Replay) -> Result<()> {
    for right in [contrastive, joint] {
        for (what, widths) in [
            ("widths that descend", &[64, 32][..]),
            ("a width twice", &[64, 64]),
            ("an odd width", &[60]),
            ("no width", &[0]),
            ("more than the model's", &[136]),
            ("nine widths", &[8, 16, 24, 32, 40, 48, 56, 64, 72]),
        ] {
            replay.row(what, init(with!(right(); contrastive.matryoshka_dimensions = widths)));
        }
        replay.row("endless groups", init(with!(right(); contrastive.temperature_groups = 65537)));
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            replay.row("bias", init(with!(right(); contrastive.bias = value)));
        }
        float_fields! { replay, right;
            contrastive.inverse_temperature: [100.5],
            contrastive.ambient_repulsion_weight: [],
            regularizers.coding_rate_weight: [],
            regularizers.coding_rate_epsilon_squared: [],
            regularizers.lipschitz_weight: [],
        }
        replay.row("endless iterations", init(with!(right(); regularizers.lipschitz_iterations = 65)));
    }
    replay.end()
}

pub(super) fn masking_fields(mut replay: Replay) -> Result<()> {
    for right in [masked, joint] {
        float_fields! { replay, right;
            masking.token_mask_probability: [1.5],
            masking.token_mean_span: [0.5],
            masking.replace_fraction: [1.5, 1.0],
        }
        replay.row("random", init(with!(right(); masking.random_fraction = 0.25)));
        float_fields! { replay, right;
            masking.image_mask_ratio: [1.5],
            masking.video_mask_ratio: [1.5],
            masking.audio_mask_ratio: [1.5],
            masking.text_weight: [],
            masking.image_weight: [],
            masking.video_weight: [],
            masking.audio_weight: [],
        }
    }
    replay.end()
}

pub(super) fn late_interaction_fields(mut replay: Replay) -> Result<()> {
    for right in [contrastive, joint] {
        let late = || with!(right(); late_interaction.weight = 1.0);
        for value in [f32::NAN, f32::INFINITY, -1.0] {
            replay.row("late_interaction.weight", init(with!(right(); late_interaction.weight = value)));
        }
        for value in [f32::NAN, f32::INFINITY, -1.0, 100.5] {
            let config = with!(late(); late_interaction.inverse_temperature = value);
            replay.row("late_interaction.inverse_temperature", init(config));
        }
        for value in [f32::NAN, f32::INFINITY] {
            replay.row("late_interaction.bias", init(with!(late(); late_interaction.bias = value)));
        }
        replay.row("late_interaction.width", init(with!(late(); late_interaction.width = 12)));
        replay.row("size", init(with!(late(); late_interaction.width = usize::MAX / 8 * 8)));
        replay.row("late_interaction.prefix_tokens", init(with!(late(); late_interaction.prefix_tokens = 32)));
    }
    replay.row("a masked run", init(with!(masked(); late_interaction.weight = 1.0)));
    replay.end()
}

pub(super) fn meshes(mut replay: Replay) -> Result<()> {
    let join = |options: MeshOptions<'_>| Mesh::bootstrap(&Executor::default(), &options);
    let right = MeshOptions::default;
    replay.row("options.host_domain_index", join(with!(right(); host_domain_index = 1)));
    let last = with!(right(); host_domain_index = 2, host_domain_count = 2);
    replay.row("options.host_domain_index", join(last));
    replay.row("options.host_domain_count", join(with!(right(); host_domain_count = usize::MAX)));
    replay.row("options.directory", join(with!(right(); host_domain_count = 2)));
    replay.row("options.directory", join(with!(right(); directory = Path::new("a\0b"))));
    replay.row("options.job", join(with!(right(); job = "a\nb")));
    let far = "x".repeat(129);
    replay.row("options.job", join(with!(right(); job = &far)));
    let stop = |_, _| ControlFlow::Break(());
    replay.row("progress", join(with!(right(); progress = Some(&stop))));
    replay.end()
}
