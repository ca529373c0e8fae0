//! Discord: what we send, what we take, what we may.

mod access;
mod approval_card;
mod body;
mod catch_up;
mod escape;
mod limits;
