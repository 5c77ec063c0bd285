//! What nodes say to a transaction. There is no standard but words; what is in no row is
//! a refusal in other words.

use windlass_core::payout::submit::SendAnswer;

/// Phrases, in lower case, and what they mean; the first that is said counts. Phrases that
/// hold another come before it.
const WORDS: [(&[&str], SendAnswer); 5] = [
    (
        &[
            // geth, erigon, reth; nethermind; anvil and parity; older geth and besu; erigon; ethermint
            "already known",
            "alreadyknown",
            "already imported",
            "known transaction",
            "existing tx with same hash",
            "already in mempool",
            "already exists in cache",
        ],
        SendAnswer::Known,
    ),
    (
        &[
            // geth, reth, besu, anvil; nethermind; nethermind; erigon; parity
            "replacement transaction underpriced",
            "replacementnotallowed",
            "ownnoncealreadyused",
            "could not replace existing tx",
            "another transaction with same nonce",
        ],
        SendAnswer::Underpriced,
    ),
    (
        &[
            // geth, erigon, reth, besu, anvil, hardhat; parity; nethermind; others
            "nonce too low",
            "nonce is too low",
            "oldnonce",
            "nonce has already been used",
        ],
        SendAnswer::NonceTooLow,
    ),
    (
        &[
            // geth, besu, anvil; parity; hardhat; besu; nethermind
            "insufficient funds",
            "insufficientfunds",
            "doesn't have enough funds",
            "upfront cost exceeds account balance",
            "insufficient balance",
        ],
        SendAnswer::NoFunds,
    ),
    (
        &[
            // geth, erigon, reth, anvil; older geth; besu; nethermind; parity; hardhat
            "underpriced",
            "max fee per gas less than block base fee",
            "fee cap less than block base fee",
            "gas price below",
            "feetoolow",
            "fee too low",
            "gas price is too low",
            "is too low for the next block",
        ],
        SendAnswer::FeeTooLow,
    ),
];

/// What a node's words mean, if they are known. Its codes tell nothing: each node has
/// its own.
pub(super) fn read(words: &str) -> Option<SendAnswer> {
    let words = words.to_lowercase();
    let said = |phrases: &[&str]| phrases.iter().any(|phrase| says(&words, phrase));
    WORDS.iter().find(|(phrases, _)| said(phrases)).map(|(_, answer)| answer.clone())
}

/// Whether a phrase is said, from the beginning of a word on: an unknown transaction type
/// is not a known transaction.
fn says(words: &str, phrase: &str) -> bool {
    let begins = |at: usize| !words[..at].chars().next_back().is_some_and(char::is_alphanumeric);
    words.match_indices(phrase).any(|(at, _)| begins(at))
}

#[cfg(test)]
mod tests {
    use super::SendAnswer::*;
    use super::*;

    #[test]
    fn every_nodes_words_are_understood() {
        for (words, answer) in [
            ("already known", Known),
            ("AlreadyKnown", Known),
            ("transaction already imported", Known),
            ("Transaction with the same hash was already imported.", Known),
            ("known transaction: 0xabcdef", Known),
            ("Known transaction", Known),
            ("existing tx with same hash", Known),
            ("tx already in mempool", Known),
            ("replacement transaction underpriced", Underpriced),
            ("Replacement transaction underpriced", Underpriced),
            ("replacement transaction underpriced: new tx gas fee cap 110 <= 110 queued", Underpriced),
            ("ReplacementNotAllowed", Underpriced),
            ("OwnNonceAlreadyUsed", Underpriced),
            ("could not replace existing tx", Underpriced),
            (
                "Transaction gas price 1wei is too low. There is another transaction with same nonce in the queue. Try increasing the gas price or incrementing the nonce.",
                Underpriced,
            ),
            ("nonce too low", NonceTooLow),
            ("nonce too low: next nonce 5, tx nonce 4", NonceTooLow),
            ("Nonce too low. Expected nonce to be 1 but got 0.", NonceTooLow),
            ("Transaction nonce is too low. Try incrementing the nonce.", NonceTooLow),
            ("OldNonce, Current nonce: 5, nonce of rejected tx: 4", NonceTooLow),
            ("transaction underpriced", FeeTooLow),
            ("transaction underpriced: gas tip cap 1, minimum needed 25000000000", FeeTooLow),
            ("underpriced", FeeTooLow),
            ("max fee per gas less than block base fee: address 0x1, maxFeePerGas: 1, baseFee: 7", FeeTooLow),
            ("err: fee cap less than block base fee", FeeTooLow),
            ("Gas price below current base fee", FeeTooLow),
            ("Gas price below configured minimum gas price", FeeTooLow),
            ("transaction gas price below minimum: gas tip cap 1, minimum needed 25000000000", FeeTooLow),
            ("FeeTooLow, MaxFeePerGas too low.", FeeTooLow),
            ("FeeTooLowToCompete", FeeTooLow),
            (
                "Transaction maxFeePerGas (1) is too low for the next block, which has a baseFeePerGas of 875000000",
                FeeTooLow,
            ),
            ("insufficient funds for gas * price + value: balance 0, tx cost 21000, overshot 21000", NoFunds),
            ("Insufficient funds for gas * price + value", NoFunds),
            (
                "Insufficient funds. The account you tried to send transaction from does not have enough funds.",
                NoFunds,
            ),
            ("InsufficientFunds, Account balance: 0", NoFunds),
            ("Upfront cost exceeds account balance", NoFunds),
            ("Sender doesn't have enough funds to send tx.", NoFunds),
        ] {
            assert_eq!(read(words), Some(answer), "{words}");
        }
    }

    #[test]
    fn other_words_are_not_taken_for_known_ones() {
        for words in [
            "unknown transaction type",
            "intrinsic gas too low",
            "insufficient gas for floor data gas cost",
            "exceeds block gas limit",
            "invalid sender",
            "txpool is full",
            "nonce too high",
            "NonceGap, Future nonce. Expected nonce: 5",
            "only replay-protected (EIP-155) transactions allowed over RPC",
            "transaction type not supported",
            "",
        ] {
            assert_eq!(read(words), None, "{words}");
        }
    }

    /// A row that another hides would never be met.
    #[test]
    fn every_phrase_is_read_as_its_rows_answer() {
        for (phrases, answer) in &WORDS {
            for phrase in *phrases {
                assert_eq!(phrase.to_lowercase(), **phrase);
                assert_eq!(read(phrase).as_ref(), Some(answer), "{phrase}");
            }
        }
    }
}
