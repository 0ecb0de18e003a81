use uform::*;

fn main() -> Result<()> {
    let (model, mut arena) = (Model::load_ram("any")?, Arena::new()?);
    let first = model.text_encode(&["a cat"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
    let second = model.text_encode(&["a dog"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
    println!("{:?} {:?}", first.embeddings, second.embeddings);
    Ok(())
}
