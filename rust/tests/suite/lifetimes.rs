//! What outlives what: threads, orders of dropping, ten thousand calls, a child process, and what is allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use uform::*;

use crate::support::{embeddings, headed, nano};

/// Counts what this thread allocates from Rust; the library has its own allocator.
struct Counted;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

fn allocations_in<T>(action: impl FnOnce() -> T) -> (usize, T) {
    let before = ALLOCATIONS.get();
    let output = action();
    (ALLOCATIONS.get() - before, output)
}

fn assert_send<T: Send>() {}
fn assert_shared<T: Send + Sync>() {}

#[test]
fn what_crosses_threads() {
    assert_send::<Executor>();
    assert_send::<Deferred<'_, Encoded<'_>>>();
    assert_shared::<Model>();
    assert_shared::<Arena>();
    assert_shared::<Trainer<'_>>();
    assert_shared::<Mesh>();
    assert_shared::<Error>();
    assert_shared::<Encoded<'_>>();
}

#[test]
fn nothing_is_allocated_for_what_is_not_used() -> Result<()> {
    let (model, executor, mut arena) = (nano(), Executor::for_ram(&[], None, 1)?, Arena::new()?);
    let (data, offsets) = (b"one text and two".as_slice(), [0usize, 8, 16]);
    let all = Outputs::EMBEDDINGS;
    let on = model.on(&executor);
    let (count, _) = allocations_in(|| on.text_encode((data, offsets), all, Scalar::F32, &mut arena).is_ok());
    assert_eq!(count, 0, "a tape that is lent");
    let (count, _) = allocations_in(|| on.text_encode(&["one text", "and two"], all, Scalar::F32, &mut arena).is_ok());
    assert_eq!(count, 2, "items gathered: the bytes and the offsets");
    let config = TextEncodeConfig { dimensions: 129, ..TextEncodeConfig::default() };
    let (count, error) = allocations_in(|| on.text_encode((data, offsets), all, config, &mut arena).unwrap_err());
    assert_eq!(count, 0, "a failure");
    assert!(!error.detail.is_empty());
    let owned = (data.to_vec(), offsets.to_vec());
    let (count, _) = allocations_in(|| {
        model.deferred(&executor).text_encode(owned, all, Scalar::F32, &mut arena).unwrap().wait().is_ok()
    });
    assert_eq!(count, 1, "a deferred call's box");
    Ok(())
}

#[test]
fn eight_threads_share_a_model() -> Result<()> {
    let model = nano();
    let texts: Vec<String> = (0..40).map(|index| "text ".repeat(index % 7) + &index.to_string()).collect();
    let mut arena = Arena::new()?;
    let expected = embeddings(&model.text_encode(&texts, Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let executor = Executor::for_ram(&[], None, 1).unwrap();
                let mut arena = Arena::new_in(&executor).unwrap();
                for _ in 0..5 {
                    let on = model.on(&executor);
                    let got = on.text_encode(&texts, Outputs::EMBEDDINGS, Scalar::F32, &mut arena).unwrap();
                    assert_eq!(embeddings(&got), expected);
                }
            });
        }
    });
    Ok(())
}

#[test]
fn every_order_of_dropping() -> Result<()> {
    for order in 0..6 {
        let (model, executor) = (nano(), Executor::for_ram(&[], None, 1)?);
        let mut arena = Arena::new_in(&executor)?;
        model.on(&executor).text_encode(&["text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
        match order {
            0 => (drop(model), drop(executor), drop(arena)),
            1 => (drop(model), drop(arena), drop(executor)),
            2 => (drop(executor), drop(model), drop(arena)),
            3 => (drop(executor), drop(arena), drop(model)),
            4 => (drop(arena), drop(model), drop(executor)),
            _ => (drop(arena), drop(executor), drop(model)),
        };
    }
    let (model, executor) = (nano(), Executor::for_ram(&[], None, 1)?);
    let mut arena = Arena::new_in(&executor)?;
    let encoded = model.on(&executor).text_encode(&["text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
    let (on, deferred) = (model.on(&executor), model.deferred(&executor));
    let (again, once_more) = (on, deferred); // receivers are copied like references
    assert_eq!(on.describe()?, again.describe()?);
    assert_eq!(deferred.describe()?, once_more.describe()?);
    drop((model, executor));
    assert_eq!(embeddings(&encoded).len(), 128, "views need the arena alone");
    Ok(())
}

#[cfg(target_os = "linux")]
fn resident_pages() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn ten_thousand_calls_leak_nothing() -> Result<()> {
    let (model, executor, mut arena) = (headed(), Executor::for_ram(&[], None, 1)?, Arena::new()?);
    let mut call_all = |times: usize| -> Result<()> {
        for time in 0..times {
            let on = model.on(&executor);
            on.text_encode(&["one", "two"], Outputs::EMBEDDINGS | Outputs::STATES, Scalar::F32, &mut arena)?;
            on.text_choose(&["y?"], &["yn"], Scalar::F32, &mut arena)?;
            let config = TextEncodeConfig { dimensions: 129, ..TextEncodeConfig::default() };
            on.text_encode(&["one"], Outputs::EMBEDDINGS, config, &mut arena).unwrap_err();
            let deferred = model.deferred(&executor);
            let call = deferred.text_encode(["one"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
            if time % 2 == 0 {
                drop(call)
            } else {
                call.wait()?;
            }
            if time % 100 == 0 {
                drop((Executor::for_ram(&[], None, 1)?, Arena::new()?, headed()));
            }
        }
        Ok(())
    };
    call_all(500)?;
    let before = resident_pages();
    call_all(2_500)?; // four calls each
    // Leaking a box or a gathered tape a call, 64 bytes at least, would take 10,000 x 64 bytes, 156 pages, and each
    // model of the 25 some 180; other tests' threads in this process come and go meanwhile.
    let grown = resident_pages().saturating_sub(before);
    println!("grew by {grown} pages");
    if std::env::var_os("UFORM_ALONE").is_some() {
        assert!(grown < 100, "grew by {grown} pages");
    }
    Ok(())
}

#[cfg(all(target_os = "linux", not(feature = "stub")))]
mod fork {
    use super::*;

    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(code: i32) -> !;
    }

    /// Runs `inside` in a child, which has no test harness and no unwinding: its answer is its exit code.
    fn in_child(inside: impl FnOnce() -> i32) -> i32 {
        let child = unsafe { fork() };
        if child == 0 {
            unsafe { _exit(inside()) }
        }
        let mut status = -1;
        assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
        status >> 8
    }

    /// A child has models and arenas as before, and the parent's executors refuse it: their threads stayed there.
    #[test]
    fn a_child_is_served_or_refused() -> Result<()> {
        let (model, executor, mut arena) = (nano(), Executor::for_ram(&[], None, 2)?, Arena::new()?);
        let texts = (b"some text".as_slice(), [0usize, 9]);
        let all = Outputs::EMBEDDINGS;
        let expected = embeddings(&model.on(&executor).text_encode(texts, all, Scalar::F32, &mut arena)?);
        let code = in_child(|| {
            let served = model.text_encode(texts, all, Scalar::F32, &mut arena);
            let same = served.is_ok_and(|encoded| {
                encoded.embeddings.is_some_and(|rows| rows.values::<f32>().is_ok_and(|values| values == expected))
            });
            let refused = model.on(&executor).text_encode(texts, all, Scalar::F32, &mut arena);
            let refused = refused.is_err_and(|error| error.status == Status::Unsupported);
            i32::from(!same) + 2 * i32::from(!refused)
        });
        assert_eq!(code, 0, "1 for other bits, 2 for an executor that served");
        let again = embeddings(&model.on(&executor).text_encode(texts, all, Scalar::F32, &mut arena)?);
        assert_eq!(again, expected, "and the parent goes on");
        Ok(())
    }

    /// A call that runs while its process forks is the parent's: the child neither waits for it nor reads what it wrote.
    #[test]
    fn a_call_is_left_behind() -> Result<()> {
        let (model, executor, mut arena) = (nano(), Executor::for_ram(&[], None, 2)?, Arena::new()?);
        let ((inside, is_inside), (go_on, wait)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
        let handler = Box::leak(Box::new(move |_, _| {
            let _ = inside.send(());
            let _ = wait.recv();
            std::ops::ControlFlow::Continue(())
        }));
        let config = TextEncodeConfig { progress: Some(handler), ..TextEncodeConfig::default() };
        let call = model.deferred(&executor).text_encode(["text"], Outputs::EMBEDDINGS, config, &mut arena)?;
        is_inside.recv().unwrap();
        let mut call = Some(call);
        let codes = [true, false].map(|waits| {
            in_child(|| {
                let call = call.take().unwrap();
                let is_over = call.status() != Err(Status::Deferred);
                let answer = waits.then(|| call.wait().unwrap_err());
                let is_told = answer.is_none_or(|error| error.status == Status::Unsupported && error.detail.is_empty());
                i32::from(!is_over) + 2 * i32::from(!is_told)
            })
        });
        drop(go_on);
        assert_eq!(codes, [0, 0], "1 for a call that goes on, 2 for another answer");
        assert_eq!(call.unwrap().wait()?.embeddings.unwrap().count(), 1, "and in the parent it goes on");
        Ok(())
    }
}
