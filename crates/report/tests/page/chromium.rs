//! A headless Chromium, driven by the DevTools protocol over a pipe: JSON messages, each terminated by NUL.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Returns its path, if one is installed.
pub fn executable() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH")?;
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let candidates = names.iter().flat_map(|name| directories.iter().map(move |of| of.join(name)));
    candidates.into_iter().find(|candidate| candidate.is_file())
}

/// A browser with a page.
pub struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    last: u64,
    /// The page's unwanted actions: messages on the console, errors, requests.
    pub complaints: Vec<String>,
    loads: usize,
    /// The browser's profile directory.
    directory: PathBuf,
}

impl Browser {
    /// Starts a browser.
    pub fn start(executable: &Path) -> Browser {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let directory = directory.join(format!("chromium-{}", std::process::id()));
        // Chromium reads commands from descriptor 3 and answers on 4.
        let mut process = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#])
            .arg(executable)
            .args(["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu"])
            // The sandbox needs privileges that containers do not grant; the pages are our own.
            .args(["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", directory.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Chromium starts");
        let to = process.stdin.take().expect("a pipe");
        let from = BufReader::new(process.stdout.take().expect("a pipe"));
        let (session, complaints) = (String::new(), Vec::new());
        Browser { process, to, from, session, last: 0, complaints, loads: 0, directory }
    }

    /// Opens a new page, which shares nothing with earlier ones.
    pub fn begin(&mut self) {
        self.session.clear();
        self.complaints.clear();
        let context = self.call("Target.createBrowserContext", json!({}));
        let context = &context["browserContextId"];
        let page = json!({ "url": "about:blank", "browserContextId": context });
        let page = self.call("Target.createTarget", page);
        let page = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", page);
        self.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Sends a command and waits for its result. Events in the meantime are recorded.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut message = message.to_string().into_bytes();
        message.push(0);
        self.to.write_all(&message).expect("Chromium takes a command");
        loop {
            let answer = self.next();
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// Receives the next message.
    fn next(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).expect("Chromium answers");
        assert_eq!(message.pop(), Some(0), "Chromium has ended");
        let message: Value = serde_json::from_slice(&message).expect("JSON");
        // Messages of earlier pages are ignored.
        if !self.session.is_empty() && message["sessionId"] != self.session {
            return message;
        }
        let told = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Page.loadEventFired" => self.loads += 1,
            "Runtime.consoleAPICalled" => self.complaints.push(format!("console: {told}")),
            "Runtime.exceptionThrown" => self.complaints.push(format!("exception: {told}")),
            "Log.entryAdded" => self.complaints.push(format!("log: {told}")),
            "Network.requestWillBeSent" => {
                let url = told["request"]["url"].as_str().unwrap_or_default();
                if told["type"] != "Document" && !url.starts_with("data:") {
                    self.complaints.push(format!("request: {url}"));
                }
            }
            _ => {}
        }
        message
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        let url = format!("file://{}", file.display());
        self.load("Page.navigate", json!({ "url": url }));
    }

    /// Reloads the page.
    pub fn reload(&mut self) {
        self.load("Page.reload", json!({}));
    }

    fn load(&mut self, method: &str, parameters: Value) {
        let loads = self.loads;
        self.call(method, parameters);
        while self.loads == loads {
            self.next();
        }
    }

    /// Returns the value of an expression.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let result = self.call(
            "Runtime.evaluate",
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }),
        );
        let complaints = &self.complaints;
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result} {complaints:?}");
        result["result"]["value"].clone()
    }

    /// Returns the value of an expression, which has this type.
    pub fn value<T: DeserializeOwned>(&mut self, expression: &str) -> T {
        serde_json::from_value(self.evaluate(expression)).expect("a value of this type")
    }

    /// Returns the text of the first element that matches the selector.
    pub fn text(&mut self, selector: &str) -> String {
        let text =
            self.evaluate(&format!("document.querySelector({})?.textContent", json!(selector)));
        text.as_str().unwrap_or_else(|| panic!("nothing is {selector}")).to_owned()
    }

    /// Returns an attribute of the first element that matches the selector.
    pub fn attribute(&mut self, selector: &str, name: &str) -> String {
        let get =
            format!("document.querySelector({}).getAttribute({})", json!(selector), json!(name));
        self.evaluate(&get).as_str().unwrap_or_default().to_owned()
    }

    /// Returns the addresses of the links in the first element that matches the selector.
    pub fn links(&mut self, selector: &str) -> Vec<String> {
        self.value(&format!(
            "[...document.querySelector({}).querySelectorAll('a')].map((link) => link.getAttribute('href'))",
            json!(selector)
        ))
    }

    /// Returns the part of the page's address that says what is shown.
    pub fn address(&mut self) -> String {
        self.value("location.hash")
    }

    /// Gives the focus to the first element that matches the selector.
    pub fn focus(&mut self, selector: &str) {
        self.evaluate(&format!("document.querySelector({}).focus()", json!(selector)));
    }

    /// Returns the label or the text of the focused element.
    pub fn focused(&mut self) -> String {
        let focused = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent";
        self.value(focused)
    }

    /// Sets the system's preferred color scheme: `light` or `dark`.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Returns the texts of the cells of a table, row by row.
    pub fn rows(&mut self, table: &str) -> Vec<Vec<String>> {
        self.value(&format!(
            "[...document.querySelector({}).tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))",
            json!(table)
        ))
    }

    /// Opens a view and waits until it is shown.
    pub fn go(&mut self, address: &str) {
        self.evaluate(&format!(
            "new Promise((done) => {{
                if (location.hash === {0}) return done();
                addEventListener('hashchange', () => done(), {{ once: true }});
                location.hash = {0};
            }})",
            json!(address)
        ));
    }

    /// Performs an action that changes the address, and waits until the new view is shown.
    pub fn follow(&mut self, action: impl FnOnce(&mut Browser)) {
        let before = self.address();
        self.evaluate("void (window.changed = new Promise((done) => addEventListener('hashchange', done, { once: true })))");
        action(self);
        // The address changes at once; an event shows the view later.
        assert_ne!(self.address(), before, "nothing was followed");
        self.evaluate("window.changed.then(() => null)");
    }

    /// Clicks a link, and waits until its target is shown.
    pub fn click_link(&mut self, selector: &str) {
        self.follow(|browser| browser.click(selector));
    }

    /// Clicks the first element that matches the selector.
    pub fn click(&mut self, selector: &str) {
        self.mouse(&["mousePressed", "mouseReleased"], "left", selector);
    }

    /// Opens the context menu of the first element that matches the selector.
    pub fn click_right(&mut self, selector: &str) {
        self.mouse(&["mousePressed", "mouseReleased"], "right", selector);
    }

    /// Moves the mouse to the first element that matches the selector.
    pub fn hover(&mut self, selector: &str) {
        self.mouse(&["mouseMoved"], "none", selector);
    }

    fn mouse(&mut self, kinds: &[&str], button: &str, selector: &str) {
        let place = self.evaluate(&format!(
            "(() => {{
                const element = document.querySelector({});
                element.scrollIntoView({{ block: 'center' }});
                // An element that is broken into lines has several boxes; this is the first.
                const box = element.getClientRects()[0];
                return [box.x + box.width / 2, box.y + box.height / 2];
            }})()",
            json!(selector)
        ));
        for kind in kinds {
            self.call(
                "Input.dispatchMouseEvent",
                json!({ "type": kind, "x": place[0], "y": place[1], "button": button, "clickCount": 1 }),
            );
        }
        self.settle();
    }

    /// Presses and releases keys, named as DOM names them.
    pub fn press(&mut self, keys: &[&str]) {
        for key in keys {
            let code = match *key {
                "Tab" => 9,
                "Enter" => 13,
                "Escape" => 27,
                "End" => 35,
                "Home" => 36,
                "ArrowLeft" => 37,
                "ArrowUp" => 38,
                "ArrowRight" => 39,
                "ArrowDown" => 40,
                other => other.bytes().next().map_or(0, |byte| byte.to_ascii_uppercase().into()),
            };
            let text = match *key {
                "Enter" => "\r",
                key if key.len() == 1 => key,
                _ => "",
            };
            let mut down = json!({ "type": "keyDown", "key": key, "windowsVirtualKeyCode": code });
            if !text.is_empty() {
                down["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", down);
            let up = json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", up);
        }
        self.settle();
    }

    /// Types text.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
        self.settle();
    }

    /// Waits for the effects of an input: an event that follows the input draws the view.
    fn settle(&mut self) {
        self.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A killed browser would leave child processes that still write into the directory.
        let close = format!("{}\0", json!({ "id": self.last + 1, "method": "Browser.close" }));
        if self.to.write_all(close.as_bytes()).is_err() {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
