//! The prompts of a run, put together from standard input, `@file` arguments and messages.
//!
//! Owns: their exact shape. Never: decodes an image; what is one is decided by the loader handed in.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use pi_ai::ImageContent;

use crate::error::{AppError, Context, ErrorKind};
use crate::session_runtime::Prompt;

/// What became of an image file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AttachedImage {
    /// `None` when it cannot be made small enough for a model.
    pub(crate) content: Option<ImageContent>,
    /// What the model should know of the conversion.
    pub(crate) note: Option<String>,
}

/// Makes a file's bytes into an image fit for a model. `None`: they are no image, going by the
/// bytes and not by the file's name.
pub(crate) type LoadImage<'a> = dyn Fn(&[u8]) -> Option<AttachedImage> + 'a;

/// Everything on `reader`, without blanks at both ends. Bytes that are no UTF-8 are replaced.
///
/// # Errors
/// Reading fails.
pub(crate) fn read_piped(reader: impl Read) -> io::Result<String> {
    let bytes = read_bounded(reader)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// The prompts in the order to send them. The first is piped text, files and first message, joined
/// without separators; each further message is a prompt of its own. Nothing given, no prompts.
///
/// `files` are absolute.
///
/// # Errors
/// A file is missing, is a directory or cannot be read.
pub(crate) fn assemble(
    piped: &str,
    files: &[PathBuf],
    messages: &[String],
    load_image: &LoadImage<'_>,
) -> Result<Vec<Prompt>, AppError> {
    let mut first = Prompt { text: piped.to_owned(), images: Vec::new() };
    let mut notes = Vec::new();
    for file in files {
        attach(file, &mut first, &mut notes, load_image)?;
    }
    let mut messages = messages.iter();
    if let Some(message) = messages.next() {
        first.text.push_str(message);
    }
    if !notes.is_empty() {
        first.text.push_str("\n\n");
        first.text.push_str(&notes.join("\n"));
    }
    let rest = messages.map(|text| Prompt { text: text.clone(), images: Vec::new() });
    Ok(std::iter::once(first).filter(|first| !first.text.is_empty()).chain(rest).collect())
}

/// Empty files are left out.
fn attach(
    file: &Path,
    prompt: &mut Prompt,
    notes: &mut Vec<String>,
    load_image: &LoadImage<'_>,
) -> Result<(), AppError> {
    let bytes = read(file)?;
    if bytes.is_empty() {
        return Ok(());
    }
    let name = file.display();
    match load_image(&bytes) {
        Some(AttachedImage { content, note }) => {
            _ = writeln!(prompt.text, "<file name=\"{name}\"></file>");
            prompt.images.extend(content);
            notes.extend(note);
        }
        None => {
            let content = String::from_utf8_lossy(&bytes);
            let content = content.strip_prefix('\u{feff}').unwrap_or(&content);
            _ = writeln!(prompt.text, "<file name=\"{name}\">\n{content}\n</file>");
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<Vec<u8>, AppError> {
    let metadata = match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(AppError::user(format!("File not found: {}", file.display())));
        }
        metadata => metadata.context(ErrorKind::User, || unreadable(file))?,
    };
    if metadata.is_dir() {
        return Err(AppError::user(format!("Not a file but a directory: {}", file.display())));
    }
    // Pipes are fine: shells hand them in for `@<(command)`.
    if metadata.file_type().is_char_device() || metadata.file_type().is_block_device() {
        return Err(AppError::user(format!("Not a file but a device: {}", file.display())));
    }
    fs::File::open(file).and_then(read_bounded).context(ErrorKind::User, || unreadable(file))
}

fn unreadable(file: &Path) -> String {
    format!("Could not read {}", file.display())
}

/// Most bytes a prompt takes from one source: more than any model reads, less than hurts.
const MAX_INPUT: u64 = 100 * 1024 * 1024;

fn read_bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_INPUT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_INPUT {
        let limit = MAX_INPUT / (1024 * 1024);
        return Err(io::Error::other(format!("more than {limit} MB; no model reads that much")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of `content` in a scratch directory.
    struct Scratch(tempfile::TempDir);

    impl Scratch {
        fn new(files: &[(&str, &[u8])]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for (name, content) in files {
                let path = dir.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            Self(dir)
        }

        fn assemble(
            &self,
            piped: &str,
            files: &[&str],
            messages: &[&str],
        ) -> Result<Vec<Prompt>, AppError> {
            let files: Vec<_> = files.iter().map(|name| self.0.path().join(name)).collect();
            let messages: Vec<_> = messages.iter().map(|&text| text.to_owned()).collect();
            assemble(piped, &files, &messages, &fake_image)
        }

        /// The texts, with the scratch directory as `<WS>`.
        fn texts(&self, piped: &str, files: &[&str], messages: &[&str]) -> Vec<String> {
            let workspace = self.0.path().display().to_string();
            let prompts = self.assemble(piped, files, messages).unwrap();
            prompts.into_iter().map(|prompt| prompt.text.replace(&workspace, "<WS>")).collect()
        }
    }

    /// Bytes that begin with `IMG` are an image; a fourth byte makes it a resized or an omitted one.
    fn fake_image(bytes: &[u8]) -> Option<AttachedImage> {
        let rest = bytes.strip_prefix(b"IMG")?;
        let content = ImageContent { data: "QUJD".into(), mime_type: "image/png".into() };
        Some(match rest {
            b"r" => AttachedImage { content: Some(content), note: Some("[resized]".into()) },
            b"o" => AttachedImage { content: None, note: Some("[omitted]".into()) },
            _ => AttachedImage { content: Some(content), note: None },
        })
    }

    #[test]
    fn the_first_prompt_is_joined_without_separators() {
        let scratch = Scratch::new(&[
            ("a.txt", b"alpha\n"),
            ("sub/b.txt", b"beta\n"),
            ("empty", b""),
            ("bom.txt", b"\xef\xbb\xbfbom\r\n"),
            ("bin", b"a\xff\0b"),
            ("i.png", b"IMG"),
            ("big.png", b"IMGr"),
            ("huge.png", b"IMGo"),
        ]);
        let a = "<file name=\"<WS>/a.txt\">\nalpha\n\n</file>\n";
        let b = "<file name=\"<WS>/sub/b.txt\">\nbeta\n\n</file>\n";
        let big = "<file name=\"<WS>/big.png\"></file>\n";
        let huge = "<file name=\"<WS>/huge.png\"></file>\n";
        type Case<'a> = (&'a str, &'a [&'a str], &'a [&'a str], Vec<String>);
        let cases: &[Case<'_>] = &[
            ("", &[], &[], vec![]),
            ("", &["empty"], &[], vec![]),
            ("", &[], &["x", "y"], vec!["x".into(), "y".into()]),
            ("only stdin", &[], &[], vec!["only stdin".into()]),
            ("l 1\nl 2", &[], &["Question"], vec!["l 1\nl 2Question".into()]),
            ("", &["a.txt"], &[], vec![a.into()]),
            (
                "",
                &["a.txt", "sub/b.txt"],
                &["Compare", "2"],
                vec![format!("{a}{b}Compare"), "2".into()],
            ),
            ("hi", &["a.txt"], &["SAY z"], vec![format!("hi{a}SAY z")]),
            ("", &["empty"], &["x"], vec!["x".into()]),
            (
                "",
                &["bom.txt"],
                &[],
                vec!["<file name=\"<WS>/bom.txt\">\nbom\r\n\n</file>\n".into()],
            ),
            ("", &["bin"], &[], vec!["<file name=\"<WS>/bin\">\na\u{fffd}\0b\n</file>\n".into()]),
            (
                "",
                &["i.png"],
                &["Describe it"],
                vec!["<file name=\"<WS>/i.png\"></file>\nDescribe it".into()],
            ),
            (
                "",
                &["big.png", "a.txt"],
                &["x", "y"],
                vec![format!("{big}{a}x\n\n[resized]"), "y".into()],
            ),
            (
                "in",
                &["big.png", "huge.png"],
                &[],
                vec![format!("in{big}{huge}\n\n[resized]\n[omitted]")],
            ),
        ];
        for (piped, files, messages, expected) in cases {
            assert_eq!(
                scratch.texts(piped, files, messages),
                *expected,
                "{piped} {files:?} {messages:?}"
            );
        }
    }

    #[test]
    fn images_stand_behind_the_text() {
        let scratch = Scratch::new(&[("i", b"IMG"), ("o", b"IMGo"), ("r", b"IMGr")]);
        let prompts = scratch.assemble("", &["i", "o", "r"], &["x"]).unwrap();
        let [Prompt { text, images }] = prompts.as_slice() else { panic!("{prompts:?}") };
        assert!(text.contains("</file>") && images.len() == 2, "{text} {images:?}");
    }

    #[test]
    fn missing_files_and_directories_are_errors_with_the_whole_path() {
        let scratch = Scratch::new(&[("sub/b.txt", b"")]);
        let workspace = scratch.0.path().display();
        for (file, expected) in [
            ("missing.txt", format!("Error: File not found: {workspace}/missing.txt")),
            ("sub", format!("Error: Not a file but a directory: {workspace}/sub")),
        ] {
            assert_eq!(scratch.assemble("", &[file], &["x"]).unwrap_err().report(), expected);
        }
    }

    #[test]
    fn piped_text_is_trimmed() {
        assert_eq!(read_piped(&b"  a b \n\n"[..]).unwrap(), "a b");
        assert_eq!(read_piped(&b" \n"[..]).unwrap(), "");
        assert_eq!(read_piped(&b"x\xffy"[..]).unwrap(), "x\u{fffd}y");
    }

    #[test]
    fn devices_and_endless_input_are_refused() {
        let error = assemble("", &["/dev/zero".into()], &[], &|_| None).unwrap_err();
        assert_eq!(error.to_string(), "Not a file but a device: /dev/zero");
        let error = read_piped(io::repeat(b'x')).unwrap_err();
        assert_eq!(error.to_string(), "more than 100 MB; no model reads that much");
    }
}
