//! The admin's calls against the artifact that the binary carries, and everything read back.

use alloy_dyn_abi::{DynSolValue, FunctionExt, JsonAbiExt};
use alloy_json_abi::JsonAbi;
use alloy_sol_types::{SolError, SolEvent, SolEventInterface, SolValue};
use serde::Deserialize;

use super::ask::{Moment, Window};
use super::deploy::{Deployment, DeploymentError};
use super::event::AdminEvent;
use super::*;
use crate::chain::{BlockRef, ChainId};
use crate::event::{LogEvent, Topics};
use crate::payout::request::VaultRef;
use crate::payout::vault::abi::VaultAdmin::{self as vault, VaultAdminErrors, VaultAdminEvents};
use crate::payout::vault::answer::VaultAnswerError;
use crate::payout::vault::refusal::RefusalKind;

const ARTIFACT: &str = include_str!("../../../../../../contracts/artifacts/SettlementVault.json");

#[derive(Deserialize)]
struct Artifact {
    abi: JsonAbi,
    bytecode: Bytes,
}

fn artifact() -> Artifact {
    serde_json::from_str(ARTIFACT).expect("an artifact")
}

/// One of each.
fn calls() -> Vec<AdminCall> {
    let account = Address::repeat_byte(1);
    let (token, amount) = (Address::repeat_byte(2), U256::from(77));
    let payout = VaultPayout { request_id: B256::repeat_byte(3), token, to: account, amount };
    let limits = (U256::from(5), U256::from(6));
    vec![
        AdminCall::Pause,
        AdminCall::Unpause,
        AdminCall::SetToken { token, enabled: true, payout_limit: limits.0, day_limit: limits.1 },
        AdminCall::Deny(account),
        AdminCall::Allow(account),
        AdminCall::CancelRequest(payout),
        AdminCall::GrantRole(VaultRole::Operator, account),
        AdminCall::RevokeRole(VaultRole::Guardian, account),
        AdminCall::ScheduleRiskSigner(account),
        AdminCall::CancelRiskSigner,
        AdminCall::ApplyRiskSigner,
        AdminCall::RevokeRiskSigner,
        AdminCall::ScheduleAdminTransfer(account),
        AdminCall::CancelAdminTransfer,
        AdminCall::AcceptAdminTransfer,
        AdminCall::Sweep { token, to: account, amount },
        AdminCall::ScheduleEmergencyWithdrawal { token, amount },
        AdminCall::CancelEmergencyWithdrawal(token),
        AdminCall::ExecuteEmergencyWithdrawal(token),
    ]
}

fn shown(value: &DynSolValue) -> String {
    match value {
        DynSolValue::Address(address) => address.to_string(),
        DynSolValue::Bool(flag) => flag.to_string(),
        DynSolValue::FixedBytes(word, 32) => word.to_string(),
        DynSolValue::Uint(number, 256) => number.to_string(),
        other => panic!("no argument is {other:?}"),
    }
}

/// By the library's own reading of the artifact's ABI.
#[test]
fn every_call_says_what_the_artifact_reads() {
    let abi = artifact().abi;
    for call in calls() {
        let data = call.calldata();
        let found = abi.functions().find(|function| function.selector() == data[..4]);
        let function = found.unwrap_or_else(|| panic!("{call:?}"));
        assert_eq!(
            (function.signature().as_str(), function.name.as_str()),
            (call.signature(), call.function())
        );
        let values = function.abi_decode_input(&data[4..]).expect("arguments");
        let names = function.inputs.iter().map(|input| input.name.clone());
        let read: Vec<(String, String)> = names.zip(values.iter().map(shown)).collect();
        let told = call.arguments().into_iter().map(|(name, value)| (name.to_owned(), value.to_string()));
        assert_eq!(told.collect::<Vec<_>>(), read, "{call:?}");
        assert_eq!(AdminCall::read(&data), Ok(call));
    }
}

#[test]
fn what_is_no_such_call_is_refused() {
    let role = vault::grantRoleCall { role: admin_role(), account: Address::ZERO }.abi_encode();
    for (data, words) in [
        (role, "is no role to give"),
        (vault::adminCall {}.abi_encode(), "`admin()` only asks"),
        (vec![1, 2, 3, 4], "these bytes"),
        (vec![], "these bytes"),
    ] {
        let error = AdminCall::read(&data).expect_err("refused").to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn everything_declared_is_the_artifacts() {
    let abi = artifact().abi;
    for selector in Calls::SELECTORS {
        let signature = Calls::signature_by_selector(*selector).expect("known");
        let found = abi.functions().find(|function| function.selector() == *selector);
        assert_eq!(found.expect(signature).signature(), signature);
    }
    for selector in VaultAdminErrors::SELECTORS {
        let signature = VaultAdminErrors::signature_by_selector(*selector).expect("known");
        let found = abi.errors().find(|error| error.selector() == *selector);
        assert_eq!(found.expect(signature).signature(), signature);
    }
    for topic in event::topics() {
        assert!(abi.events().any(|event| event.selector() == topic), "{topic}");
    }
    assert_eq!(VaultAdminEvents::COUNT, event::topics().len());
    let code = artifact().bytecode;
    for id in VaultRole::ALL.map(VaultRole::id).into_iter().chain([admin_role()]) {
        assert!(code.windows(32).any(|window| window == id), "the code has it as a constant");
    }
}

/// Between them, payouts and the admin's calls know every error but those that nothing here can cause.
#[test]
fn every_error_is_known_to_one_of_the_two() {
    let nobodys = ["AccessControlBadConfirmation", "InvalidShortString", "StringTooLong"];
    for error in artifact().abi.errors() {
        let data = [error.selector().as_slice(), &vec![0; 32 * error.inputs.len()]].concat();
        let refusal = refusal::read(&data, "");
        assert_eq!(refusal.name != error.name, nobodys.contains(&error.name.as_str()), "{}", error.name);
    }
}

#[test]
fn answers_have_the_artifacts_types() {
    let abi = artifact().abi;
    let answers = |name: &str, values: &[DynSolValue]| {
        abi.function(name).expect("a function")[0].abi_encode_output(values).expect("its types")
    };
    let (account, number) = (Address::repeat_byte(4), |n: u64| DynSolValue::Uint(U256::from(n), 256));
    let window = Window { ready_at_s: 10, expires_at_s: 20 };
    let told = answers("pendingAdmin", &[account.into(), number(10), number(20)]);
    assert_eq!(ask::pending_admin().read(&told), Ok(Some((account, window))));
    let told = answers("pendingRiskSigner", &[Address::ZERO.into(), number(10), number(20)]);
    assert_eq!(ask::pending_risk_signer().read(&told), Ok(Some((Address::ZERO, window))));
    let told = answers("pendingEmergencyWithdrawal", &[number(7), number(10), number(20)]);
    assert_eq!(ask::pending_withdrawal(account).read(&told), Ok(Some((U256::from(7), window))));
    let told = answers("pendingEmergencyWithdrawal", &[number(0), number(0), number(0)]);
    assert_eq!(ask::pending_withdrawal(account).read(&told), Ok(None));
    assert_eq!(ask::admin().read(&answers("admin", &[account.into()])), Ok(account));
    assert_eq!(ask::treasury().read(&answers("TREASURY", &[account.into()])), Ok(account));
    assert_eq!(ask::delay_s().read(&answers("DELAY", &[number(3_600)])), Ok(3_600));
    let told = answers("hasRole", &[DynSolValue::Bool(true)]);
    assert_eq!(ask::has_role(admin_role(), account).read(&told), Ok(true));
    let rules = [true.into(), false.into(), number(1), number(2), number(3)];
    let told = answers("tokenPolicy", &[DynSolValue::Tuple(rules.to_vec())]);
    let policy = ask::token_policy(account).read(&told).expect("rules");
    assert_eq!((policy.enabled, policy.ever_enabled, policy.spent_today), (true, false, U256::from(3)));
    assert_eq!((policy.payout_limit, policy.day_limit), (U256::from(1), U256::from(2)));
    assert_eq!(ask::admin().read(&[]), Err(VaultAnswerError::NoVault));
    assert!(ask::delay_s().read(&U256::MAX.abi_encode()).is_err());
}

#[test]
fn a_window_has_two_ends() {
    let window = Window { ready_at_s: 10, expires_at_s: 20 };
    let moments = [9, 10, 20, 21].map(|second| window.at(second));
    assert_eq!(moments, [Moment::TooEarly, Moment::Open, Moment::Open, Moment::TooLate]);
}

#[test]
fn refusals_say_their_name_and_who() {
    let (account, other) = (Address::repeat_byte(1), Address::repeat_byte(2));
    let read = |data: Vec<u8>| refusal::read(&data, "execution reverted");
    let error = vault::AccessControlUnauthorizedAccount { account, neededRole: admin_role() };
    let lacking = read(error.abi_encode());
    assert_eq!(
        lacking.words,
        format!("AccessControlUnauthorizedAccount: {account} lacks the vault's ADMIN_ROLE")
    );
    assert_eq!(lacking.kind, RefusalKind::Lasting);
    let early = read(vault::OperationNotReady { readyAt: U256::from(99) }.abi_encode());
    assert_eq!(early.words, "OperationNotReady: it can be carried out from 99 on");
    assert_eq!(early.kind, RefusalKind::Passing);
    let nobody = read(vault::NotPendingAdmin { caller: account, pendingAdmin: Address::ZERO }.abi_encode());
    assert!(nobody.words.ends_with(&format!("no admin is announced, and so not {account}")), "{nobody}");
    let wrong = read(vault::NotPendingAdmin { caller: account, pendingAdmin: other }.abi_encode());
    assert!(wrong.words.ends_with(&format!("the announced admin is {other}, not {account}")), "{wrong}");
    assert_eq!(read(vec![]).kind, RefusalKind::Unexplained);
    let limit = read(vault::LimitTooPrecise { limit: U256::from(5) }.abi_encode());
    assert!(limit.words.starts_with("LimitTooPrecise: 5 has"), "{limit}");
}

#[test]
fn events_are_read_from_the_vault_alone() {
    let vault_ref =
        VaultRef { chain: ChainId::new(31_337).expect("an id"), address: Address::repeat_byte(9) };
    let account = Address::repeat_byte(1);
    let log = |event: &dyn Fn() -> alloy_primitives::LogData| {
        let data = event();
        LogEvent {
            chain: vault_ref.chain,
            block: BlockRef { number: 1, hash: B256::ZERO },
            log_index: 0,
            timestamp_s: 0,
            transaction_hash: B256::ZERO,
            address: vault_ref.address,
            topics: Topics::new(data.topics()).expect("few enough"),
            data: data.data,
        }
    };
    let sender = Address::ZERO;
    let granted = |role| log(&move || vault::RoleGranted { role, account, sender }.encode_log_data());
    let guardian = granted(VaultRole::Guardian.id());
    let got = AdminEvent::Role { role: VaultRole::Guardian, account, has: true };
    assert_eq!(AdminEvent::read(vault_ref, &guardian), Ok(Some(got)));
    assert!(event::filter(vault_ref.address).matches(&guardian));
    assert_eq!(AdminEvent::read(vault_ref, &granted(admin_role())), Ok(None), "it is asked for");
    let role = VaultRole::Operator.id();
    let lost = log(&move || vault::RoleRevoked { role, account, sender }.encode_log_data());
    let gone = AdminEvent::Role { role: VaultRole::Operator, account, has: false };
    assert_eq!(AdminEvent::read(vault_ref, &lost), Ok(Some(gone)));
    let denied = log(&move || vault::DenylistChanged { account, denied: true, by: sender }.encode_log_data());
    assert_eq!(AdminEvent::read(vault_ref, &denied), Ok(Some(AdminEvent::Denied { account, denied: true })));
    let policy = log(&move || {
        vault::TokenPolicyChanged {
            token: account,
            enabled: true,
            payoutLimit: U256::ZERO,
            dayLimit: U256::ZERO,
        }
        .encode_log_data()
    });
    assert_eq!(AdminEvent::read(vault_ref, &policy), Ok(Some(AdminEvent::Token(account))));
    let forged = LogEvent { address: account, ..guardian.clone() };
    assert_eq!(AdminEvent::read(vault_ref, &forged), Ok(None));
    let cut = LogEvent { data: Bytes::new(), ..policy };
    assert!(AdminEvent::read(vault_ref, &cut).is_err());
}

#[test]
fn a_deployment_is_code_and_arguments() {
    let artifact = artifact();
    let account = Address::repeat_byte;
    let deployment = Deployment {
        admin: account(1),
        operator: account(2),
        guardian: None,
        treasury: account(3),
        risk_signer: Some(account(4)),
        delay_s: 3_600,
    };
    assert_eq!(deployment.validate(), Ok(()));
    let init_code = deployment.init_code(&artifact.bytecode);
    let behind = init_code.strip_prefix(artifact.bytecode.as_ref()).expect("the code first");
    let constructor = artifact.abi.constructor().expect("a constructor");
    let values = constructor.abi_decode_input(behind).expect("arguments");
    let names = constructor.inputs.iter().map(|input| input.name.clone());
    let read: Vec<(String, String)> = names.zip(values.iter().map(shown)).collect();
    let told = deployment.arguments().map(|(name, value)| (name.to_owned(), value));
    assert_eq!(told.to_vec(), read);
    for delay_s in [3_599, 30 * 86_400 + 1] {
        let wrong = Deployment { delay_s, ..deployment };
        assert_eq!(wrong.validate(), Err(DeploymentError::Delay(delay_s)));
    }
    let nobodys = Deployment { treasury: Address::ZERO, ..deployment };
    assert_eq!(nobodys.validate(), Err(DeploymentError::Zero("treasury")));
}
