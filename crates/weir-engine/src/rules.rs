//! The optimizer rules of weir, and their places among DataFusion's.
//!
//! A rule of weir's has its place in front of a rule that DataFusion calls by a name. Where DataFusion has no rule of that name, an
//! engine is not made: at another place the rule would do nothing, or something else.

use std::sync::Arc;

use datafusion::optimizer::OptimizerRule;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use weir_functions::{Error, ErrorKind};

use crate::computed_keys::ComputeKeys;
use crate::distinct::DistinctAsKeys;
use crate::file_order::ReadInFileOrder;
use crate::filters_by_name::{FiltersByName, PUSHING_RULES};
use crate::fuse::FuseAggregates;
use crate::options::Options;
use crate::over::CountWindowRows;
use crate::piece::{CutIntoPieces, SendAway};
use crate::planned_statement::PlannedStatement;
use crate::predicate_subquery::MarkPredicateSubqueries;
use crate::repeated;
use crate::scan_report::ScanReport;
use crate::share::ShareReadings;
use crate::window::PlanWindows;

type LogicalRules = Vec<Arc<dyn OptimizerRule + Send + Sync>>;
type PhysicalRules = Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>;

/// The rules over logical plans.
pub(crate) fn logical(options: &Options) -> Result<LogicalRules, Error> {
    let mut rules = repeated::optimizer_rules();
    // `decorrelate_predicate_subquery` plans the predicates that `MarkPredicateSubqueries` leaves.
    let place = place_of(
        rules.iter().map(|rule| rule.name()),
        &["decorrelate_predicate_subquery"],
    )?;
    rules.insert(place, Arc::new(MarkPredicateSubqueries));
    // Executors of a cluster always have a limit of memory.
    if options.memory_limit_bytes.is_some() || options.cluster.is_some() {
        // `single_distinct_aggregation_to_group_by` rewrites fewer aggregates, and would rewrite some of these first.
        let place = place_of(
            rules.iter().map(|rule| rule.name()),
            &["single_distinct_aggregation_to_group_by"],
        )?;
        rules.insert(place, Arc::new(DistinctAsKeys));
    }
    // The rule sees the keys as all others have left them.
    rules.push(Arc::new(ComputeKeys));
    Ok(rules)
}

/// The rules over physical plans; `planned` is the statement whose plan they see.
pub(crate) fn physical(
    options: &Options,
    planned: &Arc<PlannedStatement>,
    scan_report: &Arc<ScanReport>,
) -> Result<PhysicalRules, Error> {
    let mut rules = PhysicalOptimizer::new().rules;
    for rule in &mut rules {
        if rule.name().starts_with(PUSHING_RULES) {
            *rule = Arc::new(FiltersByName(Arc::clone(rule)));
        }
    }
    if !options.unfused {
        // `EnsureRequirements` adds partitions and orders, which an aggregate that is fused before it does not need.
        let fuse = FuseAggregates {
            memory_limit_bytes: options.memory_limit_bytes,
        };
        put_before(&mut rules, &["EnsureRequirements"], Arc::new(fuse))?;
    }
    if let Some(cluster) = &options.cluster {
        let cut = CutIntoPieces {
            piece_bytes: cluster.piece_bytes(),
        };
        let places = ["fuse_aggregates", "EnsureRequirements"];
        put_before(&mut rules, &places, Arc::new(cut))?;
    }
    // `join_selection` chooses the operators of joins, and joins of streams must be planned before it.
    put_before(&mut rules, &["join_selection"], Arc::new(PlanWindows))?;
    // Executors of a cluster read captures below such functions in one piece; other files, and what cannot be sent, are read here.
    let in_order = ReadInFileOrder {
        aggregates: options.feed.is_none() && !options.follow,
    };
    put_before(&mut rules, &["plan_windows"], Arc::new(in_order))?;
    // The rule follows those that change scans.
    rules.push(Arc::new(ShareReadings));
    if options.memory_limit_bytes.is_some() && options.cluster.is_none() {
        rules.push(Arc::new(CountWindowRows));
    }
    if let Some(cluster) = &options.cluster {
        rules.push(Arc::new(SendAway {
            cluster: Arc::clone(cluster),
            statement: Arc::clone(planned),
            scan_report: Arc::clone(scan_report),
            options: options.clone(),
        }));
    }
    Ok(rules)
}

/// Puts a rule in front of the first that has one of the names.
fn put_before(
    rules: &mut PhysicalRules,
    names: &[&str],
    rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
) -> Result<(), Error> {
    let place = place_of(rules.iter().map(|rule| rule.name()), names)?;
    rules.insert(place, rule);
    Ok(())
}

/// The place of the first rule that has one of the names.
fn place_of<'r>(mut rules: impl Iterator<Item = &'r str>, names: &[&str]) -> Result<usize, Error> {
    rules.position(|rule| names.contains(&rule)).ok_or_else(|| {
        let names = names.join(" or ");
        Error::new(
            ErrorKind::Internal,
            format!("DataFusion has no rule {names}, before which a rule of weir is placed"),
        )
    })
}

#[cfg(test)]
mod tests {
    use datafusion::physical_plan::ExecutionPlan;

    use super::*;
    use crate::cluster::Cluster;

    #[derive(Debug)]
    struct NoMachines;

    impl Cluster for NoMachines {
        fn sent(&self, _plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
            None
        }

        fn partitions(&self) -> usize {
            2
        }

        fn piece_bytes(&self) -> u64 {
            1 << 20
        }
    }

    fn limited() -> Options {
        Options {
            memory_limit_bytes: Some(1 << 20),
            ..Options::default()
        }
    }

    fn physical_names(options: &Options) -> Vec<String> {
        let rules = physical(options, &Arc::default(), &Arc::default()).unwrap();
        rules.iter().map(|rule| rule.name().to_owned()).collect()
    }

    /// The rule behind each of these.
    fn followers<'n>(names: &'n [String], rules: &[&str]) -> Vec<Option<&'n str>> {
        let place = |rule: &&str| names.iter().position(|name| name == rule);
        let follower = |rule| names.get(place(rule)? + 1).map(String::as_str);
        rules.iter().map(follower).collect()
    }

    #[test]
    fn rules_over_physical_plans_have_their_places() {
        let names = physical_names(&Options::default());
        let own = [
            "read_in_file_order",
            "plan_windows",
            "fuse_aggregates",
            "share_readings",
        ];
        let expected = ["plan_windows", "join_selection", "EnsureRequirements"];
        assert_eq!(
            followers(&names, &own),
            [expected.map(Some).as_slice(), &[None]].concat(),
            "{names:?}"
        );
        // Windows are planned before aggregates are fused.
        let place = |rule: &str| names.iter().position(|name| name == rule).unwrap();
        assert!(
            place("plan_windows") < place("fuse_aggregates"),
            "{names:?}"
        );

        let names = physical_names(&limited());
        assert_eq!(names.last().map(String::as_str), Some("count_window_rows"));
        assert_eq!(names.len(), physical_names(&Options::default()).len() + 1);

        let unfused = Options {
            unfused: true,
            ..Options::default()
        };
        assert!(!physical_names(&unfused).contains(&"fuse_aggregates".to_owned()));
    }

    /// Rules of another name would push filters into columns of the same name.
    #[test]
    fn filters_are_pushed_down_by_two_rules() {
        let names = physical_names(&Options::default());
        let pushing = names.iter().filter(|name| name.starts_with(PUSHING_RULES));
        assert_eq!(pushing.count(), 2, "{names:?}");
    }

    #[test]
    fn rules_of_a_cluster_have_their_places() {
        let mut options = Options {
            cluster: Some(Arc::new(NoMachines)),
            ..Options::default()
        };
        let names = physical_names(&options);
        let own = [
            "read_in_file_order",
            "cut_into_pieces",
            "share_readings",
            "send_away",
        ];
        let expected = ["plan_windows", "fuse_aggregates", "send_away"];
        assert_eq!(
            followers(&names, &own),
            [expected.map(Some).as_slice(), &[None]].concat(),
            "{names:?}"
        );
        options.unfused = true;
        let names = physical_names(&options);
        assert_eq!(
            followers(&names, &["cut_into_pieces"]),
            [Some("EnsureRequirements")]
        );
    }

    #[test]
    fn rules_over_logical_plans_have_their_places() {
        let names = |options: &Options| -> Vec<String> {
            let rules = logical(options).unwrap();
            rules.iter().map(|rule| rule.name().to_owned()).collect()
        };
        let plain = names(&Options::default());
        assert!(!plain.contains(&"distinct_as_keys".to_owned()));
        assert_eq!(
            followers(
                &plain,
                &["tell_repeated_apart", "mark_predicate_subqueries"]
            ),
            [
                Some("optimize_projections"),
                Some("decorrelate_predicate_subquery")
            ]
        );
        assert_eq!(plain.last().map(String::as_str), Some("compute_keys"));
        let clustered = Options {
            cluster: Some(Arc::new(NoMachines)),
            ..Options::default()
        };
        for options in [limited(), clustered] {
            assert_eq!(
                followers(&names(&options), &["distinct_as_keys"]),
                [Some("single_distinct_aggregation_to_group_by")]
            );
        }
    }

    #[test]
    fn a_rule_whose_place_is_not_there_is_no_rule_at_another_place() {
        let error = place_of(["a", "b"].into_iter(), &["c", "d"]).unwrap_err();
        assert!(error.to_string().contains("no rule c or d"), "{error}");
        assert_eq!(place_of(["a", "b"].into_iter(), &["c", "b"]).unwrap(), 1);
    }
}
