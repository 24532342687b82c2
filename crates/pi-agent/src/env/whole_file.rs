//! Reading parts of files and whole ones through an open file.

use std::ops::Range;
use std::path::Path;

use super::{EnvError, EnvErrorKind, ExecutionEnv, FileReader, FileStat, Operation};

/// Bytes asked for at a time beyond what the file's size promised.
const STEP: u64 = 64 * 1024;

pub(super) async fn read_range<E: ExecutionEnv + ?Sized>(
    env: &E,
    path: &Path,
    range: Range<u64>,
) -> Result<Vec<u8>, EnvError> {
    let file = env.open(path).await?;
    let promised = file.stat().size.saturating_sub(range.start);
    read_from(&*file, range, promised).await
}

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
    let content = read_from(&*file, 0..limit.saturating_add(1), stat.size).await?;
    if length(&content) > limit {
        return Err(over());
    }
    Ok((content, stat))
}

/// Reads until the range or the file ends. `promised` bytes are asked for first; the size of a file
/// is no bound, since those a kernel makes up have none.
async fn read_from(
    file: &dyn FileReader,
    range: Range<u64>,
    promised: u64,
) -> Result<Vec<u8>, EnvError> {
    let mut content = Vec::new();
    let mut step = promised.max(1);
    loop {
        let at = range.start.saturating_add(length(&content));
        let wanted = usize::try_from(step.min(range.end.saturating_sub(at))).unwrap_or(usize::MAX);
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
