//! What safe code may do that nobody should: it is told, or harmless.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use uform::*;

use crate::support::{block_on, embeddings, nano, recording, refused, samples, seeing};

const ALL: Outputs = Outputs::EMBEDDINGS;

#[test]
fn a_handler_encodes_with_the_same_model() -> Result<()> {
    let (model, executor, mut arena, mut inner) =
        (nano(), Executor::for_ram(&[], None, 2)?, Arena::new()?, Arena::new()?);
    let mut seen = Vec::new();
    let mut handler = |_, _| {
        let encoded = model.text_encode(&["text"], ALL, Scalar::F32, &mut inner);
        seen.push(encoded.map(|encoded| embeddings(&encoded)));
        ControlFlow::Continue(())
    };
    let config = TextEncodeConfig { progress: Some(&mut handler), ..TextEncodeConfig::default() };
    let outer = embeddings(&model.on(&executor).text_encode(&["text"], ALL, config, &mut arena)?);
    assert!(!seen.is_empty());
    for inner in seen {
        assert_eq!(inner?, outer);
    }
    Ok(())
}

#[test]
fn a_future_is_dropped_while_it_is_polled() -> Result<()> {
    let (model, executor, mut arena) = (nano(), Executor::for_ram(&[], None, 2)?, Arena::new()?);
    for polls in 0..4 {
        let call = model.deferred(&executor).text_encode(["some text"; 50], ALL, Scalar::F32, &mut arena)?;
        let mut future = pin!(call.into_future());
        for _ in 0..polls {
            if let Poll::Ready(answer) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                answer?;
                break;
            }
        }
    }
    let call = model.deferred(&executor).text_encode(["x"], ALL, Scalar::F32, &mut arena)?;
    let mut future = call.into_future();
    let mut poll = || pin!(&mut future).poll(&mut Context::from_waker(Waker::noop())).is_ready();
    while !poll() {}
    assert!(catch_unwind(AssertUnwindSafe(poll)).is_err(), "polled after it was ready");
    Ok(())
}

#[test]
fn two_panics_are_one() -> Result<()> {
    let (model, mut arenas) = (nano(), [Arena::new()?, Arena::new()?]);
    let executors = [Executor::for_ram(&[], None, 1)?, Executor::for_ram(&[], None, 1)?];
    let panicking = |executor, arena| {
        let handler: Progress<'static> = Box::leak(Box::new(|_, _| panic!("words")));
        let config = TextEncodeConfig { progress: Some(handler), ..TextEncodeConfig::default() };
        model.deferred(executor).text_encode(["a"], ALL, config, arena).unwrap()
    };
    let calls: Vec<_> = executors.iter().zip(&mut arenas).map(|(executor, arena)| panicking(executor, arena)).collect();
    let panic = catch_unwind(AssertUnwindSafe(|| drop(calls)));
    assert_eq!(*panic.unwrap_err().downcast_ref::<&str>().unwrap(), "words");
    Ok(())
}

#[test]
fn a_step_is_leaked_with_its_trainer_gone() -> Result<()> {
    for _ in 0..5 {
        let (executor, mut arena) = (Executor::for_ram(&[], None, 2)?, Arena::new()?);
        let mesh = Mesh::bootstrap(&executor, &MeshOptions::default())?;
        let config = TrainerInitRamConfig {
            depth: 1,
            hidden: 128,
            batch: BatchShape {
                max_rows_per_device: 4,
                max_segments_per_device: 4,
                max_columns_per_row: 64,
                ..BatchShape::default()
            },
            mesh: Some(&mesh),
            schedule: Schedule { steps: 10, ..Schedule::default() },
            ..TrainerInitRamConfig::default()
        };
        let trainer = Trainer::init_ram(&executor, config)?;
        let config = TrainerStepConfig::default();
        std::mem::forget(trainer.deferred(&executor).step(vec![], vec!["one text", "another"], config)?);
        let busy = nano().on(&executor).text_encode(&["a"], ALL, Scalar::F32, &mut arena).map(drop);
        assert!(busy.is_ok() || busy.unwrap_err().status == Status::Contended);
        drop(trainer);
        drop(mesh);
        drop(executor);
    }
    Ok(())
}

/// Items that look otherwise each time: the tape is checked after it is gathered.
struct Shrinking(std::cell::Cell<usize>);

impl Item<u8> for Shrinking {
    fn elements(&self) -> &[u8] {
        self.0.set(self.0.get() / 2);
        &[b'x'; 64][..self.0.get()]
    }
}

#[test]
fn items_that_shrink_meanwhile_are_refused() -> Result<()> {
    let (model, mut arena) = (nano(), Arena::new()?);
    let items = [Shrinking(std::cell::Cell::new(128))];
    refused(model.text_encode(&items, ALL, Scalar::F32, &mut arena), Status::InvalidArgument, "offsets", None);
    Ok(())
}

#[test]
fn many_items_and_long_ones() -> Result<()> {
    let (model, executor, mut arena) = (nano(), Executor::for_ram(&[], None, 2)?, Arena::new()?);
    let mut stats = TextEncodeStats::default();
    let config = TextEncodeConfig { stats: Some(&mut stats), ..TextEncodeConfig::default() };
    let long = "x".repeat(1 << 24);
    let encoded = model.on(&executor).text_encode(&[long.as_str(), ""], ALL, config, &mut arena)?;
    assert_eq!(encoded.embeddings.unwrap().count(), 2);
    assert_eq!(stats, TextEncodeStats { truncated: 1, tokens: 513 });
    let encoded = model.on(&executor).text_encode(&vec![""; 20_000], ALL, Scalar::I8, &mut arena)?;
    let rows = encoded.embeddings.unwrap();
    assert_eq!(rows.row::<i8>(0)?, rows.row::<i8>(19_999)?);
    Ok(())
}

/// Eight threads with an executor each, all over one model of recordings, one of whose files is broken.
#[test]
fn threads_share_a_model_of_recordings() -> Result<()> {
    let (model, good) = (seeing(), recording(&samples(2000)));
    let mut arena = Arena::new()?;
    let expected = embeddings(&model.audio_encode([&good, &good], ALL, Scalar::F32, &mut arena)?);
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            let (model, good, expected) = (&model, &good, &expected);
            scope.spawn(move || {
                let (executor, mut arena) = (Executor::for_ram(&[], None, 1).unwrap(), Arena::new().unwrap());
                for round in 0..4 {
                    let cut = &good[..if (thread + round) % 2 == 0 { good.len() } else { 30 }];
                    let files = vec![good.clone(), cut.to_vec()];
                    let call = model.deferred(&executor).audio_encode(files, ALL, Scalar::F32, &mut arena).unwrap();
                    match block_on(call).0 {
                        Ok(encoded) => assert!(cut.len() > 30 && embeddings(&encoded) == *expected),
                        Err(error) => assert!(cut.len() == 30 && error.item == Some(1), "{error}"),
                    }
                }
            });
        }
    });
    Ok(())
}
