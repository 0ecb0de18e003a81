use uform::*;

fn main() -> Result<()> {
    let (model, executor) = (Model::load_ram("any")?, Executor::default());
    let (mut arena, mut scored) = (Arena::new()?, Arena::new()?);
    let encoded = model.text_encode(&["a cat"], Outputs::TOKEN_VECTORS, Scalar::F32, &mut arena)?;
    let vectors = encoded.token_vectors.unwrap();
    executor.deferred().rerank(vectors.item(0)?, vectors, Scalar::F32, &mut scored)?.wait()?;
    Ok(())
}
