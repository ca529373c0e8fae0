//! The one call of Chorus that Rust cannot check. It is a crate so that every other one forbids unsafe code.

#![deny(unsafe_code)]

/// Gives free memory that the C library keeps for later back to the system.
///
/// It searches the whole heap, which takes milliseconds and blocks other allocations meanwhile. musl keeps nothing: there
/// it does nothing.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "glibc's function, which std does not offer")]
    // SAFETY: it may be called by any thread at any time (malloc_trim(3): MT-Safe), and touches only free memory.
    unsafe {
        libc::malloc_trim(0);
    }
}
