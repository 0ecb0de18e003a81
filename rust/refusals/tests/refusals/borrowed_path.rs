use uform::*;

fn main() -> Result<()> {
    let executor = Executor::default();
    let trainer = Trainer::init_ram(&executor, TrainerInitRamConfig::default())?;
    let path = String::from("checkpoint.safetensors");
    trainer.deferred(&executor).save(&path)?.wait()
}
