//! `windlass config example`

use crate::config::EXAMPLE;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run() -> Result<(), Failure> {
    Ok(output::print(EXAMPLE)?)
}
