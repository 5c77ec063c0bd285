//! What every signature has to pass before it is used.

use alloy_primitives::{Address, B256, Signature};
use windlass_core::payout::signer::{SignerError, SignerErrorKind};

/// Refuses a signature that is not the account's own over this hash, or whose `s` lies in
/// the upper half of the curve: chains refuse those, since each has a twin.
pub(super) fn checked(signature: Signature, hash: B256, address: Address) -> Result<Signature, SignerError> {
    let wrong = |message: String| Err(SignerError::new(SignerErrorKind::Untrustworthy, message));
    if signature.normalize_s().is_some() {
        return wrong(format!("the signer of {address} made a signature that chains refuse"));
    }
    match signature.recover_address_from_prehash(&hash) {
        Ok(found) if found == address => Ok(signature),
        _ => wrong(format!("the signer of {address} did not sign with that account's key")),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{U256, uint};
    use alloy_signer::SignerSync;
    use alloy_signer_local::PrivateKeySigner;
    use proptest::prelude::*;

    use super::*;

    const ORDER: U256 = uint!(0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141_U256);
    const HASH: B256 = B256::repeat_byte(0x77);

    fn signed() -> (Address, Signature) {
        let key = PrivateKeySigner::from_slice(&[0x11; 32]).expect("a key");
        (key.address(), key.sign_hash_sync(&HASH).expect("signed"))
    }

    fn is_refused(signature: Signature, hash: B256, address: Address) -> bool {
        checked(signature, hash, address)
            .is_err_and(|error| error.kind == SignerErrorKind::Untrustworthy && !error.is_passing())
    }

    #[test]
    fn only_the_account_s_own_signature_passes() {
        let (address, signature) = signed();
        assert_eq!(checked(signature, HASH, address), Ok(signature));
        assert!(is_refused(signature, HASH, Address::repeat_byte(1)), "another account");
        assert!(is_refused(signature, B256::ZERO, address), "another hash");
        assert!(is_refused(signature.with_parity(!signature.v()), HASH, address), "the other parity");
        assert!(is_refused(Signature::new(U256::ZERO, U256::ZERO, false), HASH, address), "nothing");
    }

    #[test]
    fn the_twin_of_a_signature_recovers_too_and_is_refused() {
        let (address, signature) = signed();
        let twin = Signature::new(signature.r(), ORDER - signature.s(), !signature.v());
        assert_eq!(twin.recover_address_from_prehash(&HASH).ok(), Some(address));
        assert!(is_refused(twin, HASH, address));
    }

    proptest! {
        #[test]
        fn a_signature_with_a_bit_turned_is_refused(bit in 0_usize..512) {
            let (address, signature) = signed();
            let mut bytes = signature.as_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let turned = Signature::from_raw_array(&bytes).expect("65 bytes");
            prop_assert!(is_refused(turned, HASH, address));
        }
    }
}
