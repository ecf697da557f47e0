//! A whole cluster in one process, for a first try and for tests.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::client::Client;
use crate::error::Error;
use crate::server::{ExecutorOptions, Scheduler, SchedulerOptions, run_executor};
use crate::trust::Trust;
use crate::work::WorkFolder;

/// A scheduler and executors on threads of their own. All of them end when it is dropped.
#[derive(Debug)]
pub struct LocalCluster {
    runtime: Option<Runtime>,
    scheduler: SocketAddr,
    /// The work directories of the executors. They are removed when the threads that write to them have ended.
    _work: Vec<Arc<WorkFolder>>,
    trust: Trust,
}

impl LocalCluster {
    /// Starts a scheduler and so many executors of one core each, with a memory limit for all of them together. Their token never
    /// leaves this process, so that other users of the machine cannot connect to them.
    ///
    /// # Errors
    /// When the system has no threads, ports, random numbers or room for the work directories.
    pub fn start(executors: usize, memory_limit_bytes: Option<usize>) -> Result<Self, Error> {
        let trust = Trust::among_clones()?;
        Self::start_trusted(&std::env::temp_dir(), executors, memory_limit_bytes, &trust)
    }

    /// Starts a cluster like [`Self::start`], with its work directories below `folder`, and without a token: every user of this
    /// machine can connect.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_below(
        folder: &Path,
        executors: usize,
        memory_limit_bytes: Option<usize>,
    ) -> Result<Self, Error> {
        Self::start_trusted(folder, executors, memory_limit_bytes, &Trust::default())
    }

    /// Starts a cluster like [`Self::start_below`], with authentication.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_trusted(
        folder: &Path,
        executors: usize,
        memory_limit_bytes: Option<usize>,
        trust: &Trust,
    ) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::new(error.to_string());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .worker_threads(executors.clamp(2, 8))
            .thread_name("weir-cluster")
            .thread_stack_size(STACK_BYTES)
            .build()
            .map_err(failed)?;
        let mut options = SchedulerOptions::default();
        options.listen.set_port(0);
        options.trust = trust.clone();
        let scheduler = runtime.block_on(Scheduler::bind(&options))?;
        let address = scheduler.address()?;
        runtime.spawn(scheduler.run());
        let work = (0..executors.max(1))
            .map(|_| WorkFolder::create_in(folder).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        for work in &work {
            let mut options = ExecutorOptions::new(address.to_string(), Arc::clone(work));
            options.cores = 1;
            options.trust = trust.clone();
            options.memory_limit_bytes = memory_limit_bytes.map(|bytes| bytes / executors.max(1));
            runtime.spawn(async move { run_executor(&options, std::future::pending()).await });
        }
        Ok(Self {
            runtime: Some(runtime),
            scheduler: address,
            _work: work,
            trust: trust.clone(),
        })
    }

    /// A client of the cluster.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn client(&self, partitions: usize) -> Result<Client, Error> {
        let trust = self.trust.clone();
        Client::trusted(self.scheduler.to_string(), partitions, trust)
    }

    /// The address of its scheduler.
    #[must_use]
    pub const fn scheduler(&self) -> SocketAddr {
        self.scheduler
    }
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_millis(200));
        }
    }
}

const STACK_BYTES: usize = 16 << 20;
