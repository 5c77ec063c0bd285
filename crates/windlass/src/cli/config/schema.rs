//! `windlass config schema`

use crate::config::schema;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run() -> Result<(), Failure> {
    Ok(output::json(&schema::published())?)
}
