use uform::*;

fn main() -> Result<()> {
    let executor = Executor::default();
    let bytes = std::fs::read("any").unwrap();
    executor.deferred().load_ram_buffer(&bytes)?.wait()?;
    Ok(())
}
