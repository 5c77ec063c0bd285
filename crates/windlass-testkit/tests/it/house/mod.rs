//! The house rules of CONTRIBUTING.md, as tests over the project's own files.

mod layers;
mod promises;
mod shape;
mod source;
mod words;
