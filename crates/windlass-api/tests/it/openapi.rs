//! The description of the API.

use serde_json::Value;

use crate::app::App;
use crate::database::Kind;

#[tokio::test]
async fn the_description_is_served_and_names_every_path() {
    let app = App::spawn(Kind::Sqlite).await;
    let (status, text) = app.text("/openapi.json").await;
    assert_eq!(status, 200);
    insta::assert_snapshot!("openapi", text);
    let described: Value = serde_json::from_str(&text).unwrap();
    for (path, methods) in described["paths"].as_object().unwrap() {
        // No path is described that is not there: the answer is the handler's, not the fallback's.
        let concrete = path.replace("{index}", "none").replace("{event}", "none").replace("{id}", "none");
        if methods.get("get").is_some() && path != "/api/v1/stream" {
            let (_, text) = app.text(&concrete).await;
            assert!(!text.contains("see /openapi.json"), "{path}: {text}");
        }
    }
}
