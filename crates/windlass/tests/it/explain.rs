//! `windlass explain`

use crate::binary::Folder;

#[test]
fn a_code_is_explained_in_any_case() {
    let folder = Folder::new();
    let page = folder.run(&["explain", "W0102"]);
    insta::assert_snapshot!("explain_W0102", page.shown());
    assert_eq!(folder.run(&["explain", "w0102"]).stdout, page.stdout);
}

#[test]
fn without_a_code_all_are_listed() {
    insta::assert_snapshot!("explain_all", Folder::new().run(&["explain"]).shown());
}

#[test]
fn an_unknown_code_is_wrong_usage() {
    insta::assert_snapshot!("explain_unknown", Folder::new().run(&["explain", "W9999"]).shown());
}
