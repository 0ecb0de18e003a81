//! Steps: their items, sides, relations and choices.

use uform::*;

use super::{Replay, with};
use crate::support::{clip, picture, recording, samples};
use crate::training::{ALL_TEXT, PAIRS, TEXTS, paired, right};

pub(super) fn items(mut replay: Replay) -> Result<()> {
    let (local, other, mut arena) = (Executor::default(), Executor::for_ram(&[], None, 2)?, Arena::new()?);
    let trainer = Trainer::init_ram(&local, right())?;
    let on = trainer.on(&local);
    let data = b"zweitwoHunddog".as_slice();
    replay.row("another executor", trainer.on(&other).step(ALL_TEXT, &TEXTS, paired()));
    replay.row("no items", on.step(ALL_TEXT, &[""; 0], TrainerStepConfig::default()));
    replay.row("no offsets", on.step(ALL_TEXT, (data, [0usize; 0]), paired()));
    replay.row("offsets that decrease", on.step(ALL_TEXT, (data, [0usize, 4, 3, 5, 6]), paired()));
    replay.row("no data", on.step(ALL_TEXT, ("", [0usize, 4, 7, 11, 14]), paired()));
    replay.row("more items than fit", on.step(ALL_TEXT, &["x"; 7], TrainerStepConfig::default()));
    let image = [Modality::Text, Modality::Text, Modality::Image, Modality::Text];
    replay.row("an image", on.step(image, &TEXTS, paired()));
    let mut ask = |what, config| replay.row(what, on.step(ALL_TEXT, &TEXTS, config));
    ask("a group beyond", with!(paired(); temperature_groups = &[0, 1, 0, 0]));
    ask("choices", with!(paired(); choices = (b"ynyn", &[0, 1, 2, 3, 4])));
    ask("targets", with!(paired(); choice_targets = (&[1.0; 4], &[0, 1, 2, 3, 4])));
    ask("vectors without a token head", with!(paired(); token_vectors = true, arena = Some(&mut arena)));
    let config = TrainerStepConfig { arena: Some(&mut arena), outputs_scalar: Scalar::U8, ..paired() };
    replay.row("landing as no output does", on.step(ALL_TEXT, &TEXTS, config));
    let mut stats = TrainerStepStats::default();
    on.step(ALL_TEXT, &TEXTS, TrainerStepConfig { stats: Some(&mut stats), ..paired() })?;
    assert_eq!(stats.step, 1, "what is refused counts no step");
    replay.end()
}

pub(super) fn sides(mut replay: Replay) -> Result<()> {
    use LateInteractionSide::{Document, Query};
    let local = Executor::default();
    let run = with!(right(); late_interaction.weight = 0.5, late_interaction.prefix_tokens = 3);
    let trainer = Trainer::init_ram(&local, run)?;
    let short_query = with!(paired(); sides = &[Query, Document, Query, Query]);
    replay.row("a query of the prefix alone", trainer.on(&local).step(ALL_TEXT, &TEXTS, short_query));
    trainer.on(&local).step(ALL_TEXT, &TEXTS, with!(paired(); sides = &[Query, Document, Query, Document]))?;
    replay.end()
}

pub(super) fn relations(mut replay: Replay) -> Result<()> {
    let local = Executor::default();
    let trainer = Trainer::init_ram(&local, right())?;
    let mut ask = |what, relations| {
        let config = TrainerStepConfig { relations, ..TrainerStepConfig::default() };
        replay.row(what, trainer.on(&local).step(ALL_TEXT, &TEXTS, config));
    };
    let sets: [fn(Edges<'static>) -> Relations<'static>; 3] = [
        |attract| Relations { attract, ..PAIRS },
        |repel| Relations { repel, ..PAIRS },
        |ignore| Relations { ignore, ..PAIRS },
    ];
    let (right, nan, infinite) = (PAIRS.attract, &[1.0, f32::NAN, 1.0, 1.0], &[f32::INFINITY, 1.0, 1.0, 1.0]);
    for (index, set) in sets.into_iter().enumerate() {
        let two = Edges { offsets: &[0, 2, 2, 2, 2], ..Edges::default() };
        ask("offsets that decrease", set(Edges { offsets: &[0, 1, 0, 3, 4], ..right }));
        ask("no ids", set(Edges { ids: &[], weights: &[], ..right }));
        ask("an id beyond", set(Edges { ids: &[1, 0, 4, 2], ..right }));
        ask("ids that descend", set(Edges { ids: &[2, 1], ..two }));
        ask("an id twice", set(Edges { ids: &[1, 1], ..two }));
        if index < 2 {
            ask("a weight that is NaN", set(Edges { weights: nan, ..right }));
            ask("a weight below zero", set(Edges { weights: &[1.0, 1.0, 1.0, -1.0], ..right }));
            ask("a weight without end", set(Edges { weights: infinite, ..right }));
        }
    }
    ask("no attract", Relations::default());
    ask("attract without an edge", sets[0](Edges { offsets: &[2; 5], ..right }));
    replay.end()
}

pub(super) fn choices(mut replay: Replay) -> Result<()> {
    let local = Executor::default();
    let run = with!(right();
        objective = Objective::Joint, choices.weight = 1.0, choices.temperature_groups = 2,
        batch.max_choices_per_item = 4, contrastive.temperature_groups = 3);
    let trainer = Trainer::init_ram(&local, run)?;
    let right = (b"ynabcd".as_slice(), [0usize, 2, 2, 2, 6].as_slice());
    let targets = ([0.75f32, 0.25, 0.0, 0.0, 0.5, 0.5].as_slice(), right.1);
    let mut ask = |what, choices, choice_targets, temperature_groups| {
        let config = TrainerStepConfig { choices, choice_targets, temperature_groups, ..paired() };
        replay.row(what, trainer.on(&local).step(ALL_TEXT, &TEXTS, config));
    };
    let (decreasing, all) = ([0, 4, 3, 5, 6].as_slice(), &[][..]);
    ask("targets alone", (&[], &[]), targets, all);
    ask("choices alone", right, (&[], &[]), all);
    ask("choices that decrease", (right.0, decreasing), targets, all);
    ask("targets that decrease", right, (targets.0, decreasing), all);
    ask("choices without data", (&[], right.1), targets, all);
    ask("targets without data", right, (&[], targets.1), all);
    ask("a target for what is not legal", right, (targets.0, &[0, 1, 2, 2, 6]), all);
    ask("a choice without a target", right, (targets.0, &[0, 2, 2, 2, 5]), all);
    ask("a choice twice", (b"ynabca", right.1), targets, all);
    let five = [0, 2, 2, 2, 7].as_slice();
    ask("more choices than fit", (b"ynabcde", five), (&[0.75, 0.25, 0.0, 0.0, 0.5, 0.5, 0.0], five), all);
    for (what, values) in [
        ("a target that is NaN", &[0.75f32, 0.25, f32::NAN, 0.0, 0.5, 0.5]),
        ("a target below zero", &[1.25, -0.25, 0.0, 0.0, 0.5, 0.5]),
        ("a target without end", &[0.75, 0.25, 0.0, 0.0, f32::INFINITY, 0.0]),
        ("a sum below one", &[0.75, 0.245, 0.0, 0.0, 0.5, 0.5]),
        ("a sum above one", &[0.75, 0.25, 0.0, 0.005, 0.5, 0.5]),
        ("a sum of zero", &[0.0; 6]),
    ] {
        ask(what, right, (values, targets.1), all);
    }
    ask("a question's group beyond", right, targets, &[1, 2, 2, 2]);
    replay.end()
}

pub(super) fn pictures(mut replay: Replay) -> Result<()> {
    use LateInteractionSide::{Document, Query};
    use Modality::{Audio, Image, Text, Video};
    let local = Executor::default();
    let run = with!(right();
        objective = Objective::Joint, batch.image.patch_side = 8, batch.max_choices_per_item = 4, choices.weight = 1.0,
        late_interaction.weight = 0.5, late_interaction.prefix_tokens = 1);
    let trainer = Trainer::init_ram(&local, run)?;
    let (png, captioned) = (picture(), [Image, Text, Image, Text]);
    let items = |second| [&png[..], b"four pixels", second, b"grey"];
    let mut ask = |what, modalities: [Modality; 4], second, config| {
        replay.row(what, trainer.on(&local).step(modalities, &items(second), config));
    };
    ask("a clip that the run leaves out", [Image, Text, Video, Text], &png, paired());
    ask("a recording likewise", [Audio, Text, Image, Text], &png, paired());
    ask("a text for a picture", captioned, b"<html>404</html>", paired());
    ask("a picture cut short", captioned, &png[..20], paired());
    ask("a picture of no bytes", captioned, b"", paired());
    ask("few pixels", captioned, &png, with!(paired(); limits.max_pixels = 3));
    ask("few bytes", captioned, &png, with!(paired(); limits.max_file_bytes = 69));
    let offsets = &[0, 0, 0, 2, 2];
    let question = with!(paired(); choices = (b"yn", offsets), choice_targets = (&[0.5, 0.5], offsets));
    ask("a question about a picture", captioned, &png, question);
    let asked = with!(paired(); sides = &[Document, Query, Query, Document]);
    ask("a picture of the prefix alone that asks", captioned, &png, asked);
    trainer.on(&local).step(captioned, &items(&png), paired())?;
    replay.end()
}

pub(super) fn clips_and_recordings(mut replay: Replay) -> Result<()> {
    use Modality::{Audio, Image, Text, Video};
    let local = Executor::default();
    let run = with!(right();
        objective = Objective::Joint, batch.video.patch_side = 64, batch.audio.chunk_samples = 320);
    let trainer = Trainer::init_ram(&local, run)?;
    let (video, sound, heard) = (clip("h264_one.mp4"), recording(&samples(1000)), [Video, Text, Audio, Text]);
    let mut ask = |what, modalities: [Modality; 4], first: &[u8], third: &[u8], config| {
        let answer = trainer.on(&local).step(modalities, &[first, b"one frame", third, b"hum"], config);
        replay.row(what, answer);
    };
    let page = b"<html>404</html>";
    ask("a page for a clip", heard, page, &sound, paired());
    ask("a page for a recording", heard, &video, page, paired());
    ask("no bytes", heard, &video, b"", paired());
    ask("few bytes", heard, &video, &sound, with!(paired(); limits.max_file_bytes = 20));
    ask("a picture, which the run leaves out", [Video, Text, Image, Text], &video, &sound, paired());
    trainer.on(&local).step(heard, &[&video[..], b"one frame", &sound, b"hum"], paired())?;
    replay.end()
}
