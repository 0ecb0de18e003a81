use uform::*;

fn main() -> Result<()> {
    let (model, executor, mut arena) = (Model::load_ram("any")?, Executor::default(), Arena::new()?);
    let call = model.deferred(&executor).text_encode(["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
    drop(model);
    call.wait()?;
    Ok(())
}
