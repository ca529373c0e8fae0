//! Discord: what we send, what we take, what we may.

mod access;
mod acknowledged;
mod always_allow;
mod approval_card;
mod approvals;
mod body;
mod branches;
mod catch_up;
mod clicks;
mod commands;
mod commands_seen;
mod conversation;
mod day;
mod escape;
mod forms;
mod hostile;
mod leftovers;
mod limits;
mod line;
mod looks;
mod messages;
mod places;
mod reach;
mod rights;
mod usage_chart;
mod weather;
