//! Why the desk refuses, as a client is told.

use windlass_core::error::StoreError;
use windlass_core::payout::desk::DeskError;

use crate::error::{ApiError, ErrorCode};

impl From<DeskError> for ApiError {
    fn from(error: DeskError) -> Self {
        let told = error.to_string();
        let refused = |code| Self::new(code, told.clone());
        match error {
            // Whether it was done is not known; asking once more finds out, for a key is used once.
            DeskError::Store(StoreError::OutcomeUnknown { .. }) => refused(ErrorCode::Unavailable)
                .hint("ask the same again, with the same key: what was done is not done twice"),
            DeskError::Store(error) => error.into(),
            DeskError::Name(error) => Self::internal(error),
            DeskError::Chain(_) | DeskError::Vault(_) => refused(ErrorCode::ChainUnavailable),
            DeskError::Crowded => refused(ErrorCode::Unavailable),
            DeskError::NotFound(_) => refused(ErrorCode::NotFound),
            DeskError::OwnPayout => refused(ErrorCode::Forbidden).hint("somebody else has to approve it"),
            DeskError::KeyReused { .. } => refused(ErrorCode::KeyReused)
                .hint("a key stands for one payout for ever: take another, or send what was sent before"),
            DeskError::MightBePaid(_) => {
                refused(ErrorCode::Conflict).hint("ask again once that is settled on the chain")
            }
            DeskError::Move(_)
            | DeskError::NotPending(_)
            | DeskError::NotRejectable(_)
            | DeskError::NotEnded(_)
            | DeskError::RetriedAlready(_) => refused(ErrorCode::Conflict),
            DeskError::Request(_)
            | DeskError::UnknownToken(_)
            | DeskError::OtherVault(_)
            | DeskError::TooMany => refused(ErrorCode::InvalidParameter),
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::{Address, ChainId};
    use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequestError, VaultRef};
    use windlass_core::payout::state::PayoutState;
    use windlass_core::payout::vault::answer::VaultAnswerError;
    use windlass_core::reader::{ChainError, ChainErrorKind};
    use windlass_core::time::Timestamp;

    use super::*;

    /// Clients branch on status and code.
    #[test]
    fn each_refusal_has_its_status_and_code() {
        let id = PayoutId::new(Timestamp::from_ms(1), 1);
        let key = IdempotencyKey::new("k").unwrap();
        let vault = VaultRef { chain: ChainId::new(1).unwrap(), address: Address::ZERO };
        let chain = ChainError::new(ChainErrorKind::Unreachable, "no answer");
        for (error, status, code) in [
            (DeskError::NotFound(id), 404, "not_found"),
            (DeskError::NotPending(PayoutState::Approved), 409, "conflict"),
            (DeskError::NotRejectable(PayoutState::Submitted), 409, "conflict"),
            (DeskError::NotEnded(PayoutState::Submitted), 409, "conflict"),
            (DeskError::MightBePaid("it is open".to_owned()), 409, "conflict"),
            (DeskError::RetriedAlready(id), 409, "conflict"),
            (DeskError::KeyReused { key, id }, 409, "key_reused"),
            (DeskError::OwnPayout, 403, "forbidden"),
            (DeskError::Request(PayoutRequestError::ZeroAmount), 400, "invalid_parameter"),
            (DeskError::UnknownToken(Address::ZERO), 400, "invalid_parameter"),
            (DeskError::OtherVault(vault), 400, "invalid_parameter"),
            (DeskError::TooMany, 400, "invalid_parameter"),
            (DeskError::Chain(chain), 503, "chain_unavailable"),
            (DeskError::Vault(VaultAnswerError::NoVault), 503, "chain_unavailable"),
            (DeskError::Crowded, 503, "unavailable"),
            (DeskError::Store(StoreError::Busy), 503, "unavailable"),
            (DeskError::Store(StoreError::Other("secret".to_owned())), 500, "internal"),
        ] {
            let told = format!("{error:?}");
            let refused = ApiError::from(error);
            assert_eq!((refused.code.status().as_u16(), refused.code.as_str()), (status, code), "{told}");
        }
    }
}
