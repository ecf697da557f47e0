//! The engine: a DataFusion session with tables of captures.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::SessionStateDefaults;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::logical_expr::{
    DdlStatement, LogicalPlan, LogicalPlanBuilder, ScalarUDF, Statement as PlanStatement,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement as DfStatement;
use weir_functions::list::{self, FunctionEntry};
use weir_functions::{Error, ErrorKind, address, bounded, folded, number, plan_size, zone};
use weir_sql::meaning::Meanings;
use weir_sql::names::Scope;
use weir_sql::prepared::{self, PreparedStatements};
use weir_sql::{Statement, bytea, follow, grammar, narrow, quantified, widths, zones};
use weir_tables::{Location, Stop};

use crate::answer::{Answer, Snapshot};
use crate::answer_schema::with_types;
use crate::cooperative::cooperative;
use crate::copies::CountCopies;
use crate::copy::{self, Copy, CopyOptions};
use crate::live;
use crate::live_session::Live;
use crate::local_store;
use crate::options::Options;
use crate::passes;
use crate::planned_statement::PlannedStatement;
use crate::reference::Resolver;
use crate::remote::Remote;
use crate::repeated;
use crate::root::Root;
use crate::rules;
use crate::sample::{Planner, SamplePlanner};
use crate::scan_report::ScanReport;
use crate::share;
use crate::show_functions;
use crate::star;
use crate::window;

/// A planned statement: its files were opened and its names resolved, and nothing has been read.
pub struct Planned {
    schema: SchemaRef,
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    copy: Option<Copy>,
    is_explain: bool,
    origins: Vec<Option<String>>,
}

impl Planned {
    /// The origins of the answer's address columns: the table column that each comes from unchanged; `None` for all other
    /// columns.
    #[must_use]
    pub fn address_origins(&self) -> &[Option<String>] {
        &self.origins
    }

    /// The columns of the answer: the count of rows for a `COPY`.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        match &self.copy {
            Some(_) if !self.is_explain => copy::count_schema(),
            _ => Arc::clone(&self.schema),
        }
    }
}

/// Answers SQL over captures. Cheap to make; views that a statement creates live as long as it.
pub struct Engine {
    context: SessionContext,
    scan_report: Arc<ScanReport>,
    live: Arc<Live>,
    prepared: Mutex<PreparedStatements>,
    root: Option<Root>,
    remote: Remote,
    /// The statement that is being planned, for a cluster.
    planned: Arc<PlannedStatement>,
    options: Options,
}

impl Engine {
    /// An engine with these options.
    ///
    /// # Errors
    /// When the place for spilled data cannot be made ready, the time zone is not known, or a database of addresses
    /// cannot be read.
    pub fn new(options: &Options) -> Result<Self, Error> {
        Self::reporting(options, Arc::default(), None)
    }

    /// An engine that adds what it reads to a report, and whose scans end early when `cancel` is set.
    pub(crate) fn reporting(
        options: &Options,
        scan_report: Arc<ScanReport>,
        cancel: Option<Stop>,
    ) -> Result<Self, Error> {
        let live = Arc::new(Live::new(options.tee.clone()));
        let mut config = config(options)?
            .with_extension(Arc::clone(&scan_report))
            .with_extension(Arc::clone(&live));
        if let Some(cancel) = cancel {
            config = config.with_extension(Arc::new(cancel));
        }
        let runtime = runtime(options, &mut config)?;
        let planned = Arc::<PlannedStatement>::default();
        let rules = rules::physical(options, &planned, &scan_report)?;
        let logical_rules = rules::logical(options)?;
        // The first planner that has a plan for an expression is used.
        let mut planners = weir_functions::planners();
        planners.extend(SessionStateDefaults::default_expr_planners());
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_analyzer_rule(Arc::new(CountCopies))
            .with_optimizer_rules(logical_rules)
            .with_runtime_env(runtime)
            .with_default_features()
            .with_expr_planners(planners)
            .with_physical_optimizer_rules(rules)
            .with_query_planner(Arc::new(Planner))
            .with_relation_planners(vec![Arc::new(SamplePlanner)])
            .build();
        let context = SessionContext::new_with_state(state);
        for function in window::function::all() {
            context.register_udf(function);
        }
        weir_functions::register(
            &context,
            &options.geoip,
            bounded::values_bytes_max(options.memory_limit_bytes.is_some()),
        )?;
        let remote = Remote::new(options)?;
        remote.register(&context)?;
        if let Some(catalog) = &options.catalog {
            let registered = catalog.register(&context);
            registered.map_err(|error| Error::from_datafusion(ErrorKind::Run, error, &[]))?;
        }
        let folders = options.root.iter().chain(&options.roots);
        let root = Root::of(folders.map(PathBuf::as_path))?;
        if let Some(root) = &root {
            local_store::register(&context, root.folders());
        }
        Ok(Self {
            planned,
            remote,
            context,
            scan_report,
            live,
            prepared: Mutex::default(),
            root,
            options: options.clone(),
        })
    }

    /// Parses a text of one or several statements.
    ///
    /// # Errors
    /// When the text is not SQL; nothing has run then.
    pub fn parse(&self, sql: &str) -> Result<Vec<Statement>, Error> {
        Statement::parse(sql)
    }

    /// The session that tables are registered in.
    pub(crate) const fn context(&self) -> &SessionContext {
        &self.context
    }

    /// A statement in the words that the session plans.
    fn rewritten(&self, mut statement: Statement) -> Statement {
        let catalog = self.options.catalog.iter();
        for mut pass in catalog.flat_map(|catalog| catalog.passes()) {
            statement.visit_mut(pass.as_mut());
        }
        statement
    }

    /// The functions and rules that it plans with, for sessions elsewhere that run its plans: with those, too, that no
    /// statement names, but plans have.
    #[must_use]
    pub fn session_state(&self) -> SessionState {
        let context = SessionContext::new_with_state(self.context.state());
        for function in number::operations() {
            context.register_udf(ScalarUDF::clone(function));
        }
        context.register_udf(bounded::concatenation(self.values_bytes_max()));
        context.register_udf(ScalarUDF::clone(repeated::opaque()));
        context.register_udf(window::function::barrier());
        context.state()
    }

    /// Bytes that a function may make of one batch of rows.
    const fn values_bytes_max(&self) -> usize {
        bounded::values_bytes_max(self.options.memory_limit_bytes.is_some())
    }

    /// Optimizes a plan, in which functions may make only so much of constants.
    fn within_room<T>(&self, optimize: impl FnOnce() -> T) -> Result<T, Error> {
        let has_limit = self.options.memory_limit_bytes.is_some();
        folded::within(bounded::constants_bytes_max(has_limit), optimize)
    }

    /// The report of the scans so far: what was read and found damaged.
    #[must_use]
    pub const fn scan_report(&self) -> &Arc<ScanReport> {
        &self.scan_report
    }

    /// The stop that ends sources without an end.
    #[must_use]
    pub const fn stop(&self) -> &Stop {
        &self.options.stop
    }

    /// Plans a statement and starts it.
    ///
    /// # Errors
    /// When a file cannot be opened, or a name or a type does not fit.
    pub async fn answer(&self, statement: Statement) -> Result<Answer, Error> {
        let planned = self.plan(statement).await?;
        self.announce(std::slice::from_ref(&planned.plan))?;
        self.start(planned)
    }

    /// Plans the first of these statements, and with it those after it while all of them are plain queries, which share the reading
    /// of the same files. Removes them from the list; a statement that does not fit stays there, and is planned in its turn.
    ///
    /// # Errors
    /// When the first reads a file that cannot be opened, or a name or a type does not fit.
    pub async fn plan_next(
        &self,
        statements: &mut VecDeque<Statement>,
    ) -> Result<Vec<Planned>, Error> {
        let Some(first) = statements.pop_front() else {
            return Ok(Vec::new());
        };
        let is_query = first.is_query();
        let mut planned = vec![self.plan(first).await?];
        while is_query && let Some(next) = statements.front().filter(|next| next.is_query()) {
            let Ok(next) = self.plan(next.clone()).await else {
                break;
            };
            planned.push(next);
            statements.pop_front();
        }
        let mut plans: Vec<_> = planned.iter().map(|one| Arc::clone(&one.plan)).collect();
        if plans.len() > 1 {
            share::share(&mut plans)
                .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))?;
        }
        self.announce(&plans)?;
        for (planned, plan) in planned.iter_mut().zip(plans) {
            planned.plan = plan;
        }
        Ok(planned)
    }

    /// Reports the number of bytes that the plans read.
    fn announce(&self, plans: &[Arc<dyn ExecutionPlan>]) -> Result<(), Error> {
        let bytes = share::bytes(plans)
            .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))?;
        self.scan_report.plan_bytes(bytes);
        Ok(())
    }

    /// Plans a statement; statements that have no plan, as `CREATE VIEW`, are done by that.
    async fn plan(&self, statement: Statement) -> Result<Planned, Error> {
        let statement = match self.prepared().executed(&statement)? {
            Some(executed) => executed,
            None => statement,
        };
        // The statement is checked as it was written, too: a pass may remove a part that writes.
        self.allow(&statement)?;
        let statement = self.rewritten(statement);
        self.check(&statement)?;
        prepared::check(&statement)?;
        if let Some(inner) = prepared::inner(&statement) {
            // The prepared statement runs later with its values; planning it now finds its errors.
            let logical = self.logical(inner, Use::Description).await?;
            prepared::check_types(&logical.plan)?;
            self.prepared().keep(&statement)?;
            return self.nothing().await;
        }
        if self.prepared().forget(&statement)? {
            return self.nothing().await;
        }
        let zone = self.time_zone();
        let planned = self.plan_written(statement).await?;
        if self.time_zone() != zone {
            self.name_time_zone(zone)?;
        }
        Ok(planned)
    }

    /// Checks whether this engine runs a statement: an engine that only answers queries runs none that writes.
    ///
    /// # Errors
    /// When it is not.
    pub fn allow(&self, statement: &Statement) -> Result<(), Error> {
        match self.options.read_only {
            true => statement.read_only(),
            false => Ok(()),
        }
    }

    /// Refuses a statement that is not supported, or not allowed.
    fn check(&self, statement: &Statement) -> Result<(), Error> {
        self.allow(statement)?;
        let state = self.context.state_ref();
        let state = state.read();
        grammar::check(statement, &|name| {
            state.scalar_functions().contains_key(name)
        })
    }

    /// The logical plan of a statement as it may be planned, with places for parameters in it.
    pub(crate) async fn logical_checked(&self, statement: Statement) -> Result<Logical, Error> {
        let statement = match self.prepared().executed(&statement)? {
            Some(executed) => executed,
            None => statement,
        };
        self.allow(&statement)?;
        let mut statement = self.rewritten(statement);
        self.check(&statement)?;
        if let Some(root) = &self.root {
            root.keep(&mut statement)?;
        }
        self.logical(statement, Use::Description).await
    }

    /// The plan of a statement without rows.
    async fn nothing(&self) -> Result<Planned, Error> {
        let plan = LogicalPlanBuilder::empty(false)
            .build()
            .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))?;
        self.physical(Logical::of(plan), None, false).await
    }

    /// The time zone of the session.
    fn time_zone(&self) -> Option<String> {
        let state = self.context.state_ref();
        let state = state.read();
        state.config().options().execution.time_zone.clone()
    }

    /// Validates a time zone that was just set: an unknown one leaves the one before.
    fn name_time_zone(&self, before: Option<String>) -> Result<(), Error> {
        let named = self.time_zone().map(|zone| zone::known(&zone)).transpose();
        let (zone, outcome) = match named {
            Ok(zone) => (zone, Ok(())),
            Err(error) => (before, Err(error)),
        };
        let state = self.context.state_ref();
        let mut state = state.write();
        state.config_mut().options_mut().execution.time_zone = zone;
        outcome
    }

    fn prepared(&self) -> MutexGuard<'_, PreparedStatements> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plans a statement that is not `EXECUTE`, as [`Engine::plan`].
    async fn plan_written(&self, mut statement: Statement) -> Result<Planned, Error> {
        if let Some(root) = &self.root {
            root.keep(&mut statement)?;
        }
        let is_explain = statement.is_explain();
        let options = CopyOptions {
            encoder: self.options.encoder.as_ref(),
            overwrite: self.options.overwrite,
            remote: &self.remote,
            root: self.root.as_ref(),
        };
        let view = statement.made().filter(|made| made.is_view);
        let view = view.map(|_| statement.parsed().to_string());
        let (statement, copy) = copy::prepared(statement, &options)?;
        // The bytes of records are not in the text of what is copied.
        let has_text = !matches!(copy, Some(Copy::Capture(_)));
        self.planned
            .plan(statement.query_text().filter(|_| has_text));
        let logical = match &copy {
            Some(Copy::Capture(_)) => {
                let mut logical = self.logical(statement, Use::Records).await?;
                logical.plan = copy::records_only(logical.plan)?;
                logical
            }
            Some(_) => self.logical(statement, Use::Description).await?,
            None => self.logical(statement, Use::Answer).await?,
        };
        let is_setting = changes_settings(&logical.plan);
        let planned = self.physical(logical, copy, is_explain).await?;
        if let Some(view) = view {
            self.planned.view(view);
        }
        if is_setting {
            self.planned.change_settings();
        }
        Ok(planned)
    }

    /// The physical plan of a logical one.
    pub(crate) async fn physical(
        &self,
        logical: Logical,
        copy: Option<Copy>,
        is_explain: bool,
    ) -> Result<Planned, Error> {
        let Logical {
            plan,
            columns,
            origins,
            text_is_due,
        } = logical;
        let failed = |error| Error::from_datafusion(ErrorKind::Plan, error, &columns);
        let plan = match plan {
            // DataFusion plans and runs it at once.
            LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(mut table)) => {
                let optimized = self.within_room(|| self.context.state().optimize(&table.input))?;
                table.input = Arc::new(optimized.map_err(failed)?);
                LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(table))
            }
            plan => plan,
        };
        let frame = self
            .context
            .execute_logical_plan(plan)
            .await
            .map_err(failed)?;
        let mut schema = Arc::new(frame.schema().as_arrow().clone());
        let (mut state, plan) = frame.into_parts();
        let plan = self.within_room(|| match text_is_due {
            true => star::optimized(&plan, &state),
            false => state.optimize(&plan),
        })?;
        let plan = plan.map_err(failed)?;
        // Filters are planned with the rows of their batches.
        let rows = bounded::batch_rows(&plan, state.config().batch_size()).map_err(failed)?;
        let config = state.config().clone().with_batch_size(rows);
        *state.config_mut() = config;
        let planner = state.query_planner();
        let steps = planner.create_physical_plan(&plan, &state).await;
        let mut steps = steps.map_err(failed)?;
        if text_is_due {
            let options = state.config_options();
            let zone = options.execution.time_zone.as_deref();
            steps = address::rows_to_text(steps, &schema, options)
                .and_then(|steps| zone::rows_to_zone(steps, zone))
                .map_err(failed)?;
            let fields = steps.schema().fields().clone();
            schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        }
        let schema = with_types(&schema, &steps.schema());
        Ok(Planned {
            schema,
            context: Arc::new(TaskContext::from(&state)),
            plan: steps,
            copy,
            is_explain,
            origins,
        })
    }

    /// Starts what was planned.
    ///
    /// # Errors
    /// When a statement reads live packets twice, or standard input; or when live packets are to be saved, and the scan cannot
    /// evaluate all of WHERE.
    pub fn start(&self, planned: Planned) -> Result<Answer, Error> {
        let Planned {
            schema,
            plan,
            context,
            copy,
            is_explain,
            origins: _,
        } = planned;
        if live::growing(&plan) > 0 && !is_explain {
            let plan = live::prepared(plan, self.options.tee.is_some())?;
            let answer = Answer::start(schema, Arc::clone(&plan), &context)?;
            return Ok(match copy {
                Some(copy) => Answer::copied(answer, copy).growing(None, false),
                None => {
                    let streams = live::is_streaming(&plan);
                    let groups = live::has_groups(&plan);
                    let snapshot =
                        groups.then(|| Snapshot::new(Arc::clone(&self.live), plan, context));
                    answer.growing(snapshot, streams)
                }
            });
        }
        // The statement of another machine ends when that one cancels it, also in the middle of a join.
        let plan = match self.options.files_only {
            true => cooperative(plan)
                .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))?,
            false => plan,
        };
        let answer = Answer::start(schema, plan, &context)?;
        Ok(match copy {
            Some(copy) if !is_explain => Answer::copied(answer, copy),
            _ => answer,
        })
    }

    /// The functions of SQL, including table functions, in the order of their names.
    #[must_use]
    pub fn functions(&self) -> Vec<FunctionEntry> {
        list::all(&self.context.state())
    }

    /// The captures that paths, patterns, folders, archives and addresses mean, as FROM takes them, for programs that read them
    /// without a statement.
    ///
    /// # Errors
    /// When one of them means no file, or something else than captures.
    pub fn captures(&self, patterns: &[String]) -> Result<Vec<Location>, Error> {
        self.resolver(false).capture_paths(patterns)
    }

    fn resolver(&self, records: bool) -> Resolver<'_> {
        Resolver {
            context: &self.context,
            scan_report: &self.scan_report,
            decode: &self.options.decode,
            merge: self.options.merge,
            compile: self.options.compile,
            lateness: self.options.lateness,
            records,
            follow: self.options.follow,
            folder: self.options.folder.as_deref(),
            stop: &self.options.stop,
            feed: self.options.feed.as_ref(),
            root: self.root.as_ref(),
            files_only: self.options.files_only,
            sample_bytes_max: self.options.sample_bytes_max,
            remote: &self.remote,
        }
    }

    /// The logical plan of a statement.
    async fn logical(&self, mut statement: Statement, of: Use) -> Result<Logical, Error> {
        let records = of == Use::Records;
        let resolver = self.resolver(records);
        resolver.register_live()?;
        if let Some(pattern) = statement.shown_functions() {
            statement = show_functions::query(&self.context, pattern.as_deref())?;
        }
        quantified::reword(&mut statement);
        bytea::reword(&mut statement)?;
        zones::reword(&mut statement, self.time_zone().is_some())?;
        follow::follow(&mut statement)?;
        let mut resolved = resolver.resolve(&mut statement).await?;
        let given = statement.given_names();
        let dotted = resolved.columns.iter().filter(|name| name.contains('.'));
        let aliases = std::mem::take(&mut resolved.aliases);
        let (aliases, taken) = statement.split_aliases(aliases);
        let scope = Scope {
            dotted: dotted.cloned().collect(),
            addresses: std::mem::take(&mut resolved.addresses),
            bytes: std::mem::take(&mut resolved.bytes),
            tables: std::mem::take(&mut resolved.tables),
            aliases,
            taken,
            columns: resolved.columns.iter().cloned().collect(),
            ordered: in_order(&resolved.columns),
            flags: std::mem::take(&mut resolved.flags),
            given,
            ..Scope::default()
        };
        let mut meanings = Meanings::of(&scope);
        statement.visit_mut(&mut meanings);
        if let Some(refusal) = meanings.refusal {
            return Err(refusal);
        }
        statement.visit_mut(&mut scope.resolver());
        // Rows that are written as a capture need their whole record, which no word of the statement names.
        let names = narrow::words(&statement).filter(|_| !records);
        widths::check(&statement, &|table| resolved.width(table, names.as_ref()))?;
        let column = resolved.first_column_of_one();
        let narrowed = column.and_then(|column| star::narrowed(statement.parsed(), &column));
        let headers = scope.headers.into_inner();
        let headers = headers.unwrap_or_else(PoisonError::into_inner);
        resolver.register(&mut resolved, names.as_ref(), &headers)?;
        let state = self.context.state();
        let zone = state.config().options().execution.time_zone.clone();
        let mut origins = Vec::new();
        let planned = planned(&state, statement, narrowed).await;
        if let Ok((plan, _)) = &planned {
            plan_size::check(plan)?;
        }
        let is_whole = matches!(planned, Ok((_, true)));
        let text_is_due = of == Use::Answer && is_whole && self.may_end_with_text();
        let planned = planned.map(|(plan, _)| plan);
        let plan = planned
            .and_then(|plan| {
                passes::with_meanings(plan, &self.scan_report, self.values_bytes_max())
            })
            .inspect(|plan| origins = address::origins(plan))
            .and_then(|plan| match text_is_due {
                true => Ok(plan),
                false => zone::to_zone(address::to_text(plan)?, zone.as_deref()),
            })
            .map_err(|error| match Error::unknown_function(&error) {
                Some(name) => list::unknown(&state, &name),
                None => Error::from_datafusion(ErrorKind::Plan, error, &resolved.columns),
            })?;
        Ok(Logical {
            plan,
            columns: resolved.columns,
            origins,
            text_is_due,
        })
    }

    /// Whether addresses may become text in the last step of a physical plan: not where parts of it run on other machines or are
    /// looked at before their end.
    fn may_end_with_text(&self) -> bool {
        let options = &self.options;
        options.cluster.is_none() && options.feed.is_none() && !options.follow
    }
}

/// The plan that DataFusion makes of a statement, or of its narrowed form, where it has one; and whether it is of the narrowed
/// form, widened again.
async fn planned(
    state: &SessionState,
    statement: Statement,
    narrowed: Option<DfStatement>,
) -> Result<(LogicalPlan, bool), DataFusionError> {
    if let Some(narrowed) = narrowed {
        let planned = state.statement_to_plan(narrowed).await;
        if let Some(plan) = planned.ok().and_then(star::widened) {
            return Ok((plan, true));
        }
    }
    let plan = state.statement_to_plan(statement.into_parsed()).await?;
    Ok((plan, false))
}

/// The configuration of DataFusion for an engine with these options.
fn config(options: &Options) -> Result<SessionConfig, Error> {
    let mut config = SessionConfig::new()
        .with_information_schema(true)
        // Rows of a subquery have its order, as in PostgreSQL and DuckDB; `Unordered` removes sorts that no row depends on.
        .with_enable_subquery_sort_elimination(false)
        // Batches dealt out to several threads would come back in another order, and cost
        // more than most of what is done with them; scans run side by side file by file.
        .with_round_robin_repartition(false);
    // What a simplified expression is in a physical plan may be NULL for all that is known of it, which the logical one cannot.
    config
        .options_mut()
        .execution
        .skip_physical_aggregate_schema_check = true;
    if let Some(cluster) = &options.cluster {
        // Neither a filter that is found while rows are read nor a subquery's value reaches another machine.
        let optimizer = &mut config.options_mut().optimizer;
        optimizer.enable_dynamic_filter_pushdown = false;
        optimizer.enable_physical_uncorrelated_scalar_subquery = false;
        // A machine with some of the tasks has only some of the rows, and cannot find those of one side that have no
        // match in any.
        optimizer.prefer_hash_join = false;
        optimizer.hash_join_single_partition_threshold = 0;
        optimizer.hash_join_single_partition_threshold_rows = 0;
        config = config.with_target_partitions(cluster.partitions().max(2));
    }
    // Filters by the best rows so far are pushed down to scans. A view of groups before the end runs parts of the plan with the
    // current groups, and rows that it excludes must not be missing from the answer.
    if options.feed.is_some() || options.follow {
        let optimizer = &mut config.options_mut().optimizer;
        optimizer.enable_topk_dynamic_filter_pushdown = false;
        optimizer.enable_aggregate_dynamic_filter_pushdown = false;
        optimizer.enable_join_dynamic_filter_pushdown = false;
    }
    // The optimization loses columns: a join key that is computed from a field of a struct is not found any more.
    config
        .options_mut()
        .optimizer
        .enable_leaf_expression_pushdown = false;
    if let Some(zone) = &options.time_zone {
        config.options_mut().execution.time_zone = Some(zone::known(zone)?);
    }
    if let Some(threads) = options.threads {
        config = config.with_target_partitions(threads.max(1));
    }
    Ok(config)
}

/// Whether a statement changes a setting other than the time zone.
fn changes_settings(plan: &LogicalPlan) -> bool {
    let variable = match plan {
        LogicalPlan::Statement(PlanStatement::SetVariable(set)) => &set.variable,
        LogicalPlan::Statement(PlanStatement::ResetVariable(reset)) => &reset.variable,
        _ => return false,
    };
    variable != "datafusion.execution.time_zone"
}

/// Memory and files of an engine. What a sort sets aside depends on how much there is.
fn runtime(options: &Options, config: &mut SessionConfig) -> Result<Arc<RuntimeEnv>, Error> {
    let mut runtime = RuntimeEnvBuilder::new();
    if let Some(bytes) = options.memory_limit_bytes {
        // The memory that a sort reserves for merging spilled runs must fit as well, for each thread.
        let shared = options.shared_memory.as_ref();
        let statements = shared.map_or(1, |shared| shared.statements);
        let sorts = config.target_partitions().max(1).saturating_mul(statements);
        let share = bytes / SORT_SHARE.saturating_mul(sorts);
        let execution = &mut config.options_mut().execution;
        execution.sort_spill_reservation_bytes = share.min(execution.sort_spill_reservation_bytes);
        runtime = runtime.with_memory_pool(match shared {
            Some(shared) => Arc::clone(&shared.pool),
            None => Arc::new(FairSpillPool::new(bytes)),
        });
    }
    runtime
        .build_arc()
        .map_err(|error| Error::from_datafusion(ErrorKind::Run, error, &[]))
}

/// The logical plan of a statement, with its properties.
pub(crate) struct Logical {
    pub(crate) plan: LogicalPlan,
    /// The columns that its tables have.
    columns: Vec<String>,
    /// The origins of columns that are addresses.
    pub(crate) origins: Vec<Option<String>>,
    /// Addresses are not text yet, and instants not in the zone of the session.
    text_is_due: bool,
}

/// The use of a logical plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It runs, and its rows are the answer.
    Answer,
    /// It runs, and packets have their records with them.
    Records,
    /// It describes the answer, or is a part of another plan.
    Description,
}

impl Logical {
    /// A plan that no statement is left of.
    pub(crate) const fn of(plan: LogicalPlan) -> Self {
        Self {
            plan,
            columns: Vec::new(),
            origins: Vec::new(),
            text_is_due: false,
        }
    }
}

/// Each name once.
fn in_order(columns: &[String]) -> Vec<String> {
    let mut seen = HashSet::new();
    let columns = columns.iter().filter(|name| seen.insert(name.as_str()));
    columns.cloned().collect()
}

/// Sorts of a thread set aside this part of its share of the memory.
const SORT_SHARE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// Filters filled batches of 8,192 rows: a constant of a megabyte became eight gigabytes.
    #[tokio::test]
    async fn filters_fill_batches_of_fewer_rows_beside_long_constants() {
        let engine = Engine::new(&Options::default()).unwrap();
        let sql =
            "SELECT repeat('x', 1000000) AS a, v FROM generate_series(1, 200) t(v) WHERE v % 2 = 0";
        let statement = engine.parse(sql).unwrap().pop().unwrap();
        let mut answer = engine.answer(statement).await.unwrap();
        let mut rows = 0;
        while let Some(batch) = answer.next().await.unwrap() {
            assert!(batch.num_rows() <= 67, "{} rows", batch.num_rows());
            rows += batch.num_rows();
        }
        assert_eq!(rows, 100);
    }
}
