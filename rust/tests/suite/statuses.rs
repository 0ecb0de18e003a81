//! The statuses of `test/conformance`, replayed through the crate: same refusals, same items at fault, same words.
//! What the types already refuse, such as enumerators out of range, is not here.

use std::path::Path;

use uform::*;

use crate::support::{Folder, checkpoint, headed, nano, nano_path, refused};

const INVALID: Status = Status::InvalidArgument;
const SHAPE: Status = Status::ShapeMismatch;
const UNSUPPORTED: Status = Status::Unsupported;

#[test]
fn of_text_encode() -> Result<()> {
    let (model, bare, mut arena) = (headed(), Model::load_ram_buffer(&checkpoint(0, 0))?, Arena::new()?);
    let all = Outputs::EMBEDDINGS | Outputs::STATES | Outputs::TOKEN_VECTORS;
    let texts = ["Hello, world", "", "zwei"];
    for (offsets, item) in [([0usize, 4, 3, 5], 1), ([0, 4, 5, 4], 2)] {
        let tape = (b"Hello".as_slice(), offsets);
        refused(model.text_encode(tape, all, Scalar::F32, &mut arena), INVALID, "texts.offsets", Some(item));
    }
    let endless = (b"Hello".as_slice(), [0usize, 4, 5, usize::MAX]);
    refused(model.text_encode(endless, all, Scalar::F32, &mut arena), INVALID, "offsets", None);
    let none = (b"".as_slice(), [0usize; 0]);
    refused(model.text_encode(none, all, Scalar::F32, &mut arena), INVALID, "offsets", None);
    for dimensions in [129, usize::MAX] {
        let config = TextEncodeConfig { dimensions, ..TextEncodeConfig::default() };
        refused(model.text_encode(&texts, all, config, &mut arena), SHAPE, "dimensions", None);
    }
    refused(model.text_encode(&texts, all, Scalar::I8, &mut arena), UNSUPPORTED, "i8", None);
    refused(bare.text_encode(&texts, all, Scalar::F32, &mut arena), UNSUPPORTED, "token_vectors", None);
    for scalar in [Scalar::E4M3, Scalar::U8, Scalar::U32, Scalar::U64] {
        refused(model.text_encode(&texts, all, scalar, &mut arena), INVALID, "outputs_scalar", None);
    }
    let encoded = model.text_encode(&texts, all, Scalar::F32, &mut arena)?;
    assert_eq!(encoded.token_vectors.unwrap().offsets()?, [0, 12, 13, 17], "it was right but for what was broken");
    let nothing = model.text_encode(&[""; 0], all, Scalar::F32, &mut arena)?;
    assert_eq!((nothing.embeddings.unwrap().count(), nothing.states.unwrap().items()), (0, 0));
    assert!(nothing.embeddings.unwrap().values::<f32>()?.is_empty() && nothing.states.unwrap().offsets()? == [0]);
    Ok(())
}

#[test]
fn of_text_choose() -> Result<()> {
    let (model, bare, mut arena) = (headed(), nano(), Arena::new()?);
    let (texts, choices) = (["Is it? ", "", "Which? "], ["yn", "ab", "abcd"]);
    let decreasing = (b"abcdefgh".as_slice(), [0usize, 4, 3, 5]);
    refused(model.text_choose(decreasing, &choices, Scalar::F32, &mut arena), INVALID, "texts.offsets", Some(1));
    refused(model.text_choose(&texts, decreasing, Scalar::F32, &mut arena), INVALID, "choices.offsets", Some(1));
    refused(model.text_choose(&texts, &["yn", "aba", "abcd"], Scalar::F32, &mut arena), INVALID, "choices", Some(1));
    refused(model.text_choose(&texts, &["yn"], Scalar::F32, &mut arena), SHAPE, "choices", None);
    let config = TextChooseConfig { temperature_groups: &[0, 1, 2], ..TextChooseConfig::default() };
    refused(model.text_choose(&texts, &choices, config, &mut arena), INVALID, "temperature_groups", Some(2));
    let config = TextChooseConfig { temperature_groups: &[0, 1], ..TextChooseConfig::default() };
    refused(model.text_choose(&texts, &choices, config, &mut arena), SHAPE, "temperature_groups", None);
    refused(model.text_choose(&texts, &choices, Scalar::I8, &mut arena), UNSUPPORTED, "outputs_scalar", None);
    refused(model.text_choose(&texts, &choices, Scalar::E4M3, &mut arena), INVALID, "outputs_scalar", None);
    refused(bare.text_choose(&texts, &choices, Scalar::F32, &mut arena), UNSUPPORTED, "decoder", None);
    assert_eq!(model.text_choose(&texts, &choices, Scalar::F32, &mut arena)?.offsets()?, [0, 2, 4, 8]);
    Ok(())
}

#[test]
fn of_rerank() -> Result<()> {
    let (model, wide, local) = (headed(), Model::load_ram_buffer(&checkpoint(32, 0))?, Executor::default());
    let (mut first, mut second, mut third, mut scored) = (Arena::new()?, Arena::new()?, Arena::new()?, Arena::new()?);
    let vectors = Outputs::TOKEN_VECTORS;
    let documents = model.text_encode(&["one", "two"], vectors, Scalar::F32, &mut first)?.token_vectors.unwrap();
    let halves = model.text_encode(&["one"], vectors, Scalar::BF16, &mut second)?.token_vectors.unwrap().item(0)?;
    let wider = wide.text_encode(&["one"], vectors, Scalar::F32, &mut third)?.token_vectors.unwrap().item(0)?;
    let query = documents.item(0)?;
    refused(local.rerank(halves, documents, Scalar::F32, &mut scored), INVALID, "documents.scalar", None);
    refused(local.rerank(wider, documents, Scalar::F32, &mut scored), SHAPE, "documents", None);
    refused(local.rerank(query, documents, Scalar::I8, &mut scored), UNSUPPORTED, "outputs_scalar", None);
    refused(local.rerank(query, documents, Scalar::E4M3, &mut scored), INVALID, "outputs_scalar", None);
    assert_eq!(local.rerank(query, documents, Scalar::F32, &mut scored)?.count(), 2);
    let mut none = Arena::new()?;
    let empty = model.text_encode(&[""; 0], vectors, Scalar::F32, &mut none)?.token_vectors.unwrap();
    refused(local.rerank(empty.rows(), documents, Scalar::F32, &mut scored), SHAPE, "query", None);
    assert_eq!(local.rerank(query, empty, Scalar::F32, &mut scored)?.count(), 0);
    Ok(())
}

#[test]
fn of_executors() -> Result<()> {
    refused(Executor::for_ram(&[], None, 4097), INVALID, "threads", None);
    refused(Executor::for_ram(&[], None, usize::MAX), INVALID, "threads", None);
    refused(Executor::for_ram(&[], Some(CPUClass::WasmSimd), 1), UNSUPPORTED, "cpu_class", None);
    refused(Executor::for_ram(&[usize::MAX], None, 1), INVALID, "memory_domains", None);
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
    let folder = Folder::new();
    for scalar in [Scalar::F32, Scalar::I8] {
        let path = nano_path();
        let config = ModelLoadRamConfig { quantization: scalar, ..ModelLoadRamConfig::from(&path) };
        refused(Model::load_ram(config), INVALID, "quantization", None);
    }
    let path = nano_path();
    let config = ModelLoadRamConfig { cpu_class: Some(CPUClass::WasmSimd), ..ModelLoadRamConfig::from(&path) };
    refused(Model::load_ram(config), UNSUPPORTED, "cpu_class", None);
    let config = ModelLoadRamConfig { memory_domains: &[usize::MAX], ..ModelLoadRamConfig::from(&path) };
    refused(Model::load_ram(config), INVALID, "memory_domains", None);
    refused(Model::load_ram(""), INVALID, "path", None);
    refused(Model::load_ram("a\0b"), INVALID, "path", None);
    refused(Model::load_ram(String::from("/nowhere/at/all")), Status::Io, "", None);
    refused(Model::load_ram(folder.0.clone()), Status::Io, "", None);
    refused(Model::load_ram(path.join("below")), Status::Io, "", None);
    let name = String::from("x").repeat(5000);
    refused(Model::load_ram(&name), Status::Io, "", None);
    let bytes = checkpoint(24, 2);
    refused(Model::load_ram_buffer(&[][..]), Status::Malformed, "", None);
    refused(Model::load_ram_buffer(&bytes[..bytes.len() - 1]), Status::Malformed, "", None);
    refused(Model::load_vram(Path::new("any")), UNSUPPORTED, "", None);
    let description = Model::load_ram_buffer(&bytes)?.describe()?;
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
