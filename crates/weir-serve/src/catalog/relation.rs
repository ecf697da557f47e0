//! The relations and types of PostgreSQL's catalog, as two texts describe them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use pgwire::api::Type;

/// A relation of the catalog.
#[derive(Debug)]
pub(crate) struct Relation {
    pub(crate) schema: &'static str,
    pub(crate) name: &'static str,
    /// `r` for a table, `v` for a view, `f` for what a function in FROM gives.
    pub(crate) kind: &'static str,
    pub(crate) oid: i64,
    pub(crate) columns: Vec<RelationColumn>,
    pub(crate) arrow: SchemaRef,
}

/// A column of a relation.
#[derive(Debug)]
pub(crate) struct RelationColumn {
    pub(crate) name: &'static str,
    /// The name of its type, of elements where it is an array.
    pub(crate) element: &'static str,
    pub(crate) is_array: bool,
    pub(crate) may_be_null: bool,
}

impl RelationColumn {
    /// The number of its type.
    pub(crate) fn type_oid(&self) -> i64 {
        let known = TYPES.iter().find(|known| known.name == self.element);
        known.map_or(0, |known| match self.is_array {
            true => known.array_oid,
            false => known.oid,
        })
    }

    /// The Arrow field of its values. The key [`TYPE_KEY`] distinguishes types with the same Arrow type.
    fn field(&self) -> Field {
        let (kind, is_named) = match self.element {
            "oid" | "xid" => (DataType::Int64, true),
            "name" | "char" => (DataType::Utf8, true),
            "bool" => (DataType::Boolean, false),
            "int2" => (DataType::Int16, false),
            "int4" => (DataType::Int32, false),
            "int8" => (DataType::Int64, false),
            "float4" => (DataType::Float32, false),
            "float8" => (DataType::Float64, false),
            "bytea" => (DataType::Binary, false),
            "timestamptz" => {
                let zone = Some(Arc::from("+00:00"));
                (DataType::Timestamp(TimeUnit::Microsecond, zone), false)
            }
            "oidvector" => (DataType::new_list(DataType::Int64, true), false),
            "int2vector" => (DataType::new_list(DataType::Int16, true), false),
            _ => (DataType::Utf8, false),
        };
        let field = match self.is_array {
            true => Field::new(self.name, DataType::new_list(kind, true), true),
            false => Field::new(self.name, kind, self.may_be_null),
        };
        match is_named && !self.is_array {
            true => field.with_metadata(HashMap::from([(
                TYPE_KEY.to_owned(),
                self.element.to_owned(),
            )])),
            false => field,
        }
    }
}

/// A type that is no array.
#[derive(Debug)]
pub(crate) struct TypeEntry {
    pub(crate) oid: i64,
    pub(crate) name: &'static str,
    pub(crate) array_oid: i64,
    pub(crate) len: i64,
    pub(crate) is_by_value: bool,
    pub(crate) kind: &'static str,
    pub(crate) category: &'static str,
    pub(crate) is_preferred: bool,
    pub(crate) align: &'static str,
    pub(crate) storage: &'static str,
    pub(crate) element_oid: i64,
    pub(crate) input: &'static str,
    pub(crate) receive: &'static str,
}

/// The key of a field's metadata that names the type of its values.
pub(crate) const TYPE_KEY: &str = "weir.postgres_type";

/// The type that the metadata of a field names.
pub(crate) fn named_type(field: &Field) -> Option<Type> {
    Some(match field.metadata().get(TYPE_KEY)?.as_str() {
        "oid" => Type::OID,
        "xid" => Type::XID,
        "name" => Type::NAME,
        "char" => Type::CHAR,
        _ => return None,
    })
}

/// All relations.
pub(crate) static RELATIONS: LazyLock<Vec<Relation>> = LazyLock::new(|| {
    let mut relations: Vec<Relation> = Vec::new();
    let mut schema = "";
    for line in lines(include_str!("relations.txt")) {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            schema = name;
            continue;
        }
        let mut words = line.split_ascii_whitespace();
        if !line.starts_with(' ') {
            let mut word = || words.next().unwrap_or_default();
            relations.push(Relation {
                schema,
                name: word(),
                kind: word(),
                oid: word().parse().unwrap_or_default(),
                columns: Vec::new(),
                arrow: Arc::new(Schema::empty()),
            });
        }
        if let Some(relation) = relations.last_mut() {
            relation.columns.extend(words.filter_map(column));
        }
    }
    for relation in &mut relations {
        let fields: Vec<Field> = relation.columns.iter().map(RelationColumn::field).collect();
        relation.arrow = Arc::new(Schema::new(fields));
    }
    relations
});

/// All types that are no arrays.
pub(crate) static TYPES: LazyLock<Vec<TypeEntry>> = LazyLock::new(|| {
    let types = lines(include_str!("types.txt")).map(|line| {
        let mut words = line.split_ascii_whitespace();
        let mut word = || words.next().unwrap_or_default();
        let number = |word: &str| word.parse::<i64>().unwrap_or_default();
        let (oid, name, array_oid) = (number(word()), word(), number(word()));
        let (len, is_by_value, kind, category) = (number(word()), word() == "t", word(), word());
        TypeEntry {
            oid,
            name,
            array_oid,
            len,
            is_by_value,
            kind,
            category: category.trim_end_matches('!'),
            is_preferred: category.ends_with('!'),
            align: word(),
            storage: word(),
            element_oid: number(word()),
            input: word(),
            receive: word(),
        }
    });
    types.collect()
});

/// The relation of a name, in a schema or in `pg_catalog`.
pub(crate) fn relation(schema: Option<&str>, name: &str) -> Option<&'static Relation> {
    let schema = schema.unwrap_or("pg_catalog");
    let mut all = RELATIONS.iter();
    all.find(|relation| relation.name == name && relation.schema == schema)
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn column(word: &'static str) -> Option<RelationColumn> {
    let (name, kind) = word.split_once(':')?;
    let (kind, may_be_null) = match kind.strip_suffix('?') {
        Some(kind) => (kind, true),
        None => (kind, false),
    };
    let (element, is_array) = match kind.strip_suffix("[]") {
        Some(element) => (element, true),
        None => (kind, false),
    };
    Some(RelationColumn {
        name,
        element,
        is_array,
        may_be_null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_are_read_whole() {
        assert!(RELATIONS.len() > 150, "{}", RELATIONS.len());
        for relation in RELATIONS.iter() {
            assert!(!relation.columns.is_empty(), "{}", relation.name);
            assert!(
                ["r", "v", "f"].contains(&relation.kind),
                "{}",
                relation.name
            );
            assert!(
                relation.oid > 0 || relation.kind == "f",
                "{}",
                relation.name
            );
            for column in &relation.columns {
                assert!(column.type_oid() > 0, "{}.{}", relation.name, column.name);
            }
        }
        for known in TYPES.iter() {
            // The OIDs are those of the protocol.
            let oid = u32::try_from(known.oid).unwrap();
            if let Some(kind) = Type::from_oid(oid) {
                assert_eq!(kind.name(), known.name);
            }
            if let Some(array) = u32::try_from(known.array_oid).ok().and_then(Type::from_oid) {
                assert_eq!(array.name(), format!("_{}", known.name));
            }
        }
        let class = relation(None, "pg_class").unwrap();
        assert_eq!((class.columns.len(), class.oid), (33, 1259));
        assert!(relation(Some("information_schema"), "columns").is_some());
        assert!(relation(None, "columns").is_none());
    }
}
