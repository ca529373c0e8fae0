//! Configuration: what is read, what is refused and how that is said.

mod effective;
mod env;
mod file;
mod trusted;
