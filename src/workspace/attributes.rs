//! Extended attributes of a file that is replaced: its access control list and those of users.
//!
//! Those of other name spaces belong to the kernel and its modules, which give them to a new file themselves.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

/// The name of the access control list.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// The prefix of attributes that users set.
const OF_USERS: &[u8] = b"user.";

/// The kernel's limit of all names, and of one value.
const LONGEST: usize = 64 * 1024;

/// Attributes of a file, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes(Vec<(Vec<u8>, Vec<u8>)>);

impl Attributes {
    /// Reads the attributes of a file.
    pub(super) fn of(file: impl AsFd) -> io::Result<Self> {
        let mut names = vec![0; LONGEST];
        let length = match flistxattr(&file, &mut *names) {
            Ok(length) => length,
            Err(Errno::OPNOTSUPP) => 0,
            Err(error) => return Err(error.into()),
        };
        names.truncate(length);
        let kept = names
            .split(|byte| *byte == 0)
            .filter(|name| *name == ACCESS_LIST || name.starts_with(OF_USERS));
        let mut all = Vec::new();
        for name in kept {
            let mut value = vec![0; LONGEST];
            let length = fgetxattr(&file, name, &mut *value)?;
            value.truncate(length);
            all.push((name.to_vec(), value));
        }
        Ok(Self(all))
    }

    /// Gives them to a new file, which may have inherited an access control list from its folder.
    pub(super) fn give_to(&self, file: impl AsFd) -> io::Result<()> {
        match fremovexattr(&file, ACCESS_LIST) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
        for (name, value) in &self.0 {
            fsetxattr(&file, name.as_slice(), value, XattrFlags::empty())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_without_attributes_has_none() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(Attributes::of(&file).unwrap(), Attributes::default());
    }
}
