//! Collecting a contract with the binary, as a person does it.

mod run;
pub(crate) mod world;
