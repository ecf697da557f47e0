//! The page, and the description of the interface.

use axum::Json;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;
use serde_json::{Value, json};

use super::refusal::Refusal;

/// The files of the page, which are part of the program.
#[derive(RustEmbed)]
#[folder = "web/"]
#[allow_missing = true]
struct Assets;

/// A file of the page.
pub(super) async fn asset(method: Method, uri: Uri) -> Response {
    let path = match uri.path() {
        "/" => "index.html",
        path => path.strip_prefix("/assets/").unwrap_or_default(),
    };
    let is_read = matches!(method, Method::GET | Method::HEAD);
    let Some(file) = Assets::get(path).filter(|_| is_read) else {
        let message = format!("there is nothing at {}", uri.path());
        return Refusal::new(StatusCode::NOT_FOUND, "path", message).into_response();
    };
    let kind = match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json" | "map") => "application/json",
        Some("woff2") => "font/woff2",
        Some("png") => "image/png",
        _ => "text/plain; charset=utf-8",
    };
    (
        [(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-cache")],
        file.data.into_owned(),
    )
        .into_response()
}

/// The interface in OpenAPI's terms.
pub(super) async fn description() -> Json<Value> {
    let operation = |summary: &str| json!({"summary": summary, "responses": {"200": {"description": "done"}, "default": {"description": "an error: kind, message, hint, line and column"}}});
    Json(json!({
        "openapi": "3.1.0",
        "info": {"title": "weir", "version": env!("CARGO_PKG_VERSION")},
        "paths": {
            "/query": {"post": operation("Answers SQL as json, ndjson, csv, parquet or arrow")},
            "/query/{name}": {
                "get": operation("Progress of a query"),
                "delete": operation("Ends a query"),
            },
            "/files": {"get": operation("The files below the roots")},
            "/fields": {"get": operation("The columns of captures, with their meaning")},
            "/functions": {"get": operation("The functions of SQL")},
            "/tables": {"get": operation("The tables of captures")},
            "/live": {"get": operation("The interface whose packets are read as `live`, or null")},
            "/ladder": {"get": operation("The messages of a call: path, call_id, format json, svg or html")},
            "/call.pcap": {"get": operation("The packets of a call's messages: path, call_id")},
            "/packet": {"get": operation("The columns of a packet, and its bytes in hex: path, number")},
            "/stream": {"get": operation("The data of a flow, piece by piece: path, flow")},
            "/study/websocket": {"get": operation("The size of the messages with each setting of permessage-deflate: path")},
            "/study/h248": {"get": operation("The size and time of the messages in every encoding: path")},
            "/upload": {"post": operation("Keeps a capture until the server ends")},
            "/health": {"get": operation("Reports that the server is running")},
            "/metrics": {"get": operation("Counters for Prometheus")},
        },
    }))
}
