//! `stall-lab profiles`

use super::Exit;
use super::args::ProfilesArgs;
use crate::profile::{BUILTINS, Builtin, Profile, ProfileError};

pub(super) fn run(args: &ProfilesArgs) -> anyhow::Result<Exit> {
    match &args.name {
        Some(name) => {
            let builtin = Builtin::named(name);
            let builtin = builtin.ok_or_else(|| ProfileError::Unknown { name: name.clone() })?;
            say!("{}", builtin.text.trim_end())?;
        }
        None => {
            for builtin in &BUILTINS {
                let profile = Profile::load(builtin.name, &[])?;
                say!("{:<8} {}", builtin.name, profile.description)?;
            }
            say!(
                "\n`stall-lab profiles NAME` shows one; save it as a file, change it, and run it with --profile FILE"
            )?;
        }
    }
    Ok(Exit::Success)
}
