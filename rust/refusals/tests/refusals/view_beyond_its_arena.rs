use uform::*;

fn main() -> Result<()> {
    let (model, mut arena) = (Model::load_ram("any")?, Arena::new()?);
    let values: &[f32] =
        model.text_encode(&["a cat"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?.embeddings.unwrap().values()?;
    drop(arena);
    println!("{values:?}");
    Ok(())
}
