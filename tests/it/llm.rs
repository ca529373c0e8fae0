//! Models: histories, wire formats, failures, targets, the catalogue.

mod catalog;
mod conformance;
mod discovery;
mod faults;
mod history;
mod providers;
mod requests;
mod route;
mod tokens;
mod usage_chart;
mod wire;
