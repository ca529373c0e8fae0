//! The local Discord, held against a real serenity client.

mod demo_model;
mod serenity;
