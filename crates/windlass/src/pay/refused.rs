//! Rows that a list leaves out because they were refused, on standard error.

use windlass_core::code::Code;
use windlass_core::payout::ledger::Forgery;

use crate::output;

/// How many are named; `audit-log verify` names all.
const MAX_NAMED: usize = 20;

/// Names rows that were refused.
pub(crate) fn note(forgeries: &[Forgery]) {
    let code = Code::RowForged;
    for forgery in forgeries.iter().take(MAX_NAMED) {
        output::note(&format!("{code}: {forgery}; it is not used"));
    }
    if forgeries.len() > MAX_NAMED {
        let rest = forgeries.len() - MAX_NAMED;
        output::note(&format!(
            "{code}: {rest} other rows were refused: `windlass audit-log verify` names them"
        ));
    }
}
