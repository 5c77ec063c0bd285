//! `windlass jobs dead`

use super::page::{self, PageArgs};
use crate::cli::global::Global;
use crate::failure::Failure;

pub(crate) async fn run(args: PageArgs, global: &Global) -> Result<(), Failure> {
    page::run(args, true, global).await
}
