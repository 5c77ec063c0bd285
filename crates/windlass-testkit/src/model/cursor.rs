//! Cursors.

use windlass_core::commit::Written;
use windlass_core::cursor::{Cursor, CursorMove, CursorRule};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::name::CursorName;
use windlass_core::store::MAX_LISTED_CURSORS;

use super::Model;

impl Model {
    pub(crate) fn cursor(&self, name: &CursorName) -> Option<Cursor> {
        self.cursors.get(name).cloned()
    }

    pub(crate) fn list_cursors(&self) -> Vec<(CursorName, Cursor)> {
        let listed = self.cursors.iter().take(MAX_LISTED_CURSORS as usize);
        listed.map(|(name, cursor)| (name.clone(), cursor.clone())).collect()
    }

    pub(super) fn seed(&mut self, name: &CursorName, start: &Cursor) -> Written {
        if self.cursors.contains_key(name) {
            self.tally.hit("second seed ignored");
            return Written::Rows(0);
        }
        self.cursors.insert(name.clone(), start.clone());
        Written::Rows(1)
    }

    pub(super) fn advance(
        &mut self,
        name: &CursorName,
        to: &Cursor,
        rule: CursorRule,
    ) -> StoreResult<Written> {
        let stored = self.required_cursor(name)?;
        let decision = rule.decide(&stored, to);
        match decision {
            CursorMove::Advanced => {
                self.cursors.insert(name.clone(), to.clone());
            }
            CursorMove::Unchanged => self.tally.hit("cursor not moved back"),
            CursorMove::Conflict => return Err(self.cursor_conflict(name, stored, to)),
        }
        Ok(Written::Cursor(decision))
    }

    pub(super) fn reset(
        &mut self,
        name: &CursorName,
        expected: &Cursor,
        to: &Cursor,
    ) -> StoreResult<Written> {
        let stored = self.required_cursor(name)?;
        if stored != *expected {
            return Err(self.cursor_conflict(name, stored, expected));
        }
        self.tally.hit("cursor reset");
        self.cursors.insert(name.clone(), to.clone());
        Ok(Written::Cursor(CursorMove::Advanced))
    }

    pub(super) fn required_cursor(&mut self, name: &CursorName) -> StoreResult<Cursor> {
        self.cursors.get(name).cloned().ok_or_else(|| StoreError::CursorMissing(name.clone()))
    }

    fn cursor_conflict(&mut self, name: &CursorName, stored: Cursor, proposed: &Cursor) -> StoreError {
        self.tally.hit("cursor conflict");
        StoreError::CursorConflict { name: name.clone(), stored, proposed: proposed.clone() }
    }
}
