//! Reading a whole file through an open one.

use std::path::Path;

use super::{EnvError, EnvErrorKind, ExecutionEnv, FileReader, FileStat, Operation};

/// Bytes asked for at a time beyond what the file's size promised.
const STEP: u64 = 64 * 1024;

pub(super) async fn read<E: ExecutionEnv + ?Sized>(
    env: &E,
    path: &Path,
    limit: u64,
) -> Result<(Vec<u8>, FileStat), EnvError> {
    let over = || EnvError::new(Operation::Read, path, EnvErrorKind::OverLimit);
    let file = env.open(path).await?;
    let stat = file.stat().clone();
    if stat.size > limit {
        return Err(over());
    }
    // One byte more tells a file that has grown from one that fits.
    let content = read_up_to(&*file, limit.saturating_add(1), stat.size).await?;
    if length(&content) > limit {
        return Err(over());
    }
    Ok((content, stat))
}

/// Reads `most` bytes, or until the file ends. `promised` bytes are asked for first; the size of a
/// file is no bound, since those a kernel makes up have none.
async fn read_up_to(file: &dyn FileReader, most: u64, promised: u64) -> Result<Vec<u8>, EnvError> {
    let mut content = Vec::new();
    let mut step = promised.max(1);
    loop {
        let at = length(&content);
        let wanted = usize::try_from(step.min(most.saturating_sub(at))).unwrap_or(usize::MAX);
        if wanted == 0 {
            return Ok(content);
        }
        let piece = file.read_at(at, vec![0; wanted]).await?;
        let is_last = piece.len() < wanted;
        if content.is_empty() {
            content = piece;
        } else {
            content.extend_from_slice(&piece);
        }
        if is_last {
            return Ok(content);
        }
        step = STEP;
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
