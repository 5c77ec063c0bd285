//! The commented example, with settings filled in.

use crate::config::EXAMPLE;

/// A configuration file in the making.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    lines: Vec<String>,
}

impl Template {
    /// The example.
    pub(crate) fn example() -> Self {
        Self { lines: EXAMPLE.lines().map(str::to_owned).collect() }
    }

    /// Gives the example's chain another name.
    pub(crate) fn name_chain(&mut self, name: &str) {
        for line in self.lines.iter_mut().filter(|line| *line == "[chain.local]") {
            *line = format!("[chain.{name}]");
        }
    }

    /// Sets a key that the example has in a section, commented out or not.
    pub(crate) fn set(&mut self, section: &str, key: &str, value: impl Into<toml::Value>) {
        let header = format!("[{section}]");
        let start = self.lines.iter().position(|line| *line == header).map_or(self.lines.len(), |at| at + 1);
        let is_key = |line: &str| {
            let line = line.strip_prefix("# ").unwrap_or(line);
            line.strip_prefix(key).is_some_and(|rest| rest.starts_with(" = "))
        };
        let below = self.lines[start..].iter_mut().take_while(|line| !line.starts_with('['));
        // The last one: sentences that show the key stand above it.
        if let Some(line) = below.filter(|line| is_key(line)).last() {
            *line = format!("{key} = {}", value.into());
        }
    }

    /// Puts a section where the example has its index.
    pub(crate) fn index(&mut self, section: &str) {
        let is_example = |line: &String| line.starts_with('#') && !line.starts_with("# ") && *line != "#";
        let Some(start) = self.lines.iter().position(|line| line.starts_with("#[index.")) else { return };
        let end = self.lines.iter().rposition(is_example).unwrap_or(start);
        self.lines.splice(start..=end, section.lines().map(str::to_owned));
    }

    /// The file.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn settings_take_the_place_of_what_was_commented_out() {
        let mut template = Template::example();
        template.name_chain("polygon");
        template.set("chain.polygon", "batch_size", 10);
        template.set("chain.polygon", "rpc", vec!["env:RPC_URL"]);
        template.set("api", "listen", "127.0.0.1:8000");
        template.set("database", "url", "sqlite:x.db");
        template.index("[index.a]\nchain = 'polygon'\ncontract = '0x1111111111111111111111111111111111111111'\nstart = 1\nevents = ['E()']\n");
        let text = template.text();
        let config: Config = toml::from_str(&text).expect("a configuration");
        let (name, chain) = config.chain.first_key_value().expect("a chain");
        assert_eq!((name.to_string().as_str(), chain.batch_size.get()), ("polygon", 10));
        assert_eq!(config.api.listen.0.port(), 8_000);
        assert_eq!(config.index.len(), 1);
        assert!(
            text.contains("\nurl = \"sqlite:x.db\"\n") && text.contains("keep it out of this file"),
            "{text}"
        );
        assert!(!text.contains("index.fees") && text.contains("[log]"), "{text}");
    }

    #[test]
    fn nothing_set_is_the_example() {
        assert_eq!(Template::example().text(), EXAMPLE);
    }
}
