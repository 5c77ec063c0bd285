//! A reader of server-sent events.

use std::time::Duration;

use serde_json::Value;

use crate::app::App;

/// A stream that does not go on for so long has failed its test.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Reader {
    response: reqwest::Response,
    unread: String,
    /// What a browser would send to go on.
    pub(super) last_id: String,
}

/// What stands between two empty lines.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) data: Value,
    pub(super) comments: usize,
}

impl Frame {
    /// The row's block and log index.
    pub(super) fn place(&self) -> (u64, u32) {
        let number = |name: &str| self.data["row"][name].as_u64().unwrap_or_else(|| panic!("{self:?}"));
        (number("block_number"), number("log_index") as u32)
    }
}

/// An id without what tells messages of one number apart.
pub(super) fn plain(id: &str) -> String {
    let position = |text: &str| {
        let parts: Vec<&str> = text.splitn(3, ':').collect();
        format!("{}:{}:{}", parts[0], parts[1].split('.').next().unwrap(), parts[2])
    };
    id.split(',').map(position).collect::<Vec<_>>().join(",")
}

impl Reader {
    pub(super) async fn open(app: &App, path: &str) -> Self {
        Self::resume(app, path, "").await
    }

    pub(super) async fn resume(app: &App, path: &str, id: &str) -> Self {
        let mut request = app.client.get(app.url(path));
        if !id.is_empty() {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{path} {id}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut reader = Self { response, unread: String::new(), last_id: id.to_owned() };
        // The first frame says where the stream is, so that a resume misses nothing.
        if id.is_empty() && !path.contains("start=oldest") {
            assert!(!reader.frame().await.expect("a frame").id.is_empty());
        }
        reader
    }

    /// The next frame; `None` at the end.
    pub(super) async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some((frame, rest)) = self.unread.split_once("\n\n") {
                let frame = read(frame);
                self.unread = rest.to_owned();
                if !frame.id.is_empty() {
                    self.last_id.clone_from(&frame.id);
                }
                return Some(frame);
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("news in time");
            self.unread.push_str(std::str::from_utf8(&chunk.ok().flatten()?).unwrap());
        }
    }

    /// The next event that a browser would tell its page of.
    pub(super) async fn event(&mut self) -> Frame {
        let told = async {
            loop {
                let frame = self.frame().await.expect("an event");
                if !frame.data.is_null() {
                    return frame;
                }
            }
        };
        // A stream that only shows that it lives has failed too.
        tokio::time::timeout(PATIENCE, told).await.expect("an event in time")
    }
}

fn read(text: &str) -> Frame {
    let mut frame = Frame::default();
    for line in text.lines() {
        match line.split_once(':') {
            Some(("", _)) => frame.comments += 1,
            Some(("event", kind)) => frame.kind = kind.trim().to_owned(),
            Some(("id", id)) => frame.id = id.trim().to_owned(),
            Some(("data", data)) => frame.data = serde_json::from_str(data).unwrap(),
            _ => panic!("a line of no event: {line}"),
        }
    }
    frame
}
