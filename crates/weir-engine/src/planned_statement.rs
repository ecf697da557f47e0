//! The statement that is being planned.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The statement that is being planned, for rules that see its plan only.
#[derive(Debug, Default)]
pub(crate) struct PlannedStatement {
    texts: Mutex<(Option<String>, Vec<String>)>,
    has_settings: AtomicBool,
}

impl PlannedStatement {
    /// A plain query with this text is planned next, or something that has no such text.
    pub(crate) fn plan(&self, sql: Option<String>) {
        self.lock().0 = sql;
    }

    /// A view was made by this statement.
    pub(crate) fn view(&self, sql: String) {
        self.lock().1.push(sql);
    }

    /// A setting that the text of a statement does not have was changed.
    pub(crate) fn change_settings(&self) {
        self.has_settings.store(true, Ordering::Relaxed);
    }

    /// The text that is answered elsewhere as it is here, with those of views.
    pub(crate) fn query(&self) -> Option<(String, Vec<String>)> {
        if self.has_settings.load(Ordering::Relaxed) {
            return None;
        }
        let texts = self.lock();
        Some((texts.0.clone()?, texts.1.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, (Option<String>, Vec<String>)> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
