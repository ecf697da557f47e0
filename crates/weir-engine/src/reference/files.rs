//! Files that are no captures: Parquet, Arrow, JSON, CSV and words, as DataFusion or this crate reads them.

use std::any::Any;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::{FileReader, StreamReader};
use datafusion::catalog::TableProvider;
use datafusion::execution::options::{ArrowReadOptions, JsonReadOptions, ParquetReadOptions};
use datafusion::prelude::DataFrame;
use weir_capture::{ArchiveMember, Object, uncompressed_name};
use weir_functions::{Error, ErrorKind};
use weir_tables::Location;

use super::Resolver;
use super::file_kind::{FileKind, file_name, is_json_array, is_packed};
use crate::delimited::{Delimited, Dialect};
use crate::hive::Partitions;
use crate::json_array::JsonArrays;

impl Resolver<'_> {
    /// Files that are no captures, with the columns that the names of their folders are.
    pub(super) async fn foreign(
        &self,
        kind: FileKind,
        paths: &[Location],
    ) -> Result<Arc<dyn TableProvider>, Error> {
        let (partitions, note) = Partitions::of(paths);
        self.scan_report.add_notes(note.into_iter().collect());
        let whole = self.files_of(kind, paths, None).await?;
        let schema = whole.schema();
        let Some(partitions) = partitions.and_then(|found| found.beside(&schema)) else {
            return Ok(whole);
        };
        let mut tables = Vec::new();
        for files in partitions.files() {
            let any: &dyn Any = whole.as_ref();
            // The properties detected over all files apply to each partition.
            tables.push(match any.downcast_ref::<Delimited>() {
                Some(whole) => Arc::new(whole.of(files)),
                None => match any.downcast_ref::<JsonArrays>() {
                    Some(whole) => Arc::new(whole.of(files)) as Arc<dyn TableProvider>,
                    None => self.files_of(kind, files, Some(&schema)).await?,
                },
            });
        }
        partitions
            .table(self.context, tables)
            .map_err(|error| Error::from_datafusion(ErrorKind::Source, error, &[]))
    }

    /// Files that are no captures, with these columns, or with those that they have.
    async fn files_of(
        &self,
        kind: FileKind,
        paths: &[Location],
        columns: Option<&SchemaRef>,
    ) -> Result<Arc<dyn TableProvider>, Error> {
        let names = self.names_of(kind, paths)?;
        let extension = paths.first().map(file_name).unwrap_or_default();
        let extension = uncompressed_name(&extension);
        let extension = extension
            .rfind('.')
            .map(|dot| extension[dot..].to_owned())
            .unwrap_or_default();
        let context = self.context;
        let frame = match kind {
            FileKind::Parquet => {
                let options = ParquetReadOptions {
                    file_extension: &extension,
                    schema: columns.map(AsRef::as_ref),
                    ..Default::default()
                };
                context.read_parquet(names, options).await
            }
            FileKind::Arrow => {
                // DataFusion's own inference from a file that is not local takes the padding of aligned ones for a
                // schema.
                let schema = match (columns, paths.first()) {
                    (Some(columns), _) => Some(Arc::clone(columns)),
                    (None, Some(Location::Object(object))) => Some(arrow_schema(object.as_ref())?),
                    (None, _) => None,
                };
                let options = ArrowReadOptions {
                    file_extension: &extension,
                    schema: schema.as_deref(),
                    ..Default::default()
                };
                context.read_arrow(names, options).await
            }
            FileKind::Json => {
                let is_sampled = self.sample_bytes_max.is_some();
                for path in paths {
                    if is_sampled || is_packed(path)? || is_json_array(path)? {
                        let table = JsonArrays::open(paths, self.sample_bytes_max)
                            .map_err(|message| Error::new(ErrorKind::Source, message))?;
                        return Ok(Arc::new(table));
                    }
                }
                let mut options = JsonReadOptions::default()
                    .file_extension(&extension)
                    // Inference reads all rows, since a column that is null in the first rows can have a type in later ones.
                    .schema_infer_max_records(usize::MAX);
                options.schema = columns.map(AsRef::as_ref);
                context.read_json(names, options).await
            }
            FileKind::Csv | FileKind::Words | FileKind::Capture => {
                let dialect = match extension.to_ascii_lowercase().as_str() {
                    _ if kind == FileKind::Words => Dialect::Words,
                    ".tsv" | ".tab" => Dialect::Tsv,
                    _ => Dialect::Csv,
                };
                let table = Delimited::open(paths, dialect, self.sample_bytes_max)
                    .map_err(|message| Error::new(ErrorKind::Source, message))?;
                return Ok(Arc::new(table));
            }
        };
        frame
            .map(DataFrame::into_view)
            .map_err(|error| Error::from_datafusion(ErrorKind::Source, error, &[]))
    }

    /// The names of these files for DataFusion. Text within archives and stores is read from the objects themselves.
    fn names_of(&self, kind: FileKind, paths: &[Location]) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for path in paths {
            if let Location::Object(object) = path {
                if object.as_any().is::<ArchiveMember>() {
                    if matches!(kind, FileKind::Parquet | FileKind::Arrow) {
                        let message =
                            format!("{path}: Parquet and Arrow are not read within archives");
                        return Err(
                            Error::new(ErrorKind::Source, message).with_hint("unzip it first")
                        );
                    }
                    continue;
                }
                // Text is read from the object itself.
                if !matches!(kind, FileKind::Csv | FileKind::Words) {
                    names.push(self.remote.url_of(object.as_ref())?);
                }
                continue;
            }
            let Some(name) = path.as_file().and_then(Path::to_str) else {
                let message = format!("{path}: the name is not UTF-8");
                let hint = "captures may have any name; link or rename other files";
                return Err(Error::new(ErrorKind::Source, message).with_hint(hint));
            };
            names.push(name.to_owned());
        }
        Ok(names)
    }
}

/// The columns of an Arrow file or stream.
fn arrow_schema(object: &dyn Object) -> Result<SchemaRef, Error> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(ErrorKind::Source, format!("{}: {error}", object.name()))
    };
    if object.is_ranged() {
        let bytes = object.open(0..0).map_err(|error| failed(&error))?;
        if let Ok(reader) = FileReader::try_new(BufReader::new(bytes), None) {
            return Ok(reader.schema());
        }
    }
    let bytes = object.open(0..u64::MAX).map_err(|error| failed(&error))?;
    let reader = StreamReader::try_new(bytes, None).map_err(|error| failed(&error))?;
    Ok(reader.schema())
}
