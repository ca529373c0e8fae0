//! Models: histories, wire formats, failures, targets, the catalogue.

mod abilities;
mod against_bot;
mod budgets;
mod catalog;
mod conformance;
mod discovery;
mod faults;
mod field;
mod history;
mod hostile;
pub(crate) mod local_models;
mod local_servers;
mod long;
mod matrix;
mod places;
mod providers;
mod queue;
mod refusals;
mod requests;
mod route;
mod seen;
mod stages;
mod tokens;
mod turns;
mod who_answers;
mod window;
mod wire;
