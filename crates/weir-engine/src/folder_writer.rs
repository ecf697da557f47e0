//! Rows into files of a folder, by the encoder of the embedding program: one file, or one in each folder that is named after values
//! (`day=2026-01-01/…`), as Hive has them.
//!
//! Bytes of a file are appended to it in pieces, and few files stay open: there may be more folders than a process may have open files.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use weir_functions::{Error, ErrorKind};

use crate::hive;
use crate::row_encoder::{RowEncoder, RowFormat, RowWriter};

/// The form of the files.
#[derive(Clone, Debug)]
pub(crate) struct FileForm {
    pub(crate) format: RowFormat,
    pub(crate) encoder: Arc<dyn RowEncoder>,
    /// The folder in messages.
    pub(crate) shown: String,
}

impl FileForm {
    fn failed(&self, error: &dyn std::fmt::Display) -> Error {
        Error::new(ErrorKind::Run, format!("{}: {error}", self.shown))
    }
}

/// The files of a folder at work.
pub(crate) struct FolderWriter {
    form: FileForm,
    folder: PathBuf,
    /// The name of each file, which no file of another statement has.
    file_name: String,
    /// The columns that folders are named after, from the outermost.
    keys: Vec<Key>,
    /// The places of the other columns, and their schema.
    rest: Vec<usize>,
    schema: SchemaRef,
    files: HashMap<String, OpenFile>,
}

struct Key {
    place: usize,
    /// The name as folders have it.
    name: String,
}

struct OpenFile {
    writer: Box<dyn RowWriter>,
    bytes: Appended,
}

impl FolderWriter {
    /// Files of rows of this schema in a folder, which is made with the first of them.
    ///
    /// # Errors
    /// When a key is no column, or repeats, or all columns are keys.
    pub(crate) fn new(
        form: FileForm,
        folder: &Path,
        schema: &SchemaRef,
        keys: &[String],
    ) -> Result<Self, Error> {
        let keys = keys.iter().map(|key| Key::of(key, schema));
        let keys = keys.collect::<Result<Vec<Key>, Error>>()?;
        for (at, key) in keys.iter().enumerate() {
            if keys.iter().skip(at + 1).any(|it| it.place == key.place) {
                let message = format!("PARTITIONED BY names {} twice", key.name);
                return Err(Error::new(ErrorKind::Plan, message));
            }
        }
        let is_rest = |place: &usize| keys.iter().all(|key| key.place != *place);
        let rest: Vec<usize> = (0..schema.fields().len()).filter(is_rest).collect();
        if rest.is_empty() && !keys.is_empty() {
            let message = "PARTITIONED BY names all columns, and none is left for the files";
            return Err(Error::new(ErrorKind::Plan, message)
                .with_hint("leave one out, or select one more: SELECT …, 1 AS n"));
        }
        let files = schema.project(&rest).map_err(|error| form.failed(&error))?;
        let number = RandomState::new().hash_one(std::process::id());
        Ok(Self {
            file_name: format!("{number:016x}.{}", form.format.extension()),
            folder: folder.to_owned(),
            form,
            keys,
            rest,
            schema: Arc::new(files),
            files: HashMap::new(),
        })
    }

    /// Writes the rows of a batch.
    ///
    /// # Errors
    /// When a value has no form in the format, or the disk refuses the bytes.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let failed = |error: ArrowError| self.form.failed(&error);
        let rest = batch.project(&self.rest).map_err(failed)?;
        if self.keys.is_empty() {
            return self.write_part("", &rest);
        }
        let folders = self.folders(batch).map_err(failed)?;
        for (folder, rows) in folders {
            let rows = UInt32Array::from(rows);
            let part = take_record_batch(&rest, &rows).map_err(|error| self.form.failed(&error))?;
            self.write_part(&folder, &part)?;
        }
        Ok(())
    }

    /// Writes what the encoders hold back.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        if self.files.is_empty() {
            self.write_nothing()?;
        }
        let form = self.form;
        for OpenFile { writer, bytes } in self.files.into_values() {
            writer.finish().map_err(|error| form.failed(&error))?;
            bytes.write_out().map_err(|error| form.failed(&error))?;
        }
        Ok(())
    }

    /// Leaves a file without rows, as one file would be, or an empty folder where there are no values to name others after.
    fn write_nothing(&mut self) -> Result<(), Error> {
        if self.keys.is_empty() {
            let nothing = RecordBatch::new_empty(Arc::clone(&self.schema));
            return self.write_part("", &nothing);
        }
        fs::create_dir_all(&self.folder).map_err(|error| self.form.failed(&error))
    }

    /// The rows of a batch by the folders that they belong into, in the order of their first rows.
    fn folders(&self, batch: &RecordBatch) -> Result<Vec<(String, Vec<u32>)>, ArrowError> {
        let options = FormatOptions::default();
        let columns = self.keys.iter().map(|key| {
            let array = batch.column(key.place);
            let values = ArrayFormatter::try_new(array.as_ref(), &options)?;
            Ok((key, array.logical_nulls(), values))
        });
        let columns = columns.collect::<Result<Vec<_>, ArrowError>>()?;
        let mut folders: Vec<(String, Vec<u32>)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for row in 0..batch.num_rows() {
            let mut folder = String::new();
            for (key, nulls, values) in &columns {
                if !folder.is_empty() {
                    folder.push('/');
                }
                let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                let value = match is_null {
                    true => hive::NULL.to_owned(),
                    false => hive::escaped(&values.value(row).try_to_string()?),
                };
                let _ = write!(folder, "{}={value}", key.name);
            }
            let place = match places.get(&folder) {
                Some(place) => *place,
                None => {
                    places.insert(folder.clone(), folders.len());
                    folders.push((folder, Vec::new()));
                    folders.len() - 1
                }
            };
            if let (Some((_, rows)), Ok(row)) = (folders.get_mut(place), u32::try_from(row)) {
                rows.push(row);
            }
        }
        Ok(folders)
    }

    /// Writes rows into the file of a folder.
    fn write_part(&mut self, folder: &str, rows: &RecordBatch) -> Result<(), Error> {
        let count = self.files.len();
        let file = match self.files.entry(folder.to_owned()) {
            Entry::Occupied(file) => file.into_mut(),
            Entry::Vacant(_) if count >= FOLDERS_MAX => {
                let message = format!("PARTITIONED BY makes more than {FOLDERS_MAX} folders");
                return Err(Error::new(ErrorKind::Limit, message)
                    .with_hint("a coarser key makes fewer: date_trunc('hour', frame.time)"));
            }
            Entry::Vacant(place) => {
                let path = made(&self.folder, folder, &self.file_name)
                    .map_err(|error| self.form.failed(&error))?;
                let bytes = Appended::new(path, count < OPEN_MAX);
                let FileForm {
                    format, encoder, ..
                } = &self.form;
                let writer = encoder.start(*format, &self.schema, Box::new(bytes.clone()));
                let writer = writer.map_err(|error| self.form.failed(&error))?;
                place.insert(OpenFile { writer, bytes })
            }
        };
        let held = HELD_BACK_BYTES / (count + 1);
        let written = file.writer.write(rows);
        let written = written.and_then(|()| file.writer.flush_beyond(held));
        written.map_err(|error| self.form.failed(&error))
    }
}

impl Key {
    /// The column of a name, whose case counts only where two columns have it.
    fn of(name: &str, schema: &SchemaRef) -> Result<Self, Error> {
        let mut fields = schema.fields().iter();
        let place = fields.position(|field| field.name() == name).or_else(|| {
            let mut fields = schema.fields().iter();
            fields.position(|field| field.name().eq_ignore_ascii_case(name))
        });
        let Some(place) = place else {
            let message = format!("no column named {name} that PARTITIONED BY could take");
            let hint = "name a column of the query: COPY (SELECT a, b FROM …) TO 'folder/' (FORMAT csv, PARTITION_BY (a))";
            return Err(Error::new(ErrorKind::Plan, message).with_hint(hint));
        };
        let column = schema.field(place).name();
        Ok(Self {
            place,
            name: hive::escaped(column),
        })
    }
}

/// Makes a folder within another, and gives the path of the file in it.
fn made(root: &Path, folder: &str, file: &str) -> io::Result<PathBuf> {
    if let Some(long) = folder.split('/').find(|part| part.len() > NAME_BYTES_MAX) {
        let key = long.split('=').next().unwrap_or_default();
        let message = format!(
            "a folder that is named after a value of {key} would have a name of {} bytes, and the limit is {NAME_BYTES_MAX}",
            long.len()
        );
        return Err(io::Error::other(message));
    }
    let folder = root.join(folder);
    fs::create_dir_all(&folder)?;
    Ok(folder.join(file))
}

/// Bytes on their way to the end of a file, held by the writer of its format and by the one that writes them out at the end.
#[derive(Clone)]
struct Appended(Arc<Mutex<Pending>>);

struct Pending {
    path: PathBuf,
    bytes: Vec<u8>,
    /// The file, while it is open.
    file: Option<File>,
    stays_open: bool,
}

impl Appended {
    fn new(path: PathBuf, stays_open: bool) -> Self {
        Self(Arc::new(Mutex::new(Pending {
            path,
            bytes: Vec::new(),
            file: None,
            stays_open,
        })))
    }

    fn write_out(&self) -> io::Result<()> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.write_out()
    }
}

impl Pending {
    fn write_out(&mut self) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => File::options().create(true).append(true).open(&self.path)?,
        };
        file.write_all(&self.bytes)?;
        self.bytes.clear();
        self.file = self.stays_open.then_some(file);
        Ok(())
    }
}

impl Write for Appended {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.bytes.extend_from_slice(bytes);
        if pending.bytes.len() >= PENDING_BYTES {
            pending.write_out()?;
        }
        Ok(bytes.len())
    }

    /// The bytes are written out in pieces of their own size.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The folders that one statement makes, at most.
const FOLDERS_MAX: usize = 65_536;
/// The files that stay open, at most.
const OPEN_MAX: usize = 64;
/// The bytes that are appended to a file at a time.
const PENDING_BYTES: usize = 32 << 10;
/// The bytes that all encoders together hold back, about.
const HELD_BACK_BYTES: usize = 256 << 20;
/// The bytes of a name, as most file systems have it.
const NAME_BYTES_MAX: usize = 255;

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, StringArray};
    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;
    use crate::row_encoder::{CsvForm, EncodeError};

    /// Writes a line for each batch: the names of its columns, and its number of rows.
    #[derive(Debug)]
    struct Counts;

    struct Lines(Box<dyn Write + Send>);

    impl RowEncoder for Counts {
        fn start(
            &self,
            _: RowFormat,
            _: &SchemaRef,
            out: Box<dyn Write + Send>,
        ) -> Result<Box<dyn RowWriter>, EncodeError> {
            Ok(Box::new(Lines(out)))
        }
    }

    impl RowWriter for Lines {
        fn write(&mut self, batch: &RecordBatch) -> Result<(), EncodeError> {
            let schema = batch.schema();
            let names = schema.fields().iter().map(|field| field.name().as_str());
            let names: Vec<&str> = names.collect();
            writeln!(self.0, "{} {}", names.join(","), batch.num_rows())?;
            Ok(())
        }

        fn finish(self: Box<Self>) -> Result<(), EncodeError> {
            Ok(())
        }
    }

    fn form() -> FileForm {
        FileForm {
            format: RowFormat::Csv(CsvForm::default()),
            encoder: Arc::new(Counts),
            shown: "out".to_owned(),
        }
    }

    fn batch() -> RecordBatch {
        let names: ArrayRef = Arc::new(StringArray::from(vec![
            Some("a/b"),
            None,
            Some(""),
            Some("a/b"),
            Some(hive::NULL),
        ]));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 1, 2, 1, 2]));
        let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5]));
        RecordBatch::try_from_iter([("k", names), ("Day", numbers), ("v", values)]).unwrap()
    }

    /// A folder of its own for a test, which is removed at its end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn of(test: &str) -> Self {
            let name = format!("weir-folders-{test}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn rows_go_into_the_folders_of_their_values() {
        let root = Scratch::of("values");
        let keys = ["day".to_owned(), "k".to_owned()];
        let schema = batch().schema();
        let mut writer = FolderWriter::new(form(), root.path(), &schema, &keys).unwrap();
        writer.write(&batch()).unwrap();
        writer.write(&batch().slice(0, 1)).unwrap();
        let file = writer.file_name.clone();
        writer.finish().unwrap();
        for (folder, expected) in [
            ("Day=1/k=a%2Fb", "v 2\nv 1\n"),
            ("Day=1/k=__HIVE_DEFAULT_PARTITION__", "v 1\n"),
            ("Day=2/k=", "v 1\n"),
            ("Day=2/k=%5F_HIVE_DEFAULT_PARTITION__", "v 1\n"),
        ] {
            let path = root.path().join(folder).join(&file);
            assert_eq!(fs::read_to_string(path).unwrap(), expected, "{folder}");
        }
    }

    #[test]
    fn no_rows_leave_a_file_without_rows_or_an_empty_folder() {
        let root = Scratch::of("nothing");
        let schema = batch().schema();
        let writer = FolderWriter::new(form(), root.path(), &schema, &[]).unwrap();
        let path = root.path().join(&writer.file_name);
        writer.finish().unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "k,Day,v 0\n");
        let root = Scratch::of("no-values");
        let keys = ["k".to_owned()];
        let writer = FolderWriter::new(form(), root.path(), &schema, &keys).unwrap();
        writer.finish().unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn keys_that_leave_nothing_or_are_not_there_are_refused() {
        let root = Scratch::of("refused");
        let schema = batch().schema();
        for (keys, expected) in [
            (vec!["k", "Day", "v"], "names all columns"),
            (vec!["k", "K"], "names k twice"),
            (vec!["nope"], "no column named nope"),
        ] {
            let keys: Vec<String> = keys.into_iter().map(str::to_owned).collect();
            let made = FolderWriter::new(form(), root.path(), &schema, &keys);
            let error = made.err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
        // A name of 300 bytes has no room.
        let long: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(300)]));
        let value: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let batch = RecordBatch::try_from_iter([("k", long), ("v", value)]).unwrap();
        let keys = ["k".to_owned()];
        let mut writer = FolderWriter::new(form(), root.path(), &batch.schema(), &keys).unwrap();
        let error = writer.write(&batch).unwrap_err().to_string();
        assert!(error.contains("a name of 302 bytes"), "{error}");
    }

    /// More folders than files that stay open.
    #[test]
    fn many_folders_are_written_side_by_side() {
        let root = Scratch::of("many");
        let fields = ["k", "v"].map(|name| Field::new(name, DataType::Int64, false));
        let schema = Arc::new(Schema::new(Vec::from(fields)));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..300));
        let columns = vec![Arc::clone(&numbers), numbers];
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
        let keys = ["k".to_owned()];
        let mut writer = FolderWriter::new(form(), root.path(), &schema, &keys).unwrap();
        writer.write(&batch).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 300);
    }
}
