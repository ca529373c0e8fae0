//! Configuration: file, environment, secrets.
