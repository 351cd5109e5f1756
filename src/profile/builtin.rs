//! The profiles that are built into the binary.

/// A profile that needs no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its text, TOML with every field documented: a template for a user's own.
    pub text: &'static str,
}

/// Every built-in profile; the first is the default.
pub const BUILTINS: [Builtin; 3] = [
    Builtin { name: "outage", text: include_str!("../../profiles/outage.toml") },
    Builtin { name: "quick", text: include_str!("../../profiles/quick.toml") },
    Builtin { name: "smoke", text: include_str!("../../profiles/smoke.toml") },
];

/// Every scenario: a profile that extends another, with arms that differ in one thing.
pub const SCENARIOS: [Builtin; 10] = [
    scenario("full-page-writes", include_str!("../../profiles/scenarios/full-page-writes.toml")),
    scenario("triggers", include_str!("../../profiles/scenarios/triggers.toml")),
    scenario("two-standbys", include_str!("../../profiles/scenarios/two-standbys.toml")),
    scenario("cut-two-standbys", include_str!("../../profiles/scenarios/cut-two-standbys.toml")),
    scenario("apply-delay", include_str!("../../profiles/scenarios/apply-delay.toml")),
    scenario("synchronous-commit", include_str!("../../profiles/scenarios/synchronous-commit.toml")),
    scenario("settings", include_str!("../../profiles/scenarios/settings.toml")),
    scenario("repeated-images", include_str!("../../profiles/scenarios/repeated-images.toml")),
    scenario("workloads", include_str!("../../profiles/scenarios/workloads.toml")),
    scenario("version-defaults", include_str!("../../profiles/scenarios/version-defaults.toml")),
];

const fn scenario(name: &'static str, text: &'static str) -> Builtin {
    Builtin { name, text }
}

impl Builtin {
    /// The built-in profile or scenario of that name.
    pub fn named(name: &str) -> Option<Self> {
        BUILTINS.into_iter().chain(SCENARIOS).find(|builtin| builtin.name == name)
    }
}
