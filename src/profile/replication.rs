//! What PostgreSQL is told of each node and of the standbys that a commit waits for.

use std::collections::BTreeSet;

use super::{PRIMARY, Postgres, Profile, SERVER_DEFAULT, Settings, SyncMethod};

impl Profile {
    /// The settings of a node: the common ones, over them those of its kind, over them a standby's own. What is left to
    /// the server is not among them.
    ///
    /// A name that is no node's has the common ones alone.
    pub fn effective_settings(&self, node: &str) -> Settings {
        let mut settings = self.postgres.common.clone();
        if node == PRIMARY {
            settings.extend(self.postgres.primary.clone());
        } else if let Some(standby) = self.standby.iter().find(|standby| standby.name == node) {
            settings.extend(self.postgres.standby.clone());
            settings.extend(standby.settings.clone());
        }
        settings.retain(|_, value| value != SERVER_DEFAULT);
        settings
    }

    /// Names of all settings that some node has.
    #[must_use]
    pub fn setting_names(&self) -> BTreeSet<String> {
        let standbys = self.standby.iter().map(|standby| standby.name.as_str());
        let nodes = std::iter::once(PRIMARY).chain(standbys);
        nodes.flat_map(|node| self.effective_settings(node).into_keys()).collect()
    }

    /// The same profile without these settings on any node.
    #[must_use]
    pub fn without_settings(mut self, names: &[String]) -> Self {
        let Postgres { common, primary, standby, .. } = &mut self.postgres;
        let own = self.standby.iter_mut().map(|standby| &mut standby.settings);
        for settings in [common, primary, standby].into_iter().chain(own) {
            settings.retain(|name, _| !names.contains(name));
        }
        self
    }

    /// Names of the standbys that a commit may wait for, in order.
    pub fn synchronous_candidates(&self) -> Vec<&str> {
        let named = &self.synchronous.standbys;
        if named.is_empty() {
            self.standby.iter().map(|standby| standby.name.as_str()).collect()
        } else {
            named.iter().map(String::as_str).collect()
        }
    }

    /// The value of `synchronous_standby_names`, as in `FIRST 1 ("standby")`; empty if no commit waits.
    pub fn synchronous_standby_names(&self) -> String {
        let count = self.synchronous.count;
        if count == 0 {
            return String::new();
        }
        let method = match self.synchronous.method {
            SyncMethod::First => "FIRST",
            SyncMethod::Any => "ANY",
        };
        let quote = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let names: Vec<String> = self.synchronous_candidates().into_iter().map(quote).collect();
        format!("{method} {count} ({})", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::tests::{quick, two_standbys};

    #[test]
    fn every_standby_counts_in_the_order_of_the_profile_unless_some_are_named() {
        assert_eq!(quick(&[]).synchronous_standby_names(), "FIRST 1 (\"standby\")");
        assert_eq!(two_standbys(&[]).synchronous_standby_names(), "FIRST 1 (\"standby\", \"other\")");
        let quorum = two_standbys(&["synchronous.method=ANY", "synchronous.standbys=other,standby"]);
        assert_eq!(quorum.synchronous_standby_names(), "ANY 1 (\"other\", \"standby\")");
        let named = two_standbys(&["synchronous.standbys=other"]);
        assert_eq!(named.synchronous_standby_names(), "FIRST 1 (\"other\")");
    }

    #[test]
    fn a_count_of_zero_makes_replication_asynchronous() {
        assert_eq!(quick(&["synchronous.count=0"]).synchronous_standby_names(), "");
    }

    #[test]
    fn settings_nearer_to_a_node_win() {
        let profile = two_standbys(&[
            "postgres.common.work_mem=1MB",
            "postgres.primary.work_mem=2MB",
            "postgres.standby.work_mem=3MB",
            "standby.other.settings.work_mem=4MB",
        ]);
        let work_mem = |node| profile.effective_settings(node).get("work_mem").cloned();
        assert_eq!(work_mem("primary").as_deref(), Some("2MB"));
        assert_eq!(work_mem("standby").as_deref(), Some("3MB"));
        assert_eq!(work_mem("other").as_deref(), Some("4MB"));
        assert_eq!(work_mem("nobody").as_deref(), Some("1MB"));
        assert!(!profile.effective_settings("primary").contains_key("recovery_prefetch"));
        assert_eq!(profile.effective_settings("primary").get("shared_buffers").unwrap(), "128MB");
    }

    #[test]
    fn what_is_left_to_the_server_or_taken_out_is_in_no_nodes_settings() {
        let profile = two_standbys(&[
            "postgres.common.work_mem=1MB",
            "standby.other.settings.work_mem=DEFAULT",
            "postgres.common.shared_buffers=DEFAULT",
            "postgres.primary.wal_buffers=4MB",
        ]);
        assert_eq!(profile.effective_settings("standby").get("work_mem").unwrap(), "1MB");
        for (node, setting) in [("other", "work_mem"), ("primary", "shared_buffers")] {
            assert_eq!(profile.effective_settings(node).get(setting), None, "{node}");
        }
        let names = profile.setting_names();
        assert!(names.contains("wal_buffers") && names.contains("work_mem"), "{names:?}");
        let without = profile.without_settings(&["wal_buffers".to_owned(), "work_mem".to_owned()]);
        assert!(!without.setting_names().iter().any(|name| name == "wal_buffers" || name == "work_mem"));
    }
}
