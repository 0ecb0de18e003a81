//! What the binding refuses by itself, and what succeeds beside the refusals that `conformance` replays.

use std::path::Path;

use uform::*;

use crate::support::{checkpoint, headed, refused};

const INVALID: Status = Status::InvalidArgument;
const SHAPE: Status = Status::ShapeMismatch;
const UNSUPPORTED: Status = Status::Unsupported;

#[test]
fn of_inputs() -> Result<()> {
    let (model, mut arena) = (headed(), Arena::new()?);
    let all = Outputs::EMBEDDINGS | Outputs::STATES | Outputs::TOKEN_VECTORS;
    let encoded = model.text_encode(&["Hello, world", "", "zwei"], all, Scalar::F32, &mut arena)?;
    assert_eq!(encoded.token_vectors.unwrap().offsets()?, [0, 12, 13, 17]);
    let nothing = model.text_encode(&[""; 0], all, Scalar::F32, &mut arena)?;
    assert_eq!((nothing.embeddings.unwrap().count(), nothing.states.unwrap().items()), (0, 0));
    assert!(nothing.embeddings.unwrap().values::<f32>()?.is_empty() && nothing.states.unwrap().offsets()? == [0]);

    let (texts, choices) = (["Is it? ", "", "Which? "], ["yn", "ab", "abcd"]);
    refused(model.text_choose(&texts, &["yn"], Scalar::F32, &mut arena), SHAPE, "choices", None);
    let config = TextChooseConfig { temperature_groups: &[0, 1], ..TextChooseConfig::default() };
    refused(model.text_choose(&texts, &choices, config, &mut arena), SHAPE, "temperature_groups", None);
    assert_eq!(model.text_choose(&texts, &choices, Scalar::F32, &mut arena)?.offsets()?, [0, 2, 4, 8]);
    Ok(())
}

#[test]
fn of_rerank() -> Result<()> {
    let (model, local) = (headed(), Executor::default());
    let (mut first, mut none, mut scored) = (Arena::new()?, Arena::new()?, Arena::new()?);
    let vectors = Outputs::TOKEN_VECTORS;
    let documents = model.text_encode(&["one", "two"], vectors, Scalar::F32, &mut first)?.token_vectors.unwrap();
    assert_eq!(local.rerank(documents.item(0)?, documents, Scalar::F32, &mut scored)?.count(), 2);
    let empty = model.text_encode(&[""; 0], vectors, Scalar::F32, &mut none)?.token_vectors.unwrap();
    refused(local.rerank(empty.rows(), documents, Scalar::F32, &mut scored), SHAPE, "query", None);
    assert_eq!(local.rerank(documents.item(0)?, empty, Scalar::F32, &mut scored)?.count(), 0);
    for columns in [0, 3] {
        refused(
            local.rerank(([1f32; 4].as_slice(), columns), documents, Scalar::F32, &mut scored),
            SHAPE,
            "rows",
            None,
        );
    }
    Ok(())
}

#[test]
fn of_executors() -> Result<()> {
    let can = capabilities();
    for &class in CPUClass::ALL {
        match Executor::for_ram(&[], Some(class), 1) {
            Ok(_) => assert!(can.runs(class) && can.has_built(class), "{class}"),
            Err(error) => assert!(!can.runs(class) && error.status == UNSUPPORTED, "{class}: {error}"),
        }
    }
    assert!(can.runs(CPUClass::Serial) && can.runs(can.cpu_class) && can.threads >= 1 && can.gpu_devices == 0);
    assert!(GPUClass::ALL.iter().all(|&class| !can.runs_gpu(class) && !can.has_built_gpu(class)));
    for mood in [Mood::Spinning, Mood::Parked] {
        Executor::default().drain(mood)?;
        Executor::for_ram(&[], None, 1)?.drain(mood)?;
    }
    Ok(())
}

#[test]
fn of_loads() -> Result<()> {
    refused(Model::load_vram(Path::new("any")), UNSUPPORTED, "", None);
    let description = Model::load_ram_buffer(&checkpoint(24, 2))?.describe()?;
    assert_eq!((description.token_width, description.choice_temperature_groups, description.context), (24, 2, 64));
    Ok(())
}

#[test]
fn of_names() {
    fn all<T: std::fmt::Display + std::str::FromStr<Err = Error> + PartialEq + std::fmt::Debug + Copy>(values: &[T]) {
        for &value in values {
            let name = value.to_string();
            assert_eq!(name.parse::<T>().unwrap(), value);
            assert!(name.chars().all(|letter| letter == '-' || letter.is_ascii_lowercase() || letter.is_ascii_digit()));
            assert_eq!(name.to_uppercase().parse::<T>().unwrap_err().status, INVALID);
        }
        assert_eq!("unknown".parse::<T>().unwrap_err().status, INVALID);
    }
    all(Status::ALL);
    all(Scalar::ALL);
    all(Mood::ALL);
    all(CPUClass::ALL);
    all(GPUClass::ALL);
    all(Modality::ALL);
    all(Objective::ALL);
    all(Negatives::ALL);
    all(PairLossForm::ALL);
    all(LateInteractionSide::ALL);
    let spelled: Vec<String> = CPUClass::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(spelled[..4], ["serial", "intel-haswell", "intel-skylake", "amd-genoa"]);
    assert_eq!(GPUClass::AmdCdna3.to_string(), "amd-cdna3");
    assert_eq!(MultimemTier::ALL.iter().map(ToString::to_string).collect::<Vec<_>>(), ["none", "peer", "multicast"]);
    assert_eq!(format!("{:>8}|", Modality::Text), "    text|");
    assert_eq!(Scalar::ALL.iter().map(|scalar| scalar.bytes()).collect::<Vec<_>>(), [4, 2, 2, 1, 1, 1, 4, 8]);
    assert_eq!(version(), env!("CARGO_PKG_VERSION"));
}
