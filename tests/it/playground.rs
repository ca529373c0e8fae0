//! The local Discord, held against a real serenity client.

mod serenity;
