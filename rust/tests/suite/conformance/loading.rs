//! Executors and loads.

use uform::*;

use super::{Replay, with};
use crate::support::{Folder, checkpoint, nano_path};

pub(super) fn executors(mut replay: Replay) -> Result<()> {
    replay.row("too many threads", Executor::for_ram(&[], None, 4097));
    replay.row("endless threads", Executor::for_ram(&[], None, usize::MAX));
    replay.row("another processor's class", Executor::for_ram(&[], Some(CPUClass::WasmSimd), 1));
    replay.row("a node that is not there", Executor::for_ram(&[usize::MAX], None, 1));
    replay.end()
}

/// The rows that both loads share.
macro_rules! shared {
    ($replay:ident, $load:path, $right:expr) => {
        $replay.row("quantized as f32", $load(with!($right; quantization = Scalar::F32)));
        $replay.row("quantized as i8", $load(with!($right; quantization = Scalar::I8)));
        $replay.row("another processor's class", $load(with!($right; cpu_class = Some(CPUClass::WasmSimd))));
        $replay.row("a node that is not there", $load(with!($right; memory_domains = &[usize::MAX])));
    };
}

pub(super) fn load(mut replay: Replay) -> Result<()> {
    let (path, folder) = (nano_path(), Folder::new());
    shared!(replay, Model::load_ram, ModelLoadRamConfig::from(&path));
    replay.row("no path", Model::load_ram(""));
    replay.row("an empty path", Model::load_ram(String::new()));
    replay.row("a NUL inside", Model::load_ram("a\0b"));
    replay.row("a missing file", Model::load_ram(folder.0.join("missing")));
    replay.row("a folder", Model::load_ram(&folder.0));
    replay.row("below a file", Model::load_ram(path.join("below")));
    replay.row("a name too long", Model::load_ram("p".repeat(5000)));
    replay.end()
}

pub(super) fn load_buffer(mut replay: Replay) -> Result<()> {
    let bytes = checkpoint(0, 0);
    shared!(replay, Model::load_ram_buffer, ModelLoadRamBufferConfig::from(&bytes));
    replay.row("no bytes", Model::load_ram_buffer(&[][..]));
    replay.row("one byte short", Model::load_ram_buffer(&bytes[..bytes.len() - 1]));
    replay.end()
}

pub(super) fn files(mut replay: Replay) -> Result<()> {
    replay.files(|bytes, path| [Model::load_ram_buffer(bytes), Model::load_ram(path)]);
    replay.end()
}

pub(super) fn buffers(mut replay: Replay) -> Result<()> {
    replay.files(|bytes, _| [Model::load_ram_buffer(bytes)]);
    replay.end()
}
