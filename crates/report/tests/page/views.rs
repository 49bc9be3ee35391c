//! The content of each view, and its use.

use crate::chromium::Browser;
use jvmpi_formats::profile::{self, Profile};
use jvmpi_report::{Input, Recording};
use std::time::Duration;

use crate::fixture::{self, HOSTILE};
use crate::opening::{input, open, open_as, open_comparison, open_file, open_profile, open_single};

type Case = (&'static str, fn(&mut Browser));

macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        pub const CASES: &[Case] = &[$((stringify!($case), $case)),*];
    };
}

cases! {
    every_view_is_shown_without_a_complaint,
    methods_have_what_they_and_their_callees_have,
    tables_are_sorted_and_searched,
    flame_graph_zooms_and_finds,
    picture_of_a_flame_graph_zooms_and_finds,
    trees_open_by_keys,
    a_method_has_callers_callees_and_lines,
    sites_are_told_by_stack_and_by_class,
    heap_tells_what_is_retained_and_why,
    a_long_path_is_told_by_its_ends,
    monitors_show_where_threads_waited,
    threads_choose_what_is_measured,
    two_profiles_are_compared,
    lambda_expressions_are_compared_without_their_addresses,
    light_and_dark,
    keys_reach_everything,
    a_file_is_shown_with_its_numbers,
    a_file_that_is_cut_off_is_shown_up_to_there,
    a_file_of_nothing_is_shown,
    recording_is_named_and_shown_as_time,
    unknown_numbers_in_an_address_are_ignored,
    hidden_jdk_frames_belong_to_their_callers,
    lock_is_entered_outside_its_package,
    range_of_time_limits_what_is_shown,
    map_zooms_by_keys,
    stacks_are_shown_in_order_of_time,
    zoom_and_search_are_in_the_address,
    inverted_graph_has_callers_below_callees,
    method_stands_between_graphs_of_callers_and_callees,
    frame_has_a_menu_for_mouse_and_keys,
    tooltip_is_at_the_mouse,
    matches_are_visited_in_turn,
    overview_begins_with_a_sentence,
    idle_jvm_threads_are_left_out,
}

const NAMES: &str = "[...document.querySelectorAll('.frame')].map((frame) => frame.getAttribute('aria-label').split(' – ')[0])";

fn names(browser: &mut Browser) -> Vec<String> {
    browser.value(NAMES)
}

fn map_zooms_by_keys(browser: &mut Browser) {
    open_profile(browser, &fixture::fine_times());
    browser.go("#/flame");
    assert!(browser.text("main .heat .settings").contains("0–20 s, 100 ms in a column"));
    browser.focus(".map");
    browser.follow(|browser| browser.press(&["+"]));
    assert_eq!(browser.address(), "#/flame?v=250-749");
    browser.focus(".map");
    browser.follow(|browser| browser.press(&["ArrowLeft"]));
    assert_eq!(browser.address(), "#/flame?v=125-624");
    // A cell is as fine as the samples if the range is short.
    browser.go("#/flame?v=0-99");
    assert_eq!(browser.attribute(".cell", "title"), "all, 0–0.02 s: 1");
    browser.click_link("main .heat .settings button:last-of-type");
    assert_eq!(browser.address(), "#/flame");
}

fn stacks_are_shown_in_order_of_time(browser: &mut Browser) {
    open_profile(browser, &fixture::over_time());
    browser.go("#/time");
    assert_eq!(names(browser)[0], "all");
    let places = "[...document.querySelectorAll('.frame[aria-level=\"2\"]')]
        .map((frame) => [frame.textContent, parseFloat(frame.style.left), parseFloat(frame.style.width)])";
    let places: Vec<(String, f64, f64)> = browser.value(places);
    // The second second has 90 samples of the one and 10 of the other.
    let mut places: Vec<_> = places
        .iter()
        .map(|(name, left, width)| (name.as_str(), left.round(), width.round()))
        .collect();
    places.sort_by(|a, b| a.1.total_cmp(&b.1));
    assert_eq!(places, [("Main.start", 0.0, 48.0), ("Main.serve", 48.0, 53.0)]);
}

fn zoom_and_search_are_in_the_address(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/flame");
    browser.press(&["/"]);
    browser.write("walk|^app[.]Main[.]work");
    assert_eq!(browser.text("#found"), "matches: 85.0 %");
    browser.follow(|browser| browser.click(".frame[aria-label^='app.Tree.walk']"));
    let address = browser.address();
    assert!(address.contains("z=") && address.contains("q=walk"), "{address}");
    assert!(!names(browser).contains(&"app.Main.work".to_owned()));
    browser.reload();
    assert_eq!(browser.text("#found"), "matches: 85.0 %");
    assert_eq!(
        browser.evaluate("document.getElementById('search').value"),
        "walk|^app[.]Main[.]work"
    );
    assert!(!names(browser).contains(&"app.Main.work".to_owned()));
    browser.follow(|browser| {
        browser.evaluate("history.back()");
        browser.evaluate("window.changed.then(() => null)");
    });
    assert!(names(browser).contains(&"app.Main.work".to_owned()));
    // What is no expression is searched as it stands.
    browser.press(&["/"]);
    browser.write("[");
    assert_eq!(browser.text("#found"), "matches: 0.0 %");
}

fn inverted_graph_has_callers_below_callees(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/flame");
    browser.click_link("[aria-label='Direction'] button:last-child");
    let levels = "[...document.querySelectorAll('.frame')].map((frame) => \
         `${frame.getAttribute('aria-level')} ${frame.getAttribute('aria-label').split(' – ')[0]}`)";
    let levels: Vec<String> = browser.value(levels);
    for frame in
        ["2 app.Main.work", "3 app.Main.main", "2 java.util.HashMap.hash", "5 app.Main.main"]
    {
        assert!(levels.iter().any(|level| level == frame), "{frame} of {levels:?}");
    }
}

fn method_stands_between_graphs_of_callers_and_callees(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/methods");
    browser.click_link("main tbody tr:nth-child(5) a");
    let of = |browser: &mut Browser, graph: &str| -> Vec<String> {
        browser.value(&NAMES.replace("'.frame'", &format!("'[aria-label^=\"{graph}\"] .frame'")))
    };
    assert_eq!(of(browser, "Graph of callers"), ["app.Tree.walk", "app.Main.main"]);
    assert_eq!(
        of(browser, "Graph of callees"),
        ["app.Tree.walk", "app.Tree.walk", "java.util.HashMap.hash"]
    );
    // Both zoom, each on its own.
    browser.follow(|browser| browser.click("[aria-label^='Graph of callees'] .frame:last-child"));
    browser.follow(|browser| browser.click("[aria-label^='Graph of callers'] .frame:last-child"));
    let address = browser.address();
    assert!(address.contains("y=") && address.contains("z="), "{address}");
    // Callers stand above.
    let top = "parseFloat(document.querySelector('[aria-label^=\"Graph of callers\"] .frame:last-child').style.top)";
    assert_eq!(browser.evaluate(top), 0);
}

fn frame_has_a_menu_for_mouse_and_keys(browser: &mut Browser) {
    const WALK: &str = ".frame[aria-label^='app.Tree.walk']";
    open_single(browser);
    browser.go("#/flame");
    browser.click_right(WALK);
    assert!(browser.text("[role=menu]").starts_with("app.Tree.walkCallers and callees"));
    browser.press(&["Escape"]);
    assert_eq!(browser.evaluate("document.querySelector('.menu')"), serde_json::Value::Null);
    assert!(browser.focused().starts_with("app.Tree.walk"));
    // The third entry hides the method: what it called belongs to its caller.
    browser.press(&["m", "ArrowDown", "ArrowDown"]);
    browser.follow(|browser| browser.press(&["Enter"]));
    let shown = names(browser);
    assert!(
        !shown.contains(&"app.Tree.walk".to_owned())
            && shown.contains(&"java.util.HashMap.hash".to_owned())
    );
    assert!(browser.text("main .undo").starts_with("Hidden: Tree.walk"));
    browser.click_link("main .undo");
    // Keys do the same without the menu.
    browser.focus(WALK);
    browser.follow(|browser| browser.press(&["r"]));
    assert_eq!(names(browser).iter().filter(|name| *name == "app.Tree.walk").count(), 1);
    browser.focus(WALK);
    browser.follow(|browser| browser.press(&["f"]));
    assert_eq!(names(browser), ["all", "app.Tree.walk", "java.util.HashMap.hash"]);
    browser.focus(WALK);
    browser.press(&["c"]);
    assert_eq!(browser.text("#found"), "Copied.");
    browser.follow(|browser| browser.press(&["g"]));
    assert_eq!(browser.text("main h2"), "app.Tree.walk");
}

fn tooltip_is_at_the_mouse(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/flame");
    let about = browser.text(".about");
    browser.hover(".frame[aria-label^='app.Tree.walk']");
    assert_eq!(browser.text(".tip"), "app.Tree.walk25 (25.0 %), of its own 0");
    // Links stay where they are.
    assert_eq!(browser.text(".about"), about);
    browser.hover("h1");
    assert_eq!(browser.evaluate("document.querySelector('.tip').hidden"), true);
}

fn matches_are_visited_in_turn(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/flame?q=work|hash");
    let at = "document.querySelector('.frame.at').getAttribute('aria-label').split(' – ')[0]";
    browser.click("[data-step='1']");
    let first = browser.evaluate(at);
    browser.click("[data-step='1']");
    let second = browser.evaluate(at);
    assert_ne!(first, second);
    browser.click("[data-step='-1']");
    assert_eq!(browser.evaluate(at), first);
    browser.focus("#search");
    browser.press(&["Enter"]);
    assert_eq!(browser.evaluate(at), second);
}

fn overview_begins_with_a_sentence(browser: &mut Browser) {
    open_single(browser);
    assert_eq!(browser.text(".summary"), "100 samples of CPU were taken; 60.0 % in Main.work.");
    open_comparison(browser);
    assert_eq!(
        browser.text(".summary"),
        "160 samples of CPU were taken, 60 more than before; most of the change, +60, is in Main.work."
    );
}

fn idle_jvm_threads_are_left_out(browser: &mut Browser) {
    open_profile(browser, &fixture::idle());
    assert_eq!(
        browser.text(".summary"),
        "The threads of your program were running for 30 samples; 100.0 % in Main.work."
    );
    let waits = browser.rows("[aria-label='Where threads wait'] table");
    assert_eq!(waits, [["app.Main.work sleeping in Thread.sleep", "1025.0 %"]]);
    browser.go("#/flame");
    assert_eq!(browser.text(".about"), "all – 40 (100.0 %), of its own 0");
    browser.click_link(".toggle:last-of-type input");
    assert_eq!(browser.text(".about"), "all – 140 (100.0 %), of its own 0");
}

fn range_of_time_limits_what_is_shown(browser: &mut Browser) {
    open_profile(browser, &fixture::over_time());
    let states = browser.text("main .card");
    assert!(states.starts_with("Time by thread state[running]190"), "{states}");
    browser.go("#/methods");
    assert_eq!(browser.text("main .heat ol").replace('\n', ""), "all[running][parked]");
    let cells = "document.querySelectorAll('main .heat .cell').length";
    // Four seconds of all, two of `start`, three of `serve`.
    assert_eq!(browser.evaluate(cells), 9);
    let whole = [
        ["19054.3 %", "19054.3 %", "app.Main.start"],
        ["16045.7 %", "16045.7 %", "app.Main.serve"],
    ];
    assert_eq!(browser.rows("main table"), whole);
    // The first two seconds, by mouse: half of the map is two of four seconds.
    browser.follow(|browser| {
        browser.evaluate(
            "(() => {
                const map = document.querySelector('main .heat .map');
                map.setPointerCapture = () => {};
                const { left, width } = map.getBoundingClientRect();
                const at = (part) => ({ clientX: left + width * part, pointerId: 1 });
                map.dispatchEvent(new PointerEvent('pointerdown', at(0.05)));
                map.dispatchEvent(new PointerEvent('pointerup', at(0.45)));
            })()",
        );
    });
    let beginning =
        [["19095.0 %", "19095.0 %", "app.Main.start"], ["105.00 %", "105.00 %", "app.Main.serve"]];
    assert_eq!(browser.rows("main table"), beginning);
    assert_eq!(browser.address(), "#/methods?s=0-1");
    assert!(browser.links("nav").contains(&"#/flame?s=0-1".to_owned()));
    browser.go("#/flame?s=2-3");
    let flame = browser.text("main .flame");
    assert!(flame.contains("Main.serve") && !flame.contains("Main.start"), "{flame}");
    assert!(flame.contains("[parked]"), "{flame}");
}

fn recording_is_named_and_shown_as_time(browser: &mut Browser) {
    let profile = fixture::profile(1);
    let recording = Recording {
        command: "java -jar app.jar".into(),
        pid: Some(4711),
        java: Some("Java 17.0.9".into()),
        started: None,
        duration: Duration::from_secs(12),
        interval: Some(Duration::from_millis(10)),
        alloc_interval: Some(512 << 10),
    };
    let recording = Some(&recording);
    open(browser, &[Input { recording, ..input("run.html", &profile) }]);
    assert_eq!(
        browser.text("main .recording"),
        "java -jar app.jar, process 4711, Java 17.0.9, 12.0 s long, a sample each 10.0 ms, \
         allocations estimated from a sample each 524 kB"
    );
    let tiles = browser.text("main .tiles");
    assert!(tiles.starts_with("CPU time by samples1.00 s"), "{tiles}");
    browser.go("#/methods");
    assert_eq!(browser.rows("main table")[0][0], "600 ms60.0 %");
    browser.go("#/sites");
    assert_eq!(
        browser.text("main th[aria-sort=descending]").split_whitespace().next(),
        Some("Allocated")
    );

    let nothing = Profile::default();
    open(browser, &[Input { recording, ..input("run.html", &nothing) }]);
    assert_eq!(
        browser.text("main .hint"),
        "Not in this file: CPU time (record --cpu or --calls); allocation sites (record --alloc); \
         the heap’s objects (record --heap); monitors (record --locks)."
    );
}

fn unknown_numbers_in_an_address_are_ignored(browser: &mut Browser) {
    open_single(browser);
    for (view, setting) in [("sites", "c"), ("methods", "t")] {
        browser.go(&format!("#/{view}"));
        let rows = browser.rows("main table");
        for unknown in ["x", "", "99999", "-1"] {
            browser.go(&format!("#/{view}?{setting}={unknown}"));
            assert_eq!(browser.rows("main table"), rows, "{view} {setting}={unknown}");
        }
    }
}

fn hidden_jdk_frames_belong_to_their_callers(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/methods?j=0");
    let hostile = format!("{HOSTILE}.run");
    assert_eq!(
        browser.rows("main table"),
        [
            ["6060.0 %", "6060.0 %", "app.Main.work"],
            ["2525.0 %", "2525.0 %", "app.Tree.walk"],
            ["1414.0 %", "1414.0 %", hostile.as_str()],
            ["00.0 %", "8585.0 %", "app.Main.main"],
        ]
    );
    browser.go("#/tree?j=0");
    let tree = browser.text("[role=treegrid]");
    assert!(tree.contains("app.Tree.walk") && !tree.contains("java.util.HashMap"), "{tree}");
    // The switch keeps its state from view to view.
    assert!(browser.links("nav").contains(&"#/flame?j=0".to_owned()), "{:?}", browser.links("nav"));
}

fn lock_is_entered_outside_its_package(browser: &mut Browser) {
    open_profile(browser, &fixture::locks());
    browser.go("#/monitors");
    assert_eq!(browser.rows("main table")[0].last().unwrap(), "app.Main.enter Source.java:7");
    browser.click_link("main tbody a");
    let stack = browser.text("main .stack");
    assert!(stack.starts_with("jdk.internal.misc.Unsafe.park"), "{stack}");
}

/// The file of `.svg`, which is not part of a page.
fn picture_of_a_flame_graph_zooms_and_finds(browser: &mut Browser) {
    let mut picture = Vec::new();
    let format = profile::Format::Svg;
    profile::write_stacks(&fixture::profile(1), format, None, &mut picture)
        .expect("memory takes it");
    open_as(browser, "picture.svg", &picture);
    let shown = |browser: &mut Browser| -> Vec<String> {
        let frames = "[...document.querySelectorAll('#frames > g')]";
        browser.value(&format!(
            "{frames}.filter(frame => frame.style.display !== 'none')
                .map(frame => frame.querySelector('title').textContent.split(' (')[0])"
        ))
    };
    let all = shown(browser);
    for name in ["all", "app.Main.work", "java.util.HashMap.hash"] {
        assert!(all.iter().any(|shown| shown == name), "{name} of {all:?}");
    }
    browser.evaluate("window.prompt = () => 'Main.work|HashMap'");
    browser.press(&["/"]);
    assert_eq!(browser.text("#matched"), "matched 85.00%");
    let work = "[...document.querySelectorAll('#frames > g')].find(it => it.textContent.startsWith('app.Main.work'))";
    browser.evaluate(&format!("{work}.dispatchEvent(new MouseEvent('click'))"));
    let zoomed = shown(browser);
    assert!(zoomed.iter().any(|name| name == "app.Main.main"), "{zoomed:?}");
    assert!(!zoomed.iter().any(|name| name == "java.util.HashMap.hash"), "{zoomed:?}");
    assert_eq!(
        browser.evaluate(&format!("{work}.querySelector('rect').getAttribute('width')")),
        "1180"
    );
    browser.press(&["Escape"]);
    assert_eq!((shown(browser), browser.text("#matched")), (all, String::new()));
}

fn every_view_is_shown_without_a_complaint(browser: &mut Browser) {
    // Two files may have nothing in common.
    let open_unlike: fn(&mut Browser) = |browser| {
        let (cpu, heap) = (fixture::profile(1), fixture::heap(10));
        let nothing = Profile::default();
        let unlike = Input { heap: Some(&heap), ..input("heap.hprof", &nothing) };
        open(browser, &[input("cpu.txt", &cpu), unlike]);
    };
    for open in [open_single, open_comparison, open_unlike] {
        open(browser);
        let mut pending = browser.links("nav");
        let mut seen = Vec::new();
        while let Some(address) = pending.pop() {
            browser.go(&address);
            assert_ne!(browser.text("main h2"), "Nothing here", "{address}");
            seen.push(address);
            for link in browser.links("main") {
                // What a frame's actions set has a test of its own; here it would never end.
                let is_set = ["f=", "x=", "c="].iter().any(|set| link.contains(set));
                if !is_set && !seen.contains(&link) && !pending.contains(&link) {
                    pending.push(link);
                }
            }
        }
        assert!(seen.len() > 30, "{seen:?}");
    }
}

fn methods_have_what_they_and_their_callees_have(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/methods");
    let hostile = format!("{HOSTILE}.run");
    assert_eq!(
        browser.rows("main table"),
        [
            ["6060.0 %", "6060.0 %", "app.Main.work"],
            ["2525.0 %", "2525.0 %", "java.util.HashMap.hash"],
            ["1414.0 %", "1414.0 %", hostile.as_str()],
            ["00.0 %", "8585.0 %", "app.Main.main"],
            ["00.0 %", "2525.0 %", "app.Tree.walk"],
            ["00.0 %", "1414.0 %", "java.lang.Thread.run"],
        ]
    );
    // The total includes the half second that the profiler has cut off, and the page mentions it.
    browser.go("#/methods?m=cpu-time");
    assert_eq!(
        browser.rows("main table")[..2],
        [
            ["3.00 s60.0 %", "3.00 s60.0 %", "app.Main.work"],
            ["1.50 s30.0 %", "1.50 s30.0 %", "java.util.HashMap.hash"],
        ]
    );
    assert!(browser.text("main .hint").contains("10.0 % of the whole"));
    browser.go("#/methods?m=calls");
    assert_eq!(browser.rows("main table")[0][0], "12,34599.9 %");
}

fn tables_are_sorted_and_searched(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/methods");
    browser.click("main thead th:nth-child(2) button");
    assert_eq!(browser.rows("main table")[0][2], "app.Main.main");
    assert_eq!(browser.attribute("main thead th:nth-child(2)", "aria-sort"), "descending");
    browser.press(&["Enter"]);
    assert_eq!(browser.attribute("main thead th:nth-child(2)", "aria-sort"), "ascending");
    assert_eq!(browser.rows("main table").last().unwrap()[2], "app.Main.main");

    browser.press(&["/"]);
    browser.write("MAIN.");
    let found: Vec<String> =
        browser.rows("main table").into_iter().map(|mut row| row.remove(2)).collect();
    assert_eq!(found, ["app.Main.work", "app.Main.main"]);
    assert_eq!(browser.text("main .status"), "2 rows of 6");
    browser.write("nowhere");
    assert_eq!(browser.rows("main table"), [["Nothing matches."]]);
    browser.press(&["Escape"]);
    assert_eq!(browser.rows("main table").len(), 6);
}

fn flame_graph_zooms_and_finds(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/flame");
    let frames = "Object.fromEntries([...document.querySelectorAll('.frame')].map((frame) => \
         [frame.textContent, Math.round(10 * parseFloat(frame.style.width))]))";
    let shown = browser.evaluate(frames);
    assert_eq!((&shown["all"], &shown["Main.main"]), (&1000.into(), &850.into()));
    assert_eq!((&shown["Main.work"], &shown["HashMap.hash"]), (&600.into(), &250.into()));

    browser.follow(|browser| browser.click(".frame[aria-label^='app.Tree.walk']"));
    let shown = browser.evaluate(frames);
    assert_eq!((&shown["Tree.walk"], &shown["HashMap.hash"]), (&1000.into(), &1000.into()));
    assert!(shown["Main.work"].is_null());
    assert!(browser.text(".about").starts_with("app.Tree.walk – 25 (25.0 %), of its own 0"));
    browser.follow(|browser| browser.click(".about button:last-child"));
    assert_eq!(browser.evaluate(frames)["Main.work"], 600);

    // Keys go to the widest frame below, to its neighbor, and zoom in and out.
    browser.focus(".frame[tabindex='0']");
    browser.press(&["ArrowDown", "ArrowDown", "ArrowRight"]);
    assert!(browser.focused().starts_with("app.Tree.walk – 25"), "{}", browser.focused());
    browser.follow(|browser| browser.press(&["Enter"]));
    assert_eq!(browser.evaluate(frames)["HashMap.hash"], 1000);
    browser.press(&["ArrowUp"]);
    assert!(browser.focused().starts_with("app.Main.main – 85"));
    browser.follow(|browser| browser.press(&["Escape"]));
    assert_eq!(browser.evaluate(frames)["HashMap.hash"], 250);

    browser.press(&["/"]);
    browser.write("walk");
    assert_eq!(browser.text("#found"), "matches: 25.0 %");
    assert_eq!(browser.evaluate("document.querySelectorAll('.frame.match').length"), 2);

    // With lines, the two frames of `work` are separate.
    browser.click_link("main .toggle input");
    assert!(browser.address().contains("l=1"));
    assert_eq!(
        browser
            .evaluate("document.querySelectorAll('.frame[aria-label^=\"app.Main.work\"]').length"),
        2
    );
}

fn trees_open_by_keys(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/tree");
    let shown = |browser: &mut Browser| -> Vec<String> {
        browser
            .rows("main table")
            .into_iter()
            .map(|row| format!("{} {}", row[0], row.last().unwrap()))
            .collect()
    };
    let hot = ["8585.0 % app.Main.main", "6060.0 % app.Main.work", "2525.0 % app.Tree.walk"];
    // The hottest path is open.
    assert_eq!(shown(browser)[..3], hot);
    browser.focus("tr[tabindex='0']");
    browser.press(&["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"]);
    assert_eq!(shown(browser)[3..5], ["2525.0 % app.Tree.walk", "2525.0 % java.util.HashMap.hash"]);
    assert_eq!(browser.attribute(":focus", "aria-level"), "3");
    browser.press(&["Home", "ArrowLeft"]);
    assert_eq!(shown(browser)[0], hot[0]);
    assert_eq!(shown(browser).len(), 2);
    browser.press(&["ArrowRight", "ArrowDown"]);
    browser.follow(|browser| browser.press(&["Enter"]));
    assert_eq!(browser.text("main h2"), "app.Main.work");

    browser.go("#/tree?d=up");
    assert_eq!(
        shown(browser)[..3],
        ["6060.0 % app.Main.work", "6060.0 % app.Main.main", "2525.0 % java.util.HashMap.hash"]
    );
}

fn a_method_has_callers_callees_and_lines(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/methods");
    browser.click_link("main tbody tr:first-child a");
    assert_eq!(browser.text("main h2"), "app.Main.work");
    assert_eq!(
        browser.rows("[aria-label='Lines'] table"),
        [["5050.0 %", "Source.java:20"], ["1010.0 %", "Source.java:21"]]
    );
    assert_eq!(
        browser.rows("[role=treegrid][aria-label='Callers']"),
        [["6060.0 %", "app.Main.main"]]
    );

    // A recursive method has its own callers once.
    browser.go("#/methods");
    browser.click_link("main tbody tr:nth-child(5) a");
    assert_eq!(browser.text("main h2"), "app.Tree.walk");
    assert_eq!(browser.rows("main .facts"), [["self", "00.0 %"], ["total", "2525.0 %"]]);
    assert_eq!(
        browser.rows("[role=treegrid][aria-label='Callers']"),
        [["2525.0 %", "app.Main.main"]]
    );
    assert_eq!(browser.rows("[role=treegrid][aria-label='Callees']")[0][2], "app.Tree.walk");
}

fn sites_are_told_by_stack_and_by_class(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/sites");
    assert_eq!(
        browser.rows("main table"),
        [
            ["4.00 kB", "1", "4.00 kB", "1", "int[]", "java.util.HashMap.hash native"],
            ["320 B", "10", "32.0 kB", "1,000", "app.Order", "app.Main.work Source.java:20"],
            ["80 B", "2", "120 B", "3", "java.lang.String[]", "java.util.HashMap.hash native"],
        ]
    );
    browser.click_link("main tbody tr:nth-child(2) td:last-child a");
    assert_eq!(browser.text("main h2"), "Stack");
    assert_eq!(
        browser.text("main .stack"),
        "app.Main.work Source.java:20app.Main.main Source.java:10"
    );
    browser.go("#/sites?g=class");
    assert_eq!(browser.rows("main table")[0][4..], ["int[]", "1"]);
}

fn heap_tells_what_is_retained_and_why(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/heap");
    // The table has 24 bytes, the array 1,000, each of 100 orders 32. The weakly referenced order counts only as
    // an object.
    let classes = browser.rows("main table");
    assert_eq!(classes[0], ["4.22 kB99.6 %", "24 B0.56 %", "10.93 %", "app.Table"]);
    assert_eq!(classes[1], ["4.20 kB99.1 %", "1.00 kB23.4 %", "10.93 %", "app.Order[]"]);
    assert_eq!(classes[2], ["3.20 kB75.5 %", "3.23 kB75.7 %", "10193.5 %", "app.Order"]);
    assert!(browser.text("main .hint").contains("1 object with 32 B would be freed"));

    browser.click_link("main tbody tr:nth-child(3) a");
    assert_eq!(browser.rows("[aria-label^='Referred'] table"), [["100", "app.Order[][…]"]]);
    assert_eq!(
        browser.text("main details .path"),
        "root: local variable of thread “main”app.Table @1 retains 4.22 kB.rows app.Order[] @2 retains 4.20 kB\
         [0] app.Order @1000 retains 32 B"
    );
    browser.click_link("main .path a");
    assert_eq!(browser.text("main h2"), "app.Table @1");
    assert_eq!(browser.rows("main .facts")[2], ["shallow", "24 B"]);

    browser.go("#/heap?h=objects");
    let objects = browser.rows("main table");
    assert_eq!(objects[0], ["4.22 kB99.6 %", "24 B", "app.Table @1"]);
    browser.focus("tr[tabindex='0']");
    browser.press(&["ArrowRight", "ArrowDown", "ArrowRight"]);
    let objects = browser.rows("main table");
    assert_eq!(objects[1], ["4.20 kB99.1 %", "1.00 kB", "app.Order[] @2"]);
    assert_eq!(objects[2], ["32 B0.75 %", "32 B", "app.Order @1000"]);
}

fn a_long_path_is_told_by_its_ends(browser: &mut Browser) {
    let (profile, heap) = (Profile::default(), fixture::list(3000));
    open(browser, &[Input { heap: Some(&heap), ..input("list.hprof", &profile) }]);
    // The 2,000th object of the list is the last one that is shown.
    browser.go("#/object/1999");
    assert_eq!(browser.text("main h2"), "app.Link @7d0");
    let path: Vec<String> =
        browser.value("[...document.querySelectorAll('.path li')].map((step) => step.textContent)");
    assert_eq!(path.len(), 1 + 8 + 1 + 24);
    assert_eq!(path[1], "app.Link @1 retains 48.0 kB");
    assert_eq!(path[8], ".next app.Link @8 retains 47.9 kB");
    assert_eq!(path[9], "… 1,968 objects left out …");
    assert_eq!(path[10], "app.Link @7b9 retains 16.4 kB");
    assert_eq!(path[33], ".next app.Link @7d0 retains 16.0 kB");
    assert_eq!(browser.rows("[role=treegrid]"), [["16.0 kB33.3 %", "", "1 more of app.Link"]]);
}

fn monitors_show_where_threads_waited(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/monitors");
    assert_eq!(
        browser.rows("main table")[0],
        ["750 ms75.0 %", "325.0 %", "app.Lock@abc", "main", "app.Main.work Source.java:20"]
    );
}

fn threads_choose_what_is_measured(browser: &mut Browser) {
    open_single(browser);
    browser.go("#/threads");
    let rows = browser.rows("main table");
    assert_eq!(rows[0][0], "8585.0 %");
    let last: Vec<&str> = rows[0].iter().rev().take(4).map(String::as_str).collect();
    assert_eq!(last, ["alive", "workers", "main", "1"]);
    assert!(rows[1].contains(&HOSTILE.to_owned()));
    browser.click_link("main tbody tr:nth-child(2) a");
    // The percentages refer to the whole thread, which has 15 samples.
    assert_eq!(browser.rows("main table")[0][..2], ["1493.3 %", "00.0 %"]);
    assert_eq!(browser.rows("main table")[0][2], "java.lang.Thread.run");
}

fn two_profiles_are_compared(browser: &mut Browser) {
    open_comparison(browser);
    assert_eq!(browser.text("h1"), "before.txt → after.txt");
    browser.go("#/methods");
    assert_eq!(
        browser.rows("main table")[0],
        ["6060.0 %", "12075.0 %", "+60", "6060.0 %", "12075.0 %", "+60", "app.Main.work"]
    );
    browser.go("#/sites");
    assert!(
        browser
            .rows("main table")
            .iter()
            .any(|row| row[4..6] == ["64.0 kB".to_owned(), "+32.0 kB".to_owned()])
    );
    browser.go("#/heap");
    let order = browser.rows("main table").into_iter().find(|row| row[6] == "app.Order").unwrap();
    assert_eq!(order[1..6], ["+1.60 kB", "4.83 kB", "+1.60 kB", "151", "+50"]);
    browser.go("#/flame");
    let classes = "[...document.querySelectorAll('.frame')].map((frame) => [frame.textContent, frame.className])";
    let frames: Vec<(String, String)> = browser.value(classes);
    let class = |name: &str| &frames.iter().find(|frame| frame.0 == name).unwrap().1;
    assert_eq!(class("Main.work"), "frame compared more");
    assert_eq!(class("HashMap.hash"), "frame compared less");
    let width = "document.querySelector('.frame[aria-label^=\"app.Main.work\"]').style.width";
    assert_eq!(browser.evaluate(width), "75%");
    browser.click_link("[aria-label='Width'] button");
    assert_eq!(browser.evaluate(width), "60%");
}

fn lambda_expressions_are_compared_without_their_addresses(browser: &mut Browser) {
    let (before, after) =
        (fixture::lambda("00007f63880d75f8", 10), fixture::lambda("00007f00", 15));
    open(browser, &[input("before", &before), input("after", &after)]);
    browser.go("#/methods");
    let row = &browser.rows("main table")[0];
    assert_eq!((row[2].as_str(), row[6].as_str()), ("+5", "app.Main$$Lambda.run"));
    open_profile(browser, &before);
    browser.go("#/methods");
    assert_eq!(browser.rows("main table")[0][2], "app.Main$$Lambda/0x00007f63880d75f8.run");
}

fn light_and_dark(browser: &mut Browser) {
    open_single(browser);
    let lightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) / 3";
    let is_light = |browser: &mut Browser| browser.value::<f64>(lightness) > 128.0;
    browser.prefer("dark");
    assert!(!is_light(browser));
    browser.prefer("light");
    assert!(is_light(browser));
}

fn keys_reach_everything(browser: &mut Browser) {
    open_single(browser);
    browser.press(&["Tab"]);
    assert_eq!(browser.focused(), "Skip to the content");
    // This view has nothing to search.
    browser.press(&["Tab", "Tab"]);
    browser.follow(|browser| browser.press(&["Enter"]));
    assert_eq!(browser.text("main h2"), "Methods");
    // Keyboard navigation continues in a newly opened view.
    browser.press(&["Tab"]);
    assert_eq!(browser.evaluate("document.activeElement.tagName"), "SELECT");
    let unnamed = browser.evaluate(
        "[...document.querySelectorAll('a, button, input, select, table')].filter((element) => \
         !(element.textContent.trim() || element.getAttribute('aria-label') || element.closest('label'))).map((element) => element.outerHTML)",
    );
    assert_eq!(unnamed, serde_json::json!([]));
}

/// A file as the original profiler writes it, with two dumps.
const FILE: &str = "\
JAVA PROFILE 1.0.1, created Sun Nov 22 01:03:08 2026

--------

THREAD START (obj=1f0, id = 1, name=\"main\", group=\"main\")
TRACE 1:
\tapp.Main.spin(Main.java:7)
\tapp.Main.main(Main.java:3)
TRACE 2:
\tapp.Main.main(Main.java:4)
CPU SAMPLES BEGIN (total = 4) Sun Nov 22 01:03:09 2026
rank   self  accum   count trace method
   1 75.00% 75.00%       3     1 app.Main.spin
   2 25.00% 100.00%       1     2 app.Main.main
CPU SAMPLES END
CPU SAMPLES BEGIN (total = 6) Sun Nov 22 01:03:10 2026
rank   self  accum   count trace method
   1 100.00% 100.00%       9     1 app.Main.spin
CPU SAMPLES END
HEAP DUMP BEGIN (3 objects, 72 bytes) Sun Nov 22 01:03:10 2026
ROOT 100 (kind=<thread>, id=1, trace=1)
OBJ 100 (sz=24, trace=1, class=app.Main@300)
\trows\t\t200
ARR 200 (sz=32, trace=1, nelems=2, elem type=app.Row@310)
\t[1]\t\t208
OBJ 208 (sz=16, trace=2, class=app.Row@310)
HEAP DUMP END
";

fn a_file_is_shown_with_its_numbers(browser: &mut Browser) {
    open_file(browser, FILE);
    assert_eq!(browser.evaluate("document.querySelectorAll('.warning').length"), 0);
    browser.go("#/methods");
    assert_eq!(
        browser.rows("main table"),
        [["990.0 %", "990.0 %", "app.Main.spin"], ["110.0 %", "10100.0 %", "app.Main.main"]]
    );
    browser.go("#/heap");
    assert_eq!(
        browser.rows("main table"),
        [
            ["72 B100.0 %", "24 B33.3 %", "133.3 %", "app.Main"],
            ["48 B66.7 %", "32 B44.4 %", "133.3 %", "app.Row[]"],
            ["16 B22.2 %", "16 B22.2 %", "133.3 %", "app.Row"],
        ]
    );
    browser.go("#/object/2");
    assert_eq!(
        browser.text("main .path"),
        "root: live thread of thread “main”app.Main @100 retains 72 B.rows app.Row[] @200 retains 48 B\
         [1] app.Row @208 retains 16 B"
    );
}

fn a_file_that_is_cut_off_is_shown_up_to_there(browser: &mut Browser) {
    let cut = FILE.find("OBJ 208").unwrap();
    open_file(browser, &FILE[..cut]);
    assert!(browser.text(".warning").contains("Not all of it could be read – line "));
    browser.go("#/methods");
    assert_eq!(browser.rows("main table")[0], ["990.0 %", "990.0 %", "app.Main.spin"]);
}

fn a_file_of_nothing_is_shown(browser: &mut Browser) {
    open_file(browser, &FILE[..FILE.find("THREAD").unwrap()]);
    assert_eq!(browser.links("nav"), ["#/overview"]);
    assert_eq!(
        browser.text("main .hint"),
        "Not in this file: CPU time (cpu=samples or cpu=times); allocation sites (heap=sites); \
         the heap’s objects (heap=dump); monitors (monitor=y)."
    );
    // A view without data in the file leads to the overview.
    browser.go("#/flame");
    assert_eq!(browser.text("main h2"), "Overview");
}
