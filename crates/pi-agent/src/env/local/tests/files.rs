use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::env::FileKind;

#[tokio::test]
async fn stat_tells_kind_size_time_and_permissions() {
    let bed = Bed::new();
    let file = bed.put("f", "12345");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let time = UNIX_EPOCH + Duration::from_millis(1_600_000_000_123);
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    symlink("f", bed.path("link")).unwrap();
    let stat = bed.env.stat(&file).await.unwrap();
    assert_eq!((stat.kind, stat.size, stat.permissions), (FileKind::File, 5, 0o640));
    assert_eq!(stat.modified_ms, 1_600_000_000_123);
    assert_eq!(bed.env.stat(&bed.path("link")).await.unwrap(), stat);
    assert_eq!(bed.env.stat(bed.env.cwd()).await.unwrap().kind, FileKind::Directory);
    assert_eq!(bed.env.stat(Path::new("/dev/null")).await.unwrap().kind, FileKind::Other);
    let missing = bed.env.stat(&bed.path("missing")).await.unwrap_err();
    let want =
        format!("ENOENT: no such file or directory, stat '{}'", bed.path("missing").display());
    assert_eq!(missing.to_string(), want);
    let below = bed.env.stat(&bed.path("f/x")).await;
    assert_eq!(what(below), (Operation::Stat, EnvErrorKind::NotDirectory));
}

#[tokio::test]
async fn a_version_changes_with_the_content_and_with_the_file_itself() {
    let bed = Bed::new();
    let file = bed.put("f", "a");
    let version = async || bed.env.stat(&file).await.unwrap().version;
    let first = version().await;
    assert_eq!(version().await, first);
    bed.put("f", "ab");
    let second = version().await;
    assert_ne!(second, first);
    fs::rename(bed.put("other", "ab"), &file).unwrap();
    assert_ne!(version().await, second);
}

#[tokio::test]
async fn the_real_path_follows_links_also_to_nothing() {
    let bed = Bed::new();
    fs::create_dir(bed.path("real")).unwrap();
    symlink("real", bed.path("link")).unwrap();
    let real = bed.env.real_path(&bed.path("link/./new")).await.unwrap();
    assert_eq!(real, bed.path("real/new"));
}

#[tokio::test]
async fn an_open_file_is_read_at_any_place_and_stays_itself() {
    let bed = Bed::new();
    let path = bed.put("f", "0123456789");
    let file = bed.env.open(&path).await.unwrap();
    fs::rename(bed.put("new", "other"), &path).unwrap();
    assert_eq!(file.stat().size, 10);
    for (offset, length, want) in
        [(0, 4, "0123"), (6, 4, "6789"), (8, 4, "89"), (10, 4, ""), (99, 4, ""), (3, 0, "")]
    {
        let got = file.read_at(offset, vec![0; length]).await.unwrap();
        assert_eq!(got, want.as_bytes(), "{offset} {length}");
    }
}

#[tokio::test]
async fn a_full_buffer_comes_back_at_its_full_length() {
    let bed = Bed::new();
    let path = bed.put("f", vec![b'x'; 1_000_000]);
    let file = bed.env.open(&path).await.unwrap();
    let (mut buffer, mut offset) = (vec![0; 300_000], 0);
    let mut lengths = Vec::new();
    while !buffer.is_empty() {
        buffer = file.read_at(offset, buffer).await.unwrap();
        offset += buffer.len() as u64;
        lengths.push(buffer.len());
    }
    assert_eq!(lengths, [300_000, 300_000, 300_000, 100_000, 0]);
}

#[tokio::test]
async fn only_regular_files_are_opened() {
    let bed = Bed::new();
    let made = std::process::Command::new("mkfifo").arg(bed.path("pipe")).status().unwrap();
    assert!(made.success());
    let cases = [
        (".", EnvErrorKind::IsDirectory),
        ("pipe", EnvErrorKind::NotRegularFile),
        ("/dev/zero", EnvErrorKind::NotRegularFile),
        ("missing", EnvErrorKind::NotFound),
    ];
    for (name, want) in cases {
        let opened = bed.env.open(&bed.path(name)).await;
        assert_eq!(what(opened), (Operation::Open, want), "{name}");
    }
}

#[tokio::test]
async fn whole_files_are_read_up_to_a_limit() {
    let bed = Bed::new();
    let path = bed.put("f", "123456");
    for limit in [6, 7, u64::MAX] {
        let (content, stat) = bed.env.read_file(&path, limit).await.unwrap();
        assert_eq!((content.as_slice(), stat.size), (&b"123456"[..], 6));
    }
    let over = bed.env.read_file(&path, 5).await;
    assert_eq!(what(over), (Operation::Read, EnvErrorKind::OverLimit));
    let empty = bed.put("empty", "");
    assert_eq!(bed.env.read_file(&empty, 0).await.unwrap().0, b"");
}

/// Files of `/proc` have a size of 0.
#[tokio::test]
async fn files_that_hide_their_size_are_read_whole_and_limited_too() {
    let bed = Bed::new();
    let mounts = Path::new("/proc/self/maps");
    assert_eq!(bed.env.stat(mounts).await.unwrap().size, 0);
    let (content, _) = bed.env.read_file(mounts, u64::MAX).await.unwrap();
    assert!(content.len() > 1000 && content.ends_with(b"\n"));
    assert_eq!(what(bed.env.read_file(mounts, 10).await).1, EnvErrorKind::OverLimit);
}

#[tokio::test]
async fn a_folder_is_listed_in_order_of_bytes_with_links_as_links() {
    let bed = Bed::new();
    for name in ["b", "B", "a.b", "\u{e9}"] {
        bed.put(name, "");
    }
    let odd = OsStr::from_bytes(b"\xff");
    fs::write(bed.path("").join(odd), "").unwrap();
    fs::create_dir(bed.path("a")).unwrap();
    symlink("a", bed.path("l")).unwrap();
    let listed = bed.env.list(bed.env.cwd()).await.unwrap();
    let got: Vec<(&OsStr, FileKind)> =
        listed.iter().map(|entry| (&*entry.name, entry.kind)).collect();
    let (file, dir) = (FileKind::File, FileKind::Directory);
    assert_eq!(
        got,
        [
            ("B".as_ref(), file),
            ("a".as_ref(), dir),
            ("a.b".as_ref(), file),
            ("b".as_ref(), file),
            ("l".as_ref(), FileKind::Link),
            ("\u{e9}".as_ref(), file),
            (odd, file),
        ]
    );
    let no_folder = bed.env.list(&bed.path("b")).await;
    assert_eq!(what(no_folder), (Operation::List, EnvErrorKind::NotDirectory));
}

#[tokio::test]
async fn replacing_creates_follows_links_and_keeps_permissions() {
    let bed = Bed::new();
    let real = bed.put("real", "old");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o711)).unwrap();
    symlink("real", bed.path("link")).unwrap();
    bed.env.replace(&bed.path("link"), b"new".to_vec(), None).await.unwrap();
    bed.env.replace(&bed.path("made"), b"made".to_vec(), None).await.unwrap();
    assert_eq!(fs::read(&real).unwrap(), b"new");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o711);
    assert_eq!(bed.names(), ["link", "made", "real"]);
    let no_folder = bed.env.replace(&bed.path("no/x"), Vec::new(), None).await;
    assert_eq!(what(no_folder), (Operation::Replace, EnvErrorKind::NotFound));
    let folder = bed.env.replace(bed.env.cwd(), Vec::new(), None).await;
    assert_eq!(what(folder), (Operation::Replace, EnvErrorKind::IsDirectory));
}

#[tokio::test]
async fn a_file_that_has_changed_is_not_replaced() {
    let bed = Bed::new();
    let file = bed.put("f", "one");
    let seen = bed.env.stat(&file).await.unwrap().version;
    bed.env.replace(&file, b"two".to_vec(), Some(seen.clone())).await.unwrap();
    let late = bed.env.replace(&file, b"three".to_vec(), Some(seen.clone())).await;
    assert_eq!(what(late), (Operation::Replace, EnvErrorKind::Changed));
    assert_eq!(fs::read(&file).unwrap(), b"two");
    fs::remove_file(&file).unwrap();
    let gone = bed.env.replace(&file, b"three".to_vec(), Some(seen)).await;
    assert_eq!(what(gone), (Operation::Replace, EnvErrorKind::NotFound));
    assert!(bed.names().is_empty());
}

#[tokio::test]
async fn folders_are_made_with_those_above() {
    let bed = Bed::new();
    for _ in 0..2 {
        bed.env.make_dirs(&bed.path("a/b/c")).await.unwrap();
    }
    assert!(bed.path("a/b/c").is_dir());
    bed.put("f", "");
    let in_the_way = bed.env.make_dirs(&bed.path("f")).await;
    assert_eq!(what(in_the_way), (Operation::MakeDirs, EnvErrorKind::AlreadyExists));
}

#[tokio::test]
async fn removing_takes_links_themselves_and_folders_only_when_they_are_empty() {
    let bed = Bed::new();
    fs::create_dir_all(bed.path("tree/sub")).unwrap();
    bed.put("tree/sub/f", "");
    bed.put("kept", "kept");
    symlink("tree", bed.path("to_tree")).unwrap();
    let full = bed.env.remove(&bed.path("tree")).await;
    assert_eq!(what(full), (Operation::Remove, EnvErrorKind::DirectoryNotEmpty));
    bed.env.remove(&bed.path("to_tree")).await.unwrap();
    assert!(bed.path("tree/sub/f").exists());
    bed.env.remove(&bed.path("tree/sub/f")).await.unwrap();
    bed.env.remove(&bed.path("tree/sub")).await.unwrap();
    bed.env.remove(&bed.path("tree")).await.unwrap();
    assert_eq!(bed.names(), ["kept"]);
    let missing = bed.env.remove(&bed.path("tree")).await;
    assert_eq!(what(missing), (Operation::Remove, EnvErrorKind::NotFound));
}

#[tokio::test]
async fn a_temporary_file_is_new_private_and_stays() {
    let bed = Bed::new();
    let mut file = bed.env.temporary_file("pre-", ".log").await.unwrap();
    let path = file.path().to_owned();
    for piece in ["one\n", "", "two\n"] {
        file.write(piece.as_bytes()).await.unwrap();
    }
    file.finish().await.unwrap();
    drop(file);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let name = path.file_name().unwrap().to_str().unwrap();
    let hex = name.strip_prefix("pre-").and_then(|name| name.strip_suffix(".log")).unwrap();
    assert!(hex.len() == 16 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let config = LocalEnvConfig { temp_dir: bed.path("gone"), ..LocalEnvConfig::default() };
    let nowhere = LocalEnv::new(config);
    let failed = nowhere.temporary_file("a", "b").await;
    assert_eq!(what(failed), (Operation::TemporaryFile, EnvErrorKind::NotFound));
}
