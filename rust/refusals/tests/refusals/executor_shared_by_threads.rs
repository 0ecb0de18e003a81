use uform::*;

fn main() -> Result<()> {
    let executor = Executor::for_ram(&[], None, 1)?;
    std::thread::scope(|scope| {
        scope.spawn(|| executor.drain(Mood::Parked));
    });
    Ok(())
}
