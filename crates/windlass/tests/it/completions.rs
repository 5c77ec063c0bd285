//! `windlass completions`

use crate::binary::Folder;

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = folder.run(&["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["doctor", "devnet", "log-format"] {
            assert!(ran.stdout.contains(word), "{shell} does not know {word}");
        }
    }
}
