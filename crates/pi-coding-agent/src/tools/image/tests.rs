use ::image::{ImageBuffer, Rgb};

use super::*;

fn picture(width: u32, height: u32) -> DynamicImage {
    ImageBuffer::from_fn(width, height, |x, y| {
        // No two neighbours alike, so that it does not compress well.
        let noise = x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503).rotate_left(7);
        let [a, b, c, _] = noise.wrapping_mul(2_246_822_519).to_le_bytes();
        Rgb([a, b, c])
    })
    .into()
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

pub(in crate::tools) fn png(width: u32, height: u32) -> Vec<u8> {
    encoded(&picture(width, height), ImageFormat::Png)
}

fn decoded(prepared: &PreparedImage) -> DynamicImage {
    let data = &prepared.image.as_ref().unwrap().data;
    ::image::load_from_memory(&BASE64_STANDARD.decode(data).unwrap()).unwrap()
}

fn limits(max_width: u32, max_height: u32, max_bytes: u64) -> Option<ImageLimits> {
    Some(ImageLimits { max_width, max_height, max_bytes, jpeg_quality: 80 })
}

#[test]
fn kinds_are_told_by_content() {
    let small = picture(3, 3);
    let cases = [
        (encoded(&small, ImageFormat::Png), Some(ImageKind::Png)),
        (encoded(&small, ImageFormat::Jpeg), Some(ImageKind::Jpeg)),
        (encoded(&small, ImageFormat::Gif), Some(ImageKind::Gif)),
        (encoded(&small, ImageFormat::WebP), Some(ImageKind::WebP)),
        (encoded(&small, ImageFormat::Bmp), Some(ImageKind::Bmp)),
        (b"GIF87 notes\n".to_vec(), None),
        (b"GIF89a and more words\n".to_vec(), None),
        (b"BM text that goes on and on for a while\n".to_vec(), None),
        (b"RIFFxxxxWEBP is a format\n".to_vec(), None),
        (b"\x89PNG\r\n\x1a\nbroken".to_vec(), None),
        (Vec::new(), None),
    ];
    for (bytes, want) in cases {
        assert_eq!(sniff(&bytes), want);
    }
}

#[test]
fn an_image_within_the_limits_keeps_its_bytes() {
    let bytes = png(6, 4);
    let prepared = prepare(bytes.clone(), ImageKind::Png, limits(6, 4, 1 << 20));
    assert_eq!(prepared.image.unwrap().data, BASE64_STANDARD.encode(bytes));
    assert!(prepared.hints.is_empty());
}

#[test]
fn a_large_image_shrinks_in_its_shape_and_says_by_how_much() {
    let prepared = prepare(png(30, 15), ImageKind::Png, limits(20, 20, 1 << 20));
    let small = decoded(&prepared);
    assert_eq!((small.width(), small.height()), (20, 10));
    assert_eq!(
        prepared.hints,
        ["[Image: original 30x15, displayed at 20x10. \
          Multiply coordinates by 1.50 to map to original image.]"]
    );
    let tall = decoded(&prepare(png(10, 250), ImageKind::Png, limits(200, 200, 1 << 20)));
    assert_eq!((tall.width(), tall.height()), (8, 200));
    let thin = decoded(&prepare(png(201, 1), ImageKind::Png, limits(20, 20, 1 << 20)));
    assert_eq!((thin.width(), thin.height()), (20, 1));
}

#[test]
fn the_smaller_of_png_and_jpeg_is_taken() {
    let noise = prepare(png(64, 64), ImageKind::Png, limits(60, 60, 1 << 20));
    assert_eq!(noise.mime_type, "image/jpeg");
    let plain = DynamicImage::new_rgb8(64, 64);
    let plain =
        prepare(encoded(&plain, ImageFormat::Jpeg), ImageKind::Jpeg, limits(60, 60, 1 << 20));
    assert_eq!(plain.mime_type, "image/png");
}

#[test]
fn the_byte_limit_counts_base64_and_lowers_quality_then_size() {
    let original = png(64, 64);
    let same_size = prepare(original.clone(), ImageKind::Png, limits(100, 100, 6000));
    assert_eq!(same_size.mime_type, "image/jpeg");
    assert!(same_size.image.as_ref().unwrap().data.len() <= 6000);
    assert!(same_size.hints[0].contains("original 64x64, displayed at"), "{:?}", same_size.hints);
    let smaller = prepare(original.clone(), ImageKind::Png, limits(100, 100, 1200));
    assert!(smaller.image.as_ref().unwrap().data.len() <= 1200);
    assert!(decoded(&smaller).width() < 64);
    let none = prepare(original, ImageKind::Png, limits(100, 100, 10));
    assert_eq!(none.image, None);
    assert_eq!(none.mime_type, "image/png");
}

#[test]
fn a_bmp_becomes_a_png_even_without_limits() {
    let bytes = encoded(&picture(5, 3), ImageFormat::Bmp);
    let prepared = prepare(bytes, ImageKind::Bmp, None);
    assert_eq!(prepared.mime_type, "image/png");
    assert_eq!(prepared.hints, ["[Image converted from image/bmp to image/png.]"]);
    assert_eq!(decoded(&prepared).to_rgb8(), picture(5, 3).to_rgb8());
}

fn segment(marker: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 2).unwrap().to_be_bytes();
    [&[0xff, marker][..], &length, payload].concat()
}

/// A TIFF header with the one tag for orientation: turn right by 90 degrees.
const TURNED: &[u8] = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";

#[test]
fn jpegs_are_turned_upright_also_behind_other_app1_segments() {
    let jpeg = encoded(&picture(30, 10), ImageFormat::Jpeg);
    let exif = segment(0xe1, &[b"Exif\0\0", TURNED].concat());
    let xmp = segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0<x/>");
    for extra in [exif.clone(), [xmp, exif].concat()] {
        let turned = [&jpeg[..2], &extra, &jpeg[2..]].concat();
        let prepared = prepare(turned, ImageKind::Jpeg, limits(15, 15, 1 << 20));
        assert!(
            prepared.hints[0].contains("original 10x30, displayed at 5x15"),
            "{:?}",
            prepared.hints
        );
    }
}

#[test]
fn webps_are_turned_upright() {
    let webp = encoded(&picture(30, 10), ImageFormat::WebP);
    let chunk = |name: &[u8], data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap().to_le_bytes();
        [name, &length, data, &vec![0; data.len() % 2]].concat()
    };
    // Flag 0x08: there is an EXIF chunk. Sizes are stored less one, in three bytes.
    let extended = chunk(b"VP8X", &[0x08, 0, 0, 0, 29, 0, 0, 9, 0, 0]);
    let body = [b"WEBP", &extended[..], &webp[12..], &chunk(b"EXIF", TURNED)].concat();
    let prepared = prepare(chunk(b"RIFF", &body), ImageKind::WebP, limits(15, 15, 1 << 20));
    assert!(
        prepared.hints[0].contains("original 10x30, displayed at 5x15"),
        "{:?}",
        prepared.hints
    );
}

#[test]
fn a_model_has_its_own_limits() {
    let model =
        ImageResize { max_width: Some(10), jpeg_quality: Some(200), ..ImageResize::default() };
    let limits = ImageLimits::new(Some(&model));
    assert_eq!((limits.max_width, limits.max_height, limits.jpeg_quality), (10, 2000, 100));
    assert_eq!(ImageLimits::new(None).max_bytes, 4_718_592);
}

#[test]
fn an_image_that_fits_is_turned_upright_too() {
    let jpeg = encoded(&picture(30, 10), ImageFormat::Jpeg);
    let exif = segment(0xe1, &[b"Exif\0\0", TURNED].concat());
    let turned = [&jpeg[..2], &exif, &jpeg[2..]].concat();
    let prepared = prepare(turned.clone(), ImageKind::Jpeg, limits(30, 30, 1 << 20));
    let upright = decoded(&prepared);
    assert_eq!((upright.width(), upright.height()), (10, 30));
    assert!(prepared.hints.is_empty(), "{:?}", prepared.hints);
    let tight = prepare(turned.clone(), ImageKind::Jpeg, limits(10, 30, 1 << 20));
    assert_eq!(decoded(&tight).height(), 30);
    let untouched = prepare(turned.clone(), ImageKind::Jpeg, None);
    assert_eq!(untouched.image.unwrap().data, BASE64_STANDARD.encode(turned));
}

/// A PNG that claims a size, with next to nothing in it.
fn claiming_png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = png(1, 1);
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let checksum = crc32(&bytes[12..29]).to_be_bytes();
    bytes[29..33].copy_from_slice(&checksum);
    bytes
}

/// As PNG wants it over a chunk's name and data.
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32| (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| bit(crc)))
}

#[test]
fn a_picture_that_claims_to_be_huge_is_not_decoded() {
    let mut gif = encoded(&picture(1, 1), ImageFormat::Gif);
    gif[6..10].copy_from_slice(&[0xff; 4]);
    let mut bmp = encoded(&picture(1, 1), ImageFormat::Bmp);
    bmp[18..26].copy_from_slice(&[0xff, 0xff, 0, 0, 0xff, 0xff, 0, 0]);
    let cases = [
        (claiming_png(60_000, 50_000), ImageKind::Png, "60000x50000"),
        (claiming_png(9000, 10_000), ImageKind::Png, "9000x10000"),
        (gif, ImageKind::Gif, "65535x65535"),
        (bmp, ImageKind::Bmp, "65535x65535"),
    ];
    for (bytes, kind, size) in cases {
        let prepared = prepare(bytes, kind, Some(ImageLimits::default()));
        assert_eq!((prepared.image, prepared.mime_type), (None, kind.mime_type()));
        let want = format!(
            "[Image omitted: {size} pixels need more than 256.0MB to decode. \
             Use bash to make a smaller copy.]"
        );
        assert_eq!(prepared.hints, [want]);
    }
    let broken = prepare(claiming_png(8000, 8000), ImageKind::Png, Some(ImageLimits::default()));
    assert!(broken.hints[0].contains("could not be resized"), "{:?}", broken.hints);
}

#[test]
fn a_huge_file_is_not_looked_at() {
    let bytes = vec![0; (64 << 20) + 1];
    for limits in [None, Some(ImageLimits::default())] {
        let prepared = prepare(bytes.clone(), ImageKind::Png, limits);
        assert_eq!(prepared.image, None);
        assert_eq!(
            prepared.hints,
            ["[Image omitted: the file is 64.0MB, and at most 64.0MB are read. \
              Use bash to make a smaller copy.]"]
        );
    }
}

#[test]
fn half_an_image_is_left_out() {
    let picture = picture(40, 40);
    for (format, kind) in [
        (ImageFormat::Jpeg, ImageKind::Jpeg),
        (ImageFormat::Png, ImageKind::Png),
        (ImageFormat::Gif, ImageKind::Gif),
        (ImageFormat::WebP, ImageKind::WebP),
        (ImageFormat::Bmp, ImageKind::Bmp),
    ] {
        let mut bytes = encoded(&picture, format);
        let whole = prepare(bytes.clone(), kind, Some(ImageLimits::default()));
        assert!(whole.image.is_some(), "{kind:?}");
        bytes.truncate(bytes.len() / 2);
        let half = prepare(bytes, kind, Some(ImageLimits::default()));
        assert_eq!((half.image, half.mime_type), (None, kind.mime_type()));
        assert_eq!(
            half.hints,
            ["[Image omitted: could not be resized below the inline image size limit.]"]
        );
    }
}
