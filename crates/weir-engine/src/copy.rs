//! `COPY (…) TO 'x.pcap'`: the packets of a query become a capture again, or its rows another file.
//!
//! For a capture, the query's tables of packets get one more column, which holds each record whole, and the query is
//! reduced to that column: all else that `SELECT *` would decode is not decoded.
//!
//! Rows go into files by the encoder of the program that embeds the engine ([`RowEncoder`]), so that its files are
//! the same however they are written; DataFusion's own writers write where there is no such encoder, and files with options
//! of theirs (those of CSV with a name such as `format.null_value`).
//!
//! A file takes its name when it is whole (weir-file).

use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, BinaryViewArray, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::parser::{CopyToSource, CopyToStatement};
use datafusion::sql::sqlparser::ast::{SetExpr, TableFactor, Value};
use flate2::Compression;
use flate2::write::GzEncoder;
use weir_anonymize::Anonymizer;
use weir_capture::{WriteError, Writer, is_remote, redacted};
use weir_file::{NewFile, NewFolder};
use weir_functions::{Error, ErrorKind};
use weir_sql::Statement;
use weir_tables::{RECORD_COLUMN, kept_record};

use crate::answer::Answer;
use crate::folder_writer::{FileForm, FolderWriter};
use crate::hive;
use crate::remote::{NewOutput, Remote};
use crate::root::Root;
use crate::row_encoder::{CsvForm, EncodeError, NullText, RowEncoder, RowFormat};

/// The use that a `COPY` makes of the answer to its query.
#[derive(Debug)]
pub(crate) enum Copy {
    Capture(Box<CaptureCopy>),
    Rows(RowsCopy),
    Folder(FolderCopy),
    Staged(StagedCopy),
}

impl Copy {
    /// Does it; the number of rows is the answer.
    pub(crate) async fn run(self, answer: Answer) -> Result<RecordBatch, Error> {
        match self {
            Self::Capture(copy) => copy.run(answer).await,
            Self::Rows(copy) => copy.run(answer).await,
            Self::Folder(copy) => copy.run(answer).await,
            Self::Staged(copy) => copy.run(answer).await,
        }
    }
}

/// The options of a `COPY`.
pub(crate) struct CopyOptions<'o> {
    pub(crate) encoder: Option<&'o Arc<dyn RowEncoder>>,
    /// Captures that are there may be replaced.
    pub(crate) overwrite: bool,
    pub(crate) remote: &'o Remote,
    /// The folders that statements are confined to.
    pub(crate) root: Option<&'o Root>,
}

impl CopyOptions<'_> {
    /// The file, or object, at a target.
    fn output(&self, target: &str) -> Result<NewOutput, Error> {
        let Some(root) = self.root else {
            return NewOutput::create(target, self.remote);
        };
        let opened = root.open_target(target);
        let file = opened.and_then(|(folder, name)| NewFile::create_in(folder, &name));
        file.map(NewOutput::from)
            .map_err(|error| unmade(Path::new(target), &error))
    }
}

/// Prepares the target of a `COPY`, and leaves the part of the statement that is to be planned. Nothing has been read yet, and no
/// file has its name yet.
///
/// # Errors
/// When an option is not one of the file's format, when a capture would be lost, or the file cannot be made.
pub(crate) fn prepared(
    mut statement: Statement,
    options: &CopyOptions<'_>,
) -> Result<(Statement, Option<Copy>), Error> {
    let is_explain = statement.is_explain();
    let Some(copy) = statement.copy_mut() else {
        return Ok((statement, None));
    };
    // `COPY 'x.pcap' TO …`: a table is all of it.
    if let CopyToSource::Relation(name) = &copy.source
        && let Some(query) = Statement::query_of(&format!("SELECT * FROM {name}"))
    {
        copy.source = CopyToSource::Query(query);
    }
    let overwrite = take_overwrite(copy)? || options.overwrite;
    let anonymizer = take_anonymizer(copy)?;
    let path = PathBuf::from(&copy.target);
    if !overwrite && !is_explain {
        let hint = "use OPTIONS (overwrite true) or --overwrite to replace it, or another name to keep both";
        options.remote.guard(&copy.target, hint)?;
    }
    if let Some(mut copy) = CaptureCopy::of(copy, is_explain, options)? {
        copy.anonymizer = anonymizer;
        return Ok((
            statement.without_copy(),
            Some(Copy::Capture(Box::new(copy))),
        ));
    }
    if anonymizer.is_some() {
        let error = Error::new(ErrorKind::Plan, "only captures are anonymized");
        return Err(error.with_hint("for rows, SELECT anonymize_ip(ip.src, 'secret')"));
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    look_at_format(copy, extension)?;
    for key in &mut copy.partitioned_by {
        *key = without_quotes(key);
    }
    let (format, is_encoded) = format_of(copy, extension);
    let is_file =
        is_device(&path) || extension.is_some() && !copy.target.ends_with('/') && !path.is_dir();
    let is_one = is_file && copy.partitioned_by.is_empty();
    let is_ours = !is_explain && is_encoded;
    if let (Some(encoder), Some(format), true) = (options.encoder, format, is_ours)
        && (is_one || !is_remote(&copy.target))
        && matches!(copy.source, CopyToSource::Query(_))
    {
        let copy = match is_one {
            true => Copy::Rows(RowsCopy::of(copy, format, encoder, options)?),
            false => Copy::Folder(FolderCopy::of(copy, format, encoder, options)?),
        };
        return Ok((statement.without_copy(), Some(copy)));
    }
    name_partitions(copy);
    if let Some(format) = format {
        name_format(copy, format, is_explain)?;
    }
    if is_explain {
        return Ok((statement, None));
    }
    if is_remote(&copy.target) {
        return Err(several_into_store(&copy.target));
    }
    let own = || format.map(|format| format.extension().to_owned());
    let file_extension = match is_file {
        true => extension.map(str::to_owned).or_else(own),
        false => None,
    };
    let staged = staged(copy, path, file_extension.as_deref(), options.root)?;
    Ok((statement, Some(Copy::Staged(staged))))
}

/// Whether something is written to that is neither a file nor a folder: a pipe, a device, the standard output.
fn is_device(path: &Path) -> bool {
    let is_other = |kind: std::fs::Metadata| !kind.is_file() && !kind.is_dir();
    path.starts_with("/dev/") || path.metadata().is_ok_and(is_other)
}

/// Refuses a target without a format, or of one that rows are not written in.
fn look_at_format(copy: &CopyToStatement, extension: Option<&str>) -> Result<(), Error> {
    if copy.target.is_empty() {
        return Err(Error::new(ErrorKind::Plan, "COPY … TO '' names no file")
            .with_hint("COPY (SELECT …) TO 'x.csv', or TO 'folder/' (FORMAT csv)"));
    }
    if is_remote(&copy.target) {
        return Ok(());
    }
    match copy.stored_as.as_deref().or(extension) {
        None => Err(without_format(&copy.target)),
        Some(word) if RowFormat::of(word).is_none() => Err(no_format(word)),
        Some(_) => Ok(()),
    }
}

/// The format of the rows, and whether the encoder has all options of the statement.
fn format_of(copy: &CopyToStatement, extension: Option<&str>) -> (Option<RowFormat>, bool) {
    let word = copy.stored_as.as_deref().or(extension);
    let format = word.and_then(RowFormat::of);
    match (format, csv_form(&copy.options)) {
        (Some(RowFormat::Csv(_)), Some(form)) => (Some(RowFormat::Csv(form)), true),
        _ => (format, copy.options.is_empty()),
    }
}

/// What a file of CSV looks like by the options of a statement; `None` where one is DataFusion's alone, or wrong, or stands there twice.
fn csv_form(options: &[(String, Value)]) -> Option<CsvForm> {
    let mut form = CsvForm::default();
    let mut seen = HashSet::new();
    for (key, value) in options {
        let key = key.to_ascii_lowercase();
        let value = match value {
            Value::Number(number, _) => number.clone(),
            value => value.clone().into_string()?,
        };
        let name = key.strip_prefix("format.").unwrap_or(&key);
        if !seen.insert(name.to_owned()) {
            return None;
        }
        match name {
            "delimiter" => form.delimiter = delimiter(&value)?,
            "has_header" => form.has_header = is_on(&value)?,
            // These have the names that PostgreSQL and DuckDB give them.
            _ if name != key => return None,
            "quote" => form.quote = quote(&value)?,
            "force_quote" if value == "*" => form.quotes_all = true,
            "null_value" => form.null = NullText::of(&value)?,
            _ => return None,
        }
    }
    let marks = [form.delimiter, form.quote, b'\n', b'\r'];
    let is_apart = form
        .null
        .as_str()
        .bytes()
        .all(|byte| !marks.contains(&byte));
    (is_apart && form.delimiter != form.quote).then_some(form)
}

fn is_on(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Some(true),
        "false" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// The character of an option QUOTE.
fn quote(text: &str) -> Option<u8> {
    match text.as_bytes() {
        b"\"" => Some(b'"'),
        _ => delimiter(text).filter(u8::is_ascii_punctuation),
    }
}

/// The character of an option DELIMITER. Characters of numbers and times are left to DataFusion, since the encoder writes these without quotes.
fn delimiter(text: &str) -> Option<u8> {
    let &[byte] = text.as_bytes() else {
        return None;
    };
    let is_blank = matches!(byte, b' ' | b'\t');
    let is_free = byte.is_ascii_punctuation() && !b"\"+-.:".contains(&byte);
    (is_blank || is_free).then_some(byte)
}

/// A name behind PARTITIONED BY without its quotes, which the parser leaves there.
fn without_quotes(key: &str) -> String {
    let inner = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
    inner.map_or_else(|| key.to_owned(), |inner| inner.replace("\"\"", "\""))
}

/// Names the format for DataFusion, whose JSON has an object a line.
///
/// # Errors
/// When DataFusion has no such format, and the file would be written by it.
fn name_format(
    copy: &mut CopyToStatement,
    format: RowFormat,
    is_explain: bool,
) -> Result<(), Error> {
    let name = match format {
        RowFormat::NdJson => "JSON",
        RowFormat::Tsv if is_explain => "CSV",
        RowFormat::ArrowStream if is_explain => "ARROW",
        RowFormat::Tsv | RowFormat::ArrowStream => {
            let message = format!(
                "files of the format {} are written without OPTIONS",
                format.extension()
            );
            let hint = "csv, json, parquet and arrow have options: (FORMAT csv, DELIMITER ';')";
            return Err(Error::new(ErrorKind::Plan, message).with_hint(hint));
        }
        _ => return Ok(()),
    };
    copy.stored_as = Some(name.to_owned());
    Ok(())
}

/// Lets DataFusion write into a folder that takes the place of the target: one file with this extension, or a folder of files.
fn staged(
    copy: &mut CopyToStatement,
    path: PathBuf,
    extension: Option<&str>,
    root: Option<&Root>,
) -> Result<StagedCopy, Error> {
    let folder = new_folder(&copy.target, &path, extension, root)?;
    copy.target = folder.path().display().to_string();
    if extension.is_none() {
        copy.target.push('/');
    }
    Ok(StagedCopy { path, folder })
}

/// A folder that takes the place of the target: one file with this extension, or a folder of files.
fn new_folder(
    target: &str,
    path: &Path,
    extension: Option<&str>,
    root: Option<&Root>,
) -> Result<NewFolder, Error> {
    let name = match extension {
        Some(extension) => format!("out.{extension}"),
        None => "out".to_owned(),
    };
    // Where statements are confined to folders, that of the target is there.
    if extension.is_none()
        && root.is_none()
        && let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty())
    {
        std::fs::create_dir_all(above).map_err(|error| unmade(path, &error))?;
    }
    let folder = match root {
        None => NewFolder::create(path, &name),
        Some(root) => root
            .open_target(target)
            .and_then(|(folder, own)| NewFolder::create_in(folder, &own, &name)),
    };
    folder.map_err(|error| unmade(path, &error))
}

fn without_format(target: &str) -> Error {
    let shown = redacted(target);
    let message = format!("{shown}: its name does not determine the format");
    let hint = "write (FORMAT parquet) after it, or a name that ends in .parquet, .csv, .json, .arrow or .pcap";
    Error::new(ErrorKind::Plan, message).with_hint(hint)
}

fn no_format(word: &str) -> Error {
    let message = format!("files cannot be written in the format {word}");
    let hint = "write (FORMAT parquet), or csv, tsv, json, ndjson, arrow, arrows; packets are written as pcap or pcapng";
    Error::new(ErrorKind::Plan, message).with_hint(hint)
}

fn several_into_store(target: &str) -> Error {
    let message = format!("{target}: only a single named file can be written to a store");
    Error::new(ErrorKind::Plan, message).with_hint(
        "leave OPTIONS and PARTITIONED BY out, and let the name end in .parquet, .csv, .json, .ndjson, .arrow or .pcap",
    )
}

/// Converts the values that folders are named after to text, and NULL to its marker: DataFusion writes 0 for a missing number and
/// the empty text for a missing text, and has no names for addresses and times.
fn name_partitions(copy: &mut CopyToStatement) {
    let CopyToSource::Query(query) = &mut copy.source else {
        return;
    };
    let named = copy.partitioned_by.iter().map(|key| {
        let key = weir_sql::quote_ident(key);
        format!(
            "coalesce(CAST({key} AS VARCHAR), '{}') AS {key}",
            hive::NULL
        )
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        return;
    }
    let sql = format!(
        "SELECT * REPLACE ({}) FROM (SELECT 1) AS copied",
        named.join(", ")
    );
    let Some(mut around) = Statement::query_of(&sql) else {
        return;
    };
    if let SetExpr::Select(select) = around.body.as_mut()
        && let Some(TableFactor::Derived { subquery, .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
    {
        std::mem::swap(subquery, query);
        *query = around;
    }
}

/// `OPTIONS (overwrite true)`, which is not DataFusion's.
fn take_overwrite(copy: &mut CopyToStatement) -> Result<bool, Error> {
    let mut overwrite = false;
    let mut wrong = None;
    copy.options.retain(|(key, value)| {
        if !key.eq_ignore_ascii_case("overwrite") {
            return true;
        }
        match value.clone().into_string().as_deref() {
            Some(word) if word.eq_ignore_ascii_case("true") => overwrite = true,
            Some(word) if word.eq_ignore_ascii_case("false") => overwrite = false,
            _ => wrong = Some(value.to_string()),
        }
        false
    });
    match wrong {
        None => Ok(overwrite),
        Some(found) => Err(Error::new(
            ErrorKind::Plan,
            format!("overwrite must be true or false, not {found}"),
        )),
    }
}

/// `OPTIONS (anonymize 'secret')`, which is not DataFusion's either.
fn take_anonymizer(copy: &mut CopyToStatement) -> Result<Option<Anonymizer>, Error> {
    let mut key = None;
    copy.options.retain(|(name, value)| {
        let is_it = name.eq_ignore_ascii_case("anonymize");
        if is_it {
            key = Some(value.clone().into_string().unwrap_or_default());
        }
        !is_it
    });
    match key {
        None => Ok(None),
        Some(key) if key.is_empty() => Err(Error::new(
            ErrorKind::Plan,
            "anonymize takes a key: OPTIONS (anonymize 'secret')",
        )),
        Some(key) => Ok(Some(Anonymizer::new(key.as_bytes()))),
    }
}

fn unmade(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorKind::Source, format!("{}: {error}", path.display()))
}

/// The count that a `COPY` answers.
fn counted(count: u64) -> Result<RecordBatch, Error> {
    let count: ArrayRef = Arc::new(UInt64Array::from(vec![count]));
    RecordBatch::try_new(count_schema(), vec![count])
        .map_err(|error| Error::from_datafusion(ErrorKind::Run, error.into(), &[]))
}

/// The file that the rows of a query are written to.
#[derive(Debug)]
pub(crate) struct RowsCopy {
    /// The path in messages.
    path: String,
    file: NewOutput,
    format: RowFormat,
    encoder: Arc<dyn RowEncoder>,
}

impl RowsCopy {
    fn of(
        copy: &CopyToStatement,
        format: RowFormat,
        encoder: &Arc<dyn RowEncoder>,
        options: &CopyOptions<'_>,
    ) -> Result<Self, Error> {
        Ok(Self {
            path: redacted(&copy.target).into_owned(),
            file: options.output(&copy.target)?,
            format,
            encoder: Arc::clone(encoder),
        })
    }

    async fn run(self, mut answer: Answer) -> Result<RecordBatch, Error> {
        let Self {
            path,
            file,
            format,
            encoder,
        } = self;
        let failed = |error: EncodeError| Error::new(ErrorKind::Run, format!("{path}: {error}"));
        let io = |error: io::Error| failed(error.into());
        let file = Shared(Arc::new(Mutex::new(Some(BufWriter::new(file)))));
        let mut writer = encoder
            .start(format, answer.schema(), Box::new(file.clone()))
            .map_err(failed)?;
        let mut rows = 0_u64;
        while let Some(batch) = answer.next().await? {
            rows = rows.saturating_add(batch.num_rows() as u64);
            writer.write(&batch).map_err(failed)?;
        }
        writer.finish().map_err(failed)?;
        if let Some(file) = file.take() {
            let file = file.into_inner().map_err(|error| io(error.into_error()))?;
            file.keep().map_err(io)?;
        }
        counted(rows)
    }
}

/// The folder that the rows of a query are written to, in one file or in folders that are named after values.
#[derive(Debug)]
pub(crate) struct FolderCopy {
    form: FileForm,
    folder: NewFolder,
    keys: Vec<String>,
}

impl FolderCopy {
    fn of(
        copy: &CopyToStatement,
        format: RowFormat,
        encoder: &Arc<dyn RowEncoder>,
        options: &CopyOptions<'_>,
    ) -> Result<Self, Error> {
        let path = Path::new(&copy.target);
        Ok(Self {
            form: FileForm {
                format,
                encoder: Arc::clone(encoder),
                shown: copy.target.clone(),
            },
            folder: new_folder(&copy.target, path, None, options.root)?,
            keys: copy.partitioned_by.clone(),
        })
    }

    async fn run(self, mut answer: Answer) -> Result<RecordBatch, Error> {
        let Self { form, folder, keys } = self;
        let shown = form.shown.clone();
        let mut writer = FolderWriter::new(form, folder.path(), answer.schema(), &keys)?;
        let mut rows = 0_u64;
        while let Some(batch) = answer.next().await? {
            rows = rows.saturating_add(batch.num_rows() as u64);
            writer.write(&batch)?;
        }
        writer.finish()?;
        folder
            .keep()
            .map_err(|error| Error::new(ErrorKind::Run, format!("{shown}: {error}")))?;
        counted(rows)
    }
}

/// The file, held by the writer of its format and by the writer that gives it its name.
#[derive(Clone)]
struct Shared(Arc<Mutex<Option<BufWriter<NewOutput>>>>);

impl Shared {
    fn take(&self) -> Option<BufWriter<NewOutput>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&mut BufWriter<NewOutput>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match file.as_mut() {
            Some(file) => work(file),
            None => Err(io::Error::other("the file has been closed")),
        }
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(Write::flush)
    }
}

/// The files that DataFusion writes, beside their final place.
#[derive(Debug)]
pub(crate) struct StagedCopy {
    path: PathBuf,
    folder: NewFolder,
}

impl StagedCopy {
    async fn run(self, mut answer: Answer) -> Result<RecordBatch, Error> {
        let mut rows = 0;
        while let Some(batch) = answer.next().await? {
            let counts = batch.columns().first();
            let counts = counts.and_then(|column| column.as_any().downcast_ref::<UInt64Array>());
            rows += counts.into_iter().flatten().flatten().sum::<u64>();
        }
        let path = self.path;
        self.folder
            .keep()
            .map_err(|error| Error::new(ErrorKind::Run, format!("{}: {error}", path.display())))?;
        counted(rows)
    }
}

/// The capture that the packets of a query are written to.
#[derive(Debug)]
pub(crate) struct CaptureCopy {
    /// The path in messages.
    path: String,
    format: Format,
    packing: Packing,
    /// Replaces addresses and blanks payloads.
    anonymizer: Option<Anonymizer>,
    /// `None` for what is only explained.
    file: Option<NewOutput>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Pcap,
    Pcapng,
}

impl Format {
    fn of(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "pcap" => Some(Self::Pcap),
            "pcapng" => Some(Self::Pcapng),
            _ => None,
        }
    }
}

/// The compression of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// The compression by the extension of a name, and the name without it.
    fn of(path: &Path) -> (Self, PathBuf) {
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("gz") => (Self::Gzip, path.with_extension("")),
            Some("zst") => (Self::Zstd, path.with_extension("")),
            _ => (Self::Plain, path.to_owned()),
        }
    }
}

impl CaptureCopy {
    /// Returns whether the statement copies into a capture, by the format after STORED AS, or else by the end of the
    /// file's name.
    ///
    /// # Errors
    /// When an option is one that captures do not have.
    fn of(
        copy: &CopyToStatement,
        is_explain: bool,
        options: &CopyOptions<'_>,
    ) -> Result<Option<Self>, Error> {
        let path = Path::new(&copy.target);
        let (packing, unpacked) = Packing::of(path);
        let extension = unpacked
            .extension()
            .and_then(|extension| extension.to_str());
        let Some(format) = copy.stored_as.as_deref().or(extension).and_then(Format::of) else {
            return Ok(None);
        };
        let unfit = |what: &str| {
            Err(Error::new(
                ErrorKind::Plan,
                format!("a capture has no {what}"),
            ))
        };
        if !copy.partitioned_by.is_empty() {
            return unfit("partitions: leave PARTITIONED BY out");
        }
        if !copy.options.is_empty() {
            return unfit("options: leave OPTIONS out");
        }
        if matches!(copy.source, CopyToSource::Relation(_)) {
            return Err(Error::new(
                ErrorKind::Plan,
                "COPY … TO a capture takes a query, not a table",
            )
            .with_hint("COPY (SELECT * FROM 'a.pcap' WHERE …) TO 'x.pcap'"));
        }
        let file = match is_explain {
            true => None,
            false => Some(options.output(&copy.target)?),
        };
        Ok(Some(Self {
            path: redacted(&copy.target).into_owned(),
            format,
            packing,
            anonymizer: None,
            file,
        }))
    }

    /// Writes the records that `answer` gives; the number of them is the answer.
    async fn run(mut self, mut answer: Answer) -> Result<RecordBatch, Error> {
        let Some(mut file) = self.file.take() else {
            return counted(0);
        };
        let unwritten = |error: io::Error| self.failed(error.into());
        let written = match self.packing {
            Packing::Plain => self.write(&mut file, &mut answer).await?,
            Packing::Gzip => {
                let mut packed = GzEncoder::new(&mut file, Compression::default());
                let written = self.write(&mut packed, &mut answer).await?;
                packed.finish().map_err(unwritten)?;
                written
            }
            Packing::Zstd => {
                let mut packed = zstd::Encoder::new(&mut file, 0).map_err(unwritten)?;
                let written = self.write(&mut packed, &mut answer).await?;
                packed.finish().map_err(unwritten)?;
                written
            }
        };
        file.keep().map_err(unwritten)?;
        counted(written)
    }

    /// Writes the records of the answer; gives their number.
    async fn write(&self, out: &mut impl Write, answer: &mut Answer) -> Result<u64, Error> {
        let mut writer = match self.format {
            Format::Pcap => Writer::pcap(out),
            Format::Pcapng => Writer::pcapng(out),
        };
        let mut data = Vec::new();
        while let Some(batch) = answer.next().await? {
            let records = batch.columns().first().and_then(as_bytes);
            for packed in records.into_iter().flatten().flatten() {
                let mut record = kept_record(packed)
                    .ok_or_else(|| Error::new(ErrorKind::Run, "a record is no longer complete"))?;
                if let Some(anonymizer) = &self.anonymizer {
                    data.clear();
                    data.extend_from_slice(record.data);
                    if !anonymizer.packet(record.link_type, &mut data) {
                        let link = record.link_type;
                        let message = format!(
                            "packets of link type {link} are not anonymized: nothing would be left of them"
                        );
                        return Err(self.refused(&message));
                    }
                    record.data = &data;
                    record.interface_name = None;
                    record.comment = None;
                }
                writer.write(&record).map_err(|error| self.failed(error))?;
            }
        }
        let written = writer.records();
        writer.finish().map_err(|error| self.failed(error))?;
        Ok(written)
    }

    fn refused(&self, message: &str) -> Error {
        let error = Error::new(ErrorKind::Run, format!("{}: {message}", self.path));
        error.with_hint("Ethernet, raw IP, PPP, BSD loopback and Linux cooked captures are")
    }

    fn failed(&self, error: WriteError) -> Error {
        let message = Error::new(ErrorKind::Run, format!("{}: {error}", self.path));
        match error.hint() {
            Some(hint) => message.with_hint(hint),
            None => message,
        }
    }
}

fn as_bytes(column: &ArrayRef) -> Option<&BinaryViewArray> {
    column.as_any().downcast_ref()
}

/// The schema of the answer of a `COPY`, which equals DataFusion's own.
pub(crate) fn count_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new(
        "count",
        DataType::UInt64,
        false,
    )]))
}

/// Reduces the query to its records.
///
/// # Errors
/// When its rows have none, or several.
pub(crate) fn records_only(plan: LogicalPlan) -> Result<LogicalPlan, Error> {
    match plan {
        LogicalPlan::Explain(mut explain) => {
            explain.plan = Arc::new(records_only(explain.plan.as_ref().clone())?);
            return Ok(LogicalPlan::Explain(explain));
        }
        LogicalPlan::Analyze(mut analyze) => {
            analyze.input = Arc::new(records_only(analyze.input.as_ref().clone())?);
            return Ok(LogicalPlan::Analyze(analyze));
        }
        _ => {}
    }
    let columns: Vec<Column> = plan
        .schema()
        .columns()
        .into_iter()
        .filter(|column| column.name == RECORD_COLUMN)
        .collect();
    let column = match columns.as_slice() {
        [column] => Expr::Column(column.clone()),
        [] => {
            return Err(Error::new(
                ErrorKind::Plan,
                "there are no packets in the rows of the query to write as a capture",
            )
            .with_hint(
                "SELECT * keeps them: COPY (SELECT * FROM 'a.pcap' WHERE …) TO 'x.pcap'; groups have none",
            ));
        }
        several => {
            return Err(Error::new(
                ErrorKind::Plan,
                format!("each row of the query has {} packets", several.len()),
            )
            .with_hint("select those of one table: COPY (SELECT a.* FROM 'a.pcap' AS a JOIN …) TO 'x.pcap'"));
        }
    };
    LogicalPlanBuilder::from(plan)
        .project([column])
        .and_then(LogicalPlanBuilder::build)
        .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))
}
