//! The engine: a DataFusion session that knows captures.

use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::{SessionConfig, SessionContext};
use weir_packet::Options as DecodeOptions;
use weir_tables::{Feed, Keeper, Stop};

use crate::address;
use crate::answer::{Answer, Glance};
use crate::copy::{self, CaptureCopy};
use crate::error::{Error, ErrorKind};
use crate::function;
use crate::fuse::FuseAggregates;
use crate::ledger::Ledger;
use crate::live::{self, Live};
use crate::names::Scope;
use crate::number;
use crate::reference::Resolver;
use crate::statement::Statement;
use crate::window::{self, PlanWindows};

/// How an engine works.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Threads that a query may use; `None` for as many as the machine has cores.
    pub threads: Option<usize>,
    /// Bytes that groups, sorts and joins may hold before they spill to disk; `None` for no limit.
    pub memory_limit_bytes: Option<usize>,
    /// Leaves aggregates to DataFusion's own operators instead of computing them while captures are
    /// decoded: slower, with the same answers.
    pub unfused: bool,
    /// Reads several captures of one FROM at once, in the order of time.
    pub merge: bool,
    /// How late records may be that are answered in the order of time; `None` leaves that to each
    /// source: a second for standard input where windows need the order, and for files no limit,
    /// since they are read whole before windows close.
    pub lateness: Option<Duration>,
    /// How ambiguous traffic is decoded.
    pub decode: DecodeOptions,
    /// Captures are read on as they grow, until [`Engine::stop`] is asked.
    pub follow: bool,
    /// What the table `live` is.
    pub feed: Option<Arc<dyn Feed>>,
    /// Keeps the packets of sources without an end that are taken up.
    pub keeper: Option<Keeper>,
    /// Brings sources without an end to theirs.
    pub stop: Stop,
}

/// Answers SQL over captures. Cheap to make; views that a statement creates live as long as it.
pub struct Engine {
    context: SessionContext,
    ledger: Arc<Ledger>,
    live: Arc<Live>,
    options: Options,
}

impl Engine {
    /// An engine with these options.
    ///
    /// # Errors
    /// When the place for spilled data cannot be made ready.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let ledger = Arc::new(Ledger::default());
        let live = Arc::new(Live::new(options.keeper.clone()));
        let mut config = SessionConfig::new()
            .with_information_schema(true)
            // Batches dealt out to several threads would come back in another order, and cost
            // more than most of what is done with them; scans run side by side file by file.
            .with_round_robin_repartition(false)
            .with_extension(Arc::clone(&ledger))
            .with_extension(Arc::clone(&live));
        // It loses columns: a join key computed from a field of a struct is not found any more.
        config
            .options_mut()
            .optimizer
            .enable_leaf_expression_pushdown = false;
        if let Some(threads) = options.threads {
            config = config.with_target_partitions(threads.max(1));
        }
        let mut runtime = RuntimeEnvBuilder::new();
        if let Some(bytes) = options.memory_limit_bytes {
            runtime = runtime.with_memory_pool(Arc::new(FairSpillPool::new(bytes)));
        }
        let runtime = runtime
            .build_arc()
            .map_err(|error| Error::from_datafusion(ErrorKind::Run, error, &[]))?;
        let mut rules = PhysicalOptimizer::new().rules;
        // DataFusion's own aggregate spills to disk at the limit; the fused one does not yet.
        if !options.unfused && options.memory_limit_bytes.is_none() {
            // In front of the rule that deals out partitions and orders.
            let place = rules
                .iter()
                .position(|rule| rule.name() == "EnsureRequirements");
            rules.insert(place.unwrap_or(0), Arc::new(FuseAggregates));
        }
        // In front of the rule that decides how to join.
        let place = rules
            .iter()
            .position(|rule| rule.name() == "join_selection");
        rules.insert(place.unwrap_or(0), Arc::new(PlanWindows));
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime)
            .with_default_features()
            .with_physical_optimizer_rules(rules)
            .build();
        let context = SessionContext::new_with_state(state);
        for function in function::all().into_iter().chain(window::function::all()) {
            context.register_udf(function);
        }
        Ok(Self {
            context,
            ledger,
            live,
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

    /// What the scans have read and found damaged so far.
    #[must_use]
    pub const fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Brings sources without an end to theirs, once it is asked.
    #[must_use]
    pub const fn stop(&self) -> &Stop {
        &self.options.stop
    }

    /// Plans a statement and starts it.
    ///
    /// # Errors
    /// When a file cannot be opened, or a name or a type does not fit.
    pub async fn answer(&self, statement: Statement) -> Result<Answer, Error> {
        let copy = CaptureCopy::of(&statement)?;
        let explained = statement.is_explain();
        let (plan, columns) = match &copy {
            None => self.plan(statement, false).await?,
            Some(_) => {
                let (plan, columns) = self.plan(statement.without_copy(), true).await?;
                (copy::records_only(plan)?, columns)
            }
        };
        let failed = |error| Error::from_datafusion(ErrorKind::Plan, error, &columns);
        let frame = self
            .context
            .execute_logical_plan(plan)
            .await
            .map_err(failed)?;
        let schema = Arc::new(frame.schema().as_arrow().clone());
        let task = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await.map_err(failed)?;
        if live::growing(&plan) > 0 && !explained {
            let plan = live::prepared(plan, self.options.keeper.is_some())?;
            let answer = Answer::start(schema, Arc::clone(&plan), &task)?;
            return Ok(match copy {
                Some(copy) => Answer::copied(answer, copy).growing(None, false),
                None => {
                    let streams = live::is_streaming(&plan);
                    let groups = live::has_groups(&plan);
                    let glance = groups.then(|| Glance::new(Arc::clone(&self.live), plan, task));
                    answer.growing(glance, streams)
                }
            });
        }
        let answer = Answer::start(schema, plan, &task)?;
        Ok(match copy {
            Some(copy) if !explained => Answer::copied(answer, copy),
            _ => answer,
        })
    }

    /// The logical plan of a statement, whose packets have their records with them when `records` is
    /// asked for, and the columns that its tables have.
    async fn plan(
        &self,
        mut statement: Statement,
        records: bool,
    ) -> Result<(LogicalPlan, Vec<String>), Error> {
        let resolver = Resolver {
            context: &self.context,
            ledger: &self.ledger,
            decode: &self.options.decode,
            merge: self.options.merge,
            lateness: self.options.lateness,
            records,
            follow: self.options.follow,
            stop: &self.options.stop,
        };
        if let Some(feed) = &self.options.feed {
            resolver.register_live(feed)?;
        }
        let resolved = resolver.resolve(&mut statement).await?;
        let dotted = resolved.columns.iter().filter(|name| name.contains('.'));
        let (aliases, taken) = statement.split_aliases(resolved.aliases);
        let scope = Scope {
            dotted: dotted.cloned().collect(),
            addresses: resolved.addresses,
            bytes: resolved.bytes,
            tables: resolved.tables,
            aliases,
            taken,
        };
        statement.visit_mut(&mut scope.resolver());
        let state = self.context.state();
        let plan = state
            .statement_to_plan(statement.inner)
            .await
            .and_then(address::coerce)
            .and_then(number::widen)
            .and_then(window::with_keys)
            .and_then(address::to_text)
            .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &resolved.columns))?;
        Ok((plan, resolved.columns))
    }
}
