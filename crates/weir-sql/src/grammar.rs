//! The supported grammar; everything else is refused with one sentence.
//!
//! The parser reads more than the planner plans, and the planner passes over some of it without a word: a `FOR UPDATE`,
//! a `WITH ROLLUP`, the version of a table. A clause that is accepted and not done is a wrong answer, so every part of
//! a statement is looked at before it is planned. The lists here name every variant and every field without `_` and
//! `..`: with a version of the parser that has more, this crate does not compile before the lists have a verdict on it.

mod size;
mod verdict;

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, ContextModifier, CreateTable, CreateTableOptions, CreateView, Cte, DuplicateTreatment,
    Expr, Fetch, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
    GroupByExpr, HiveDistributionStyle, Join, JoinConstraint, JoinOperator, LimitClause, OrderBy,
    OrderByExpr, OrderByKind, PipeOperator, Query, Select, SelectItem, Set, SetExpr, SetOperator,
    SetQuantifier, TableAlias, TableAliasColumnDef, TableFactor, TableFunctionArgs,
    TableSampleKind, TableWithJoins, Visitor, WildcardAdditionalOptions, WindowSpec, WindowType,
    With,
};
use weir_functions::{Condition, Error, ErrorKind};

use crate::path_name;
use crate::reworded::CHOOSING;
use crate::statement::Statement;
use crate::table_sample::Sample;
pub use size::{FRAME_ROWS_MAX, size_limit};
use verdict::Verdict;

/// Checks every part of a statement. `is_scalar` returns whether a name is that of a scalar function.
///
/// # Errors
/// The first part that is not honoured.
pub fn check(statement: &Statement, is_scalar: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    let mut walker = Walker {
        is_scalar,
        lists: size::Lists::default(),
        refusal: None,
    };
    statement.visit(&mut walker);
    match walker.refusal {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

struct Walker<'s> {
    is_scalar: &'s dyn Fn(&str) -> bool,
    lists: size::Lists,
    refusal: Option<Error>,
}

impl Walker<'_> {
    fn take(&mut self, looked: Result<(), Error>) -> ControlFlow<()> {
        match looked {
            Ok(()) => ControlFlow::Continue(()),
            Err(refusal) => {
                self.refusal = Some(refusal);
                ControlFlow::Break(())
            }
        }
    }
}

impl Visitor for Walker<'_> {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &ast::Statement) -> ControlFlow<()> {
        self.take(look_at_statement(statement))
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let looked = look_at_query(query).and_then(|()| self.lists.add_query(query));
        self.take(looked)
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let looked = look_at_select(select).and_then(|()| self.lists.enter_select(select));
        self.take(looked)
    }

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<()> {
        let looked = self.lists.leave_select();
        self.take(looked)
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.take(look_at_factor(factor))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let looked = verdict::expression(expr)
            .outcome()
            .and_then(|()| match expr {
                Expr::Function(function) => look_at_function(function, self.is_scalar)
                    .and_then(|()| self.lists.add_function(function)),
                Expr::Cast { data_type, .. } => size::look_at_type(data_type),
                Expr::TypedString(typed) => size::look_at_type(&typed.data_type),
                _ => Ok(()),
            });
        self.take(looked)
    }
}

/// The name of a statement that is not planned.
pub(crate) const fn name_of(of: &ast::Statement) -> Option<&'static str> {
    match verdict::statement(of) {
        Verdict::Refused(what, _) => Some(what),
        Verdict::Honoured => None,
    }
}

/// The refusal of the first of these that is there.
fn none_of(parts: &[(bool, &str)]) -> Result<(), Error> {
    match parts.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(refusal(what, "")),
        None => Ok(()),
    }
}

/// The error of a clause that is not supported.
fn refusal(what: &str, hint: &str) -> Error {
    let error = Error::new(ErrorKind::Plan, format!("not supported: {what}"))
        .with_condition(Condition::NotSupported);
    match hint {
        "" => error,
        hint => error.with_hint(hint),
    }
}

fn refuse_if(is_there: bool, what: &str, hint: &str) -> Result<(), Error> {
    match is_there {
        true => Err(refusal(what, hint)),
        false => Ok(()),
    }
}

fn look_at_statement(statement: &ast::Statement) -> Result<(), Error> {
    verdict::statement(statement).outcome()?;
    match statement {
        ast::Statement::CreateTable(table) => look_at_table(table),
        ast::Statement::CreateView(view) => look_at_view(view),
        ast::Statement::Drop {
            object_type: _,
            if_exists: _,
            names: _,
            cascade,
            restrict,
            purge,
            temporary,
            table,
        } => none_of(&[
            (*cascade, "CASCADE of DROP"),
            (*restrict, "RESTRICT of DROP"),
            (*purge, "PURGE of DROP"),
            (*temporary, "DROP TEMPORARY"),
            (table.is_some(), "ON a table of DROP"),
        ]),
        ast::Statement::Set(set) => look_at_set(set),
        ast::Statement::Execute {
            name,
            parameters: _,
            has_parentheses: _,
            immediate,
            into,
            using,
            output,
            default,
        } => {
            none_of(&[
                (*immediate, "EXECUTE IMMEDIATE"),
                (!into.is_empty(), "INTO of EXECUTE"),
                (*output, "OUTPUT of EXECUTE"),
                (*default, "DEFAULT of EXECUTE"),
                (name.is_none(), "EXECUTE without a name"),
            ])?;
            refuse_if(
                !using.is_empty(),
                "USING of EXECUTE",
                "write values in parentheses: EXECUTE p('10.0.0.1')",
            )
        }
        _ => Ok(()),
    }
}

/// Refuses clauses of a statement, in the order of the list. Every field is named, so that one that a new version of the parser
/// adds does not compile until it is accepted or refused.
macro_rules! refuse_clauses {
    (
        $of:literal, $kind:ident = $value:expr,
        passed: [$($passed:ident),* $(,)?],
        refused: [$($refused:ident => $what:literal),* $(,)?] $(,)?
    ) => {{
        let $kind { $($passed: _,)* $($refused,)* } = $value;
        none_of(&[$((Clause::is_there($refused), concat!($what, " of ", $of))),*])
    }};
}

/// A clause that a statement may have.
trait Clause {
    fn is_there(&self) -> bool;
}

impl Clause for bool {
    fn is_there(&self) -> bool {
        *self
    }
}

impl<T> Clause for Option<T> {
    fn is_there(&self) -> bool {
        self.is_some()
    }
}

impl Clause for HiveDistributionStyle {
    fn is_there(&self) -> bool {
        *self != Self::NONE
    }
}

impl Clause for CreateTableOptions {
    fn is_there(&self) -> bool {
        *self != Self::None
    }
}

fn look_at_table(table: &CreateTable) -> Result<(), Error> {
    path_name::look_at_made(&table.name)?;
    for column in &table.columns {
        size::look_at_type(&column.data_type)?;
    }
    refuse_clauses! {
        "CREATE TABLE", CreateTable = table,
        passed: [
            or_replace, if_not_exists, name, columns, constraints,
            hive_formats, query,
        ],
        refused: [
            hive_distribution => "PARTITIONED BY",
            table_options => "options",
            temporary => "TEMPORARY",
            external => "EXTERNAL",
            dynamic => "DYNAMIC",
            global => "GLOBAL",
            transient => "TRANSIENT",
            volatile => "VOLATILE",
            iceberg => "ICEBERG",
            snapshot => "SNAPSHOT",
            file_format => "FILE FORMAT",
            location => "LOCATION",
            without_rowid => "WITHOUT ROWID",
            like => "LIKE",
            clone => "CLONE",
            version => "VERSION",
            comment => "COMMENT",
            on_commit => "ON COMMIT",
            on_cluster => "ON CLUSTER",
            primary_key => "PRIMARY KEY",
            order_by => "ORDER BY",
            partition_by => "PARTITION BY",
            cluster_by => "CLUSTER BY",
            clustered_by => "CLUSTERED BY",
            inherits => "INHERITS",
            partition_of => "PARTITION OF",
            for_values => "FOR VALUES",
            strict => "STRICT",
            copy_grants => "COPY GRANTS",
            enable_schema_evolution => "ENABLE SCHEMA EVOLUTION",
            change_tracking => "CHANGE TRACKING",
            data_retention_time_in_days => "DATA RETENTION TIME IN DAYS",
            max_data_extension_time_in_days => "MAX DATA EXTENSION TIME IN DAYS",
            default_ddl_collation => "DEFAULT DDL COLLATION",
            with_aggregation_policy => "WITH AGGREGATION POLICY",
            with_row_access_policy => "WITH ROW ACCESS POLICY",
            with_storage_lifecycle_policy => "WITH STORAGE LIFECYCLE POLICY",
            with_tags => "WITH TAGS",
            external_volume => "EXTERNAL VOLUME",
            base_location => "BASE LOCATION",
            catalog => "CATALOG",
            catalog_sync => "CATALOG SYNC",
            storage_serialization_policy => "STORAGE SERIALIZATION POLICY",
            target_lag => "TARGET LAG",
            warehouse => "WAREHOUSE",
            refresh_mode => "REFRESH MODE",
            initialize => "INITIALIZE",
            require_user => "REQUIRE USER",
            diststyle => "DISTSTYLE",
            distkey => "DISTKEY",
            sortkey => "SORTKEY",
            backup => "BACKUP",
        ],
    }
}

fn look_at_view(view: &CreateView) -> Result<(), Error> {
    let CreateView {
        or_alter,
        or_replace: _,
        materialized,
        secure,
        name,
        name_before_not_exists: _,
        columns: _,
        query: _,
        options,
        cluster_by,
        comment,
        with_no_schema_binding,
        if_not_exists,
        temporary,
        copy_grants,
        to,
        params,
    } = view;
    path_name::look_at_made(name)?;
    none_of(&[
        (
            *options != CreateTableOptions::None,
            "options of CREATE VIEW",
        ),
        (*or_alter, "OR ALTER of CREATE VIEW"),
        (*materialized, "MATERIALIZED of CREATE VIEW"),
        (*secure, "SECURE of CREATE VIEW"),
        (!cluster_by.is_empty(), "CLUSTER BY of CREATE VIEW"),
        (comment.is_some(), "COMMENT of CREATE VIEW"),
        (
            *with_no_schema_binding,
            "WITH NO SCHEMA BINDING of CREATE VIEW",
        ),
        (*if_not_exists, "IF NOT EXISTS of CREATE VIEW"),
        (*temporary, "TEMPORARY of CREATE VIEW"),
        (*copy_grants, "COPY GRANTS of CREATE VIEW"),
        (to.is_some(), "TO of CREATE VIEW"),
        (params.is_some(), "PARAMS of CREATE VIEW"),
    ])
}

fn look_at_set(set: &Set) -> Result<(), Error> {
    let is_local = |scope: &Option<ContextModifier>| {
        scope
            .as_ref()
            .is_some_and(|scope| !matches!(scope, ContextModifier::Session))
    };
    match set {
        Set::SingleAssignment {
            scope,
            hivevar,
            variable: _,
            values: _,
        } => none_of(&[
            (is_local(scope), "SET LOCAL and SET GLOBAL"),
            (*hivevar, "SET HIVEVAR"),
        ]),
        Set::SetTimeZone { local, value: _ } => refuse_if(
            *local,
            "SET LOCAL TIME ZONE",
            "SET TIME ZONE 'Europe/Berlin'",
        ),
        Set::ParenthesizedAssignments { .. } => {
            Err(refusal("SET of several variables", "write a SET for each"))
        }
        Set::MultipleAssignments { .. } => {
            Err(refusal("SET of several variables", "write a SET for each"))
        }
        Set::SetSessionAuthorization(_) => Err(refusal("SET SESSION AUTHORIZATION", "")),
        Set::SetSessionParam(_) => Err(refusal("SET of a session parameter", "")),
        Set::SetRole { .. } => Err(refusal("SET ROLE", "")),
        Set::SetNames { .. } => Err(refusal("SET NAMES", "text is UTF-8")),
        Set::SetNamesDefault {} => Err(refusal("SET NAMES", "text is UTF-8")),
        Set::SetTransaction { .. } => Err(refusal("SET TRANSACTION", "")),
    }
}

fn look_at_query(query: &Query) -> Result<(), Error> {
    let Query {
        with,
        body,
        order_by,
        limit_clause,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    look_at_body(body)?;
    if let Some(with) = with {
        look_at_with(with)?;
    }
    if let Some(OrderBy { kind, interpolate }) = order_by {
        refuse_if(interpolate.is_some(), "INTERPOLATE", "")?;
        if let OrderByKind::Expressions(exprs) = kind {
            look_at_orders(exprs)?;
        }
    }
    look_at_limit(limit_clause.as_ref(), fetch.as_ref())?;
    refuse_if(
        !locks.is_empty(),
        "FOR UPDATE and FOR SHARE",
        "files are read, never locked",
    )?;
    refuse_if(
        for_clause.is_some(),
        "FOR XML, FOR JSON and FOR BROWSE",
        "--format json writes the answer as JSON",
    )?;
    refuse_if(
        settings.is_some(),
        "SETTINGS",
        "SET sets an option of the session",
    )?;
    refuse_if(
        format_clause.is_some(),
        "FORMAT",
        "--format sets the format of the answer",
    )?;
    pipe_operators.iter().try_for_each(look_at_operator)
}

fn look_at_with(with: &With) -> Result<(), Error> {
    let With {
        with_token: _,
        recursive: _,
        cte_tables,
    } = with;
    for cte in cte_tables {
        // MATERIALIZED changes how often it is read, not what it is.
        let Cte {
            alias,
            query: _,
            from,
            materialized: _,
            closing_paren_token: _,
        } = cte;
        refuse_if(from.is_some(), "FROM after a WITH", "")?;
        look_at_alias(Some(alias))?;
    }
    Ok(())
}

fn look_at_limit(limit: Option<&LimitClause>, fetch: Option<&Fetch>) -> Result<(), Error> {
    if let Some(LimitClause::LimitOffset {
        limit: _,
        offset: _,
        limit_by,
    }) = limit
    {
        let hint = "QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) <= 3";
        refuse_if(!limit_by.is_empty(), "LIMIT … BY", hint)?;
    }
    if let Some(Fetch {
        with_ties,
        percent,
        quantity: _,
    }) = fetch
    {
        let hint = "QUALIFY rank() OVER (ORDER BY a) <= 3 keeps the ties";
        refuse_if(*with_ties, "FETCH … WITH TIES", hint)?;
        refuse_if(
            *percent,
            "FETCH … PERCENT",
            "TABLESAMPLE (10 PERCENT) draws rows",
        )?;
        refuse_if(
            limit.is_some(),
            "LIMIT together with FETCH",
            "use only one of them",
        )?;
    }
    Ok(())
}

fn look_at_body(body: &SetExpr) -> Result<(), Error> {
    verdict::body(body).outcome()?;
    let SetExpr::SetOperation {
        left,
        op,
        set_quantifier,
        right,
    } = body
    else {
        return Ok(());
    };
    let by_name = match set_quantifier {
        SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName => true,
        SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None => false,
    };
    match op {
        SetOperator::Union => {}
        SetOperator::Except | SetOperator::Intersect => {
            refuse_if(by_name, &format!("{op} BY NAME"), "use UNION BY NAME")?;
        }
        SetOperator::Minus => return Err(refusal("MINUS", "EXCEPT is its name in standard SQL")),
    }
    look_at_body(left)?;
    look_at_body(right)
}

fn look_at_orders(orders: &[OrderByExpr]) -> Result<(), Error> {
    for OrderByExpr {
        expr: _,
        options: _,
        with_fill,
    } in orders
    {
        let hint = "join with generate_series to have a row for each step";
        refuse_if(with_fill.is_some(), "WITH FILL", hint)?;
    }
    Ok(())
}

fn look_at_operator(operator: &PipeOperator) -> Result<(), Error> {
    verdict::operator(operator).outcome()?;
    match operator {
        PipeOperator::OrderBy { exprs } => look_at_orders(exprs),
        PipeOperator::Join(join) => look_at_join(join),
        PipeOperator::Aggregate {
            full_table_exprs,
            group_by_expr,
        } => {
            size::look_at_sets(group_by_expr.iter().map(|expr| &expr.expr.expr))?;
            let mut all = full_table_exprs.iter().chain(group_by_expr);
            let has_order = all.any(|expr| expr.order_by.asc.is_some());
            refuse_if(
                has_order,
                "an order in AGGREGATE",
                "write |> ORDER BY after it",
            )
        }
        _ => Ok(()),
    }
}

fn look_at_select(select: &Select) -> Result<(), Error> {
    let Select {
        select_token: _,
        // These are comments, which change no answer.
        optimizer_hints: _,
        distinct: _,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection,
        exclude,
        into: _,
        from,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window: _,
        qualify: _,
        // The two clauses are the same in either order.
        window_before_qualify: _,
        value_table_mode,
        flavor: _,
    } = select;
    let modifiers = select_modifiers.as_ref();
    refuse_if(
        modifiers.is_some_and(ast::SelectModifiers::is_any_set),
        "modifiers of SELECT such as HIGH_PRIORITY",
        "",
    )?;
    refuse_if(top.is_some(), "TOP", "write LIMIT 10 at the end")?;
    refuse_if(
        exclude.is_some(),
        "EXCLUDE after the columns",
        "SELECT * EXCLUDE (a)",
    )?;
    refuse_if(
        !lateral_views.is_empty(),
        "LATERAL VIEW",
        "CROSS JOIN UNNEST(list)",
    )?;
    refuse_if(
        prewhere.is_some(),
        "PREWHERE",
        "use WHERE: it is evaluated while packets are decoded",
    )?;
    refuse_if(
        !connect_by.is_empty(),
        "CONNECT BY",
        "WITH RECURSIVE asks such questions",
    )?;
    refuse_if(
        !cluster_by.is_empty(),
        "CLUSTER BY",
        "ORDER BY orders the answer",
    )?;
    refuse_if(
        !distribute_by.is_empty(),
        "DISTRIBUTE BY",
        "ORDER BY orders the answer",
    )?;
    refuse_if(!sort_by.is_empty(), "SORT BY", "ORDER BY orders the answer")?;
    refuse_if(
        value_table_mode.is_some(),
        "SELECT AS STRUCT and AS VALUE",
        "use struct(a, b) for one value",
    )?;
    projection.iter().try_for_each(look_at_item)?;
    look_at_groups(group_by)?;
    size::look_at_select(select)?;
    from.iter().try_for_each(look_at_joins)
}

/// The planner passes over ILIKE and a name of `*`.
fn look_at_item(item: &SelectItem) -> Result<(), Error> {
    let (SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)) = item else {
        return Ok(());
    };
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude: _,
        opt_except: _,
        opt_replace: _,
        opt_rename,
        opt_alias,
    } = options;
    refuse_if(
        opt_ilike.is_some(),
        "ILIKE of *",
        "SELECT tcp.* has the columns that begin like that",
    )?;
    refuse_if(
        opt_rename.is_some(),
        "RENAME of *",
        "SELECT * EXCLUDE (a), a AS b",
    )?;
    refuse_if(
        opt_alias.is_some(),
        "AS of *",
        "SELECT a AS b names a column",
    )
}

fn look_at_groups(group_by: &GroupByExpr) -> Result<(), Error> {
    let modifiers = match group_by {
        GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers) => modifiers,
    };
    refuse_if(
        !modifiers.is_empty(),
        "WITH ROLLUP, WITH CUBE and WITH TOTALS",
        "use GROUP BY ROLLUP (a, b), CUBE (a, b) or GROUPING SETS ((a), ())",
    )
}

fn look_at_joins(table: &TableWithJoins) -> Result<(), Error> {
    let TableWithJoins { relation: _, joins } = table;
    joins.iter().try_for_each(look_at_join)
}

fn look_at_join(join: &Join) -> Result<(), Error> {
    let Join {
        relation: _,
        global,
        join_operator,
    } = join;
    refuse_if(*global, "GLOBAL JOIN", "")?;
    verdict::join(join_operator).outcome()?;
    match join_operator {
        JoinOperator::Join(JoinConstraint::None)
        | JoinOperator::Inner(JoinConstraint::None)
        | JoinOperator::Left(JoinConstraint::None)
        | JoinOperator::LeftOuter(JoinConstraint::None)
        | JoinOperator::Right(JoinConstraint::None)
        | JoinOperator::RightOuter(JoinConstraint::None)
        | JoinOperator::FullOuter(JoinConstraint::None)
        | JoinOperator::LeftSemi(JoinConstraint::None)
        | JoinOperator::RightSemi(JoinConstraint::None)
        | JoinOperator::LeftAnti(JoinConstraint::None)
        | JoinOperator::RightAnti(JoinConstraint::None) => Err(refusal(
            "JOIN without ON or USING",
            "CROSS JOIN pairs all rows with all",
        )),
        JoinOperator::CrossJoin(
            JoinConstraint::On(_) | JoinConstraint::Using(_) | JoinConstraint::Natural,
        ) => Err(refusal("CROSS JOIN with a condition", "JOIN … ON …")),
        // DataFusion takes the left table's column for the one of both, which is NULL in rows of the right one alone.
        JoinOperator::Right(JoinConstraint::Using(_) | JoinConstraint::Natural)
        | JoinOperator::RightOuter(JoinConstraint::Using(_) | JoinConstraint::Natural)
        | JoinOperator::FullOuter(JoinConstraint::Using(_) | JoinConstraint::Natural) => {
            Err(refusal(
                "USING and NATURAL in a RIGHT or FULL JOIN",
                "ON a.x = b.x has the rows, and coalesce(a.x, b.x) the column of both",
            ))
        }
        _ => Ok(()),
    }
}

fn look_at_alias(alias: Option<&TableAlias>) -> Result<(), Error> {
    let Some(TableAlias {
        explicit: _,
        name: _,
        columns,
        at,
    }) = alias
    else {
        return Ok(());
    };
    refuse_if(at.is_some(), "AT after the name of a table", "")?;
    for TableAliasColumnDef { name: _, data_type } in columns {
        refuse_if(
            data_type.is_some(),
            "a type after the name of a column in FROM",
            "use CAST(a AS type) in SELECT to convert a value",
        )?;
    }
    Ok(())
}

fn look_at_factor(factor: &TableFactor) -> Result<(), Error> {
    verdict::factor(factor).outcome()?;
    match factor {
        TableFactor::Table { .. } => look_at_named(factor),
        TableFactor::Derived {
            lateral: _,
            subquery: _,
            alias,
            sample,
        } => {
            look_at_alias(alias.as_ref())?;
            look_at_sample(sample.as_ref())
        }
        TableFactor::Function {
            lateral: _,
            name: _,
            args,
            with_ordinality,
            alias,
        } => {
            let hint = "row_number() OVER () numbers rows";
            refuse_if(*with_ordinality, "WITH ORDINALITY", hint)?;
            let named = args
                .iter()
                .any(|arg| !matches!(arg, FunctionArg::Unnamed(_)));
            refuse_if(named, "named arguments after LATERAL", "")?;
            look_at_alias(alias.as_ref())
        }
        TableFactor::UNNEST {
            alias,
            array_exprs: _,
            with_offset,
            with_offset_alias,
            with_ordinality,
        } => {
            let hint = "row_number() OVER () numbers rows";
            refuse_if(*with_ordinality, "WITH ORDINALITY", hint)?;
            refuse_if(
                *with_offset || with_offset_alias.is_some(),
                "WITH OFFSET",
                hint,
            )?;
            look_at_alias(alias.as_ref())
        }
        TableFactor::NestedJoin {
            table_with_joins,
            alias,
        } => {
            look_at_alias(alias.as_ref())?;
            look_at_joins(table_with_joins)
        }
        _ => Ok(()),
    }
}

/// A table by its name, or a function of tables.
fn look_at_named(factor: &TableFactor) -> Result<(), Error> {
    let TableFactor::Table {
        name: _,
        alias,
        args,
        with_hints,
        version,
        with_ordinality,
        partitions,
        json_path,
        sample,
        index_hints,
    } = factor
    else {
        return Ok(());
    };
    if let Some(TableFunctionArgs { args: _, settings }) = args {
        refuse_if(settings.is_some(), "SETTINGS of a table function", "")?;
    }
    refuse_if(
        !with_hints.is_empty(),
        "hints such as WITH (NOLOCK)",
        "files are never locked",
    )?;
    refuse_if(
        version.is_some(),
        "an earlier version of a table",
        "WHERE frame.time < '…' leaves out later packets",
    )?;
    let hint = "row_number() OVER () numbers rows, frame.number packets";
    refuse_if(*with_ordinality, "WITH ORDINALITY", hint)?;
    refuse_if(!partitions.is_empty(), "PARTITION of a table", "")?;
    refuse_if(json_path.is_some(), "a path into a table", "")?;
    refuse_if(!index_hints.is_empty(), "USE, FORCE and IGNORE INDEX", "")?;
    look_at_alias(alias.as_ref())?;
    look_at_sample(sample.as_ref())
}

fn look_at_sample(sample: Option<&TableSampleKind>) -> Result<(), Error> {
    match sample {
        Some(
            TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample),
        ) => Sample::read(sample).map(|_| ()),
        None => Ok(()),
    }
}

fn look_at_function(function: &Function, is_scalar: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    let Function {
        name,
        uses_odbc_syntax: _,
        parameters,
        args,
        filter,
        null_treatment,
        over,
        within_group,
    } = function;
    let name = name.to_string().to_ascii_lowercase();
    refuse_if(
        *parameters != FunctionArguments::None,
        "parameters before the arguments of a function",
        "write all in one pair of parentheses: approx_percentile_cont(a, 0.9)",
    )?;
    size::look_at_arguments(function)?;
    look_at_format(&name, args)?;
    let mut clauses: &[FunctionArgumentClause] = &[];
    let mut is_distinct = false;
    match args {
        FunctionArguments::None => {}
        FunctionArguments::Subquery(_) => {
            return Err(refusal(
                "a query as the arguments of a function",
                "use array_agg(a) for a list of the values of a column",
            ));
        }
        FunctionArguments::List(list) => {
            clauses = &list.clauses;
            is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        }
    }
    let of_nulls = null_treatment.is_some()
        || clauses
            .iter()
            .any(|clause| matches!(clause, FunctionArgumentClause::IgnoreOrRespectNulls(_)));
    refuse_if(
        of_nulls && !CHOOSING.contains(&name.as_str()),
        &format!("IGNORE NULLS and RESPECT NULLS of {name}"),
        "only first_value, last_value, nth_value, lag and lead accept them",
    )?;
    if let Some(WindowType::WindowSpec(WindowSpec {
        window_name,
        partition_by: _,
        order_by,
        window_frame: _,
    })) = over
    {
        let hint = "write the whole window: OVER (PARTITION BY … ORDER BY …)";
        refuse_if(
            window_name.is_some(),
            "a window that extends a named one",
            hint,
        )?;
        look_at_orders(order_by)?;
    }
    look_at_orders(within_group)?;
    if !is_scalar(&name) {
        return Ok(());
    }
    let of_rows = [
        (filter.is_some(), "FILTER"),
        (over.is_some(), "OVER"),
        (is_distinct, "DISTINCT"),
        (!clauses.is_empty(), "ORDER BY"),
        (!within_group.is_empty(), "WITHIN GROUP"),
    ];
    match of_rows.into_iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(refusal(
            &format!("{what} of {name}, which is not an aggregate"),
            "use CASE WHEN … THEN … END to leave out values",
        )),
        None => Ok(()),
    }
}

/// A pattern of PostgreSQL's, which the planner's function would give back as it is, and one with a part of a time that is passed over.
fn look_at_format(name: &str, args: &FunctionArguments) -> Result<(), Error> {
    let FunctionArguments::List(list) = args else {
        return Ok(());
    };
    if name.starts_with("to_timestamp") || name == "to_unixtime" {
        let mut formats = list.args.iter().skip(1);
        return refuse_if(
            formats.any(|argument| literal_text(argument).is_some_and(is_without_minute)),
            &format!(
                "a format of {name} with a part of the time of day, and without the hour and the minute"
            ),
            "%H and %M are the hour and the minute, %I, %M and %p those of 12 hours: to_timestamp(a || ':00', '%Y-%m-%d %H:%M')",
        );
    }
    let (
        "to_char" | "date_format",
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(format)))),
    ) = (name, list.args.get(1))
    else {
        return Ok(());
    };
    let is_pattern = |text: &str| !text.contains('%') && text.contains(char::is_alphabetic);
    refuse_if(
        matches!(&format.value, ast::Value::SingleQuotedString(text) if is_pattern(text)),
        &format!("a format of {name} without %"),
        "'%Y-%m-%d %H:%M:%S' is what 'YYYY-MM-DD HH24:MI:SS' is in PostgreSQL, as strftime has it",
    )
}

fn literal_text(argument: &FunctionArg) -> Option<&str> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => match &value.value {
            ast::Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a format as strftime has it reads a part of a time from which no time of day can be made: the day would begin.
fn is_without_minute(format: &str) -> bool {
    // Flags and numbers of digits stand in front of the letter: %-H, %.3f.
    let letters = format.split('%').skip(1);
    let letters: String = letters
        .filter_map(|part| part.chars().find(char::is_ascii_alphabetic))
        .collect();
    let has = |wanted: &str| letters.contains(|letter: char| wanted.contains(letter));
    let has_hour = has("Hk") || (has("Il") && has("pP"));
    let is_whole = has("TRrXcs") || (has_hour && has("M"));
    has("HkIlMSfpP") && !is_whole
}

#[cfg(test)]
mod tests;
