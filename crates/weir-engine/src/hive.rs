//! Folders whose names are values, as Hive makes them: `calls/day=2026-01-01/x.parquet` has a column `day`.
//!
//! The files in such folders are one table with a column for each name, behind those of the files. A column that the
//! files have themselves is theirs. A filter on such a column leaves out the files of other values before they are
//! opened, since each value's files are an input of a union, in which the value is a literal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::{Column, DataFusionError, ScalarValue};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::TableProvider;
use datafusion::logical_expr::{Expr, LogicalPlan, Union, lit};
use datafusion::prelude::SessionContext;
use weir_tables::Location;

use crate::delimited::type_of_texts;

/// The name of a folder for NULL.
pub(crate) const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The files of a table by the values in the names of their folders.
#[derive(Debug, PartialEq)]
pub(crate) struct Partitions {
    keys: Vec<String>,
    parts: Vec<(KeyValues, Vec<Location>)>,
}

/// The value of each key; `None` of NULL.
type KeyValues = Vec<Option<String>>;

impl Partitions {
    /// The partitions that these files are in; `None` where no folder is named so, and where not all files are below
    /// folders of the same keys, with a note about that.
    pub(crate) fn of(files: &[Location]) -> (Option<Self>, Option<String>) {
        let mut keys: Option<Vec<String>> = None;
        let mut parts: BTreeMap<KeyValues, Vec<Location>> = BTreeMap::new();
        let mut differ = false;
        for file in files {
            let (own, values): (Vec<_>, KeyValues) = values_of(file).into_iter().unzip();
            differ |= *keys.get_or_insert_with(|| own.clone()) != own;
            parts.entry(values).or_default().push(file.clone());
        }
        let keys = keys.unwrap_or_default();
        if differ {
            let note = "not all files are in folders of the same names (day=…): the table has no columns of these";
            return (None, Some(note.to_owned()));
        }
        // A key that is there twice has two values, of which neither is the column's.
        let is_twice = |(at, key): (usize, &String)| keys.iter().skip(at + 1).any(|k| k == key);
        if keys.is_empty() || keys.iter().enumerate().any(is_twice) {
            return (None, None);
        }
        let parts = parts.into_iter().collect();
        (Some(Self { keys, parts }), None)
    }

    /// Leaves out the keys that the files have as columns; `None` when no other is left.
    pub(crate) fn beside(mut self, schema: &Schema) -> Option<Self> {
        let has = |key: &String| {
            let mut fields = schema.fields().iter();
            fields.any(|field| field.name().eq_ignore_ascii_case(key))
        };
        let kept: Vec<bool> = self.keys.iter().map(|key| !has(key)).collect();
        let mut keep = kept.iter().copied();
        self.keys.retain(|_| keep.next().unwrap_or(true));
        for (values, _) in &mut self.parts {
            let mut keep = kept.iter().copied();
            values.retain(|_| keep.next().unwrap_or(true));
        }
        (!self.keys.is_empty()).then_some(self)
    }

    /// The files of each combination of values.
    pub(crate) fn files(&self) -> impl Iterator<Item = &[Location]> {
        self.parts.iter().map(|(_, files)| files.as_slice())
    }

    /// The type of each column: what values are in a CSV, they are here.
    fn types(&self) -> Vec<DataType> {
        let of = |at: usize| {
            let values = self.parts.iter().filter_map(|(values, _)| values.get(at));
            type_of_texts(values.filter_map(|value| value.as_deref()))
        };
        (0..self.keys.len()).map(of).collect()
    }

    /// One table of the tables of the files, in the order of [`Self::files`], which have the same columns.
    pub(crate) fn table(
        &self,
        context: &SessionContext,
        tables: Vec<Arc<dyn TableProvider>>,
    ) -> Result<Arc<dyn TableProvider>, DataFusionError> {
        let types = self.types();
        let mut inputs = Vec::with_capacity(tables.len());
        for (table, (values, _)) in tables.into_iter().zip(&self.parts) {
            let schema = table.schema();
            let names = schema.fields().iter().map(|field| field.name().as_str());
            let mut columns: Vec<Expr> = names
                .map(|name| Expr::Column(Column::from_name(name)))
                .collect();
            for ((key, value), data_type) in self.keys.iter().zip(values).zip(&types) {
                let value = match value {
                    Some(value) => ScalarValue::try_from_string(value.clone(), data_type)?,
                    None => ScalarValue::try_from(data_type)?,
                };
                columns.push(lit(value).alias(key));
            }
            let frame = context.read_table(table)?.select(columns)?;
            inputs.push(Arc::new(frame.into_unoptimized_plan()));
        }
        let plan = match inputs.as_slice() {
            [one] => one.as_ref().clone(),
            _ => LogicalPlan::Union(Union::try_new(inputs)?),
        };
        Ok(DataFrame::new(context.state(), plan).into_view())
    }
}

/// The keys and values in the names of the folders that a file is in, from the outermost.
fn values_of(file: &Location) -> Vec<(String, Option<String>)> {
    let shown = file.shown();
    let folders = shown.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').filter_map(value_of).collect()
}

/// `day=2026-01-01`; what no name has stands in it as `%3A`.
fn value_of(folder: &str) -> Option<(String, Option<String>)> {
    let (key, value) = folder.split_once('=')?;
    if key.is_empty() {
        return None;
    }
    let value = (value != NULL).then(|| unescaped(value));
    Some((unescaped(key), value))
}

/// True of the name of a folder that has a value.
pub(crate) fn is_value(folder: &str) -> bool {
    value_of(folder).is_some()
}

/// A value, or the name of a key, as it stands in the name of a folder.
pub(crate) fn escaped(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    let is_marker = text == NULL;
    for (at, byte) in text.bytes().enumerate() {
        let is_plain = byte.is_ascii() && !byte.is_ascii_control() && !ESCAPED.contains(&byte);
        match is_plain && !(is_marker && at == 0) {
            true => name.push(char::from(byte)),
            false => {
                let _ = write!(name, "%{byte:02X}");
            }
        }
    }
    name
}

/// Characters that names of objects in stores do not have, either.
const ESCAPED: &[u8] = b"/\\{^}%`]\">[~<#|*?";

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped.filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn files(paths: &[&str]) -> Vec<Location> {
        let paths = paths.iter().map(PathBuf::from);
        paths.map(Location::from).collect()
    }

    #[test]
    fn folders_that_are_named_so_are_values() {
        let all = files(&[
            "/x/day=2026-01-02/k=a%2Fb%20c/1.csv",
            "/x/day=2026-01-01/k=__HIVE_DEFAULT_PARTITION__/1.csv",
            "/x/day=2026-01-01/k=/2.csv",
        ]);
        let (found, note) = Partitions::of(&all);
        assert_eq!(note, None);
        let found = found.unwrap();
        assert_eq!(found.keys, ["day", "k"]);
        assert_eq!(found.types(), [DataType::Date32, DataType::Utf8]);
        let values: Vec<_> = found
            .parts
            .iter()
            .map(|(values, _)| values[1].clone())
            .collect();
        assert_eq!(
            values,
            [None, Some(String::new()), Some("a/b c".to_owned())]
        );
        let schema = Schema::new(vec![arrow::datatypes::Field::new(
            "DAY",
            DataType::Int64,
            true,
        )]);
        assert_eq!(found.beside(&schema).unwrap().keys, ["k"]);
    }

    #[test]
    fn types_are_those_of_a_csv() {
        for (values, wanted) in [
            (["1", "20"], DataType::Int64),
            (["01", "20"], DataType::Utf8),
            (["1.5", "2"], DataType::Float64),
            (["true", "false"], DataType::Boolean),
            (["x", "2"], DataType::Utf8),
        ] {
            let paths = values.map(|value| format!("k={value}/a.csv"));
            let (found, _) = Partitions::of(&files(&[&paths[0], &paths[1]]));
            assert_eq!(found.unwrap().types(), [wanted]);
        }
    }

    #[test]
    fn columns_that_differ_are_left_out_and_reported() {
        let (found, note) = Partitions::of(&files(&["k=1/a.csv", "b.csv"]));
        assert!(found.is_none() && note.is_some());
        for path in ["=1/x.csv", "x/y.csv", "y.csv", "k=1.csv", "k=1/k=2/x.csv"] {
            assert_eq!(Partitions::of(&files(&[path])), (None, None), "{path}");
        }
        let behind = (String::from("a"), Some(String::from("b=c")));
        assert_eq!(value_of("a=b=c"), Some(behind));
        for text in ["a/b", "é%41", "", ".", "x=y\n", NULL] {
            assert_eq!(unescaped(&escaped(text)), text);
            assert_ne!(escaped(text), NULL);
        }
        assert_eq!(escaped("a b/é"), "a b%2F%C3%A9");
        assert_eq!(unescaped("%zz%4"), "%zz%4");
        assert_eq!(unescaped("%ff"), "%ff");
        assert_eq!(unescaped("100%é%41"), "100%éA");
    }
}
