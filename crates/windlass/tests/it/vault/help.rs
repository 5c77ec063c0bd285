//! What can be typed.

use crate::binary::Folder;

const VERBS: [&str; 17] = [
    "deploy",
    "show",
    "pause",
    "unpause",
    "set-limit",
    "deny",
    "allow",
    "cancel",
    "grant",
    "revoke",
    "set-risk-signer",
    "revoke-risk-signer",
    "begin-admin",
    "accept-admin",
    "sweep",
    "emergency-withdraw",
    "execute",
];

#[test]
fn every_verb_has_help() {
    let folder = Folder::new();
    insta::assert_snapshot!("vault_help", folder.run(&["vault", "--help"]).stdout);
    for verb in VERBS {
        let ran = folder.run(&["vault", verb, "--help"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{verb}");
        insta::assert_snapshot!(format!("vault_help_{}", verb.replace('-', "_")), ran.stdout);
    }
}
