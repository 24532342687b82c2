//! Files to work on, made once and kept beside the build.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// In one of a thousand files of the tree.
pub(crate) const NEEDLE: &str = "find_me_here";

const FILES: usize = 100_000;
/// Bytes of a file of the tree, on average: about 1 GB in all.
const MEAN_SIZE: usize = 10_000;

pub(crate) struct Data {
    root: PathBuf,
}

impl Data {
    pub(crate) fn prepare() -> io::Result<Self> {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tools-bench");
        let data = Self { root };
        if !data.root.join("complete").exists() {
            data.make()?;
            fs::write(data.root.join("complete"), "")?;
        }
        Ok(data)
    }

    /// A source tree with an ignore file that covers a tenth of it.
    pub(crate) fn tree(&self) -> &Path {
        &self.root
    }

    /// A folder of 10,000 files.
    pub(crate) fn names(&self) -> PathBuf {
        self.root.join("names")
    }

    /// 500 MB, 5,000,000 lines.
    pub(crate) fn big(&self) -> PathBuf {
        self.root.join("../tools-bench-big.txt")
    }

    /// 10 MB, 100,000 lines.
    pub(crate) fn edited(&self) -> PathBuf {
        self.root.join("../tools-bench-edited.txt")
    }

    /// Undoes what calls have changed.
    pub(crate) fn refresh(&self) -> io::Result<()> {
        lines(
            &self.edited(),
            100_000,
            "line",
            8,
            " the quick brown fox jumps over the lazy dog while the parser reads tokens and then returns",
        )
    }

    fn make(&self) -> io::Result<()> {
        let source = source();
        fs::create_dir_all(self.root.join(".git"))?;
        fs::write(self.root.join(".gitignore"), "ignored_*/\n*.log\n/names/\n")?;
        for file in 0..FILES {
            let folder = file % 1000;
            let top = match folder {
                0..100 => format!("ignored_{}", folder % 5),
                _ => format!("src{}", folder % 20),
            };
            let folder = self.root.join(format!("{top}/mod{folder}/sub{}", folder % 7));
            if file < 1000 {
                fs::create_dir_all(&folder)?;
            }
            let size = if file % 2 == 0 { MEAN_SIZE * 9 / 5 } else { MEAN_SIZE / 5 };
            let start = file * 7919 % (source.len() - size);
            let mut text = source.get(start..start + size).unwrap_or_default().to_owned();
            if file % 1000 == 777 {
                _ = write!(text, "\nconst NEEDLE_{file} = '{NEEDLE}';");
            }
            text.push('\n');
            let ending = ["ts", "rs", "py", "md", "json", "c"][file % 6];
            fs::write(folder.join(format!("file{file}.{ending}")), text)?;
        }
        fs::create_dir_all(self.names())?;
        for file in 0..10_000 {
            fs::write(self.names().join(format!("file{file:05}.txt")), "")?;
        }
        lines(
            &self.big(),
            5_000_000,
            "line",
            10,
            " the quick brown fox jumps over the lazy dog while the parser reads tokens and then return",
        )
    }
}

fn lines(path: &Path, count: usize, start: &str, digits: usize, rest: &str) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for line in 0..count {
        writeln!(file, "{start} {line:0digits$}{rest}")?;
    }
    file.flush()
}

/// Text like that of a program: words of many lengths in lines.
fn source() -> String {
    let mut state: u32 = 7;
    let mut random = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    let words: Vec<String> = (0..4000)
        .map(|_| {
            let length = 2 + random(10);
            (0..length).map(|_| char::from(b'a' + u8::try_from(random(26)).unwrap_or(0))).collect()
        })
        .collect();
    let mut text = String::new();
    while text.len() < 600_000 {
        text.push_str("    ");
        for _ in 0..4 + random(9) {
            text.push_str(&words[usize::try_from(random(4000)).unwrap_or(0)]);
            text.push(' ');
        }
        text.push_str(";\n");
    }
    text
}
