//! `stall-lab plot`

use super::Exit;
use super::args::PlotArgs;
use crate::analysis::{self, Redrawn};
use crate::report;

pub(super) fn run(args: &PlotArgs) -> anyhow::Result<Exit> {
    for folder in &args.folders {
        match analysis::redraw(folder)? {
            Redrawn::Run(run) => {
                say!("{}\n  {}", report::headline(&run.run, &run.summary), folder.display())?
            }
            Redrawn::WaitFor(run) => {
                say!("{}  {}", report::wait_for::headline(&run.info, &run.summary), folder.display())?
            }
            Redrawn::Sweep(runs) => say!("a sweep of {runs} runs\n  {}", folder.display())?,
            Redrawn::Comparison(runs) => say!("{runs} runs side by side\n  {}", folder.display())?,
        }
    }
    Ok(Exit::Success)
}
