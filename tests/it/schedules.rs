//! Reminders and schedules: planned by people, begun at their time, once.

mod behind;
mod gates;
mod reminders;
mod times;
mod tool;
mod turns;
