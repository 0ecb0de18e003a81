use uform::*;

fn main() -> Result<()> {
    let (model, executor, mut arena) = (Model::load_ram("any")?, Executor::default(), Arena::new()?);
    let receiver = model.deferred(&executor);
    let first = receiver.text_encode(["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
    let second = receiver.text_encode(["b"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
    (first.wait()?, second.wait()?);
    Ok(())
}
