use uform::*;

fn main() -> Result<()> {
    let (model, executor, mut arena) = (Model::load_ram("any")?, Executor::default(), Arena::new()?);
    let data = b"a cat".to_vec();
    let tape = (data.as_slice(), [0usize, 5]);
    model.deferred(&executor).text_encode(tape, Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?.wait()?;
    Ok(())
}
