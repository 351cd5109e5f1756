//! The `stall-lab` binary: arguments in, exit code out. Everything else is in the library.

use stall_lab::cli;

fn main() -> cli::Exit {
    cli::run(std::env::args_os())
}
