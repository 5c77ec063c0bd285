//! What was announced and waits for its time: whether it is the same that is asked for, and
//! whether its time has come.

use windlass_core::chain::Address;
use windlass_core::code::Code;
use windlass_core::payout::vault::admin::ask::{self, Moment, Window};
use windlass_core::reader::BlockTag;

use super::act;
use super::site::{Vault, instant};
use crate::failure::Failure;
use crate::output::{self, human};

/// What can be announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Announcement {
    /// Another risk signer.
    RiskSigner,
    /// Another admin.
    Admin,
    /// A withdrawal of a token.
    Withdrawal(Address),
}

impl Announcement {
    const fn noun(self) -> &'static str {
        match self {
            Self::RiskSigner => "change of the risk signer",
            Self::Admin => "change of the admin",
            Self::Withdrawal(_) => "emergency withdrawal",
        }
    }

    /// The command that announces it.
    const fn begin(self) -> &'static str {
        match self {
            Self::RiskSigner => "windlass vault set-risk-signer",
            Self::Admin => "windlass vault begin-admin",
            Self::Withdrawal(_) => "windlass vault emergency-withdraw",
        }
    }

    /// The command that carries it out.
    pub(crate) const fn end(self) -> &'static str {
        match self {
            Self::RiskSigner => "windlass vault execute risk-signer",
            Self::Admin => "windlass vault accept-admin",
            Self::Withdrawal(_) => "windlass vault execute emergency-withdrawal",
        }
    }

    /// What is announced, in words, and when its time is; `None` where nothing is.
    async fn pending(self, vault: &Vault) -> Result<Option<(String, Window)>, Failure> {
        let latest = BlockTag::Latest;
        Ok(match self {
            Self::RiskSigner => vault
                .ask(&ask::pending_risk_signer(), latest)
                .await?
                .map(|(signer, window)| (signer.to_string(), window)),
            Self::Admin => vault
                .ask(&ask::pending_admin(), latest)
                .await?
                .map(|(admin, window)| (admin.to_string(), window)),
            Self::Withdrawal(token) => vault
                .ask(&ask::pending_withdrawal(token), latest)
                .await?
                .map(|(amount, window)| (amount.to_string(), window)),
        })
    }

    /// Refuses to announce what is announced already: that would begin the delay anew, which
    /// nobody wants who only lost the answer.
    pub(crate) async fn refuse_again(self, vault: &Vault, wanted: &str) -> Result<(), Failure> {
        let Some((what, window)) = self.pending(vault).await? else { return Ok(()) };
        if what != wanted || window.at(vault.now_s().await?) == Moment::TooLate {
            return Ok(());
        }
        let message = format!(
            "this {} is announced already, and can be carried out from {} on",
            self.noun(),
            instant(window.ready_at_s)
        );
        Err(Failure::refused(message).hint(format_args!(
            "carry it out then: {}; --again announces it anew, and the delay begins again",
            self.end()
        )))
    }

    /// Refuses what is not announced, too early or too late, and says when it is time.
    pub(crate) async fn require_ready(self, vault: &Vault) -> Result<(), Failure> {
        let noun = self.noun();
        let Some((_, window)) = self.pending(vault).await? else {
            let message = format!("no {noun} is announced");
            return Err(Failure::coded(Code::VaultUnusable, message).hint(format_args!(
                "it may be done already: `windlass vault show` tells; to announce one: {}",
                self.begin()
            )));
        };
        let now_s = vault.now_s().await?;
        match window.at(now_s) {
            Moment::Open => Ok(()),
            Moment::TooEarly => {
                let left = human::seconds(window.ready_at_s - now_s);
                let message = format!(
                    "it is too early: the {noun} can be carried out from {} on, {left} after the newest block",
                    instant(window.ready_at_s)
                );
                let hint = match u64::try_from(act::now().as_ms() / 1_000) {
                    Ok(clock_s) if clock_s >= window.ready_at_s => {
                        "the clock is past it, and the chain's newest block is not: wait for another block"
                            .to_owned()
                    }
                    _ => format!("come back then, and not later than {}", instant(window.expires_at_s)),
                };
                Err(Failure::coded(Code::VaultUnusable, message).hint(hint))
            }
            Moment::TooLate => {
                let message = format!(
                    "it is too late: the {noun} could be carried out until {}",
                    instant(window.expires_at_s)
                );
                Err(Failure::coded(Code::VaultUnusable, message)
                    .hint(format_args!("announce it again: {}", self.begin())))
            }
        }
    }

    /// Says when what was just announced can be carried out.
    pub(crate) async fn say_when(self, vault: &Vault) -> Result<(), Failure> {
        if let Some((_, window)) = self.pending(vault).await? {
            output::note(&format!(
                "it can be carried out from {} to {}: {}",
                instant(window.ready_at_s),
                instant(window.expires_at_s),
                self.end()
            ));
        }
        Ok(())
    }
}
