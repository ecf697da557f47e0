//! References in FROM: paths, globs, lists and table functions become tables.

mod file_kind;
mod files;
mod local;
mod names;
mod paths;
mod written;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, TableFactor};
use weir_capture::{is_remote, read_small, shown};
use weir_functions::{Error, ErrorKind};
use weir_layout::Layout;
use weir_packet::Options as DecodeOptions;
use weir_sql::Statement;
use weir_tables::{Compile, Feed, Location, Settings, Source, Stop, Table, is_address};

use self::file_kind::{FileKind, kind};
use self::names::{Factors, PlanNames, Replacer, name_of, reference_name};
use self::paths::{log_paths, look_at_path};
use self::written::{LIVE, Reads, Reference};
use crate::clf::ClfTable;
use crate::remote::Remote;
use crate::root::Root;
use crate::scan::Reading;
use crate::scan_report::ScanReport;
use crate::table::CaptureTable;

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
    /// Neither pipes and devices nor standard input are read.
    pub(crate) files_only: bool,
    /// Bytes at the beginning of each file of CSV or JSON that its columns are taken from.
    pub(crate) sample_bytes_max: Option<u64>,
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
    /// The numbers of columns of the session's own tables, by their names as they were written.
    known: HashMap<String, usize>,
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

    /// The number of columns of a table of the statement: of a capture only those that the statement names, where
    /// `names` has all of its words.
    pub(crate) fn width(&self, table: &ObjectName, names: Option<&HashSet<String>>) -> usize {
        let name = name_of(table);
        let made = self.made.iter().find(|(known, _)| *known == name);
        match (made, names) {
            (Some((_, Made::Capture(table))), Some(names)) => {
                let schema = table.schema();
                let fields = schema.fields().iter();
                let is_named = |name: &str| names.contains(&name.to_ascii_lowercase());
                fields.filter(|field| is_named(field.name())).count() + 1
            }
            (Some((_, made)), _) => made.schema().fields().len(),
            (None, _) => self.known.get(&table.to_string()).copied().unwrap_or(1),
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
        let mut names = PlanNames::default();
        let mut factors = Factors::default();
        statement.visit(&mut factors);
        for (factor, is_of_with) in factors.found {
            let TableFactor::Table {
                name, alias, args, ..
            } = &factor
            else {
                continue;
            };
            let alias = alias.as_ref().map(|alias| alias.name.value.as_str());
            if is_of_with {
                let alias = alias.map_or_else(|| name_of(name), str::to_owned);
                resolved.tables.insert(alias.to_ascii_lowercase(), None);
                continue;
            }
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
        statement.visit_mut(&mut Replacer::of(names));
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
            Ok(provider) => {
                let schema = provider.schema();
                resolved.note(Some(alias), &schema);
                resolved.known.insert(name.clone(), schema.fields().len());
            }
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
                let paths = log_paths(&self.all_placed(patterns)?, self.root)?;
                for path in &paths {
                    self.check(path)?;
                }
                let table = ClfTable::new(paths, Arc::clone(self.scan_report));
                return Ok(Made::Other(Arc::new(table)));
            }
            Reference::Records(patterns, layout, reads) => {
                let layout = Arc::new(self.load_layout(&self.placed(layout)?)?);
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
            // The stores decide what is allowed, because an address is in no folder.
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

    /// A capture, with the name that the statement has for it.
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
                Err(error.with_hint(format!("FROM '{first}' reads it in its own format")))
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
        self.check(&path)?;
        let failed = |message| Error::new(ErrorKind::Source, message);
        settings.open_keylog(&path).map_err(failed)?;
        Ok(settings)
    }

    fn load_layout(&self, path: &str) -> Result<Layout, Error> {
        let inside = self.root.map(|root| root.inside(path)).transpose()?;
        let path = inside.as_deref().unwrap_or(path);
        let folder = Path::new(path).parent().map(Path::to_path_buf);
        let read = |path: &Path| {
            self.check(path).map_err(|error| error.to_string())?;
            let bytes = read_small(path, LAYOUT_BYTES_MAX);
            let bytes = bytes.map_err(|error| format!("{}: {error}", shown(path)))?;
            String::from_utf8(bytes).map_err(|_| format!("{}: it is not UTF-8 text", shown(path)))
        };
        let text =
            read(Path::new(path)).map_err(|message| Error::new(ErrorKind::Source, message))?;
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
        // The statement would hold its machine for as long as the other one asks for its rows, which come at its end.
        if self.files_only {
            let message = "a capture is followed on the machine of its statement only";
            return Err(Error::new(ErrorKind::Plan, message).with_hint(
                "leave out follow => true: the capture is read as far as it has grown",
            ));
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
                "live is the table of the packets of an interface, and no interface is captured",
            )
            .with_hint(
                "weir live -i eth0 \"SELECT … FROM sip(live)\"; write names of captures in single quotes",
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
}

/// The size of a file with a layout, at most.
const LAYOUT_BYTES_MAX: u64 = 4 << 20;

/// A source as a table function reads it.
fn deduplicated(source: Source, reads: Reads) -> Source {
    match reads.dedup {
        true => source.without_repeats(),
        false => source,
    }
}
