//! Deferred calls: the same bits, polling and waiting, drops and leaks, contention, and panics on their way back.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};

use uform::*;

use crate::support::{block_on, checkpoint, embeddings, headed, join_all, nano, nano_path, refused};

type Handler = Box<dyn FnMut(usize, usize) -> ControlFlow<()> + Send>;

/// A handler that outlives every call, as deferred ones must.
fn forever(handler: Handler) -> Progress<'static> {
    Box::leak(Box::new(handler))
}

/// A handler that holds its call until told to go on.
struct Gate {
    inside: Receiver<()>,
    go_on: Sender<()>,
}

impl Gate {
    fn new() -> (Self, Handler) {
        let ((tell, inside), (go_on, wait)) = (channel(), channel());
        let handler = move |_, _| {
            let _ = tell.send(());
            let _ = wait.recv(); // an error once the gate is dropped: it is open then
            ControlFlow::Continue(())
        };
        (Self { inside, go_on }, Box::new(handler))
    }

    fn open(self) {
        drop(self.go_on);
    }
}

fn config(handler: Handler) -> TextEncodeConfig<'static> {
    TextEncodeConfig { progress: Some(forever(handler)), ..TextEncodeConfig::default() }
}

fn panicking() -> TextEncodeConfig<'static> {
    config(Box::new(|_, _| panic!("the handler's own words")))
}

/// Hides the backtraces of panics that a test makes on purpose.
fn expect_panic<T>(action: impl FnOnce() -> T) -> String {
    let panic = match catch_unwind(AssertUnwindSafe(action)) {
        Ok(_) => panic!("nothing panicked"),
        Err(panic) => panic,
    };
    panic.downcast_ref::<&str>().expect("the handler's payload").to_string()
}

#[test]
fn answers_what_a_blocking_call_does() -> Result<()> {
    let (model, executor) = (nano(), Executor::for_ram(&[], None, 2)?);
    let (mut arena, mut other) = (Arena::new()?, Arena::new()?);
    let texts = ["one", "", "three and more"];
    let blocking = embeddings(&model.text_encode(&texts, Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?);
    for _ in 0..50 {
        let call = model.deferred(&executor).text_encode(texts, Outputs::EMBEDDINGS, Scalar::F32, &mut other)?;
        assert_eq!(embeddings(&call.wait()?), blocking);
    }
    let tape = (b"onethree and more".to_vec(), vec![0usize, 3, 3, 17]);
    let call = model.deferred(&executor).text_encode(tape, Outputs::EMBEDDINGS, Scalar::F32, &mut other)?;
    assert_eq!(embeddings(&block_on(call).0?), blocking);
    let local = Executor::default();
    let call = model.deferred(&local).text_encode(texts, Outputs::EMBEDDINGS, Scalar::F32, &mut other)?;
    assert_eq!(call.status(), Ok(()), "without threads it is done on return");
    assert_eq!(embeddings(&call.wait()?), blocking);
    Ok(())
}

#[test]
fn is_polled_until_final() -> Result<()> {
    let (model, executor) = (nano(), Executor::for_ram(&[], None, 2)?);
    let (mut arena, mut other) = (Arena::new()?, Arena::new()?);
    let (gate, handler) = Gate::new();
    let receiver = model.deferred(&executor);
    let call = receiver.text_encode(["text"], Outputs::EMBEDDINGS, config(handler), &mut arena)?;
    gate.inside.recv().unwrap();
    assert_eq!(call.status(), Err(Status::Deferred));
    let second = receiver.text_encode(["text"], Outputs::EMBEDDINGS, Scalar::F32, &mut other)?;
    assert_eq!(second.status(), Err(Status::Contended), "one call at a time");
    assert_eq!(second.wait().unwrap_err().status, Status::Contended);
    let blocked = model.on(&executor).text_encode(&["text"], Outputs::EMBEDDINGS, Scalar::F32, &mut other);
    assert_eq!(blocked.unwrap_err().status, Status::Contended);
    let opening = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        gate.open();
    });
    let (encoded, wakes) = block_on(call);
    assert_eq!(encoded?.embeddings.unwrap().count(), 1);
    assert!(wakes > 0, "a pending poll asks for the next");
    opening.join().unwrap();
    Ok(())
}

#[test]
fn refusals_come_before_or_after_but_come() -> Result<()> {
    let (model, executor, mut arena) = (nano(), Executor::for_ram(&[], None, 1)?, Arena::new()?);
    let receiver = model.deferred(&executor);
    let beyond = receiver.text_encode((vec![1u8], vec![0usize, 2]), Outputs::EMBEDDINGS, Scalar::F32, &mut arena);
    assert_eq!(beyond.unwrap_err().status, Status::InvalidArgument, "the binding's own");
    let config = TextEncodeConfig { dimensions: 129, ..TextEncodeConfig::default() };
    let call = receiver.text_encode(["a"], Outputs::EMBEDDINGS, config, &mut arena)?;
    assert_eq!(call.status(), Err(Status::ShapeMismatch), "the library's");
    let error = call.wait().unwrap_err();
    assert!(error.message.contains("dimensions") && error.detail.contains("129"), "{error}");
    Ok(())
}

#[test]
fn dropping_waits() -> Result<()> {
    let (model, executor, mut arena) = (nano(), Executor::for_ram(&[], None, 2)?, Arena::new()?);
    let (gate, handler) = Gate::new();
    let call = model.deferred(&executor).text_encode(["text"], Outputs::EMBEDDINGS, config(handler), &mut arena)?;
    gate.inside.recv().unwrap();
    let opening = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        gate.open();
    });
    drop(call);
    opening.join().unwrap();
    let encoded = model.on(&executor).text_encode(&["text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
    assert_eq!(encoded.embeddings.unwrap().count(), 1, "executor and arena are free again");
    Ok(())
}

#[test]
fn a_leaked_call_leaves_everything_safe() -> Result<()> {
    let (model, executor, other) = (nano(), Executor::for_ram(&[], None, 2)?, Executor::for_ram(&[], None, 1)?);
    let mut arena = Arena::new()?;
    let (gate, handler) = Gate::new();
    let call = model.deferred(&executor).text_encode(["text"], Outputs::EMBEDDINGS, config(handler), &mut arena)?;
    gate.inside.recv().unwrap();
    std::mem::forget(call); // the borrows are over, the call is not
    let contended = model.on(&other).text_encode(&["text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena);
    assert_eq!(contended.unwrap_err().status, Status::Contended);
    let opening = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        gate.open();
    });
    drop(arena);
    drop(model);
    drop(executor);
    opening.join().unwrap();
    Ok(())
}

#[test]
fn panics_resurface_in_the_caller() -> Result<()> {
    let (model, executor, mut arena) = (nano(), Executor::for_ram(&[], None, 2)?, Arena::new()?);
    let (receiver, all) = (model.deferred(&executor), Outputs::EMBEDDINGS);
    let words = "the handler's own words";
    let mut here = |_, _| panic!("{}", "formatted");
    let config = TextEncodeConfig { progress: Some(&mut here), ..TextEncodeConfig::default() };
    let panic = catch_unwind(AssertUnwindSafe(|| model.text_encode(&["a"], all, config, &mut arena).is_ok()));
    assert_eq!(panic.unwrap_err().downcast_ref::<String>().unwrap(), "formatted");
    assert_eq!(expect_panic(|| model.on(&executor).text_encode(&["a"], all, panicking(), &mut arena).is_ok()), words);
    assert_eq!(expect_panic(|| receiver.text_encode(["a"], all, panicking(), &mut arena)?.wait().map(drop)), words);
    assert_eq!(expect_panic(|| block_on(receiver.text_encode(["a"], all, panicking(), &mut arena).unwrap()).1), words);
    assert_eq!(expect_panic(|| receiver.text_encode(["a"], all, panicking(), &mut arena).map(drop)), words);
    let panic = expect_panic(|| {
        let _call = receiver.text_encode(["a"], all, panicking(), &mut arena).unwrap();
        panic!("the caller's");
    });
    assert_eq!(panic, "the caller's", "a drop while unwinding keeps quiet");
    let encoded = model.on(&executor).text_encode(&["a"], all, Scalar::F32, &mut arena)?;
    assert_eq!(encoded.embeddings.unwrap().count(), 1, "and all is usable afterwards");
    Ok(())
}

#[test]
fn stops_and_is_cancelled() -> Result<()> {
    let (model, executor, mut arena) = (nano(), Executor::for_ram(&[], None, 2)?, Arena::new()?);
    let config = config(Box::new(|_, _| ControlFlow::Break(())));
    let call = model.deferred(&executor).text_encode(["a"], Outputs::EMBEDDINGS, config, &mut arena)?;
    assert_eq!(call.wait().unwrap_err().status, Status::Cancelled);
    Ok(())
}

#[test]
fn loads_are_deferred() -> Result<()> {
    let (executor, mut arena, mut other) = (Executor::for_ram(&[], None, 2)?, Arena::new()?, Arena::new()?);
    let deferred = executor.deferred();
    let expected = embeddings(&nano().text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?);
    let model = deferred.load_ram(nano_path())?.wait()?;
    assert_eq!(embeddings(&model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut other)?), expected);
    let path = nano_path().into_os_string().into_string().unwrap();
    let config = ModelLoadRamConfig { quantization: Scalar::E4M3, ..ModelLoadRamConfig::from(path) };
    let small = block_on(deferred.load_ram(config)?).0?.describe()?;
    assert!(small.quantization == Scalar::E4M3 && small.memory_usage < model.describe()?.memory_usage);
    assert_eq!(deferred.load_ram_buffer(checkpoint(24, 2))?.wait()?.describe()?.token_width, 24);
    drop(deferred.load_ram_buffer(checkpoint(24, 2))?); // waits, and frees what nobody takes
    std::mem::forget(deferred.load_ram_buffer(checkpoint(24, 2))?);
    executor.drain(Mood::Spinning)?;
    refused(deferred.load_ram("/nowhere/at/all")?.wait(), Status::Io, "", None);
    refused(deferred.load_ram_buffer(b"short".to_vec())?.wait(), Status::Malformed, "", None);
    refused(deferred.load_vram("any")?.wait(), Status::Unsupported, "", None);
    refused(deferred.load_vram_buffer(vec![1u8])?.wait(), Status::Unsupported, "", None);
    let config = ModelLoadRamConfig { progress: Some(forever(Box::new(|_, _| panic!("words")))), ..nano_path().into() };
    assert_eq!(expect_panic(|| deferred.load_ram(config)?.wait().map(drop)), "words");
    Ok(())
}

#[test]
fn reranking_is_deferred_over_owned_vectors() -> Result<()> {
    let (model, executor) = (headed(), Executor::for_ram(&[], None, 2)?);
    let (mut arena, mut scored, mut other) = (Arena::new()?, Arena::new()?, Arena::new()?);
    let texts = ["cat", "a cat", "fog"];
    let found = model.text_encode(&texts, Outputs::TOKEN_VECTORS, Scalar::F32, &mut arena)?.token_vectors.unwrap();
    let expected = executor.rerank(found.item(0)?, found, Scalar::F32, &mut scored)?.values::<f32>()?.to_vec();
    let (query, vectors) = (found.item(0)?.values::<f32>()?.to_vec(), found.rows().values::<f32>()?.to_vec());
    let (offsets, width) = (found.offsets()?.to_vec(), found.columns());
    let lent = executor.rerank((&query[..], width), (&vectors[..], &offsets[..], width), Scalar::F32, &mut other)?;
    assert_eq!(lent.values::<f32>()?, expected);
    let documents = (vectors.clone(), offsets.clone(), width);
    let call = executor.deferred().rerank((query.clone(), width), documents, Scalar::F32, &mut other)?;
    assert_eq!(block_on(call).0?.values::<f32>()?, expected);

    let rerank = |query: Vec<f32>, columns, offsets: Vec<usize>, other: &mut Arena| {
        let documents = (vectors.clone(), offsets, width);
        executor.deferred().rerank((query, columns), documents, Scalar::F32, other)?.wait().map(drop)
    };
    let shape = Status::ShapeMismatch;
    refused(rerank(query.clone(), 0, offsets.clone(), &mut other), shape, "columns", None);
    refused(rerank(query.clone(), 7, offsets.clone(), &mut other), shape, "columns", None);
    refused(rerank(query.clone(), width, vec![], &mut other), Status::InvalidArgument, "offsets", None);
    refused(rerank(query.clone(), width, vec![0, usize::MAX], &mut other), shape, "documents.offsets", None);
    refused(
        rerank(query.clone(), width, vec![3, 0], &mut other),
        Status::InvalidArgument,
        "documents.offsets",
        Some(0),
    );
    refused(rerank(query.clone(), width, vec![0, 3, 3], &mut other), shape, "document", Some(1));
    rerank(query, width, vec![0], &mut other)
}

/// 32 calls over 4 executors, each of which runs one at a time: whoever finds none free lets the others go on.
#[test]
fn thirty_two_join_over_four_executors() -> Result<()> {
    let model = nano();
    let executors: Vec<Executor> = (0..4).map(|_| Executor::for_ram(&[], None, 1)).collect::<Result<_>>()?;
    let free = std::cell::RefCell::new(executors.iter().collect::<Vec<_>>());
    let texts: Vec<String> = (0..32).map(|index| format!("text number {index}")).collect();
    let one = async |text: &String| -> Result<Vec<f32>> {
        let executor = loop {
            let found = free.borrow_mut().pop();
            if let Some(executor) = found {
                break executor;
            }
            pending_once().await;
        };
        let mut arena = Arena::new_in(executor)?;
        let call =
            model.deferred(executor).text_encode([text.clone()], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
        let values = embeddings(&call.await?);
        free.borrow_mut().push(executor);
        Ok(values)
    };
    let together = block_on(join_all(texts.iter().map(|text| Box::pin(one(text))).collect())).0;
    let mut arena = Arena::new()?;
    let alone = embeddings(&model.text_encode(&texts, Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?);
    for (index, values) in together.into_iter().enumerate() {
        assert_eq!(values?, alone[index * 128..][..128]);
    }
    Ok(())
}

/// Ready at the second poll, so that other tasks have their turn.
async fn pending_once() {
    let mut polled = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut polled, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await
}
