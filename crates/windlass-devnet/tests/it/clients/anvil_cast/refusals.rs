//! What cast says when the chain says no.

use alloy_sol_types::{Revert, SolError};

use super::Caster;
use crate::chain::support::{init_code, reverter};

#[tokio::test(flavor = "multi_thread")]
async fn reverts_and_refused_transactions_keep_their_words() {
    for caster in Caster::both().await {
        let contract = caster.create(&init_code(&reverter())).to_string();
        let data = alloy_primitives::hex::encode_prefixed(Revert::from("not today").abi_encode());
        for verb in ["call", "estimate"] {
            let said = caster.failure(&[verb, &contract, &data]);
            assert!(said.contains("execution reverted") && said.contains("not today"), "{said}");
        }
        let key = caster.served.accounts[0].key().to_string();
        let send = ["send", "--private-key", &key, &contract, "--value", "1", "--gas-limit", "30000"];
        let old = caster.failure(&[&send[..], &["--nonce", "0"]].concat());
        assert!(old.contains("nonce too low"), "{old}");
        let poor = "0x0000000000000000000000000000000000000000000000000000000000000001";
        let said = caster.failure(&[
            "send",
            "--private-key",
            poor,
            &contract,
            "--value",
            "1",
            "--gas-limit",
            "30000",
        ]);
        assert!(said.contains("insufficient funds for gas * price + value"), "{said}");
        assert_eq!(caster.served.chain.head().number(), 1, "nothing was mined for them");
    }
}
