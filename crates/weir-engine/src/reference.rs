//! References in FROM: paths, globs, lists and table functions become tables.

mod file_kind;
mod local;

use std::any::Any;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::compute::kernels::cast_utils::parse_interval_month_day_nano;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::ipc::reader::{FileReader, StreamReader};
use datafusion::catalog::TableProvider;
use datafusion::common::{ScalarValue, TableReference};
use datafusion::execution::options::{ArrowReadOptions, JsonReadOptions, ParquetReadOptions};
use datafusion::prelude::{DataFrame, SessionContext};
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart, TableFactor, Value,
    VisitorMut,
};
use weir_capture::{ArchiveMember, Object, is_remote, redacted, shown, uncompressed_name};
use weir_functions::similar::similar;
use weir_functions::{Error, ErrorKind};
use weir_layout::Layout;
use weir_packet::Options as DecodeOptions;
use weir_sql::Statement;
use weir_tables::{
    Compile, EXTRACTIONS, Extraction, Feed, Location, Setting, Settings, Source, Stop, Table,
    is_address,
};

use self::file_kind::{FileKind, is_json_array, is_packed, kind};
use crate::clf::ClfTable;
use crate::delimited::{Delimited, Dialect};
use crate::hive::Partitions;
use crate::json_array::JsonArrays;
use crate::remote::Remote;
use crate::root::Root;
use crate::scan::Reading;
use crate::scan_report::ScanReport;
use crate::table::CaptureTable;
use crate::window::nanoseconds;

/// The reference of a table factor of a statement.
#[derive(Clone, Debug, PartialEq)]
enum Reference {
    /// Files whose kind is found by content.
    Files(Vec<String>),
    /// `packets(…)`: captures, with how they are read.
    Packets(Vec<String>, Reads),
    /// `records(…, 'layout.toml')`.
    Records(Vec<String>, String, Reads),
    /// `clf(…)`: SIP logs with all their segments.
    Clf(Vec<String>),
    /// `sip(…)` and the like: what the packets of captures carry.
    Extracted(&'static Extraction, Vec<String>, Reads, Settings),
}

/// Named arguments of the table functions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Reads {
    merge: bool,
    sorted: bool,
    lateness: Option<Duration>,
    follow: bool,
    /// Packets that repeat one right before are left out.
    dedup: bool,
    /// The word `live` stands in place of paths: packets as they arrive.
    live: bool,
}

/// The table of packets as they arrive, and what stands for them among the arguments of a table function.
const LIVE: &str = "live";

/// Turns references into tables.
pub(crate) struct Resolver<'e> {
    pub(crate) context: &'e SessionContext,
    pub(crate) scan_report: &'e Arc<ScanReport>,
    pub(crate) decode: &'e DecodeOptions,
    pub(crate) merge: bool,
    pub(crate) compile: Compile,
    pub(crate) lateness: Option<Duration>,
    /// Tables of packets have each record whole, too: a capture is to be written.
    pub(crate) records: bool,
    /// Captures are read on as they grow.
    pub(crate) follow: bool,
    pub(crate) stop: &'e Stop,
    /// The folder of relative names, if it is not the process's own.
    pub(crate) folder: Option<&'e Path>,
    /// The source that `live` stands for.
    pub(crate) feed: Option<&'e Arc<dyn Feed>>,
    /// The folder that files are in, if they have to be in one.
    pub(crate) root: Option<&'e Root>,
    pub(crate) remote: &'e Remote,
}

/// The resolved references of a statement.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    /// Names of all columns of all tables.
    pub(crate) columns: Vec<String>,
    /// The names of those columns that are addresses.
    pub(crate) addresses: HashSet<String>,
    /// The names of those columns that are true or false.
    pub(crate) flags: HashSet<String>,
    /// The names of those columns that are other bytes.
    pub(crate) bytes: HashSet<String>,
    /// Names and aliases of the tables, lower case, with their columns where these are known.
    pub(crate) tables: HashMap<String, Option<HashSet<String>>>,
    /// Other names of columns in lower case, with the columns.
    pub(crate) aliases: HashMap<String, String>,
    /// Names to register, with what they stand for.
    made: Vec<(String, Made)>,
}

/// The table that a reference stands for.
#[derive(Debug)]
enum Made {
    Capture(CaptureTable),
    Other(Arc<dyn TableProvider>),
}

impl Made {
    fn schema(&self) -> SchemaRef {
        match self {
            Self::Capture(table) => table.schema(),
            Self::Other(provider) => provider.schema(),
        }
    }
}

impl Resolved {
    /// The first column of the table, where the statement names one table only.
    pub(crate) fn first_column_of_one(&self) -> Option<String> {
        match self.made.as_slice() {
            [(_, made)] => Some(made.schema().fields().first()?.name().clone()),
            _ => None,
        }
    }

    /// Notes what a table has, and what it is called if it has a name.
    fn note(&mut self, table: Option<&str>, schema: &Schema) {
        let names = schema.fields().iter().map(|field| field.name().clone());
        for field in schema.fields() {
            if is_address(field) {
                self.addresses.insert(field.name().clone());
            } else if field.data_type() == &DataType::Boolean {
                self.flags.insert(field.name().clone());
            } else if field.data_type().is_binary() {
                self.bytes.insert(field.name().clone());
            }
        }
        if let Some(table) = table {
            let known = self.tables.entry(table.to_ascii_lowercase());
            // Two subqueries may use one alias for different tables.
            let columns = known.or_insert_with(|| Some(HashSet::new()));
            if let Some(columns) = columns {
                columns.extend(names.clone());
            }
        }
        self.columns.extend(names);
    }
}

impl Resolver<'_> {
    /// Makes a table for each reference of the statement, and replaces the reference by the name that the
    /// table will have ([`Resolver::register`]).
    pub(crate) async fn resolve(&self, statement: &mut Statement) -> Result<Resolved, Error> {
        let mut resolved = Resolved::default();
        let mut names = Names::default();
        for factor in statement.table_factors() {
            let TableFactor::Table {
                name, alias, args, ..
            } = &factor
            else {
                continue;
            };
            let alias = alias.as_ref().map(|alias| alias.name.value.as_str());
            let arguments = args.as_ref().map(|args| args.args.as_slice());
            let Some(reference) = Reference::read(name, arguments)? else {
                self.note_known_table(name, alias, &mut resolved).await;
                continue;
            };
            let made = self.make(&reference).await?;
            if let Reference::Extracted(extraction, ..) = reference {
                let aliases = extraction.aliases.iter();
                let aliases =
                    aliases.map(|(name, column)| (name.to_ascii_lowercase(), (*column).to_owned()));
                resolved.aliases.extend(aliases);
            }
            resolved.note(alias, &made.schema());
            let name = names.shown(reference_name(&factor));
            resolved.made.push((name, made));
        }
        if let Some(name) = statement.described()
            && let Some(reference) = Reference::described(name)?
        {
            let made = self.make(&reference).await?;
            let table = names.shown(name_of(name));
            *name = ObjectName::from(vec![Ident::with_quote('"', table.clone())]);
            resolved.made.push((table, made));
        }
        for alias in statement.aliases() {
            resolved.tables.insert(alias.to_ascii_lowercase(), None);
        }
        statement.visit_mut(&mut Replacer(names));
        Ok(resolved)
    }

    /// Makes the tables known by their names: captures with the columns only that have one of these
    /// names, in lower case, if that is known.
    pub(crate) fn register(
        &self,
        resolved: &mut Resolved,
        names: Option<&HashSet<String>>,
        headers: &HashSet<String>,
    ) -> Result<(), Error> {
        for (table, made) in resolved.made.drain(..) {
            let made = match made {
                Made::Capture(table) if !headers.is_empty() => {
                    Made::Capture(table.with_headers(headers))
                }
                made => made,
            };
            let provider: Arc<dyn TableProvider> = match (made, names) {
                (Made::Capture(table), Some(names)) => Arc::new(table.narrowed(names)),
                (Made::Capture(table), None) => Arc::new(table),
                (Made::Other(provider), _) => provider,
            };
            self.register_one(table, provider)?;
        }
        Ok(())
    }

    /// A file may have changed since an earlier statement: its table is made anew.
    fn register_one(&self, table: String, provider: Arc<dyn TableProvider>) -> Result<(), Error> {
        let table = TableReference::bare(table);
        self.context
            .deregister_table(table.clone())
            .and_then(|_| self.context.register_table(table, provider))
            .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))?;
        Ok(())
    }

    /// Notes a table that the session has already, such as a view, or one that the statement creates.
    async fn note_known_table(
        &self,
        name: &ObjectName,
        alias: Option<&str>,
        resolved: &mut Resolved,
    ) {
        let name = name.to_string();
        let alias = alias.unwrap_or(&name);
        match self.context.table_provider(name.as_str()).await {
            Ok(provider) => resolved.note(Some(alias), &provider.schema()),
            Err(_) => {
                resolved.tables.insert(alias.to_ascii_lowercase(), None);
            }
        }
    }

    async fn make(&self, reference: &Reference) -> Result<Made, Error> {
        Ok(Made::Capture(match reference {
            Reference::Files(patterns) => {
                let paths = self.expand(patterns)?;
                match kind(&paths)? {
                    FileKind::Capture => self.captures(&paths, Reads::default())?,
                    other => return self.foreign(other, &paths).await.map(Made::Other),
                }
            }
            Reference::Packets(patterns, reads) => self.table(
                self.packets(),
                self.packet_sources(patterns, *reads)?,
                *reads,
            ),
            Reference::Extracted(extraction, patterns, reads, settings) => {
                let sources = self.packet_sources(patterns, *reads)?;
                let mut settings = self.opened(settings)?;
                if extraction.arguments().any(|argument| argument == "keylog") {
                    settings.take_secrets_of(&sources);
                }
                let table = Table::extracted(extraction).with_settings(settings);
                let table = match self.records && extraction.is_of_packets() {
                    true => table.with_records(),
                    false => table,
                };
                self.table(table, sources, *reads)
            }
            Reference::Clf(patterns) => {
                let table = ClfTable::new(
                    log_paths(&self.all_placed(patterns)?, self.root)?,
                    Arc::clone(self.scan_report),
                );
                return Ok(Made::Other(Arc::new(table)));
            }
            Reference::Records(patterns, layout, reads) => {
                let layout = Arc::new(load_layout(&self.placed(layout)?, self.root)?);
                let sources = self
                    .expand(patterns)?
                    .into_iter()
                    .map(|path| Source::records(path, Arc::clone(&layout)))
                    .collect();
                self.table(Table::records(&layout), sources, *reads)
            }
        }))
    }

    /// The locations of the files that the patterns match.
    fn expand(&self, patterns: &[String]) -> Result<Vec<Location>, Error> {
        let mut found = Vec::new();
        for pattern in patterns {
            look_at_path(pattern)?;
            // The stores decide what is allowed, as it is in no folder.
            match is_remote(pattern) {
                true => found.extend(self.remote.expand(pattern)?),
                false => found.extend(self.local(&self.placed(pattern)?)?),
            }
        }
        match found.is_empty() {
            true => Err(Error::new(ErrorKind::Source, "no file is named")),
            false => Ok(found),
        }
    }

    /// The path of a file from the folder of relative names.
    fn placed<'n>(&self, name: &'n str) -> Result<Cow<'n, str>, Error> {
        look_at_path(name)?;
        let Some(folder) = self.folder.filter(|_| self.root.is_none() && name != "-") else {
            return Ok(Cow::Borrowed(name));
        };
        let is_here = std::env::current_dir().is_ok_and(|here| here == folder);
        if is_here || Path::new(name).is_absolute() {
            return Ok(Cow::Borrowed(name));
        }
        let Ok(placed) = folder.join(name).into_os_string().into_string() else {
            let message = format!("{}: the name is not UTF-8", folder.display());
            return Err(Error::new(ErrorKind::Source, message));
        };
        Ok(Cow::Owned(placed))
    }

    fn all_placed(&self, names: &[String]) -> Result<Vec<String>, Error> {
        let placed = names.iter().map(|name| Ok(self.placed(name)?.into_owned()));
        placed.collect()
    }

    /// A capture, called by the name that its user knows it by.
    fn capture(&self, location: &Location) -> Source {
        let source = Source::capture(location);
        let is_here = || std::env::current_dir().is_ok_and(|here| Some(&*here) == self.folder);
        match (self.folder, location.as_file()) {
            (Some(folder), Some(path)) if self.root.is_none() && !is_here() => {
                match path.strip_prefix(folder) {
                    Ok(short) => source.shown_as(&shown(short)),
                    Err(_) => source,
                }
            }
            _ => source,
        }
    }

    /// The files that the patterns name, which are to be captures.
    pub(crate) fn capture_paths(&self, patterns: &[String]) -> Result<Vec<Location>, Error> {
        let paths = self.expand(patterns)?;
        match kind(&paths)? {
            FileKind::Capture => Ok(paths),
            _ => {
                let first = paths.first().map(|path| path.shown().into_owned());
                let first = first.unwrap_or_default();
                let error = Error::new(ErrorKind::Source, format!("{first} is not a capture"));
                Err(error.with_hint(format!("FROM '{first}' reads it as what it is")))
            }
        }
    }

    /// The settings of a table with the files read that they name.
    fn opened(&self, settings: &Settings) -> Result<Settings, Error> {
        let mut settings = settings.clone();
        let Some(name) = settings.keylog_name.take() else {
            return Ok(settings);
        };
        let path = match self.root {
            Some(root) => PathBuf::from(root.inside(&name)?),
            None => PathBuf::from(&*self.placed(&name)?),
        };
        if let Some(root) = self.root {
            root.check(&path)?;
        }
        let failed = |message| Error::new(ErrorKind::Source, message);
        settings.open_keylog(&path).map_err(failed)?;
        Ok(settings)
    }

    fn captures(&self, paths: &[Location], reads: Reads) -> Result<CaptureTable, Error> {
        let sources = self.sources(paths, reads)?;
        Ok(self.table(self.packets(), sources, reads))
    }

    /// The captures at `paths`, which are followed if that is set.
    fn sources(&self, paths: &[Location], reads: Reads) -> Result<Vec<Source>, Error> {
        let sources = paths
            .iter()
            .map(|path| deduplicated(self.capture(path), reads));
        if !(reads.follow || self.follow) {
            return Ok(sources.collect());
        }
        if paths.len() > 1 {
            return Err(Error::new(
                ErrorKind::Plan,
                format!("one capture can be followed, not {}", paths.len()),
            )
            .with_hint("name the file that still grows"));
        }
        // Standard input is read to its end in any case.
        let followed = sources.map(|source| match source.is_stdin() {
            true => source,
            false => source.followed(self.stop.clone()),
        });
        Ok(followed.collect())
    }

    /// The packets of a table function: captures, or packets as they arrive.
    fn packet_sources(&self, patterns: &[String], reads: Reads) -> Result<Vec<Source>, Error> {
        if !reads.live {
            return self.sources(&self.capture_paths(patterns)?, reads);
        }
        match self.feed {
            Some(feed) => Ok(vec![deduplicated(Source::feed(Arc::clone(feed)), reads)]),
            None => Err(Error::new(
                ErrorKind::Plan,
                "live stands for the packets of an interface, and none is captured from",
            )
            .with_hint(
                "weir live -i eth0 \"SELECT … FROM sip(live)\"; the names of captures stand in single quotes",
            )),
        }
    }

    /// Makes `live` the table of the packets that come.
    pub(crate) fn register_live(&self) -> Result<(), Error> {
        let Some(feed) = self.feed else {
            return Ok(());
        };
        let sources = vec![Source::feed(Arc::clone(feed))];
        let table = self.table(self.packets(), sources, Reads::default());
        self.register_one(LIVE.to_owned(), Arc::new(table))
    }

    fn threads(&self) -> usize {
        self.context.state_ref().read().config().target_partitions()
    }

    fn packets(&self) -> Table {
        match self.records {
            true => Table::packets().with_records(),
            false => Table::packets(),
        }
    }

    fn table(&self, table: Table, sources: Vec<Source>, reads: Reads) -> CaptureTable {
        let reading = Reading {
            sources,
            // Packets as they arrive are one source, in their order.
            merge: (reads.merge || self.merge) && !reads.live,
            sorted: reads.sorted,
            decode: self.decode.clone(),
            lateness: reads.lateness.or(self.lateness),
            read_ahead: self.threads() > 1,
            compile: self.compile,
        };
        CaptureTable::new(table, reading)
    }

    /// Files that are no captures, with the columns that the names of their folders are.
    async fn foreign(
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
            // The dialect that was found for all files is that of each.
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
                // DataFusion's own look at a file that is not local takes the padding of aligned ones for a schema.
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
                for path in paths {
                    if is_packed(path)? || is_json_array(path)? {
                        let table = JsonArrays::open(paths)
                            .map_err(|message| Error::new(ErrorKind::Source, message))?;
                        return Ok(Arc::new(table));
                    }
                }
                let mut options = JsonReadOptions::default()
                    .file_extension(&extension)
                    // A column that is null in the first rows has a type in later ones.
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
                let table = Delimited::open(paths, dialect)
                    .map_err(|message| Error::new(ErrorKind::Source, message))?;
                return Ok(Arc::new(table));
            }
        };
        frame
            .map(DataFrame::into_view)
            .map_err(|error| Error::from_datafusion(ErrorKind::Source, error, &[]))
    }

    /// The paths of these files for DataFusion. Text within archives and stores is read from the objects themselves.
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

impl Reference {
    /// The reference of a name in FROM; `None` for tables of the session.
    fn read(name: &ObjectName, arguments: Option<&[FunctionArg]>) -> Result<Option<Self>, Error> {
        if let Some(arguments) = arguments {
            return Self::function(&name.to_string().to_ascii_lowercase(), arguments);
        }
        let parts: Vec<&Ident> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
        let [part] = parts.as_slice() else {
            // trace.pcap without quotes, when there is such a file.
            let path = name.to_string();
            return Ok(Path::new(&path).is_file().then(|| Self::Files(vec![path])));
        };
        let quoted = part.quote_style == Some('\'');
        let like_a_path = part.quote_style.is_some() && part.value.contains(['.', '/', '*']);
        let is_file = quoted || like_a_path || part.value == "-";
        Ok(is_file.then(|| Self::Files(vec![part.value.clone()])))
    }

    /// The subject of `DESCRIBE`: a file, or a table function, which is written as one name.
    fn described(name: &ObjectName) -> Result<Option<Self>, Error> {
        if let [ObjectNamePart::Identifier(ident)] = name.0.as_slice()
            && ident.value.ends_with(')')
            && let Some((function, arguments)) = Statement::call_of(&ident.value)
        {
            return Self::read(&function, Some(&arguments));
        }
        Self::read(name, None)
    }

    fn function(name: &str, arguments: &[FunctionArg]) -> Result<Option<Self>, Error> {
        if OF_DATAFUSION.contains(&name) {
            return Ok(None);
        }
        if !functions().any(|known| known == name) {
            return Err(unknown_function(name));
        }
        let mut texts = Vec::new();
        let mut is_live = false;
        let mut reads = Reads::default();
        let mut settings = Settings::default();
        let extraction = Extraction::named(name);
        let mut set = |key: &str, value: &FunctionArgExpr| match extraction {
            Some(extraction) if extraction.arguments().any(|known| known == key) => {
                set(extraction, &mut settings, key, value)
            }
            _ => reads.set(name, key, value, extraction),
        };
        for argument in arguments {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(ident)))
                    if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(LIVE) =>
                {
                    is_live = true;
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                    texts.extend(strings(name, expr)?);
                }
                FunctionArg::Named { name: key, arg, .. } => {
                    set(&key.value.to_ascii_lowercase(), arg)?;
                }
                FunctionArg::ExprNamed { name: key, arg, .. } => {
                    set(&key.to_string().to_ascii_lowercase(), arg)?;
                }
                FunctionArg::Unnamed(_) => return Err(wrong_argument(name, &argument.to_string())),
            }
        }
        reads.live = is_live;
        if is_live && !texts.is_empty() {
            return Err(Error::new(
                ErrorKind::Plan,
                format!("{name}(live, …): packets that are still to come are read alone"),
            )
            .with_hint("UNION ALL puts rows of captures beside them"));
        }
        match name {
            "records" | "clf" if reads.dedup => Err(Error::new(
                ErrorKind::Plan,
                format!("{name} has no argument dedup: packets are compared, and nothing else"),
            )),
            "packets" if is_live || !texts.is_empty() => Ok(Some(Self::Packets(texts, reads))),
            "clf" if !texts.is_empty() => Ok(Some(Self::Clf(texts))),
            "clf" => Err(Error::new(
                ErrorKind::Plan,
                "clf needs a path: clf('calls.clf')",
            )),
            "records" if texts.len() >= 2 => {
                let layout = texts.pop().unwrap_or_default();
                Ok(Some(Self::Records(texts, layout, reads)))
            }
            "records" => Err(Error::new(
                ErrorKind::Plan,
                "records needs a file and a layout: records('trace.bin', 'layout.toml')",
            )),
            _ => match extraction {
                Some(extraction) if is_live || !texts.is_empty() => {
                    Ok(Some(Self::Extracted(extraction, texts, reads, settings)))
                }
                _ => Err(Error::new(
                    ErrorKind::Plan,
                    format!("{name} needs a path: {name}('trace.pcap')"),
                )),
            },
        }
    }
}

fn unknown_function(name: &str) -> Error {
    let near = similar(name, functions().chain(OF_DATAFUSION.iter().copied()));
    let hint = match (near.first(), weir_tables::names::not_decoded(name)) {
        (Some(near), _) => format!("did you mean {near}(…)?"),
        (None, Some(told)) => told,
        (None, None) => {
            let known: Vec<&str> = functions().collect();
            format!(
                "there are {}; a file of its own stands in FROM 'x.parquet'",
                known.join(", ")
            )
        }
    };
    let error = Error::new(ErrorKind::Plan, format!("no table function named {name}"));
    error.with_hint(hint)
}

impl Reads {
    fn set(
        &mut self,
        function: &str,
        key: &str,
        value: &FunctionArgExpr,
        extraction: Option<&Extraction>,
    ) -> Result<(), Error> {
        if key.eq_ignore_ascii_case("lateness") {
            self.lateness = Some(lateness(value)?);
            return Ok(());
        }
        let value = match value {
            FunctionArgExpr::Expr(Expr::Value(value)) => match value.value {
                Value::Boolean(value) => Some(value),
                _ => None,
            },
            _ => None,
        };
        let target = match key.to_ascii_lowercase().as_str() {
            "merge" => &mut self.merge,
            "sorted" => &mut self.sorted,
            "follow" => &mut self.follow,
            "dedup" => &mut self.dedup,
            other => {
                let known = ["merge", "sorted", "follow", "dedup", "lateness"];
                let others = extraction.into_iter().flat_map(Extraction::arguments);
                let near = similar(other, known.into_iter().chain(others));
                let error = Error::new(
                    ErrorKind::Plan,
                    format!("{function} has no argument {other}"),
                );
                return Err(match near.first() {
                    Some(near) => error.with_hint(format!("did you mean {near} => …?")),
                    None => error.with_hint(
                        "merge => true, sorted => true, follow => true, dedup => true and lateness => INTERVAL '1 second' are known",
                    ),
                });
            }
        };
        *target = value.ok_or_else(|| {
            Error::new(
                ErrorKind::Plan,
                format!("{key} is true or false: {key} => true"),
            )
        })?;
        Ok(())
    }
}

/// Sets an argument that only some tables have.
fn set(
    extraction: &Extraction,
    settings: &mut Settings,
    key: &str,
    value: &FunctionArgExpr,
) -> Result<(), Error> {
    let literal = match value {
        FunctionArgExpr::Expr(Expr::Value(value)) => Some(&value.value),
        _ => None,
    };
    let value = match literal {
        Some(Value::Boolean(flag)) => Some(Setting::Flag(*flag)),
        Some(Value::SingleQuotedString(word)) => Some(Setting::Word(word)),
        Some(Value::Number(number, _)) => number.parse().ok().map(Setting::Number),
        _ => interval(value).map(Setting::Duration),
    };
    extraction
        .set(settings, key, value)
        .map_err(|wants| Error::new(ErrorKind::Plan, format!("{key} is {wants}")))
}

/// The lateness of records: `INTERVAL '1 second'`.
fn lateness(value: &FunctionArgExpr) -> Result<Duration, Error> {
    interval(value).ok_or_else(|| {
        Error::new(
            ErrorKind::Plan,
            "lateness is an interval without months: lateness => INTERVAL '1 second'",
        )
    })
}

/// The length of an interval that has no months.
fn interval(value: &FunctionArgExpr) -> Option<Duration> {
    let FunctionArgExpr::Expr(Expr::Interval(interval)) = value else {
        return None;
    };
    let Expr::Value(value) = interval.value.as_ref() else {
        return None;
    };
    let text = value.value.clone().into_string()?;
    let unit = interval.leading_field.as_ref();
    let text = unit.map_or_else(|| text.clone(), |unit| format!("{text} {unit}"));
    let interval = parse_interval_month_day_nano(&text).ok()?;
    let ns = nanoseconds(&ScalarValue::IntervalMonthDayNano(Some(interval)))?;
    Some(Duration::from_nanos(u64::try_from(ns).ok()?))
}

fn strings(function: &str, expr: &Expr) -> Result<Vec<String>, Error> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => {
                Ok(vec![text.clone()])
            }
            _ => Err(wrong_argument(function, &expr.to_string())),
        },
        Expr::Array(array) => {
            let items = array.elem.iter().map(|item| strings(function, item));
            Ok(items.collect::<Result<Vec<_>, _>>()?.concat())
        }
        _ => Err(wrong_argument(function, &expr.to_string())),
    }
}

fn wrong_argument(function: &str, found: &str) -> Error {
    Error::new(
        ErrorKind::Plan,
        format!("{function} takes paths in single quotes, not {found}"),
    )
}

/// The name under which the table of a reference is registered: the reference as it was written.
fn reference_name(factor: &TableFactor) -> String {
    let TableFactor::Table { name, args, .. } = factor else {
        return factor.to_string();
    };
    match args {
        None => name_of(name),
        Some(args) => {
            let args: Vec<String> = args.args.iter().map(ToString::to_string).collect();
            format!("{name}({})", args.join(", "))
        }
    }
}

fn name_of(name: &ObjectName) -> String {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => ident.value.clone(),
        _ => name.to_string(),
    }
}

/// The names that tables have in plans: without what references keep secret.
#[derive(Default)]
struct Names(Vec<(String, String)>);

impl Names {
    /// The name of the table that a reference means. References that would be shown alike get numbers.
    fn shown(&mut self, reference: String) -> String {
        if let Some((_, name)) = self.0.iter().find(|(known, _)| *known == reference) {
            return name.clone();
        }
        let shown = redacted(&reference).into_owned();
        let mut name = shown.clone();
        let mut number = 1;
        while self.0.iter().any(|(_, taken)| *taken == name) {
            number += 1;
            name = format!("{shown}({number})");
        }
        self.0.push((reference, name.clone()));
        name
    }
}

/// Replaces references by the names of their tables.
struct Replacer(Names);

impl VisitorMut for Replacer {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let table = reference_name(factor);
        if let TableFactor::Table { name, args, .. } = factor {
            let arguments = args.as_ref().map(|args| args.args.as_slice());
            if let Ok(Some(_)) = Reference::read(name, arguments) {
                let table = self.0.shown(table);
                *args = None;
                *name = ObjectName::from(vec![Ident::with_quote('"', table)]);
            }
        }
        ControlFlow::Continue(())
    }
}

/// The files of SIP logs, sealed segments first. What a glob finds beside them is no log.
fn log_paths(patterns: &[String], root: Option<&Root>) -> Result<Vec<PathBuf>, Error> {
    let mut named = Vec::new();
    for pattern in patterns {
        if is_remote(pattern) {
            let message = format!("{pattern}: logs are read from local files");
            return Err(Error::new(ErrorKind::Source, message).with_hint("fetch it first"));
        }
        named.extend(expand(pattern, root)?);
    }
    named.retain(|path| {
        path.extension()
            .is_none_or(|extension| extension != "index")
    });
    let mut paths = Vec::new();
    for path in weir_clf::all_segments(&named)
        .map_err(|error| Error::new(ErrorKind::Source, error.to_string()))?
    {
        if let Some(root) = root {
            root.check(&path)?;
        }
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Checks the length of a path, and the number of its patterns for folders.
///
/// # Errors
/// When it is more than a path may be.
fn look_at_path(path: &str) -> Result<(), Error> {
    let limit = |message: String| Err(Error::new(ErrorKind::Limit, message));
    if path.len() > PATH_BYTES_MAX {
        let len = path.len();
        return limit(format!(
            "a path has {len} bytes, and {PATH_BYTES_MAX} is the most"
        ));
    }
    let steps = || path.split(std::path::is_separator);
    let walks = steps().filter(|step| *step == "**").count();
    if walks > WALKS_MAX {
        return limit(format!(
            "a path has {walks} times **, and {WALKS_MAX} is the most"
        ));
    }
    let wild = steps().filter(|step| step.contains('*')).count();
    if wild > WILD_MAX {
        return limit(format!(
            "a path has * in {wild} of its names, and {WILD_MAX} is the most"
        ));
    }
    Ok(())
}

/// Bytes of a path: the system has no longer ones.
const PATH_BYTES_MAX: usize = 4096;
/// Each `**` of a pattern goes through all folders that the one in front of it has gone through.
const WALKS_MAX: usize = 3;
/// Names of a path with wildcards.
const WILD_MAX: usize = 32;

/// The local files that a pattern means.
fn expand(pattern: &str, root: Option<&Root>) -> Result<Vec<PathBuf>, Error> {
    if let Some(root) = root {
        // Files outside the root are not searched for: a message would show whether they exist.
        let inside = root.inside(pattern)?;
        let found = weir_capture::expand(&inside).map_err(|error| not_opened(&error))?;
        return root.kept(&inside, found);
    }
    if pattern == "-" {
        return Ok(vec![PathBuf::from("-")]);
    }
    weir_capture::expand(pattern).map_err(|error| {
        let converted = not_opened(&error);
        match near_file(pattern) {
            Some(near) => converted.with_hint(format!("did you mean '{near}'?")),
            None => converted,
        }
    })
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

/// The last part of a name, without what stands behind it in an address.
fn file_name(location: &Location) -> String {
    let shown = location.shown();
    let shown = match location {
        Location::Object(_) => shown.split("?…").next().unwrap_or_default(),
        _ => &shown,
    };
    shown.rsplit('/').next().unwrap_or_default().to_owned()
}

fn not_opened(error: &weir_capture::Error) -> Error {
    let converted = Error::new(ErrorKind::Source, error.to_string());
    match error.hint() {
        Some(hint) => converted.with_hint(hint),
        None => converted,
    }
}

/// A file in the same folder with a name close to the one that does not exist.
fn near_file(path: &str) -> Option<String> {
    let path = Path::new(path);
    let wanted = path.file_name()?.to_str()?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let near = similar(wanted, names.iter().map(String::as_str));
    let near = near.first()?;
    Some(match folder {
        Some(folder) => shown(&folder.join(near)).into_owned(),
        None => (*near).to_owned(),
    })
}

/// A source as a table function reads it.
fn deduplicated(source: Source, reads: Reads) -> Source {
    match reads.dedup {
        true => source.without_repeats(),
        false => source,
    }
}

fn load_layout(path: &str, root: Option<&Root>) -> Result<Layout, Error> {
    let inside = root.map(|root| root.inside(path)).transpose()?;
    let path = inside.as_deref().unwrap_or(path);
    let folder = Path::new(path).parent().map(Path::to_path_buf);
    let read = |path: &Path| {
        if let Some(root) = root {
            root.check(path).map_err(|error| error.to_string())?;
        }
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", shown(path)))
    };
    let text = read(Path::new(path)).map_err(|message| Error::new(ErrorKind::Source, message))?;
    let mut load = |base: &str| match &folder {
        Some(folder) => read(&folder.join(base)),
        None => read(Path::new(base)),
    };
    Layout::parse(&text, &mut load).map_err(|error| {
        let converted = Error::new(ErrorKind::Source, format!("{path}: {error}"));
        match error.hint() {
            Some(hint) => converted.with_hint(hint),
            None => converted,
        }
    })
}

/// Names of files that were left out, in one note.
const NAMES_TOLD: usize = 5;

/// Table functions that DataFusion has.
const OF_DATAFUSION: &[&str] = &["generate_series", "range", "unnest"];

/// The table functions.
pub(crate) fn functions() -> impl Iterator<Item = &'static str> {
    let extracted = EXTRACTIONS.iter().map(|extraction| extraction.name);
    ["packets", "records", "clf"].into_iter().chain(extracted)
}
