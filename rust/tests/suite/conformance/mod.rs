//! Every row of `test/conformance`, by the list it is held to, replayed through the crate: the same status, the same item
//! at fault, and a message that names the same.
//!
//! Rows are taken in the order of the list. Those that the types refuse are in `beyond`, with the reason; any other row
//! without a call here fails the test, and so does a test of the list that is not in [`REPLAYS`].

mod beyond;
mod encoding;
mod loading;
mod media;
mod runs;
mod saves;
mod steps;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use uform::*;

const LIST: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../test/conformance/rows.txt"));

/// A line of the list.
#[derive(Clone, Debug)]
struct Row {
    line: usize,
    test: &'static str,
    what: &'static str,
    /// Rows of the test before it that have its name.
    before: usize,
    /// `None`: it succeeds.
    status: Option<Status>,
    word: &'static str,
    item: Option<usize>,
    is_file: bool,
}

fn rows() -> impl Iterator<Item = Row> {
    LIST.lines().zip(1..).map(|(text, line)| {
        let fields: Vec<&str> = text.split('\t').collect();
        let [test, what, before, status, word, item, file] = fields[..] else { panic!("line {line} is no row") };
        let status = (status != "success").then(|| status.parse().unwrap());
        let item = (!item.is_empty()).then(|| item.parse().unwrap());
        Row { line, test, what, before: before.parse().unwrap(), status, word, item, is_file: file == "file" }
    })
}

/// The rows of one test of the list that are still to be replayed.
struct Replay {
    test: &'static str,
    left: VecDeque<Row>,
    failures: Vec<String>,
}

impl Replay {
    fn of(test: &'static str) -> Self {
        let left = rows().filter(|row| row.test == test && beyond::reason(row).is_none()).collect();
        Self { test, left, failures: Vec::new() }
    }

    fn compare<T>(&mut self, row: &Row, answer: Result<T>) {
        let agrees = match (&answer, row.status) {
            (Ok(_), None) => true,
            (Err(error), Some(status)) => {
                let names = error.message.contains(row.word) || error.detail.starts_with(row.word);
                names && !error.message.is_empty() && (error.status, error.item) == (status, row.item)
            }
            _ => false,
        };
        if !agrees {
            let told = answer.err().map_or("it succeeded".into(), |error| error.to_string());
            self.failures.push(format!("{row:?}: {told}"));
        }
    }

    /// The answer to the next row, whose name is told so that none is taken for another.
    fn row<T>(&mut self, what: &str, answer: Result<T>) {
        match self.left.pop_front() {
            Some(row) if row.what == what => self.compare(&row, answer),
            row => panic!("{}: the next row is {:?}, not {what:?}", self.test, row.map(|row| row.what)),
        }
    }

    /// The rows that are files, as `conformance_stub` wrote them into the folder `UFORM_CONFORMANCE_FILES` names.
    fn files<T, const ANSWERS: usize>(&mut self, mut call: impl FnMut(Vec<u8>, PathBuf) -> [Result<T>; ANSWERS]) {
        let folder = std::env::var_os("UFORM_CONFORMANCE_FILES").map(PathBuf::from);
        for row in std::mem::take(&mut self.left) {
            assert!(row.is_file, "{row:?}");
            let Some(folder) = &folder else { continue };
            let path = folder.join(row.line.to_string());
            let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            call(bytes, path).into_iter().for_each(|answer| self.compare(&row, answer));
        }
    }

    fn end(self) -> Result<()> {
        assert!(self.left.is_empty(), "{}: not replayed: {:#?}", self.test, self.left);
        assert!(self.failures.is_empty(), "{}:\n{}", self.test, self.failures.join("\n"));
        Ok(())
    }
}

/// A config or another value with some fields changed.
macro_rules! with {
    ($value:expr; $($($field:ident).+ = $new:expr),+) => {{
        let mut value = $value;
        $(value.$($field).+ = $new;)+
        value
    }};
}
use with;

type Replayed = fn(Replay) -> Result<()>;

/// What replays each test of the list.
const REPLAYS: &[(&str, Replayed)] = &[
    ("choose.refusals", encoding::choose),
    ("clips.files_of_no_clip_are_named", media::files_of_no_clip),
    ("clips.refuse_every_field", media::clips),
    ("encode_refusals.every_field", encoding::encode),
    ("executors.refusals", loading::executors),
    ("images.checkpoints_tell_their_entry", loading::buffers),
    ("images.files_of_no_picture_are_named", media::files_of_no_picture),
    ("images.files_refuse_every_field", media::pictures),
    ("images.pixels_refuse_every_field", media::pixels),
    ("malformed.containers", loading::files),
    ("malformed.data_off_its_scalar", loading::files),
    ("malformed.entries", loading::files),
    ("malformed.json", loading::files),
    ("malformed.metadata", loading::files),
    ("malformed.more_tensors_than_anybody_needs", loading::files),
    ("malformed.tensors", loading::files),
    ("malformed.the_right_one_loads", loading::files),
    ("malformed.weights_that_are_not_finite", loading::files),
    ("meshes.refusals", runs::meshes),
    ("models.load_buffer_refusals", loading::load_buffer),
    ("models.load_refusals", loading::load),
    ("recordings.checkpoints_tell_their_entry", loading::buffers),
    ("recordings.files_of_no_sound_are_named", media::files_of_no_sound),
    ("recordings.files_refuse_every_field", media::recordings),
    ("recordings.samples_refuse_every_field", media::samples),
    ("rerank.refusals", encoding::rerank),
    ("trainer_images.refusals", steps::pictures),
    ("trainer_images.runs_save_and_resume_their_entries", saves::resumed_entries),
    ("trainer_init.refusals_of_choices", runs::choices),
    ("trainer_init.refusals_of_contrastive_fields", runs::contrastive_fields),
    ("trainer_init.refusals_of_handles_and_sizes", runs::sizes),
    ("trainer_init.refusals_of_late_interaction_fields", runs::late_interaction_fields),
    ("trainer_init.refusals_of_masking_fields", runs::masking_fields),
    ("trainer_init.refusals_of_media", runs::media),
    ("trainer_init.refusals_of_paths_and_prefixes", runs::paths_and_prefixes),
    ("trainer_init.refusals_of_the_schedule", runs::schedule),
    ("trainer_media.refusals", steps::clips_and_recordings),
    ("trainer_resume.refuses_another_run", saves::another_run),
    ("trainer_resume.takes_what_is_no_part_of_a_run", saves::no_part_of_a_run),
    ("trainer_save.refusals", saves::saves),
    ("trainer_step.refusals_of_choices", steps::choices),
    ("trainer_step.refusals_of_items", steps::items),
    ("trainer_step.refusals_of_relations", steps::relations),
    ("trainer_step.sides", steps::sides),
];

#[test]
fn every_row() -> Result<()> {
    let listed: BTreeSet<&str> = rows().map(|row| row.test).collect();
    assert_eq!(listed, REPLAYS.iter().map(|&(test, _)| test).collect(), "tests of the list, and those replayed");
    for &(test, replay) in REPLAYS {
        replay(Replay::of(test))?;
    }
    Ok(())
}

/// How many rows of the list have no call in safe Rust, by reason: a new one is counted here, or it is replayed.
#[test]
fn rows_beyond_safe_rust_are_counted() {
    let mut counts = BTreeMap::<&str, usize>::new();
    for reason in rows().filter_map(|row| beyond::reason(&row)) {
        *counts.entry(reason).or_default() += 1;
    }
    assert_eq!(counts, BTreeMap::from(beyond::COUNTS));
}
