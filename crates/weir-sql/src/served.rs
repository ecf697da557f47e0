//! Changes of a statement by a server before it is planned: values for `$1`, files in place of names that a catalog lists, and the
//! refusal of everything that writes.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{
    self, Expr, Ident, ObjectName, ObjectNamePart, ObjectType, Query, Select, SetExpr, TableAlias,
    TableFactor, Visitor, VisitorMut,
};
use weir_functions::{Error, ErrorKind};

use crate::gate::innermost;
use crate::grammar;
use crate::prepared;
use crate::statement::Statement;

impl Statement {
    /// True for `DESCRIBE`.
    #[must_use]
    pub fn is_described(&self) -> bool {
        matches!(&self.inner, DfStatement::Statement(statement) if matches!(statement.as_ref(), ast::Statement::ExplainTable { .. }))
    }

    /// The statement as the parser understood it.
    #[must_use]
    pub const fn parsed(&self) -> &DfStatement {
        &self.inner
    }

    /// The statement as the parser understood it, for a planner.
    #[must_use]
    pub fn into_parsed(self) -> DfStatement {
        self.inner
    }

    /// The number of its parameters: the number of the last of `$1`, `$2`, ….
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.parameter_numbers().last().copied().unwrap_or(0)
    }

    /// The first number behind those that are `declared`, and before that of the last parameter, that is no parameter's.
    #[must_use]
    pub fn missing_parameter(&self, declared: usize) -> Option<usize> {
        let numbers = self.parameter_numbers().into_iter();
        let others = numbers.filter(|number| *number > declared);
        let mut pairs = others.zip(declared.saturating_add(1)..);
        let gap = pairs.find(|(number, expected)| number != expected);
        gap.map(|(_, expected)| expected)
    }

    fn parameter_numbers(&self) -> Vec<usize> {
        match innermost(&self.inner) {
            DfStatement::Statement(statement) => prepared::parameters(statement),
            _ => Vec::new(),
        }
    }

    /// The names in FROM that are neither in single quotes nor functions, part by part.
    #[must_use]
    pub fn table_names(&self) -> Vec<Vec<String>> {
        struct NamesInFrom(Vec<Vec<String>>);
        impl Visitor for NamesInFrom {
            type Break = ();
            fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
                if let TableFactor::Table {
                    name, args: None, ..
                } = factor
                {
                    self.0.extend(plain_parts(name));
                }
                ControlFlow::Continue(())
            }
        }
        let mut names = NamesInFrom(Vec::new());
        self.visit(&mut names);
        names.0
    }

    /// Puts files in the places of names in FROM, where `file` returns one. Columns may be named with all parts of the
    /// name, or the last of them, in front.
    pub fn name_files(&mut self, file: &mut dyn FnMut(&[String]) -> Option<String>) {
        let mut files = Files::default();
        let mut described = None;
        let mut seen = HashSet::new();
        for parts in self.table_names() {
            if seen.insert(parts.clone())
                && let Some(path) = file(&parts)
            {
                files.places.insert(parts.clone(), files.paths.len());
                files.paths.push((parts, path));
            }
        }
        if let Some(name) = self.described()
            && let Some(parts) = plain_parts(name)
            && let Some(path) = file(&parts)
        {
            *name = quoted(path.clone());
            described = Some((parts, path));
        }
        if let Some(recipe) = &mut self.recipe {
            recipe.files.clone_from(&files.paths);
            recipe.files.extend(described);
        }
        if !files.paths.is_empty() {
            // Columns come first, because they decide which tables need a name.
            self.visit_mut(&mut Qualified(&mut files));
            self.visit_mut(&mut files);
        }
    }

    /// Lets only pass what neither writes nor changes how the engine works.
    ///
    /// # Errors
    /// When it does.
    pub fn read_only(&self) -> Result<(), Error> {
        let what = match innermost(&self.inner) {
            DfStatement::Statement(statement) => writes(statement),
            DfStatement::CopyTo(_) => Some("COPY"),
            DfStatement::CreateExternalTable(_) => Some("CREATE EXTERNAL TABLE"),
            DfStatement::Reset(_) => Some("RESET"),
            DfStatement::Explain(_) => None,
        };
        let mut bodies = Bodies(what);
        self.visit(&mut bodies);
        match bodies.0 {
            None => Ok(()),
            Some(what) => Err(Error::new(
                ErrorKind::Refused,
                format!("{what} is refused: only queries are answered here"),
            )),
        }
    }
}

/// Files by the names that stand for them.
#[derive(Default)]
struct Files {
    /// Each once.
    paths: Vec<(Vec<String>, String)>,
    /// The places of names in the list.
    places: HashMap<Vec<String>, usize>,
    /// The last parts of names that columns are named with.
    qualifiers: HashSet<String>,
}

impl VisitorMut for Files {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
            && let Some(parts) = plain_parts(name)
            && let Some(place) = self.places.get(&parts)
            && let Some((_, path)) = self.paths.get(*place)
        {
            *name = quoted(path.clone());
            if alias.is_none()
                && let Some(last) = parts.last().filter(|last| self.qualifiers.contains(*last))
            {
                *alias = Some(TableAlias {
                    explicit: true,
                    name: Ident::with_quote('"', last),
                    columns: Vec::new(),
                    at: None,
                });
            }
        }
        ControlFlow::Continue(())
    }
}

/// Removes all but the last part of a file's name from columns that are qualified with it.
struct Qualified<'f>(&'f mut Files);

impl VisitorMut for Qualified<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::CompoundIdentifier(idents) = expr else {
            return ControlFlow::Continue(());
        };
        let begins = |parts: &[String]| {
            let mut names = idents.iter().zip(parts);
            idents.len() > parts.len() && names.all(|(ident, part)| ident.value == *part)
        };
        for (parts, _) in &self.0.paths {
            let Some(before) = parts.len().checked_sub(1) else {
                continue;
            };
            // A bare name may be a protocol: `dns.qry.name` of a file called dns is what it always is.
            let is_quoted = idents
                .first()
                .is_some_and(|ident| ident.quote_style.is_some());
            let is_last = is_quoted && idents.len() == 2 && begins(&parts[before..]);
            let drops = match begins(parts) && before > 0 {
                true => before,
                false if is_last => 0,
                false => continue,
            };
            let last = parts[before].clone();
            idents.drain(..drops);
            self.0.qualifiers.insert(last);
            break;
        }
        ControlFlow::Continue(())
    }
}

fn quoted(path: String) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('\'', path)])
}

/// The effect of a statement that is not a query.
fn writes(statement: &ast::Statement) -> Option<&'static str> {
    use ast::Statement as S;
    match statement {
        S::Query(_)
        | S::ShowFunctions { .. }
        | S::ShowTables { .. }
        | S::ShowColumns { .. }
        | S::ShowVariable { .. }
        | S::ExplainTable { .. }
        | S::Deallocate { .. }
        | S::Execute { .. } => None,
        S::Prepare { statement, .. } => writes(statement),
        S::Set(ast::Set::SingleAssignment { variable, .. }) => {
            let name = variable.to_string().to_ascii_lowercase();
            let is_zone = ["timezone", "datafusion.execution.time_zone"].contains(&&*name);
            (!is_zone).then_some("SET of anything but the time zone")
        }
        S::CreateView(view) if !view.materialized => None,
        S::Drop {
            object_type: ObjectType::View,
            ..
        } => None,
        S::CreateView(_) => Some("CREATE MATERIALIZED VIEW"),
        S::CreateTable(_) => Some("CREATE TABLE"),
        S::Drop { .. } => Some("DROP"),
        S::Insert(_) => Some("INSERT"),
        S::Update { .. } => Some("UPDATE"),
        S::Delete(_) => Some("DELETE"),
        S::Copy { .. } => Some("COPY"),
        S::CreateFunction { .. } => Some("CREATE FUNCTION"),
        S::CreateSchema { .. } => Some("CREATE SCHEMA"),
        S::Set(_) => Some("SET of anything but the time zone"),
        other => Some(grammar::name_of(other).unwrap_or("this kind of statement")),
    }
}

/// Searches query bodies that write.
struct Bodies(Option<&'static str>);

impl Visitor for Bodies {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let what = match query.body.as_ref() {
            SetExpr::Insert(_) => Some("INSERT"),
            SetExpr::Update(_) => Some("UPDATE"),
            SetExpr::Delete(_) => Some("DELETE"),
            SetExpr::Merge(_) => Some("MERGE"),
            _ => None,
        };
        self.0 = self.0.or(what);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if select.into.is_some() {
            self.0 = self.0.or(Some("SELECT INTO"));
        }
        ControlFlow::Continue(())
    }
}

/// The parts of a name, unless it is a file's in single quotes.
fn plain_parts(name: &ObjectName) -> Option<Vec<String>> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) if ident.quote_style != Some('\'') => {
            Some(ident.value.clone())
        }
        _ => None,
    };
    name.0.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(sql: &str) -> Statement {
        Statement::parse(sql).unwrap().pop().unwrap()
    }

    #[test]
    fn questions_pass_and_what_writes_is_refused() {
        for question in [
            "SELECT 1",
            "FROM 'x.pcap' |> AGGREGATE count(*)",
            "EXPLAIN ANALYZE SELECT 1",
            "CREATE VIEW v AS SELECT 1",
            "DROP VIEW v",
            "SET TIME ZONE 'UTC'",
            "PREPARE p AS SELECT $1 + 1",
            "SHOW TABLES",
        ] {
            assert!(parse(question).read_only().is_ok(), "{question}");
        }
        for (statement, what) in [
            ("COPY (SELECT 1) TO 'x.csv'", "COPY is refused"),
            ("EXPLAIN COPY (SELECT 1) TO 'x.csv'", "COPY is refused"),
            (
                "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
                "CREATE EXTERNAL TABLE is refused",
            ),
            ("CREATE TABLE t AS SELECT 1", "CREATE TABLE is refused"),
            ("INSERT INTO t VALUES (1)", "INSERT is refused"),
            (
                "SET datafusion.runtime.temp_directory = '/tmp'",
                "SET of anything but the time zone is refused",
            ),
            ("DROP TABLE t", "DROP is refused"),
            ("SELECT 1 AS a INTO t", "SELECT INTO is refused"),
            ("SELECT 1 UNION SELECT 2 INTO t", "SELECT INTO is refused"),
            ("EXPLAIN SELECT 1 INTO t", "SELECT INTO is refused"),
            ("TRUNCATE t", "TRUNCATE is refused"),
            ("BEGIN", "BEGIN is refused"),
            ("GRANT SELECT ON t TO me", "GRANT is refused"),
            ("CREATE SCHEMA s", "CREATE SCHEMA is refused"),
        ] {
            let refusal = parse(statement).read_only().unwrap_err();
            assert_eq!(refusal.kind(), ErrorKind::Refused, "{statement}");
            assert!(refusal.to_string().starts_with(what), "{refusal}");
        }
    }

    #[test]
    fn parameters_without_a_place_are_found() {
        for (sql, declared, missing) in [
            ("SELECT $1, $2, $1", 0, None),
            ("SELECT $65535", 0, Some(1)),
            ("SELECT $1, $4, $3", 0, Some(2)),
            ("SELECT $1, $4, $3", 2, None),
            ("SELECT $1, $4, $3", 1, Some(2)),
            ("SELECT 1", 7, None),
        ] {
            assert_eq!(parse(sql).missing_parameter(declared), missing, "{sql}");
        }
    }

    #[test]
    fn files_take_the_places_of_their_names() {
        let mut statement = parse(
            "SELECT * FROM public.\"a.pcap\" JOIN b.pcap ON true JOIN 'c.pcap' ON true JOIN flows('d') ON true",
        );
        let names = [vec!["public", "a.pcap"], vec!["b", "pcap"]];
        assert_eq!(statement.table_names(), names);
        statement.name_files(&mut |parts| Some(format!("/root/{}", parts.join("/"))));
        let sql = statement.inner.to_string();
        for part in ["'/root/public/a.pcap'", "'/root/b/pcap'", "'c.pcap'"] {
            assert!(sql.contains(part), "{sql}");
        }
    }

    /// Subqueries were copied with all that is in them, each as often as it is deep, and names were looked for among all others.
    #[test]
    fn names_are_collected_once_and_subqueries_are_not_copied() {
        let (begins, ends) = ("(SELECT * FROM ".repeat(20), ") x".repeat(20));
        let statement = parse(&format!("SELECT * FROM {begins}a.b{ends}"));
        assert_eq!(statement.table_names(), [["a", "b"]]);
        assert_eq!(statement.table_factors().len(), 1);
        let more = " UNION ALL SELECT 1 FROM a.b".repeat(30);
        let mut statement = parse(&format!("SELECT 1 FROM a.b{more}"));
        let mut count = 0;
        statement.name_files(&mut |_| {
            count += 1;
            Some("x".to_owned())
        });
        assert_eq!(count, 1);
        let sql = statement.inner.to_string();
        assert_eq!(sql.matches("FROM 'x'").count(), 31, "{sql}");
    }

    #[test]
    fn columns_are_named_with_the_names_of_files() {
        for (sql, expected) in [
            (
                "SELECT \"public\".\"a.pcap\".\"ip.src\" FROM \"public\".\"a.pcap\"",
                "SELECT \"a.pcap\".\"ip.src\" FROM 'x' AS \"a.pcap\"",
            ),
            (
                "SELECT \"a.pcap\".\"ip.src\", ip.dst FROM \"public\".\"a.pcap\" LIMIT 1",
                "SELECT \"a.pcap\".\"ip.src\", ip.dst FROM 'x' AS \"a.pcap\" LIMIT 1",
            ),
            (
                "SELECT \"a.pcap\".\"ip.src\" FROM \"a.pcap\"",
                "SELECT \"a.pcap\".\"ip.src\" FROM 'x' AS \"a.pcap\"",
            ),
            (
                "SELECT o.\"ip.src\", dns.flags FROM public.dns o, dns",
                "SELECT o.\"ip.src\", dns.flags FROM 'x' o, 'x'",
            ),
            (
                "SELECT ip.src FROM public.\"a.pcap\"",
                "SELECT ip.src FROM 'x'",
            ),
        ] {
            let mut statement = parse(sql);
            statement.name_files(&mut |_| Some("x".to_owned()));
            assert_eq!(statement.inner.to_string(), expected, "{sql}");
        }
    }

    #[test]
    fn parameters_are_counted_and_errors_have_a_place() {
        assert_eq!(parse("SELECT $2 + $1").parameters(), 2);
        assert_eq!(parse("SELECT 1").parameters(), 0);
        let error = Statement::parse("SELECT 1\nFROM )").unwrap_err();
        assert_eq!(error.position().map(|(line, _)| line), Some(2), "{error}");
    }
}
