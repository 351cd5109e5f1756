//! `stall-lab scenarios`

use super::Exit;
use crate::profile::{SCENARIOS, Template};

pub(super) fn run() -> anyhow::Result<Exit> {
    let width = SCENARIOS.iter().map(|scenario| scenario.name.len()).max().unwrap_or_default();
    for scenario in &SCENARIOS {
        let template = Template::find(scenario.name)?;
        say!("{:<width$}  {}", scenario.name, template.profile(&[])?.description)?;
        let arms = template.arms()?;
        let names: Vec<&str> = arms.iter().map(|arm| arm.name()).collect();
        say!("{:<width$}  arms: {}", "", names.join(", "))?;
    }
    say!(
        "\n`stall-lab repro --profile NAME` runs one, `stall-lab profiles NAME` shows it; as a file of your own it may \
         extend any profile"
    )?;
    Ok(Exit::Success)
}
