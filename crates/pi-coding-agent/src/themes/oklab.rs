//! OKLCH and OKHSL, as Björn Ottosson defined them, to sRGB. Constants are his.

use super::color::{Rgb, channel};

/// Lightness 0 to 1, chroma, hue in degrees. Chroma is lowered to what sRGB has.
pub(super) fn oklch(lightness: f64, chroma: f64, hue: f64) -> Rgb {
    let lightness = lightness.min(1.0);
    let (b, a) = hue.to_radians().sin_cos();
    let chroma = chroma.min(max_chroma(lightness, a, b));
    to_rgb(linear(lightness, chroma * a, chroma * b))
}

/// Hue in degrees; saturation and lightness 0 to 1.
pub(super) fn okhsl(hue: f64, saturation: f64, lightness: f64) -> Rgb {
    const MID: f64 = 0.8;
    let (saturation, lightness) = (saturation.min(1.0), lightness.min(1.0));
    if lightness <= 0.0 || lightness >= 1.0 {
        return to_rgb([lightness; 3]);
    }
    let (b, a) = hue.to_radians().sin_cos();
    let lightness = toe_inverse(lightness);
    let Chromas { zero, mid, max } = Chromas::of(lightness, a, b);
    let chroma = if saturation < MID {
        let t = saturation / MID;
        let k1 = MID * zero;
        let k2 = 1.0 - k1 / mid;
        t * k1 / (1.0 - k2 * t)
    } else {
        let t = (saturation - MID) / (1.0 - MID);
        let k1 = (1.0 - MID) * mid * mid / (MID * MID * zero);
        let k2 = 1.0 - k1 / (max - mid);
        mid + t * k1 / (1.0 - k2 * t)
    };
    let chroma = if chroma.is_finite() { chroma.clamp(0.0, max) } else { 0.0 };
    to_rgb(linear(lightness, chroma * a, chroma * b))
}

/// Chromas that stand for saturations of 0 (its slope), 0.8 and 1.
struct Chromas {
    zero: f64,
    mid: f64,
    max: f64,
}

impl Chromas {
    fn of(lightness: f64, a: f64, b: f64) -> Self {
        let dark = 1.0 - lightness;
        let max = max_chroma(lightness, a, b);
        let (cusp_lightness, cusp_chroma) = cusp(a, b);
        let to_black = lightness * cusp_chroma / cusp_lightness;
        let to_white = dark * cusp_chroma / (1.0 - cusp_lightness);
        let k = max / to_black.min(to_white);
        let (s, t) = mid_slopes(a, b);
        let smooth = |x: f64, y: f64| (1.0 / (x.powi(-4) + y.powi(-4))).sqrt().sqrt();
        let mid = 0.9 * k * smooth(lightness * s, dark * t);
        let (x, y) = (lightness * 0.4, dark * 0.8);
        Self { zero: (1.0 / (x.powi(-2) + y.powi(-2))).sqrt(), mid, max }
    }
}

/// A smooth guess at the slopes of the gamut's triangle.
fn mid_slopes(a: f64, b: f64) -> (f64, f64) {
    let s = 0.115_169_93
        + 1.0
            / (7.447_789_70
                + 4.159_012_40 * b
                + a * (-2.195_573_47
                    + 1.751_984_01 * b
                    + a * (-2.137_049_48 - 10.023_010_43 * b
                        + a * (-4.248_945_61 + 5.387_708_19 * b + 4.698_910_13 * a))));
    let t = 0.112_396_42
        + 1.0
            / (1.613_203_20 - 0.681_243_79 * b
                + a * (0.403_706_12
                    + 0.901_481_23 * b
                    + a * (-0.270_879_43
                        + 0.612_239_90 * b
                        + a * (0.002_992_15 - 0.453_995_68 * b - 0.146_618_72 * a))));
    (s, t)
}

/// Lightness and chroma of the most colourful colour of a hue.
fn cusp(a: f64, b: f64) -> (f64, f64) {
    let saturation = bisect(2.0, |s| linear(1.0, s * a, s * b).iter().all(|c| *c >= 0.0));
    let [r, g, b] = linear(1.0, saturation * a, saturation * b);
    let lightness = (1.0 / r.max(g).max(b)).cbrt();
    (lightness, lightness * saturation)
}

/// The most chroma sRGB has at a lightness and a hue.
fn max_chroma(lightness: f64, a: f64, b: f64) -> f64 {
    const SLACK: f64 = 1e-4;
    let is_shown =
        |c: f64| linear(lightness, c * a, c * b).iter().all(|c| (-SLACK..=1.0 + SLACK).contains(c));
    bisect(0.5, is_shown)
}

/// The largest number up to `high` that still holds, where everything below it does.
fn bisect(high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, high);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

fn toe_inverse(x: f64) -> f64 {
    const K1: f64 = 0.206;
    const K2: f64 = 0.03;
    const K3: f64 = (1.0 + K1) / (1.0 + K2);
    (x * x + K1 * x) / (K3 * (x + K2))
}

/// OKLab to linear sRGB.
fn linear(lightness: f64, a: f64, b: f64) -> [f64; 3] {
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548 * b).powi(3);
    [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701 * s,
    ]
}

fn to_rgb(linear: [f64; 3]) -> Rgb {
    let [r, g, b] = linear.map(|value| {
        let value = value.clamp(0.0, 1.0);
        let curved = if value <= 0.003_130_8 {
            12.92 * value
        } else {
            1.055 * value.powf(1.0 / 2.4) - 0.055
        };
        channel(curved * 255.0)
    });
    Rgb(r, g, b)
}
