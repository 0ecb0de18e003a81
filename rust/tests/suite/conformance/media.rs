//! Pictures, clips and recordings.

use uform::*;

use super::{Replay, with};
use crate::support::{clip, nano, picture, recording, samples as tone, seeing};

const ALL: [Outputs; 2] = [Outputs::EMBEDDINGS, Outputs::STATES];

/// The rows that every verb over media shares; `$call` is it, over items that are right.
macro_rules! shared {
    ($replay:ident, $config:ident, $arena:ident, |$model:ident, $outputs:ident, $how:ident| $call:expr) => {{
        let seeing = seeing();
        let mut call = |model: &Model, how| {
            let ($model, $outputs, $how) = (model, ALL[0] | ALL[1], how);
            $call.map(drop)
        };
        $replay.row("a model of texts alone", call(&nano(), $config::default()));
        $replay.row("too many dimensions", call(&seeing, with!($config::default(); dimensions = 129)));
        $replay.row("states as i8", call(&seeing, Scalar::I8.into()));
        $replay.row("landing as no output does", call(&seeing, Scalar::U8.into()));
        call(&seeing, $config::default())?;
    }};
}

/// The rows of verbs over whole files.
macro_rules! of_files {
    ($replay:ident, $verb:ident, $config:ident, $file:expr, [$($what:literal: $limit:ident = $most:expr),*]) => {{
        let (mut arena, file) = (Arena::new()?, $file);
        shared!($replay, $config, arena, |model, outputs, how| model.$verb(&[&file[..]; 3], outputs, how, &mut arena));
        let model = seeing();
        for (what, data, offsets) in [
            ("no offsets", &file[..], &[][..]),
            ("offsets that decrease", &file, &[0, 4, 3, 5]),
            ("no data", b"", &[0, 4, 4, 5]),
        ] {
            $replay.row(what, model.$verb((data, offsets), ALL[0], Scalar::F32, &mut arena));
        }
        $(
            let how = with!($config::default(); limits.$limit = $most as u64);
            $replay.row($what, model.$verb(&[&file[..]; 3], ALL[0], how, &mut arena));
        )*
        $replay.end()
    }};
}

pub(super) fn pictures(mut replay: Replay) -> Result<()> {
    let bytes = picture().len() - 1;
    of_files!(replay, image_encode, ImageEncodeConfig, picture(), [
        "few pixels": max_pixels = 3,
        "few bytes": max_file_bytes = bytes
    ])
}

pub(super) fn clips(mut replay: Replay) -> Result<()> {
    of_files!(replay, video_encode, VideoEncodeConfig, clip("h264.mp4"), [
        "few pixels": max_frame_pixels = 100,
        "few bytes": max_file_bytes = 100
    ])
}

pub(super) fn recordings(mut replay: Replay) -> Result<()> {
    let bytes = recording(&tone(100)).len() - 1;
    of_files!(replay, audio_encode, AudioEncodeConfig, recording(&tone(100)), ["few bytes": max_file_bytes = bytes])
}

pub(super) fn pixels(mut replay: Replay) -> Result<()> {
    let (mut arena, pixels) = (Arena::new()?, [vec![b'a'; 12], vec![b'b'; 17 * 33 * 3]]);
    shared!(replay, ImageEncodePixelsConfig, arena, |model, outputs, how| {
        model.image_encode_pixels(&pixels, [1, 17], [4, 33], outputs, how, &mut arena)
    });
    let model = seeing();
    for (what, heights, widths) in [
        ("no height", [1, 0], [4, 33]),
        ("no width", [1, 17], [4, 0]),
        ("endless heights", [1, usize::MAX], [4, 33]),
        ("other heights", [1, 18], [4, 33]),
    ] {
        let answer = model.image_encode_pixels(&pixels, heights, widths, ALL[0], Scalar::F32, &mut arena);
        replay.row(what, answer);
    }
    replay.end()
}

pub(super) fn samples(mut replay: Replay) -> Result<()> {
    let (mut arena, data) = (Arena::new()?, vec![0.25f32; 1000]);
    let right = (data.as_slice(), [0usize, 320, 1000].as_slice());
    shared!(replay, AudioEncodeSamplesConfig, arena, |model, outputs, how| {
        model.audio_encode_samples(right, 0, outputs, how, &mut arena)
    });
    let model = seeing();
    let mut ask = |what, data: &[f32], offsets: &[usize], rate| {
        let answer = model.audio_encode_samples((data, offsets), rate, ALL[0], Scalar::F32, &mut arena);
        replay.row(what, answer);
    };
    ask("no offsets", &data, &[], 0);
    ask("offsets that decrease", &data, &[0, 4, 3], 0);
    ask("no data", &[], &[0, 4, 5], 0);
    ask("an endless rate", right.0, right.1, (1 << 20) + 1);
    ask("no number", &[0.0, 1.0, f32::NAN], &[0, 2, 3], 0);
    replay.end()
}

/// Each file between two that are right.
macro_rules! files_between {
    ($name:ident, $verb:ident, $right:expr) => {
        pub(super) fn $name(mut replay: Replay) -> Result<()> {
            let (model, right) = (seeing(), $right);
            replay.files(|bytes, _| {
                let (files, mut arena) = ([&right[..], &bytes, &right], Arena::new().unwrap());
                [model.$verb(&files, ALL[0], Scalar::F32, &mut arena).map(drop)]
            });
            replay.end()
        }
    };
}
files_between!(files_of_no_picture, image_encode, picture());
files_between!(files_of_no_clip, video_encode, clip("h264.mp4"));
files_between!(files_of_no_sound, audio_encode, recording(&tone(1)));
