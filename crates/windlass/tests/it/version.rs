//! `windlass version`

use crate::binary::Folder;

#[test]
fn version_for_people_and_for_machines() {
    let folder = Folder::new();
    let hide = |text: &str| text.replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
    insta::assert_snapshot!("version", hide(&folder.run(&["version"]).shown()));
    insta::assert_snapshot!("version_json", hide(&folder.run(&["version", "--json"]).shown()));
}
