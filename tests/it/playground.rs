//! The playground: the local Discord, held against a real serenity client; the demo model; the page in a real browser.

mod demo_model;
mod page;
mod rest;
mod serenity;
mod walk;
