//! Prints the next slots of lines `<zone> <now> <text>`, to compare them with those of another program:
//! `cargo run -p chorus-schedule --example slots < lines`.

// An example prints.
#![allow(clippy::print_stdout)]

use std::io::BufRead as _;

use chorus_schedule::{Zone, parse};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let mut parts = line.splitn(3, ' ');
        let (Some(zone), Some(now), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (zone, now) = (Zone::named(zone)?, now.parse()?);
        match parse(text, now, &zone) {
            Ok(rule) => {
                let slots: Vec<String> = rule
                    .upcoming(now, &zone, 3)
                    .iter()
                    .map(|slot| slot.format("%FT%TZ").to_string())
                    .collect();
                println!("{text} = {}", slots.join(" "));
            }
            Err(refusal) => println!("{text} ! {}", refusal.reason),
        }
    }
    Ok(())
}
