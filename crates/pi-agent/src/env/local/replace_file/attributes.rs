//! What a file has beside its content, mode and owner: extended attributes and an access list.

use std::ffi::CStr;
use std::fs::File;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::{XattrFlags, fgetxattr, fsetxattr, getxattr, listxattr};
use rustix::io::{self, Errno};

/// Most bytes of all names, and of one value, that Linux allows.
const MOST: usize = 64 * 1024;

/// What goes with the content and not with the file: whatever writes to a file takes the rights of a
/// program from it, and the kernel makes its seals anew.
const OF_CONTENT: [&CStr; 3] = [c"security.capability", c"security.evm", c"security.ima"];

/// Gives `stage` the attributes of the file at `path`. File systems that have none are content.
///
/// # Errors
/// One of them cannot be read or set.
pub(super) fn keep(path: &Path, stage: &File) -> io::Result<()> {
    let mut names = Vec::with_capacity(MOST);
    match listxattr(path, spare_capacity(&mut names)) {
        Ok(_) => {}
        Err(Errno::OPNOTSUPP) => return Ok(()),
        Err(error) => return Err(error),
    }
    let names = names.split_inclusive(|byte| *byte == 0);
    for name in names.filter_map(|name| CStr::from_bytes_with_nul(name).ok()) {
        if OF_CONTENT.contains(&name) {
            continue;
        }
        let (mut value, mut given) = (Vec::with_capacity(MOST), Vec::with_capacity(MOST));
        getxattr(path, name, spare_capacity(&mut value))?;
        // Labels come by themselves, and not everybody may set them.
        let is_given = fgetxattr(stage, name, spare_capacity(&mut given)).is_ok();
        if !is_given || given != value {
            fsetxattr(stage, name, &value, XattrFlags::empty())?;
        }
    }
    Ok(())
}

/// Whether the file says of more than its owner and its group who may do what.
pub(super) fn has_access_list(path: &Path) -> bool {
    let mut none = [0_u8; 0];
    getxattr(path, c"system.posix_acl_access", &mut none[..]).is_ok()
}
