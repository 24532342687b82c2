//! What a file has beside its content, where the file system has such a thing.

use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::io::Errno;

use super::*;

/// Whether the file system has attributes of this kind, and we may set them.
fn set(path: &Path, name: &str, value: &[u8]) -> bool {
    match setxattr(path, name, value, XattrFlags::empty()) {
        Ok(()) => true,
        Err(error @ (Errno::OPNOTSUPP | Errno::PERM | Errno::ACCESS)) => {
            println!("left out: {name} cannot be set here: {error}");
            false
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = [0; 1024];
    let length = getxattr(path, name, &mut value[..]).ok()?;
    Some(value[..length].to_vec())
}

/// An access control list: the owner, `user` and the owning group may read and write, as `mask` lets
/// them.
fn access_list(user: u32, mask: u16) -> Vec<u8> {
    let mut list = 2_u32.to_le_bytes().to_vec();
    let nobody = u32::MAX;
    for (tag, permissions, id) in [
        (0x01, 6, nobody),
        (0x02, 6, user),
        (0x04, 6, nobody),
        (0x10, mask, nobody),
        (0x20, 0, nobody),
    ] {
        let (tag, permissions): (u16, u16) = (tag, permissions);
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

#[test]
fn what_others_have_noted_at_a_file_stays() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    let noted: [(&str, &[u8]); 3] =
        [("user.origin", b"https://there"), ("user.empty", b""), ("user.long", &[7; 1000])];
    if !noted.iter().all(|(name, value)| set(&file, name, value)) {
        return;
    }
    let before = fs::metadata(&file).unwrap();
    put(&file, "new");
    let after = fs::metadata(&file).unwrap();
    assert_ne!(before.ino(), after.ino());
    assert_eq!(after.mode() & 0o7777, 0o640);
    for (name, value) in noted {
        assert_eq!(get(&file, name).as_deref(), Some(value), "{name}");
    }
}

#[test]
fn rights_of_the_old_content_do_not_pass_to_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "old").unwrap();
    // Version 2, effective, `CAP_NET_RAW`.
    let mut rights = 0x0200_0001_u32.to_le_bytes().to_vec();
    rights.extend([0x2000_u32, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()));
    if set(&file, "security.capability", &rights) {
        put(&file, "new");
        assert_eq!(get(&file, "security.capability"), None);
    }
}

#[test]
fn nobody_gains_access_by_what_the_folder_gives_to_new_files() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o660)).unwrap();
    if !set(dir.path(), "system.posix_acl_default", &access_list(12345, 6)) {
        return;
    }
    put(&file, "new");
    assert_eq!(get(&file, "system.posix_acl_access"), None);
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o660);
    put(&dir.path().join("new"), "new");
    assert!(get(&dir.path().join("new"), "system.posix_acl_access").is_some());
}

#[test]
fn an_access_list_stays() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "old").unwrap();
    let list = access_list(12345, 4);
    if set(&file, "system.posix_acl_access", &list) {
        put(&file, "new");
        assert_eq!(get(&file, "system.posix_acl_access"), Some(list));
    }
}
