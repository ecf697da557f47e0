//! Methods that many plan nodes, and rules for them, have alike.

/// The methods of an [`ExecutionPlan`](datafusion::physical_plan::ExecutionPlan) with this name, whose field `properties` has its
/// properties.
macro_rules! named_node {
    ($name:literal) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn properties(&self) -> &std::sync::Arc<datafusion::physical_plan::PlanProperties> {
            &self.properties
        }
    };
}

/// The methods of a [`PhysicalOptimizerRule`](datafusion::physical_optimizer::PhysicalOptimizerRule) with this name, which leaves the
/// schema of a plan as it is.
macro_rules! named_rule {
    ($name:literal) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn schema_check(&self) -> bool {
            true
        }
    };
}

/// The method of an [`ExecutionPlan`](datafusion::physical_plan::ExecutionPlan) without expressions that rules of the optimizer could
/// replace.
macro_rules! no_expressions {
    () => {
        fn apply_expressions(
            &self,
            _f: &mut dyn FnMut(
                &std::sync::Arc<dyn datafusion::physical_plan::PhysicalExpr>,
            ) -> datafusion::error::Result<
                datafusion::common::tree_node::TreeNodeRecursion,
            >,
        ) -> datafusion::error::Result<datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }
    };
}

/// The methods of an [`ExecutionPlan`](datafusion::physical_plan::ExecutionPlan) that has neither inputs nor expressions.
macro_rules! no_inputs {
    () => {
        fn children(&self) -> Vec<&std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
            Vec::new()
        }

        $crate::plan_node::no_expressions!();

        fn with_new_children(
            self: std::sync::Arc<Self>,
            children: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
        ) -> datafusion::error::Result<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>
        {
            if children.is_empty() {
                return Ok(self);
            }
            datafusion::common::internal_err!("the node has no inputs")
        }
    };
}

/// The methods of an [`ExecutionPlan`](datafusion::physical_plan::ExecutionPlan) about its one input, which is its field `input`: of the
/// node and another input makes `$made` the node above that one.
macro_rules! one_input {
    (|$node:ident, $input:ident| $made:expr) => {
        fn children(&self) -> Vec<&std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
            vec![&self.input]
        }

        fn with_new_children(
            self: std::sync::Arc<Self>,
            children: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
        ) -> datafusion::error::Result<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>
        {
            let $node = &*self;
            match <[_; 1]>::try_from(children) {
                Ok([$input]) => Ok(std::sync::Arc::new($made)),
                Err(_) => datafusion::common::internal_err!("{} has one input", $node.name()),
            }
        }
    };
}

pub(crate) use {named_node, named_rule, no_expressions, no_inputs, one_input};
