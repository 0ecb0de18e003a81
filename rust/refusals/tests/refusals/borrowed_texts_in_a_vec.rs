use uform::*;

fn main() -> Result<()> {
    let (model, executor, mut arena) = (Model::load_ram("any")?, Executor::default(), Arena::new()?);
    let text = String::from("a cat");
    model.deferred(&executor).text_encode(vec![text.as_str()], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?.wait()?;
    Ok(())
}
