//! Alloy's provider as a client: it fills in nonces, gas, fees and the chain's id, and signs.

mod reads;
mod sends;
mod subscribes;

use alloy_network::EthereumWallet;
use alloy_provider::{Provider, ProviderBuilder};
use alloy_signer_local::PrivateKeySigner;
use windlass_devnet::chain::DevAccount;

use super::served::Served;
use crate::client::http;

/// The accounts' keys, as alloy holds them; the first one signs unless told.
fn wallet(accounts: &[DevAccount]) -> EthereumWallet {
    let signer = |account: &DevAccount| PrivateKeySigner::from_bytes(&account.key()).unwrap();
    let mut wallet = EthereumWallet::from(signer(&accounts[0]));
    for account in &accounts[1..] {
        wallet.register_signer(signer(account));
    }
    wallet
}

/// A provider with every filler alloy recommends.
pub(super) async fn connect(served: &Served, url: &str) -> impl Provider + Clone + use<> {
    // For the provider of ciphers, which must be there even if no cipher is used.
    drop(http());
    ProviderBuilder::new().wallet(wallet(&served.accounts)).connect(url).await.unwrap()
}

async fn over_ws(served: &Served) -> impl Provider + Clone + use<> {
    connect(served, &served.server.ws_url()).await
}
