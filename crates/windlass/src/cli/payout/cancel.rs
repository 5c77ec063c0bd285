//! `windlass payout cancel`

use super::reject::{self, Args, Ending};
use crate::cli::global::Global;
use crate::failure::Failure;

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    reject::end(&args, global, Ending::Cancel).await
}
