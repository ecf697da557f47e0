//! The lists of files, fields, functions and tables; and uploads of captures from the page.

use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use axum::body::{Body, HttpBody as _};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use chrono::{DateTime, SecondsFormat, Utc};
use futures::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};
use weir_engine::sql_type;
use weir_tables::{EXTRACTIONS, Origin, Table};

use super::refusal::Refusal;
use crate::function_lists::FunctionLists;
use crate::listener::Pending;
use crate::shared::Shared;

/// The files below the roots.
pub(super) async fn files(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let files = shared.files.all();
    let files = files.iter().map(|file| {
        json!({
            "name": file.name,
            "path": file.path,
            "size": file.size,
            "modified": rfc3339(file.modified),
            "kind": file.kind.word(),
        })
    });
    Json(files.collect())
}

/// The interface whose packets are `live`; null when there is none.
pub(super) async fn live(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let feed = shared.options.engine.feed.as_ref();
    Json(json!({ "interface": feed.map(|feed| feed.name()) }))
}

fn rfc3339(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// The parts that a list should have.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    r#match: Option<String>,
}

/// A column of a table of captures.
struct ListedColumn {
    /// Its name and its meaning in lower case.
    searched: [String; 2],
    /// Its entry of the list in JSON.
    entry: String,
}

/// The columns of the tables of captures, which are the same for every request.
static COLUMNS: LazyLock<Vec<ListedColumn>> = LazyLock::new(|| {
    let extracted = EXTRACTIONS
        .iter()
        .map(|extraction| (extraction.name, Table::extracted(extraction)));
    let mut columns = Vec::new();
    for (name, table) in std::iter::once(("packets", Table::packets())).chain(extracted) {
        for column in table.columns() {
            let is_own =
                table.extraction().is_none() || !matches!(column.origin, Origin::Packet(..));
            if is_own {
                let entry = json!({
                    "name": &*column.name,
                    "type": sql_type(column.kind),
                    "table": name,
                    "meaning": &*column.doc,
                });
                columns.push(ListedColumn {
                    searched: [column.name.to_lowercase(), column.doc.to_lowercase()],
                    entry: entry.to_string(),
                });
            }
        }
    }
    columns
});

/// The columns of the tables of captures.
pub(super) async fn fields(Query(wanted): Query<Wanted>) -> impl IntoResponse {
    let wanted = wanted.r#match.unwrap_or_default().to_lowercase();
    let has = |column: &&ListedColumn| column.searched.iter().any(|text| text.contains(&wanted));
    let mut body = String::from("[");
    for column in COLUMNS.iter().filter(has) {
        if body.len() > 1 {
            body.push(',');
        }
        body.push_str(&column.entry);
    }
    body.push(']');
    ([(CONTENT_TYPE, "application/json")], body)
}

/// The lists of a server, which the first request for one of them makes.
fn function_lists(shared: &Shared) -> Result<&FunctionLists, Refusal> {
    if let Some(lists) = shared.function_lists.get() {
        return Ok(lists);
    }
    let lists = FunctionLists::new(&shared.engine_options(&Arc::default()))?;
    Ok(shared.function_lists.get_or_init(|| lists))
}

/// The functions of SQL.
pub(super) async fn functions(
    State(shared): State<Arc<Shared>>,
) -> Result<impl IntoResponse, Refusal> {
    let functions = function_lists(&shared)?.functions.clone();
    Ok(([(CONTENT_TYPE, "application/json")], functions))
}

/// The tables of captures.
pub(super) async fn tables(
    State(shared): State<Arc<Shared>>,
) -> Result<impl IntoResponse, Refusal> {
    let tables = function_lists(&shared)?.tables.clone();
    Ok(([(CONTENT_TYPE, "application/json")], tables))
}

/// The name of a file that is dropped into the page.
#[derive(Debug, Deserialize)]
pub(super) struct Dropped {
    name: String,
}

/// Keeps a capture until the server ends. It is written as it comes, and takes its name when it is whole.
pub(super) async fn upload(
    State(shared): State<Arc<Shared>>,
    Extension(pending): Extension<Pending>,
    Query(dropped): Query<Dropped>,
    body: Body,
) -> Result<Json<Value>, Refusal> {
    let bad = |message: String| Refusal::new(StatusCode::BAD_REQUEST, "path", message);
    let is_plain = |c: char| c.is_alphanumeric() || "._- ".contains(c);
    let name = dropped.name;
    if name.is_empty() || name.len() > 200 || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(bad(format!("{name:?} is not a plain file name")));
    }
    let failed = |error: &dyn std::fmt::Display| {
        Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "run",
            format!("{name}: {error}"),
        )
    };
    let uploads = shared.uploads()?;
    let folder = uploads.whole.path();
    let folder = folder.canonicalize().map_err(|error| failed(&error))?;
    let most = shared.options.limits.upload_bytes_max;
    let mut coming = Coming::new(&shared);
    // A body whose length is known is refused before it comes.
    if coming.with(body.size_hint().lower()) > most {
        return Err(too_large(most));
    }
    let mut file =
        tempfile::NamedTempFile::new_in(uploads.arriving.path()).map_err(|error| failed(&error))?;
    let _receiving = pending.activity().receiving();
    let mut pieces = body.into_data_stream();
    let mut looked_at = 0;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| bad(format!("{name}: {error}")))?;
        if coming.add(piece.len() as u64) > most {
            return Err(too_large(most));
        }
        // A client that sends very little does not keep its place by it.
        if coming.bytes - looked_at >= PROGRESS_BYTES {
            looked_at = coming.bytes;
            pending.activity().touch();
        }
        tokio::task::block_in_place(|| file.write_all(&piece)).map_err(|error| failed(&error))?;
    }
    let path = folder.join(&name);
    let size = {
        // One at a time takes its name: what it takes the place of is counted once.
        let mut sizes = uploads.sizes();
        if sizes.len() >= UPLOADS_MAX && !sizes.contains_key(&name) {
            let message = format!("at most {UPLOADS_MAX} uploaded captures are kept");
            return Err(Refusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "limit",
                message,
            ));
        }
        file.persist(&path).map_err(|error| failed(&error.error))?;
        let replaced = sizes.insert(name, coming.bytes);
        coming.keep(replaced.unwrap_or(0))
    };
    shared.files.forget();
    Ok(Json(json!({"path": path.to_string_lossy(), "size": size})))
}

/// The refusal of a capture that has more bytes than uploads may have.
fn too_large(most: u64) -> Refusal {
    let message = format!("uploaded captures may have {most} bytes in total: --max-upload");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "limit", message)
}

/// Captures that are kept.
const UPLOADS_MAX: usize = 1000;
/// Bytes of a file that have to come for its connection to keep its place from others.
const PROGRESS_BYTES: u64 = 256 << 10;

/// The bytes of an upload. They count towards the limit, with those of all uploads before and at the same time, until this is
/// dropped or, if the file is kept, until the end.
struct Coming {
    shared: Arc<Shared>,
    bytes: u64,
}

impl Coming {
    fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
            bytes: 0,
        }
    }

    /// Keeps the file, in place of one of so many bytes. Gives its size.
    fn keep(mut self, replaced: u64) -> u64 {
        let size = self.bytes;
        self.bytes = replaced;
        size
    }

    /// The bytes of all uploads, if so many more came.
    fn with(&self, bytes: u64) -> u64 {
        let before = self.shared.uploaded_bytes.load(Ordering::Relaxed);
        before.saturating_add(bytes)
    }

    /// Counts more bytes, and says how many there are in all.
    fn add(&mut self, bytes: u64) -> u64 {
        self.bytes = self.bytes.saturating_add(bytes);
        let before = self
            .shared
            .uploaded_bytes
            .fetch_add(bytes, Ordering::Relaxed);
        before.saturating_add(bytes)
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        let of_all = &self.shared.uploaded_bytes;
        of_all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::runtime::Handle;
    use tokio::sync::watch;

    use super::*;
    use crate::options::Options;

    /// Each request for the functions made an engine.
    #[tokio::test]
    async fn functions_are_listed_once() {
        let root = tempfile::tempdir().unwrap();
        let options = Options {
            roots: vec![root.path().to_path_buf()],
            ..Options::default()
        };
        let (_end, ending) = watch::channel(false);
        let shared = Shared::of_worker(options, Handle::current(), ending).unwrap();
        let first = function_lists(&shared).unwrap();
        let second = function_lists(&shared).unwrap();
        assert!(std::ptr::eq(first, second));
        let names = |list: &Bytes| -> Vec<String> {
            let list: Vec<Value> = serde_json::from_slice(list).unwrap();
            let names = list.iter().map(|entry| entry["name"].as_str().unwrap());
            names.map(str::to_owned).collect()
        };
        let (functions, tables) = (names(&first.functions), names(&first.tables));
        assert!(functions.contains(&"cidr_match".to_owned()));
        assert!(tables.contains(&"flows".to_owned()) && !functions.contains(&"flows".to_owned()));
    }
}
