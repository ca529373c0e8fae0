//! Discord: what we send, what we take, what we may.

mod access;
mod approval_card;
mod body;
mod catch_up;
mod commands;
mod escape;
mod limits;
