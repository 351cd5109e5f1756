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

impl Builtin {
    /// The built-in profile of that name.
    pub fn named(name: &str) -> Option<Self> {
        BUILTINS.into_iter().find(|builtin| builtin.name == name)
    }
}
