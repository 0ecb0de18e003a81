use uform::*;

fn main() -> Result<()> {
    let (model, executor, mut arena) = (Model::load_ram("any")?, Executor::default(), Arena::new()?);
    let texts = vec![String::from("a cat on a mat")];
    model.deferred(&executor).text_encode(&texts, Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?.wait()?;
    Ok(())
}
