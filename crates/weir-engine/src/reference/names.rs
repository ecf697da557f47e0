//! The names of the tables that references become, and their place in the statement.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectNamePart, TableFactor, VisitorMut};
use weir_capture::redacted;

use super::written::Reference;

/// The name under which the table of a reference is registered: the reference as it was written.
pub(super) fn reference_name(factor: &TableFactor) -> String {
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

pub(super) fn name_of(name: &ObjectName) -> String {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => ident.value.clone(),
        _ => name.to_string(),
    }
}

/// The names that tables have in plans: without what references keep secret.
#[derive(Default)]
pub(super) struct PlanNames(Vec<(String, String)>);

impl PlanNames {
    /// The name of the table that a reference means. References that would be shown alike get numbers.
    pub(super) fn shown(&mut self, reference: String) -> String {
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
pub(super) struct Replacer(pub(super) PlanNames);

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
