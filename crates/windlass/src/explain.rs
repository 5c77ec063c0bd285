//! The page of each error code, embedded from `docs/errors`.

use windlass_core::code::Code;

macro_rules! pages {
    ($($name:ident: $code:literal,)*) => {
        /// The page that explains a code. A code without a page does not compile.
        pub(crate) const fn page(code: Code) -> &'static str {
            match code {
                $(Code::$name => include_str!(concat!("../../../docs/errors/", $code, ".md")),)*
            }
        }
    };
}

pages! {
    ConfigUnreadable: "W0001",
    ConfigInvalid: "W0002",
    SecretMissing: "W0003",
    ConfigExists: "W0004",
    DatabaseUnreachable: "W0101",
    DatabaseAuth: "W0102",
    DatabaseBusy: "W0103",
    DiskFull: "W0104",
    DatabaseReadOnly: "W0105",
    DatabaseCorrupt: "W0106",
    DatabaseNewer: "W0107",
    LeaseLost: "W0108",
    CursorConflict: "W0109",
    EventConflict: "W0110",
    JobMissing: "W0111",
    DatabaseOlder: "W0112",
    CommitUnsettled: "W0113",
    DatabaseForeign: "W0114",
    TableConflict: "W0115",
    StatementRefused: "W0116",
    DatabaseFailed: "W0199",
    RpcUnreachable: "W0201",
    RpcWrongChain: "W0202",
    RpcFailed: "W0203",
    RpcLimited: "W0204",
    ContractMissing: "W0205",
    FinalityViolated: "W0206",
    ChainBehind: "W0207",
    EndpointFalse: "W0208",
    ListenFailed: "W0301",
    StoreDiffers: "W0401",
    RangesMissing: "W0402",
    IndexChanged: "W0403",
    IndexMissing: "W0404",
    ChainUnattended: "W0405",
    TakenBack: "W0406",
    BlocksInDoubt: "W0407",
    EventUnseen: "W0408",
    TaskFailed: "W0501",
    DevnetFailed: "W0502",
    PayMissing: "W0601",
    PayoutMissing: "W0602",
    PayoutRefused: "W0603",
    PayoutKeyReused: "W0604",
    AccessDenied: "W0605",
    SignerUnusable: "W0606",
    VaultUnusable: "W0607",
    SignerHalted: "W0608",
    AuditBroken: "W0609",
    VaultDiffers: "W0610",
    TransactionFailed: "W0611",
    RowForged: "W0612",
    SignerShortOfGas: "W0613",
    VaultUnattended: "W0614",
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTIONS: [&str; 3] = ["\n## What happened\n\n", "\n## Why\n\n", "\n## What to do\n\n"];

    #[test]
    fn every_page_bears_its_code_and_says_what_why_and_what_to_do() {
        for code in Code::ALL {
            let page = page(*code);
            assert!(page.starts_with(&format!("# {code}: ")), "{code} has the wrong page");
            let places: Vec<Option<usize>> = SECTIONS.iter().map(|section| page.find(section)).collect();
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{code}: {places:?}");
        }
    }

    #[test]
    fn no_page_is_without_a_code() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
        let mut pages: Vec<String> = std::fs::read_dir(folder)
            .expect("the pages")
            .map(|entry| entry.expect("a page").file_name().to_string_lossy().into_owned())
            .collect();
        pages.sort();
        let codes: Vec<String> = Code::ALL.iter().map(|code| format!("{code}.md")).collect();
        assert_eq!(pages, codes);
    }
}
