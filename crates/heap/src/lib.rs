//! The one call of Chorus that Rust cannot check. It is a crate so that every other one forbids unsafe code.

#![deny(unsafe_code)]

/// Gives memory that is free, and that the C library keeps for what may be needed next, back to the system.
///
/// It looks through the whole heap, which takes milliseconds and holds up whoever allocates meanwhile. musl keeps nothing: there
/// it does nothing.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "glibc's function, which std does not offer")]
    // SAFETY: it may be called by any thread at any time (malloc_trim(3): MT-Safe), and touches only memory that nobody holds.
    unsafe {
        libc::malloc_trim(0);
    }
}
