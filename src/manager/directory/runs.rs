//! Reads runs from the ledger for people, and draws them off the async threads.

use crate::domain::{Run, TurnId};
use crate::manager::directory::status::StatusReports;
use crate::manager::error::ManagerError;
use crate::store::Previews;

/// Runs that are drawn at once; others wait. One may have a hundred thousand rows.
pub(crate) const AT_ONCE: usize = 2;

impl StatusReports {
    /// The result of `draw` for a run; `None` where there is no such turn.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub(crate) async fn look_at_run<T: Send + 'static>(
        &self,
        run: TurnId,
        previews: Previews,
        draw: impl FnOnce(Run) -> T + Send + 'static,
    ) -> Result<Option<T>, ManagerError> {
        // It is never closed.
        let _place = self.drawing.acquire().await.ok();
        let deps = &self.deps;
        let Some(rows) = deps.store.run_rows(run, previews).await? else {
            return Ok(None);
        };
        let redactor = deps.services.redactor.clone();
        let drawn = tokio::task::spawn_blocking(move || draw(rows.into_run(&redactor))).await;
        drawn
            .map(Some)
            .map_err(|error| ManagerError::Failed(error.to_string()))
    }
}
