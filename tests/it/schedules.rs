//! Reminders and schedules: planned by people, posted at their time, once.

mod reminders;
mod times;
