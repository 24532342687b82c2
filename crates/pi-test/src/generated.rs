//! Files in the repository that are made of tables in the code.

use std::fs;
use std::path::Path;

/// The file must hold `text`. With `PI_TEST_UPDATE` set it is written instead:
/// `PI_TEST_UPDATE=1 cargo test --lib up_to_date`.
///
/// # Panics
/// It holds something else, or cannot be written.
#[expect(clippy::panic, reason = "a file that is out of date fails the test")]
pub fn assert_generated(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    if fs::read_to_string(path).is_ok_and(|present| present == text) {
        return;
    }
    let file = path.display();
    if !crate::is_updating() {
        panic!(
            "{file} is out of date; write it anew: PI_TEST_UPDATE=1 cargo test --lib up_to_date"
        );
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    if let Err(error) = fs::create_dir_all(folder).and_then(|()| fs::write(path, text)) {
        panic!("{file}: {error}");
    }
}
