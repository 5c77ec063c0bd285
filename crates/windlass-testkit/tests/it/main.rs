//! The testkit tested on its own model.
mod scripts;
