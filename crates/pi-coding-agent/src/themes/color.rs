//! One colour of a theme, in the forms theme files write it.

use std::fmt;

use super::oklab;

/// A colour as a terminal or a page may show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// The terminal's own.
    Default,
    /// Of the palette of 256.
    Indexed(u8),
    Rgb(Rgb),
}

/// sRGB. Displayed as `#rrggbb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Color {
    /// A colour that names no variable: empty, `#rgb`, `#rrggbb`, `oklch(L C H)`, `okhsl(H S L)`.
    /// `None`: it is no such thing.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::Default);
        }
        if let Some(digits) = text.strip_prefix('#') {
            return hex(digits).map(Self::Rgb);
        }
        let (function, rest) = text.split_once('(')?;
        let [first, second, third] = arguments(rest.strip_suffix(')')?)?;
        let rgb = match function.trim() {
            "oklch" => oklab::oklch(first.share(1.0)?, second.share(0.4)?, third.degrees()?),
            "okhsl" => oklab::okhsl(first.degrees()?, second.share(1.0)?, third.share(1.0)?),
            _ => return None,
        };
        Some(Self::Rgb(rgb))
    }

    /// As sRGB; palette entries below 16 as xterm has them. `None` for what only a terminal knows.
    pub fn to_rgb(self) -> Option<Rgb> {
        match self {
            Self::Default => None,
            Self::Indexed(index) => Some(palette(index)),
            Self::Rgb(rgb) => Some(rgb),
        }
    }
}

impl Rgb {
    /// This colour with `share` (0 to 1) of another one.
    #[must_use]
    pub fn mixed(self, other: Self, share: f64) -> Self {
        let mix = |own: u8, other: u8| {
            channel(f64::from(own).mul_add(1.0 - share, f64::from(other) * share))
        };
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }

    /// Brightness as people see it, 0 to 1.
    pub fn brightness(self) -> f64 {
        let [r, g, b] = [self.0, self.1, self.2].map(f64::from);
        r.mul_add(0.299, g.mul_add(0.587, b * 0.114)) / 255.0
    }
}

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// The nearest step of 256.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is between 0 and 255"
)]
pub(super) fn channel(value: f64) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

fn hex(digits: &str) -> Option<Rgb> {
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(digits, 16).ok()?;
    let [_, r, g, b] = value.to_be_bytes();
    match digits.len() {
        6 => Some(Rgb(r, g, b)),
        3 => Some(Rgb((g & 0x0f) * 17, (b >> 4) * 17, (b & 0x0f) * 17)),
        _ => None,
    }
}

fn palette(index: u8) -> Rgb {
    const FIRST: [Rgb; 16] = [
        Rgb(0, 0, 0),
        Rgb(205, 0, 0),
        Rgb(0, 205, 0),
        Rgb(205, 205, 0),
        Rgb(0, 0, 238),
        Rgb(205, 0, 205),
        Rgb(0, 205, 205),
        Rgb(229, 229, 229),
        Rgb(127, 127, 127),
        Rgb(255, 0, 0),
        Rgb(0, 255, 0),
        Rgb(255, 255, 0),
        Rgb(92, 92, 255),
        Rgb(255, 0, 255),
        Rgb(0, 255, 255),
        Rgb(255, 255, 255),
    ];
    let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
    match index {
        0..=15 => FIRST.get(usize::from(index)).copied().unwrap_or(Rgb(0, 0, 0)),
        16..=231 => {
            let cube = index - 16;
            Rgb(level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        232..=255 => {
            let grey = 8 + (index - 232) * 10;
            Rgb(grey, grey, grey)
        }
    }
}

/// A number of a colour function, perhaps with `%` or `deg` behind it.
struct Argument<'a>(&'a str);

impl Argument<'_> {
    /// `whole` is what 100 % mean.
    fn share(&self, whole: f64) -> Option<f64> {
        match self.0.strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| percent / 100.0 * whole),
            None => number(self.0),
        }
        .filter(|share| *share >= 0.0)
    }

    fn degrees(&self) -> Option<f64> {
        number(self.0.strip_suffix("deg").unwrap_or(self.0))
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

fn arguments(text: &str) -> Option<[Argument<'_>; 3]> {
    let mut words = text.split([' ', ',', '\t']).filter(|word| !word.is_empty()).map(Argument);
    let found = [words.next()?, words.next()?, words.next()?];
    words.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        Color::parse(text).map(|color| color.to_rgb().map_or("default".into(), |c| c.to_string()))
    }

    #[test]
    fn every_form_of_a_colour_is_read() {
        let cases = [
            ("", Some("default")),
            ("#0af", Some("#00aaff")),
            ("#00AAFF", Some("#00aaff")),
            ("oklch(100% 0 0)", Some("#ffffff")),
            ("oklch(0 0 0)", Some("#000000")),
            ("oklch(62.8% 0.2577 29.23)", Some("#ff0000")),
            ("oklch(86.64%, 0.2948, 142.5deg)", Some("#00ff00")),
            ("okhsl(0 0% 100%)", Some("#ffffff")),
            ("okhsl(120 50% 0%)", Some("#000000")),
            ("okhsl(29.23 100% 56.81%)", Some("#ff0000")),
            ("okhsl(264.05 100% 36.66%)", Some("#0000ff")),
            ("#12", None),
            ("#12345g", None),
            ("#+12345", None),
            ("red", None),
            ("rgb(1 2 3)", None),
            ("oklch(1 2)", None),
            ("oklch(1 2 3 4)", None),
            ("oklch(-1 0 0)", None),
            ("okhsl(nan 1 1)", None),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_no_screen_shows_is_brought_to_the_nearest_that_it_does() {
        for text in ["oklch(62% 0.9 200)", "oklch(20% 0.4 100)", "oklch(99% 0.4 300)"] {
            let Some(Color::Rgb(rgb)) = Color::parse(text) else { panic!("{text}") };
            let is_grey = rgb.0 == rgb.1 && rgb.1 == rgb.2;
            assert!(!is_grey, "{text} keeps its hue: {rgb}");
        }
    }

    #[test]
    fn the_palette_is_that_of_terminals() {
        for (index, expected) in [
            (0, "#000000"),
            (9, "#ff0000"),
            (16, "#000000"),
            (39, "#00afff"),
            (231, "#ffffff"),
            (232, "#080808"),
            (255, "#eeeeee"),
        ] {
            let rgb = Color::Indexed(index).to_rgb().unwrap();
            assert_eq!(rgb.to_string(), expected, "{index}");
        }
    }
}
