//! What no single value of `[pay]` can say: whether its chain, its signers and the tokens
//! of its amounts are there.

use std::collections::BTreeMap;

use super::{MAX_SIGNERS, Pay};
use crate::config::Config;
use crate::config::origin::Origin;
use crate::config::problem::{Problem, nearest};
use crate::config::signer::SignerName;
use crate::config::tree::{self, Table};
use crate::pay::rules;
use crate::pay::tokens::Tokens;

/// Checks the section against all others.
pub(crate) fn check(config: &Config, table: &Table) -> Vec<Problem> {
    let Some(pay) = &config.pay else { return Vec::new() };
    let mut found = Found { table, problems: Vec::new() };
    found.signers(config, pay);
    found.tokens(pay);
    match config.chain.get(&pay.chain) {
        None => {
            let known: Vec<String> = config.chain.keys().map(ToString::to_string).collect();
            let near = nearest(&pay.chain.to_string(), known.iter().map(String::as_str)).map(str::to_owned);
            let hint = near.map_or_else(
                || format!("add `[chain.{}]`", pay.chain),
                |near| format!("did you mean `{near}`?"),
            );
            found.add("chain", format!("there is no `[chain.{}]`", pay.chain), Some(hint));
        }
        Some(chain) => {
            let (_, troubles) = rules::read(pay, &Tokens::new(chain.id, pay));
            troubles.into_iter().for_each(|trouble| found.add(&trouble.key, trouble.message, None));
        }
    }
    found.problems
}

struct Found<'t> {
    table: &'t Table,
    problems: Vec<Problem>,
}

impl Found<'_> {
    fn signers(&mut self, config: &Config, pay: &Pay) {
        if pay.signers.len() > MAX_SIGNERS {
            self.add("signers", format!("there may be {MAX_SIGNERS}, not {}", pay.signers.len()), None);
        }
        for (place, name) in pay.signers.iter().enumerate() {
            let key = format!("signers[{place}]");
            self.signer(config, pay, &key, name);
            if pay.signers[..place].contains(name) {
                self.add(&key, format!("`{name}` is named twice"), None);
            }
        }
        let Some(risk) = &pay.risk_signer else { return };
        self.signer(config, pay, "risk_signer", risk);
        if pay.signers.contains(risk) {
            let hint = "two keys protect only as long as they are two".to_owned();
            self.add("risk_signer", format!("`{risk}` sends payouts already"), Some(hint));
        }
    }

    fn signer(&mut self, config: &Config, pay: &Pay, key: &str, name: &SignerName) {
        let Some(signer) = config.signer.get(name) else {
            let hint = format!("add `[signer.{name}]`, or name one that is there");
            return self.add(key, format!("there is no `[signer.{name}]`"), Some(hint));
        };
        if signer.development_key.is_some() && !pay.development {
            let hint = "use a keystore or KMS; `development = true` allows it where nothing has a price";
            self.add(key, format!("`{name}` is a bare private key"), Some(hint.to_owned()));
        }
    }

    fn tokens(&mut self, pay: &Pay) {
        let mut addresses = BTreeMap::new();
        for (place, (symbol, token)) in pay.token.iter().enumerate() {
            let key = format!("token.{symbol}");
            match token.read() {
                Ok((contract, _)) => match (addresses.insert(contract, symbol), contract) {
                    (Some(other), Some(_)) => {
                        self.add(&key, format!("`{other}` has this address already"), None);
                    }
                    (Some(other), None) => {
                        self.add(&key, format!("`{other}` is the chain's own coin already"), None);
                    }
                    (None, _) => {}
                },
                Err((message, hint)) => self.add(&key, message.to_owned(), Some(hint.to_owned())),
            }
            if let Some(other) = pay.token.keys().take(place).find(|other| other.is(&symbol.to_string())) {
                self.add(&key, format!("`{other}` is the same symbol in other letters"), None);
            }
        }
    }

    fn add(&mut self, key: &str, message: String, hint: Option<String>) {
        let plain = key.split('[').next().unwrap_or_default();
        let path: Vec<String> = std::iter::once("pay").chain(plain.split('.')).map(str::to_owned).collect();
        let origin = tree::nearest(self.table, &path).map_or(Origin::Default, |node| node.origin.clone());
        self.problems.push(Problem::new(origin, format!("pay.{key}"), message).hint(hint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{file, typed};

    fn problems(text: &str) -> Vec<String> {
        let table = file::parse(std::path::Path::new("w.toml"), text).table;
        let (config, problems) = typed::read(table.clone());
        assert_eq!(problems, []);
        check(&config, &table).iter().map(ToString::to_string).collect()
    }

    const SOUND: &str = "[chain.c]\nid = 1\nrpc = ['http://h']\n[signer.ops]\nkeystore = 'k'\npassphrase = 'env:P'\n[signer.dev]\ndevelopment_key = 'env:D'\n[pay]\nchain = 'c'\nvault = '0x1111111111111111111111111111111111111111'\naudit_key = 'env:K'\n";

    #[test]
    fn what_is_named_has_to_be_there() {
        assert_eq!(problems(&format!("{SOUND}signers = ['ops']")), Vec::<String>::new());
        let told = problems(&format!(
            "{}signers = ['ops', 'opz', 'ops', 'dev']\nrisk_signer = 'ops'\n[pay.risk]\nmax_per_request = '5 USDC'",
            SOUND.replace("chain = 'c'", "chain = 'd'")
        ));
        assert_eq!(
            told,
            [
                "w.toml:13: pay.signers[1]: there is no `[signer.opz]` (hint: add `[signer.opz]`, or name one that is there)",
                "w.toml:13: pay.signers[2]: `ops` is named twice",
                "w.toml:13: pay.signers[3]: `dev` is a bare private key (hint: use a keystore or KMS; `development = true` allows it where nothing has a price)",
                "w.toml:14: pay.risk_signer: `ops` sends payouts already (hint: two keys protect only as long as they are two)",
                "w.toml:10: pay.chain: there is no `[chain.d]` (hint: did you mean `c`?)",
            ]
        );
        let told = problems(&format!("{SOUND}[pay.risk]\nmax_per_request = '5 USDC'"));
        assert!(told[0].starts_with("w.toml:14: pay.risk.max_per_request: no token `USDC`"), "{told:?}");
    }

    #[test]
    fn a_token_has_one_name_and_one_address() {
        let token = |symbol: &str, digit: &str| {
            format!("[pay.token.{symbol}]\naddress = '0x{}'\ndecimals = 6\n", digit.repeat(40))
        };
        let told =
            problems(&format!("{SOUND}{}{}{}", token("USDC", "2"), token("usdc", "3"), token("DAI", "2")));
        assert_eq!(told.len(), 2, "{told:?}");
    }

    #[test]
    fn a_token_has_a_contract_or_is_the_chains_coin() {
        let coin = |symbol: &str, more: &str| format!("[pay.token.{symbol}]\n{more}\n");
        assert_eq!(problems(&format!("{SOUND}{}", coin("POL", "native = true"))), Vec::<String>::new());
        let sound = format!("{SOUND}{}", coin("POL", "native = true\ndecimals = 8"));
        assert_eq!(problems(&sound), Vec::<String>::new());
        let address = format!("address = '0x{}'", "2".repeat(40));
        let zero = format!("address = '0x{}'\ndecimals = 18", "0".repeat(40));
        for (section, told) in [
            (
                format!("native = true\n{address}"),
                "`address` and `native` exclude each other (hint: leave out",
            ),
            (
                "decimals = 6".to_owned(),
                "`address` is missing (hint: name the token's contract, or write `native = true`",
            ),
            (zero, "no token is at the zero address (hint: for the chain's own coin, write `native = true`"),
            (address, "`decimals` is missing (hint: write how many decimals"),
        ] {
            let found = problems(&format!("{SOUND}{}", coin("X", &section)));
            assert_eq!(found.len(), 1, "{section}: {found:?}");
            assert!(found[0].starts_with(&format!("w.toml:13: pay.token.X: {told}")), "{section}: {found:?}");
        }
        let found =
            problems(&format!("{SOUND}{}{}", coin("MATIC", "native = true"), coin("POL", "native = true")));
        assert_eq!(found, ["w.toml:15: pay.token.POL: `MATIC` is the chain's own coin already"]);
    }
}
