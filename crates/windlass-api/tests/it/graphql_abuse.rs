//! Questions in GraphQL that are small to send and large to answer.

use serde_json::{Value, json};

use crate::app::App;
use crate::database::Kind;
use crate::rows::{fees_table, store_fees};

async fn app() -> App {
    let app = App::spawn(Kind::Sqlite).await;
    let table = fees_table(&*app.store).await;
    store_fees(&*app.store, &table, &[(1, 0), (2, 0)]).await;
    app
}

/// What the first error of the answer says.
async fn refused(app: &App, query: &str) -> String {
    let answer = app.graphql(query, json!({})).await;
    let told = answer["errors"][0]["message"].as_str();
    told.unwrap_or_else(|| panic!("{} was answered", &query[..query.len().min(200)])).to_owned()
}

/// Whoever reads nested text step by step inside itself runs out of stack, and a process
/// that does so is gone.
#[tokio::test]
async fn what_is_nested_is_counted_before_it_is_read() {
    let app = app().await;
    for (begin, inner, end, rest) in [
        ("{ ", "a{", "", ""),
        ("{ ", "a{ a ", "}", "}"),
        ("{ ", "...{ a ", "}", "}"),
        ("{ ", "... on Query { a ", "}", "}"),
        ("{ indexes(x: ", "[", "", ""),
        ("{ indexes(x: ", "[", "]", ") { name } }"),
        ("{ indexes(x: ", "{y:", "}", ") { name } }"),
        ("query($x: ", "[", "Int]", ") { __typename }"),
        ("query($x: Int = ", "[", "]", ") { __typename }"),
        ("query($x: Int = ", "{y:", "}", ") { __typename }"),
        ("{ __typename @include(if: ", "[", "]", ") }"),
    ] {
        let most = 60_000 / (inner.len() + end.len());
        for depth in [100, 1_000, 2_000, 4_000, 8_000, most] {
            let query =
                format!("{begin}{}1{}{rest}", inner.repeat(depth.min(most)), end.repeat(depth.min(most)));
            refused(&app, &query).await;
        }
    }
    assert_eq!(app.text("/healthz").await.0, 200);
    // What only looks like nesting is none.
    let text = "[".repeat(1_000);
    for query in [
        format!("{{ __typename }} # {text}"),
        format!(r#"{{ a: __type(name: "{text}") {{ name }} }}"#),
        format!(r#"{{ a: __type(name: "\"{text}") {{ name }} }}"#),
        format!(r#"{{ a: __type(name: """{text} \""" " {text}""") {{ name }} }}"#),
    ] {
        let answer = app.graphql(&query, json!({})).await;
        assert_eq!(answer["errors"], Value::Null, "{query}");
    }
}

/// Fragments that each use the next one twice double at every step.
#[tokio::test]
async fn fragments_do_not_grow_without_end() {
    let app = app().await;
    let steps: String =
        (0..30).map(|step| format!("fragment f{step} on Query {{ ...f{0} ...f{0} }} ", step + 1)).collect();
    let told = refused(&app, &format!("{{ ...f0 }} {steps} fragment f30 on Query {{ __typename }}")).await;
    assert!(told.contains("fragments"), "{told}");
    let told = refused(&app, "{ ...f } fragment f on Query { ...f ...f }").await;
    assert!(told.contains("itself"), "{told}");
    let told =
        refused(&app, "{ ...f } fragment f on Query { ...g } fragment g on Query { __typename ...f }").await;
    assert!(told.contains("itself"), "{told}");
    let unused = "{ __typename } fragment f on Query { ...f ...f }";
    refused(&app, unused).await;
    let used = r#"{ ...q } fragment q on Query { events(index: "fees", event: "FeesCollected") { ...c } }
        fragment c on EventConnection { edges { ...e } } fragment e on EventEdge { cursor }"#;
    assert_eq!(app.graphql(used, json!({})).await["data"]["events"]["edges"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn many_questions_in_one_are_too_many() {
    let app = app().await;
    let many = |field: &str, count: usize| {
        let fields: String = (0..count).map(|number| format!("a{number}: {field} ")).collect();
        format!("{{ {fields} }}")
    };
    let of = r#"(index: "fees", event: "FeesCollected""#;
    for (field, most) in [
        ("indexes { name tables { columns { name } } }".to_owned(), 9),
        (format!("events{of}, first: 1) {{ edges {{ cursor }} }}"), 90),
        (format!("count{of})"), 9),
        (format!(r#"sum{of}, column: "lifiFee") {{ groups {{ sum }} }}"#), 9),
    ] {
        let answer = app.graphql(&many(&field, most), json!({})).await;
        assert_eq!(answer["errors"], Value::Null, "{field}");
        for count in [most + 20, 400] {
            let told = refused(&app, &many(&field, count)).await;
            assert!(told.contains("complex"), "{count} times {field}: {told}");
        }
    }
    let directives = "@include(if: true) ".repeat(2_000);
    refused(&app, &format!("{{ __typename {directives} }}")).await;
}

/// The schema can be looked up, but not through itself over and over.
#[tokio::test]
async fn looking_the_schema_up_is_bounded() {
    let app = app().await;
    let nested = (0..4).fold("name".to_owned(), |inner, _| {
        format!("a: fields {{ type {{ {inner} ofType {{ {inner} }} }} }}")
    });
    let many: String =
        (0..1_000).map(|n| format!("a{n}: __schema {{ types {{ name fields {{ name }} }} }} ")).collect();
    for query in [format!("{{ __schema {{ types {{ {nested} }} }} }}"), format!("{{ {many} }}")] {
        let told = refused(&app, &query).await;
        assert!(told.contains("schema"), "{told}");
    }
}

#[tokio::test]
async fn a_body_holds_one_question() {
    let app = app().await;
    let one = json!({"query": "{ __typename }"});
    for body in
        [json!([one]), json!([one, one]), json!([]), json!("{ __typename }"), json!(["{ __typename }"])]
    {
        let (status, text) = app.post("/graphql", "application/json", body.to_string()).await;
        assert_eq!(status, 400, "{body}: {text}");
        assert!(text.contains("invalid_body"), "{text}");
    }
    let deep = format!(
        r#"{{"query": "{{ __typename }}", "variables": {{"x": {}1{}}}}}"#,
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    let (status, text) = app.post("/graphql", "application/json", deep).await;
    assert_eq!(status, 400, "{text}");
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""] {
        let (status, text) = app.post("/graphql", kind, one.to_string()).await;
        assert_eq!(status, 400, "{kind}: a page could send this without being asked: {text}");
    }
}
