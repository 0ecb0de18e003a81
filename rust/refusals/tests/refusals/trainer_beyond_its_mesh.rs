use uform::*;

fn main() -> Result<()> {
    let executor = Executor::default();
    let mesh = Mesh::bootstrap(&executor, &MeshOptions::default())?;
    let config = TrainerInitRamConfig { mesh: Some(&mesh), ..TrainerInitRamConfig::default() };
    let trainer = Trainer::init_ram(&executor, config)?;
    drop(mesh);
    trainer.on(&executor).save("any")
}
