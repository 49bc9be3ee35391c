//! The terminal in raw mode, while a table is shown on it.

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue, style};
use std::io::{self, Write};
use std::thread;

/// The terminal as it is while this lives.
pub struct Screen(());

/// The key that quits also while text is typed.
pub const QUIT: KeyCode = KeyCode::F(10);

/// The keys, which `?` shows.
pub const HELP: &[&str] = &[
    "  s  t        order by self, by total time",
    "  m  l  h     a row for each method, line, thread",
    "  /           show only rows with a text: type it, then Enter; Esc for all",
    "  arrows, PgUp, PgDn, Home   scroll",
    "  q  Ctrl-C   quit; the program continues, unless jvmpi has started it",
    "",
    "  self is the share of the samples since the last table that found the row at work,",
    "  total that of those that found it on the stack, so far is self since the start.",
    "  CPU is that of the whole process in processors (200%: two), GC the part of the",
    "  threads that collect garbage.",
];

impl Screen {
    /// Takes control of the terminal. `hear` is called with keys, and with None if the terminal has another size, from a
    /// thread of its own.
    ///
    /// # Errors
    /// Returns the feature that the terminal lacks.
    pub fn open(mut hear: impl FnMut(Option<KeyCode>) + Send + 'static) -> Result<Self, String> {
        terminal::enable_raw_mode()
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen, cursor::Hide))
            .map_err(|error| format!("the terminal cannot be used: {error}; try --once"))?;
        let screen = Self(());
        thread::spawn(move || {
            while let Ok(event) = event::read() {
                match event {
                    Event::Resize(..) => hear(None),
                    Event::Key(KeyEvent { code: KeyCode::Char('c'), modifiers, .. })
                        if modifiers.contains(KeyModifiers::CONTROL) =>
                    {
                        hear(Some(QUIT));
                    }
                    Event::Key(KeyEvent { code, .. }) => hear(Some(code)),
                    _ => {}
                }
            }
        });
        Ok(screen)
    }

    /// Returns the number of rows between head, heading and foot.
    pub fn rows() -> usize {
        terminal::size().map_or(0, |(_, rows)| usize::from(rows).saturating_sub(4))
    }

    /// Shows these lines, and one at the foot.
    ///
    /// # Errors
    /// Returns the error of the terminal.
    pub fn show(&mut self, mut all: Vec<String>, foot: String) -> io::Result<()> {
        let (columns, rows) = terminal::size()?;
        let mut out = io::stdout().lock();
        all.resize(usize::from(rows).saturating_sub(1), String::new());
        all.push(foot);
        for (row, line) in all.iter().enumerate() {
            let line: String = line.chars().take(columns.into()).collect();
            let to = cursor::MoveTo(0, row as u16);
            queue!(out, to, style::Print(line), Clear(ClearType::UntilNewLine))?;
        }
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // An error cannot be reported anywhere.
        let _ = execute!(io::stdout(), cursor::Show, LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}
