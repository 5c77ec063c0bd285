//! Accounts with known keys, for people and tests to spend from.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_primitives::{Address, B256, b256};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;

/// The keys of the mnemonic "test test test test test test test test test test test junk",
/// which every development chain uses and nobody may use elsewhere.
const DEV_KEYS: [B256; 10] = [
    b256!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"),
    b256!("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"),
    b256!("5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"),
    b256!("7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6"),
    b256!("47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a"),
    b256!("8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba"),
    b256!("92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e"),
    b256!("4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356"),
    b256!("dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97"),
    b256!("2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"),
];

/// The ten well-known development accounts.
pub fn dev_accounts() -> Vec<DevAccount> {
    DEV_KEYS.iter().filter_map(|key| DevAccount::from_key(*key).ok()).collect()
}

/// An account whose key is at hand. It signs what it is told and tracks no nonce.
#[derive(Debug, Clone)]
pub struct DevAccount {
    signer: PrivateKeySigner,
}

impl DevAccount {
    /// The account of a private key; refuses zero and anything above the curve's order.
    pub fn from_key(key: B256) -> Result<Self, alloy_signer::Error> {
        Ok(Self { signer: PrivateKeySigner::from_bytes(&key).map_err(alloy_signer::Error::other)? })
    }

    /// The account's address.
    pub fn address(&self) -> Address {
        self.signer.address()
    }

    /// The private key, to be shown to whoever runs the chain.
    pub fn key(&self) -> B256 {
        self.signer.to_bytes()
    }

    /// Signs an EIP-1559 transaction exactly as given.
    pub fn sign(&self, transaction: TxEip1559) -> Result<TxEnvelope, alloy_signer::Error> {
        self.sign_any(transaction)
    }

    /// Signs a transaction of any type exactly as given.
    pub fn sign_any<T>(&self, transaction: T) -> Result<TxEnvelope, alloy_signer::Error>
    where
        T: SignableTransaction<alloy_primitives::Signature>,
        TxEnvelope: From<alloy_consensus::Signed<T>>,
    {
        let signature = self.signer.sign_hash_sync(&transaction.signature_hash())?;
        Ok(transaction.into_signed(signature).into())
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::address;

    use super::*;

    #[test]
    fn the_keys_are_those_of_the_well_known_mnemonic() {
        let accounts = dev_accounts();
        assert_eq!(accounts.len(), DEV_KEYS.len());
        assert_eq!(accounts[0].address(), address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"));
        assert_eq!(accounts[9].address(), address!("a0Ee7A142d267C1f36714E4a8F75612F20a79720"));
        assert_eq!(accounts[3].key(), DEV_KEYS[3]);
    }
}
