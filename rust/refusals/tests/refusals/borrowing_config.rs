use uform::*;

fn main() -> Result<()> {
    let (model, executor, mut arena) = (Model::load_ram("any")?, Executor::default(), Arena::new()?);
    let mut stats = TextEncodeStats::default();
    let config = TextEncodeConfig { stats: Some(&mut stats), ..TextEncodeConfig::default() };
    model.deferred(&executor).text_encode(["a cat"], Outputs::EMBEDDINGS, config, &mut arena)?.wait()?;
    Ok(())
}
