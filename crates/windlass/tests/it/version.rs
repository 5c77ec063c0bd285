//! `windlass version`

use crate::binary::Folder;

#[test]
fn version_for_people_and_for_machines() {
    let folder = Folder::new();
    let has_kms = folder.run(&["version", "--json"]).shown().contains("\"aws-kms\"");
    assert_eq!(has_kms, cfg!(feature = "aws-kms"), "it lists what is built in");
    let hide = |text: &str| {
        text.replace(env!("CARGO_PKG_VERSION"), "[VERSION]")
            .replace(", aws-kms", "")
            .replace(",\n    \"aws-kms\"", "")
    };
    insta::assert_snapshot!("version", hide(&folder.run(&["version"]).shown()));
    insta::assert_snapshot!("version_json", hide(&folder.run(&["version", "--json"]).shown()));
}
