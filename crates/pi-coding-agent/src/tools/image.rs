//! Images as a model can take them: recognised by content, turned upright, brought down to size.

use std::io::Cursor;

use ::image::codecs::jpeg::JpegEncoder;
use ::image::imageops::FilterType;
use ::image::{
    DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits,
    metadata::Orientation,
};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use memchr::memmem;
use pi_ai::{ImageContent, ImageResize};

use super::truncate::{count, format_size};

/// A kind of image file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageKind {
    Png,
    Jpeg,
    Gif,
    WebP,
    /// No model reads it: it becomes a PNG.
    Bmp,
}

impl ImageKind {
    pub fn mime_type(self) -> &'static str {
        match self {
            Self::Png => PNG,
            Self::Jpeg => JPEG,
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
            Self::Bmp => "image/bmp",
        }
    }

    fn format(self) -> ImageFormat {
        match self {
            Self::Png => ImageFormat::Png,
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Gif => ImageFormat::Gif,
            Self::WebP => ImageFormat::WebP,
            Self::Bmp => ImageFormat::Bmp,
        }
    }
}

const PNG: &str = "image/png";
const JPEG: &str = "image/jpeg";

/// Recognises an image by the first bytes of a file. Text that begins with a signature's letters
/// is no image.
pub fn sniff(start: &[u8]) -> Option<ImageKind> {
    let kind = match start {
        [
            0x89,
            b'P',
            b'N',
            b'G',
            b'\r',
            b'\n',
            0x1a,
            b'\n',
            _,
            _,
            _,
            _,
            b'I',
            b'H',
            b'D',
            b'R',
            ..,
        ] => ImageKind::Png,
        [0xff, 0xd8, 0xff, ..] => ImageKind::Jpeg,
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => ImageKind::Gif,
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => ImageKind::WebP,
        // Bytes 6 to 9 are reserved and zero; 14 to 17 hold the size of the header that follows.
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, _, _, _, _, 12..=124, 0, 0, 0, ..] => ImageKind::Bmp,
        _ => return None,
    };
    let start = start.get(..4096).unwrap_or(start);
    let is_text = !start.contains(&0) && std::str::from_utf8(start).is_ok();
    (!is_text).then_some(kind)
}

/// Bytes of the largest file that is looked at. A photograph of 50 million pixels has about 20 MiB.
pub const MAX_FILE_BYTES: u64 = 64 << 20;
/// Bytes of the largest picture that is decoded: 8192 by 8192 pixels of 4 bytes.
const MAX_PICTURE_BYTES: u64 = 256 << 20;

/// The size an image may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLimits {
    /// Pixels.
    pub max_width: u32,
    /// Pixels.
    pub max_height: u32,
    /// Bytes of base64.
    pub max_bytes: u64,
    /// 1 to 100.
    pub jpeg_quality: u8,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self { max_width: 2000, max_height: 2000, max_bytes: 4_718_592, jpeg_quality: 80 }
    }
}

impl ImageLimits {
    /// A model's own limits over the defaults.
    pub fn new(model: Option<&ImageResize>) -> Self {
        let default = Self::default();
        let Some(model) = model else {
            return default;
        };
        Self {
            max_width: model.max_width.unwrap_or(default.max_width).max(1),
            max_height: model.max_height.unwrap_or(default.max_height).max(1),
            max_bytes: model.max_bytes.unwrap_or(default.max_bytes),
            jpeg_quality: model.jpeg_quality.unwrap_or(default.jpeg_quality).clamp(1, 100),
        }
    }
}

/// An image ready for a model, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedImage {
    /// Absent when no safe image could be made.
    pub image: Option<ImageContent>,
    /// Of the image, or of the file if there is no image.
    pub mime_type: &'static str,
    /// Bracketed lines for the model: a conversion, a change of scale, an omission.
    pub hints: Vec<String>,
}

/// Brings an image within `limits` and turns it upright, which no model does itself. Without limits
/// it stays as it is, but for a BMP. An upright image that already fits keeps its bytes. Needs a few
/// times [`MAX_PICTURE_BYTES`] of memory at most.
pub fn prepare(bytes: Vec<u8>, kind: ImageKind, limits: Option<ImageLimits>) -> PreparedImage {
    if count(bytes.len()) > MAX_FILE_BYTES {
        return too_large(kind, count(bytes.len()));
    }
    let file_kind = kind;
    let (bytes, kind, mut hints) = match kind {
        ImageKind::Bmp => match decode(&bytes, kind).and_then(|decoded| decoded.to_png()) {
            Ok(png) => {
                let hint = format!("[Image converted from {} to {PNG}.]", kind.mime_type());
                (png, ImageKind::Png, vec![hint])
            }
            Err(refusal) => return refusal.omitted(kind),
        },
        other => (bytes, other, Vec::new()),
    };
    let Some(limits) = limits else {
        return ready(&bytes, kind.mime_type(), hints);
    };
    let decoded = match decode(&bytes, kind) {
        Ok(decoded) => decoded,
        Err(refusal) => return refusal.omitted(file_kind),
    };
    let picture = decoded.upright;
    let (width, height) = (picture.width(), picture.height());
    let is_small = width <= limits.max_width && height <= limits.max_height;
    if is_small && fits(&bytes, &limits) && !decoded.was_turned {
        return ready(&bytes, kind.mime_type(), hints);
    }
    drop(bytes);
    let Some(smaller) = shrink(&picture, &limits) else {
        return Refusal::NotDecoded.omitted(file_kind);
    };
    if (smaller.width, smaller.height) != (width, height) || !decoded.was_turned {
        hints.push(format!(
            "[Image: original {width}x{height}, displayed at {}x{}. \
             Multiply coordinates by {:.2} to map to original image.]",
            smaller.width,
            smaller.height,
            f64::from(width) / f64::from(smaller.width)
        ));
    }
    ready(&smaller.bytes, smaller.mime_type, hints)
}

/// What is told of a file of more than [`MAX_FILE_BYTES`] in place of an image.
pub fn too_large(kind: ImageKind, size: u64) -> PreparedImage {
    Refusal::File(size).omitted(kind)
}

fn ready(bytes: &[u8], mime_type: &'static str, hints: Vec<String>) -> PreparedImage {
    let data = BASE64_STANDARD.encode(bytes);
    let image = ImageContent { data, mime_type: mime_type.to_owned() };
    PreparedImage { image: Some(image), mime_type, hints }
}

/// Why there is no image.
#[derive(Debug)]
enum Refusal {
    /// Broken, or not to be brought within the limits.
    NotDecoded,
    /// Its size in bytes.
    File(u64),
    /// Its width and height.
    Picture(u32, u32),
}

impl From<ImageError> for Refusal {
    fn from(_: ImageError) -> Self {
        Self::NotDecoded
    }
}

impl Refusal {
    fn omitted(&self, kind: ImageKind) -> PreparedImage {
        let reason = match self {
            Self::NotDecoded => {
                "could not be resized below the inline image size limit.".to_owned()
            }
            Self::File(size) => format!(
                "the file is {}, and at most {} are read. Use bash to make a smaller copy.",
                format_size(*size),
                format_size(MAX_FILE_BYTES)
            ),
            Self::Picture(width, height) => format!(
                "{width}x{height} pixels need more than {} to decode. \
                 Use bash to make a smaller copy.",
                format_size(MAX_PICTURE_BYTES)
            ),
        };
        let hints = vec![format!("[Image omitted: {reason}]")];
        PreparedImage { image: None, mime_type: kind.mime_type(), hints }
    }
}

struct Decoded {
    upright: DynamicImage,
    /// It does not lie upright in the file.
    was_turned: bool,
}

impl Decoded {
    fn to_png(&self) -> Result<Vec<u8>, Refusal> {
        Ok(encode_png(&self.upright)?)
    }
}

/// Decodes the first frame and turns it upright. What a file says of its size is checked before
/// anything of that size is made.
fn decode(bytes: &[u8], kind: ImageKind) -> Result<Decoded, Refusal> {
    if kind == ImageKind::Jpeg && !is_complete_jpeg(bytes) {
        return Err(Refusal::NotDecoded);
    }
    let mut reader = ImageReader::with_format(Cursor::new(bytes), kind.format());
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_PICTURE_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    if decoder.total_bytes() > MAX_PICTURE_BYTES {
        let (width, height) = decoder.dimensions();
        return Err(Refusal::Picture(width, height));
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut upright = DynamicImage::from_decoder(decoder)?;
    upright.apply_orientation(orientation);
    Ok(Decoded { upright, was_turned: orientation != Orientation::NoTransforms })
}

/// Whether the last scan has an end. The decoder makes up what is missing, but who else reads the
/// file may refuse it.
fn is_complete_jpeg(bytes: &[u8]) -> bool {
    let (start_of_scan, end_of_image) = (b"\xff\xda", b"\xff\xd9");
    memmem::rfind(bytes, end_of_image) > memmem::rfind(bytes, start_of_scan)
}

struct Smaller {
    bytes: Vec<u8>,
    mime_type: &'static str,
    width: u32,
    height: u32,
}

/// Tries sizes from the largest allowed down; for each the smaller of PNG and JPEG, then JPEG of
/// lower quality.
fn shrink(picture: &DynamicImage, limits: &ImageLimits) -> Option<Smaller> {
    let (mut width, mut height) = fit_inside(picture, limits);
    loop {
        let scaled = if (width, height) == (picture.width(), picture.height()) {
            picture.clone()
        } else {
            picture.resize_exact(width, height, FilterType::Lanczos3)
        };
        if let Some((bytes, mime_type)) = encode_within(&scaled, limits) {
            return Some(Smaller { bytes, mime_type, width, height });
        }
        if width == 1 && height == 1 {
            return None;
        }
        (width, height) = ((width * 3 / 4).max(1), (height * 3 / 4).max(1));
    }
}

/// The largest size of the same shape within the limits.
fn fit_inside(picture: &DynamicImage, limits: &ImageLimits) -> (u32, u32) {
    let (mut width, mut height) = (picture.width(), picture.height());
    if width > limits.max_width {
        (width, height) = (limits.max_width, scaled(height, limits.max_width, width));
    }
    if height > limits.max_height {
        (width, height) = (scaled(width, limits.max_height, height), limits.max_height);
    }
    (width, height)
}

/// `length * to / from`, rounded, at least 1.
fn scaled(length: u32, to: u32, from: u32) -> u32 {
    let from = u64::from(from.max(1));
    let length = (u64::from(length) * u64::from(to) + from / 2) / from;
    u32::try_from(length).unwrap_or(u32::MAX).max(1)
}

fn encode_within(picture: &DynamicImage, limits: &ImageLimits) -> Option<(Vec<u8>, &'static str)> {
    let png = encode_png(picture).ok().map(|bytes| (bytes, PNG));
    let jpeg = encode_jpeg(picture, limits.jpeg_quality).ok().map(|bytes| (bytes, JPEG));
    let smallest = png.into_iter().chain(jpeg).min_by_key(|(bytes, _)| bytes.len());
    if let Some(found) = smallest.filter(|(bytes, _)| fits(bytes, limits)) {
        return Some(found);
    }
    [85, 70, 55, 40]
        .into_iter()
        .filter(|quality| *quality < limits.jpeg_quality)
        .filter_map(|quality| encode_jpeg(picture, quality).ok())
        .find(|bytes| fits(bytes, limits))
        .map(|bytes| (bytes, JPEG))
}

fn encode_png(picture: &DynamicImage) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png)?;
    Ok(bytes.into_inner())
}

fn encode_jpeg(picture: &DynamicImage, quality: u8) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(&picture.to_rgb8())?;
    Ok(bytes)
}

/// The limit counts what is sent: base64, 4 bytes for every 3.
fn fits(bytes: &[u8], limits: &ImageLimits) -> bool {
    count(bytes.len().div_ceil(3)) * 4 <= limits.max_bytes
}

#[cfg(test)]
pub(super) mod tests;
