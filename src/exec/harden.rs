//! Keeps the daemon's own memory from its children.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Makes this process "not dumpable": processes of the same user can no longer read its memory or environment, and it
/// leaves no core file. To be called early, before secrets are read.
///
/// # Errors
///
/// When the kernel refuses, which it does not on Linux.
pub fn harden_self() -> std::io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    Ok(())
}
