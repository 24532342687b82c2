//! Gzip without compression: valid for every reader, no dependency needed.

/// Bytes in one stored block, by RFC 1951.
const BLOCK: usize = 0xFFFF;

/// `bytes` as a gzip file of stored blocks.
pub fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF];
    let mut blocks = bytes.chunks(BLOCK).peekable();
    if blocks.peek().is_none() {
        out.extend([1, 0, 0, 0xFF, 0xFF]);
    }
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out.extend(crc32(bytes).to_le_bytes());
    out.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    #[test]
    fn checksum_is_the_standard_one() {
        assert_eq!(super::crc32(b"123456789"), 0xCBF4_3926);
    }
}
