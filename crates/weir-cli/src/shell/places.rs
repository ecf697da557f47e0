//! The files of the shell's user, by the XDG Base Directory Specification.

use std::env;
use std::path::PathBuf;

/// Files of the user; `None` where there is no place for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Settings.
    pub(super) config: Option<PathBuf>,
    /// Statements that are run at start. They are read from the user's own folder only: the working folder may come from
    /// another person, as its captures do.
    pub(super) statements: Option<PathBuf>,
    /// The history of inputs.
    pub(super) history: Option<PathBuf>,
    /// Views that were saved.
    pub(super) views: Option<PathBuf>,
}

impl Places {
    /// The places of the user of this process.
    pub(super) fn of_user() -> Self {
        Self::by(|name| env::var_os(name).map(PathBuf::from))
    }

    fn by(variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let home = variable("HOME").filter(|home| home.is_absolute());
        let under = |name: &str, default: &str| {
            // The specification: a path that is not absolute is to be ignored.
            let named = variable(name).filter(|path| path.is_absolute());
            let folder = named.or_else(|| Some(home.as_ref()?.join(default)));
            folder.map(|folder| folder.join("weir"))
        };
        Self {
            config: under("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("config.toml")),
            statements: home.as_ref().map(|home| home.join(".weirrc")),
            history: under("XDG_STATE_HOME", ".local/state").map(|folder| folder.join("history")),
            views: under("XDG_DATA_HOME", ".local/share").map(|folder| folder.join("views.sql")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_those_of_the_environment_or_below_home() {
        let places = Places::by(|name| match name {
            "HOME" => Some(PathBuf::from("/home/ada")),
            "XDG_STATE_HOME" => Some(PathBuf::from("/state")),
            "XDG_DATA_HOME" => Some(PathBuf::from("relative")),
            _ => None,
        });
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(places.config, path("/home/ada/.config/weir/config.toml"));
        assert_eq!(places.statements, path("/home/ada/.weirrc"));
        assert_eq!(places.history, path("/state/weir/history"));
        assert_eq!(places.views, path("/home/ada/.local/share/weir/views.sql"));
        assert_eq!(Places::by(|_| None), Places::default());
    }
}
