//! Pictures, clips and recordings: every verb on every receiver, and what is refused of files, with the item's index.

use uform::*;

use crate::support::{block_on, clip, embeddings, nano, picture, recording, refused, samples, seeing};

const ALL: Outputs = Outputs::EMBEDDINGS;
const MALFORMED: Status = Status::Malformed;
const INVALID: Status = Status::InvalidArgument;

/// Asks on each receiver, which must answer the same bits; answers them, with what they cost.
macro_rules! everywhere {
    ($model:expr, $config:ident, |$on:ident, $how:ident, $arena:ident| $call:expr) => {{
        let executor = Executor::for_ram(&[], None, 2)?;
        let (mut stats, mut arena) = (EncodeStats::default(), Arena::new()?);
        let first = {
            let ($on, $arena, $how) = ($model, &mut arena, $config { stats: Some(&mut stats), ..$config::default() });
            embeddings(&$call?)
        };
        {
            let ($on, $arena, $how) = ($model.on(&executor), &mut arena, $config::default());
            assert_eq!(embeddings(&$call?), first);
        }
        {
            let ($on, $arena, $how) = ($model.deferred(&executor), &mut arena, $config::default());
            assert_eq!(embeddings(&$call?.wait()?), first);
        }
        {
            let ($on, $arena, $how) = ($model.deferred(&executor), &mut arena, $config::default());
            assert_eq!(embeddings(&block_on($call?).0?), first);
        }
        for row in first.chunks(128) {
            let length: f32 = row.iter().map(|value| value * value).sum();
            assert!((length - 1.0).abs() < 2.0 * 128.0 * f32::EPSILON, "{length}");
        }
        (first, stats)
    }};
}

#[test]
fn a_model_describes_its_entries() -> Result<()> {
    let description = seeing().describe()?;
    assert_eq!(description.image, ImageShape { patch_side: 8, channels: 3 });
    assert_eq!(description.video, VideoShape { patch_side: 16, tube_frames: 2, frame_stride: 1, channels: 3 });
    assert_eq!(description.audio, AudioShape { chunk_samples: 320, sample_rate: 16_000 });
    let text = nano().describe()?;
    assert_eq!((text.image, text.video, text.audio), Default::default());
    Ok(())
}

#[test]
fn pictures() -> Result<()> {
    let model = seeing();
    let (files, stats) = everywhere!(&model, ImageEncodeConfig, |on, how, arena| on.image_encode(
        [picture(), picture()],
        ALL,
        how,
        arena
    ));
    assert_eq!((files.len(), stats), (256, EncodeStats { truncated: 0, tokens: 2 }));
    // What the file stores: four pixels of grey, 1 to 4.
    let grey = [1u8, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4].to_vec();
    let (pixels, stats) = everywhere!(&model, ImageEncodePixelsConfig, |on, how, arena| on.image_encode_pixels(
        [grey.clone(), vec![7; 17 * 9 * 3]],
        [1, 17],
        [4, 9],
        ALL,
        how,
        arena
    ));
    assert_eq!(stats.tokens, 1 + 3 * 2, "17 x 9 pixels reach into 3 x 2 patches of 8");
    assert!(cfg!(feature = "stub") || pixels[..128] == files[..128], "a file and its pixels have one answer");
    Ok(())
}

#[test]
fn recordings() -> Result<()> {
    let model = seeing();
    let (files, stats) = everywhere!(&model, AudioEncodeConfig, |on, how, arena| on.audio_encode(
        [recording(&samples(321)), recording(&[])],
        ALL,
        how,
        arena
    ));
    assert_eq!(stats, EncodeStats { truncated: 0, tokens: 2 + 1 }, "chunks of 320, and a PAD");
    let (same, _) = everywhere!(&model, AudioEncodeSamplesConfig, |on, how, arena| on.audio_encode_samples(
        [samples(321), vec![]],
        16_000,
        ALL,
        how,
        arena
    ));
    assert!(cfg!(feature = "stub") || same == files, "a file and its samples have one answer");
    let mut arena = Arena::new()?;
    let tape = (samples(600), vec![0usize, 300, 600]);
    let encoded = model.audio_encode_samples(tape, 0, Outputs::STATES, Scalar::F32, &mut arena)?;
    assert_eq!(encoded.states.unwrap().offsets()?, [0, 1, 2]);
    Ok(())
}

#[test]
fn clips() -> Result<()> {
    let model = seeing();
    let (_, stats) = everywhere!(&model, VideoEncodeConfig, |on, how, arena| on.video_encode(
        [clip("h264.mp4"), clip("vp9.webm"), clip("h264_one.mp4")],
        ALL,
        how,
        arena
    ));
    assert_eq!(stats, EncodeStats { truncated: 0, tokens: 3 * 6 + 3 * 6 + 4 }, "layers of 2 frames, patches of 16");
    Ok(())
}

#[test]
fn no_files_are_no_rows() -> Result<()> {
    let (model, mut arena, none) = (seeing(), Arena::new()?, [[0u8; 0]; 0]);
    let count = |encoded: Result<Encoded<'_>>| encoded.map(|encoded| encoded.embeddings.unwrap().count());
    assert_eq!(count(model.image_encode(&none, ALL, Scalar::F32, &mut arena))?, 0);
    assert_eq!(count(model.image_encode_pixels(&none, [], [], ALL, Scalar::F32, &mut arena))?, 0);
    assert_eq!(count(model.video_encode(&none, ALL, Scalar::F32, &mut arena))?, 0);
    assert_eq!(count(model.audio_encode(&none, ALL, Scalar::F32, &mut arena))?, 0);
    let silence = [[0f32; 0]; 0];
    assert_eq!(count(model.audio_encode_samples(&silence, 0, ALL, Scalar::F32, &mut arena))?, 0);
    Ok(())
}

#[test]
fn a_model_of_texts_alone_says_so() -> Result<()> {
    let (model, mut arena, unsupported) = (nano(), Arena::new()?, Status::Unsupported);
    refused(model.image_encode([picture()], ALL, Scalar::F32, &mut arena), unsupported, "image entry", None);
    refused(model.video_encode([picture()], ALL, Scalar::F32, &mut arena), unsupported, "video entry", None);
    refused(model.audio_encode([picture()], ALL, Scalar::F32, &mut arena), unsupported, "audio entry", None);
    let pixels = model.image_encode_pixels([[0u8; 12]], [2], [2], ALL, Scalar::F32, &mut arena);
    refused(pixels, unsupported, "image entry", None);
    let heard = model.audio_encode_samples([[0f32; 9]], 0, ALL, Scalar::F32, &mut arena);
    refused(heard, unsupported, "audio entry", None);
    Ok(())
}

#[test]
fn pictures_are_refused() -> Result<()> {
    let (model, mut arena) = (seeing(), Arena::new()?);
    let good = picture();
    for (file, status) in [
        (&b""[..], MALFORMED),
        (b"<html>404</html>", Status::UnknownKind),
        (b"RIFF\x10\0\0\0WAVEfmt ", Status::UnknownKind),
        (&good[..1], MALFORMED),
        (&good[..20], MALFORMED),
        (b"\xff\xd8\xff", MALFORMED),
        (b"RIFF\x10\0\0\0WEBPVP8 ", MALFORMED),
    ] {
        refused(model.image_encode([&good, file, &good], ALL, Scalar::F32, &mut arena), status, "", Some(1));
    }
    for (limits, word) in [
        (Limits { max_pixels: 3, ..Limits::default() }, "max_pixels"),
        (Limits { max_file_bytes: good.len() as u64 - 1, ..Limits::default() }, "max_file_bytes"),
    ] {
        let config = ImageEncodeConfig { limits, ..ImageEncodeConfig::default() };
        refused(model.image_encode([&good], ALL, config, &mut arena), MALFORMED, word, Some(0));
    }
    let tape = (good.as_slice(), [0usize, 4, 3, 5]);
    refused(model.image_encode(tape, ALL, Scalar::F32, &mut arena), INVALID, "files.offsets", Some(1));
    for (heights, widths, status, word) in [
        ([1, 0], [4, 33], INVALID, "heights"),
        ([1, 17], [4, 0], INVALID, "widths"),
        ([1, usize::MAX], [4, 33], INVALID, "heights"),
        ([1, 18], [4, 33], Status::ShapeMismatch, "pixels"),
    ] {
        let pixels = [vec![1u8; 12], vec![2; 17 * 33 * 3]];
        let answer = model.image_encode_pixels(&pixels, heights, widths, ALL, Scalar::F32, &mut arena);
        refused(answer, status, word, Some(1));
    }
    let few = model.image_encode_pixels(&[[0u8; 12]], &[2, 2][..], &[2], ALL, Scalar::F32, &mut arena);
    refused(few, Status::ShapeMismatch, "heights", None);
    let config = ImageEncodeConfig { dimensions: 129, ..ImageEncodeConfig::default() };
    refused(model.image_encode([&good], ALL, config, &mut arena), Status::ShapeMismatch, "dimensions", None);
    refused(model.image_encode([&good], ALL, Scalar::U8, &mut arena), INVALID, "outputs_scalar", None);
    let states = model.image_encode([&good], Outputs::STATES, Scalar::I8, &mut arena);
    refused(states, Status::Unsupported, "i8", None);
    model.image_encode([&good, &good, &good], ALL, Scalar::F32, &mut arena).map(drop)
}

#[test]
fn recordings_are_refused() -> Result<()> {
    let (model, mut arena) = (seeing(), Arena::new()?);
    let good = recording(&samples(9));
    for (file, status) in [
        (&b""[..], MALFORMED),
        (b"<html>404</html>", Status::UnknownKind),
        (b"\x89PNG\r\n\x1a\n", Status::UnknownKind),
        (&good[..12], MALFORMED),
        (&good[..28], MALFORMED),
        (b"fLaC", MALFORMED),
        (b"OggS", MALFORMED),
    ] {
        refused(model.audio_encode([&good, file, &good], ALL, Scalar::F32, &mut arena), status, "", Some(1));
    }
    let limits = Limits { max_file_bytes: good.len() as u64 - 1, ..Limits::default() };
    let config = AudioEncodeConfig { limits, ..AudioEncodeConfig::default() };
    refused(model.audio_encode([&good], ALL, config, &mut arena), MALFORMED, "max_file_bytes", Some(0));
    let broken = [samples(3), vec![0.0, f32::NAN]];
    refused(model.audio_encode_samples(&broken, 0, ALL, Scalar::F32, &mut arena), MALFORMED, "NaN", Some(1));
    let endless = model.audio_encode_samples(&[samples(3)], (1 << 20) + 1, ALL, Scalar::F32, &mut arena);
    refused(endless, INVALID, "sample_rate", None);
    let tape = (samples(9), vec![0usize, 4, 3]);
    refused(model.audio_encode_samples(tape, 0, ALL, Scalar::F32, &mut arena), INVALID, "samples.offsets", Some(1));
    model.audio_encode([good], ALL, Scalar::F32, &mut arena).map(drop)
}

#[test]
fn clips_are_refused() -> Result<()> {
    let (model, mut arena) = (seeing(), Arena::new()?);
    let (mp4, webm) = (clip("h264.mp4"), clip("vp9.webm"));
    for (file, status) in [
        (&b""[..], MALFORMED),
        (b"<html>404</html>", Status::UnknownKind),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Status::UnknownKind),
        (&mp4[..mp4.len() - 1], MALFORMED),
        (&webm[..4], MALFORMED),
        (&webm[..webm.len() / 2], MALFORMED),
    ] {
        refused(model.video_encode([&mp4, file, &webm], ALL, Scalar::F32, &mut arena), status, "", Some(1));
    }
    for (limits, word) in [
        (Limits { max_frame_pixels: 100, ..Limits::default() }, "max_frame_pixels"),
        (Limits { max_file_bytes: 100, ..Limits::default() }, "max_file_bytes"),
    ] {
        let config = VideoEncodeConfig { limits, ..VideoEncodeConfig::default() };
        refused(model.video_encode([&mp4], ALL, config, &mut arena), MALFORMED, word, Some(0));
    }
    model.video_encode([mp4], ALL, Scalar::F32, &mut arena).map(drop)
}
