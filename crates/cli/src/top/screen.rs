//! The terminal in raw mode, while a table is shown on it.

use super::table::Order;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue, style};
use std::io::{self, Write};
use std::thread;

/// The user's commands.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// To end it.
    Quit,
    /// Another order.
    Order(Order),
    /// The same once more, as the terminal has another size.
    Redraw,
}

/// The terminal as it is while this lives.
pub struct Screen(());

impl Screen {
    /// Takes control of the terminal. `hear` is called with keys, from a thread of its own.
    ///
    /// # Errors
    /// Returns the feature that the terminal lacks.
    pub fn open(mut hear: impl FnMut(Key) + Send + 'static) -> Result<Self, String> {
        terminal::enable_raw_mode()
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen, cursor::Hide))
            .map_err(|error| format!("the terminal cannot be used: {error}; try --once"))?;
        let screen = Self(());
        thread::spawn(move || {
            while let Ok(event) = event::read() {
                if let Some(key) = key(&event) {
                    hear(key);
                }
            }
        });
        Ok(screen)
    }

    /// Shows a line, the lines that `lines` makes for a maximum number, and the keys.
    ///
    /// # Errors
    /// Returns the error of the terminal.
    pub fn show(&mut self, head: &str, lines: impl Fn(usize) -> Vec<String>) -> io::Result<()> {
        let (columns, rows) = terminal::size()?;
        let (columns, rows) = (usize::from(columns), usize::from(rows));
        let mut out = io::stdout().lock();
        let keys = "s: order by self   t: by total   q: quit".to_owned();
        // The head, the heading of the table, and the keys.
        let mut all = vec![head.to_owned()];
        all.extend(lines(rows.saturating_sub(4)));
        all.resize(rows.saturating_sub(1), String::new());
        all.push(keys);
        for (row, line) in all.iter().enumerate() {
            let line: String = line.chars().take(columns).collect();
            queue!(
                out,
                cursor::MoveTo(0, row as u16),
                style::Print(line),
                Clear(ClearType::UntilNewLine)
            )?;
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

fn key(event: &Event) -> Option<Key> {
    match event {
        Event::Resize(..) => Some(Key::Redraw),
        Event::Key(KeyEvent { code, modifiers, .. }) => match code {
            KeyCode::Char('q') | KeyCode::Esc => Some(Key::Quit),
            KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Quit),
            KeyCode::Char('s') => Some(Key::Order(Order::Own)),
            KeyCode::Char('t') => Some(Key::Order(Order::Total)),
            _ => None,
        },
        _ => None,
    }
}
