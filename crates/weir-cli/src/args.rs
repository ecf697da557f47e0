//! The arguments that several commands share.

mod live;
mod output;
mod query;
mod resources;

use clap::Args;

use crate::message::ColorChoice;

pub(crate) use live::Live;
pub(crate) use output::{OutputArgs, RowLimit, parse_rows};
pub(crate) use query::{Hdlc, Query};
pub(crate) use resources::{Databases, Resources, Zone};

/// Switches of every command.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Reporting")]
pub(crate) struct Global {
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        env = "WEIR_COLOR",
        hide_env_values = true,
        hide_possible_values = true,
        long_help = "When to use colour: auto, always or never. 'auto' is colour on a terminal, \
            unless NO_COLOR is set or TERM is dumb"
    )]
    pub(crate) color: ColorChoice,
    /// Show no notes and no progress; errors and warnings are still shown
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Allow output to replace an existing capture
    #[arg(
        long,
        global = true,
        help_heading = "Output",
        long_help = "Allow output to replace an existing capture. Other files are replaced without this option. A file is \
            replaced only when the new one is complete"
    )]
    pub(crate) overwrite: bool,
}
