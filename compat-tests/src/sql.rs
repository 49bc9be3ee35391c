//! The SQL queries of the page about many machines, and how to run them with the programs of that page.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{contents, jdk, python, text, workspace_root};

/// The page with the queries.
const PAGE: &str = "docs/howto/many-machines.md";

/// An engine that the page has a program for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// DuckDB, in the process of Python.
    DuckDb,
    /// Spark, as a cluster of two workers on this machine.
    Spark,
}

/// The results of all queries of the page, as JSON.
#[derive(Clone, Debug)]
pub struct Results {
    /// A list with the rows of each query.
    pub rows: String,
    /// The columns of each table with their types.
    pub columns: String,
}

/// Runs a program of the page with the first query, and then all queries in the same process.
const DRIVER: &str = r#"
import json, sys
SCRIPT, FOLDER, FILE = sys.argv[1:]
# The program sets variables of its own, in small letters.
QUERIES = open(FILE).read().split("\x1e")
sys.argv = [SCRIPT, FOLDER, QUERIES[0]]
exec(open(SCRIPT).read())
for PART in [FETCH(QUERY) for QUERY in QUERIES], COLUMNS():
    print("\x1e" + json.dumps(PART))
"#;

const IN_DUCKDB: &str = r#"
def FETCH(query):
    return duckdb.sql(query).fetchall()
def COLUMNS():
    views = duckdb.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    return {name: [row[:2] for row in duckdb.sql(f"DESCRIBE {name}").fetchall()] for name, in views}
"#;

const IN_SPARK: &str = r#"
def FETCH(query):
    return [list(row) for row in spark.sql(query).collect()]
def COLUMNS():
    return {view.name: spark.table(view.name).dtypes for view in spark.catalog.listTables()}
"#;

impl Engine {
    /// Returns the reason why the engine cannot be used here, if there is one. Its package is downloaded once.
    pub fn hindrance(self) -> Option<String> {
        self.python().err()
    }

    fn python(self) -> Result<Command, String> {
        match self {
            Self::DuckDb => python::with(&[python::DUCKDB]),
            Self::Spark => {
                let mut python = python::with(&[python::PYSPARK])?;
                python.env("JAVA_HOME", &jdk::with_javac()?.home);
                // The name of a machine may lead to an address that its own workers cannot reach.
                python.env("SPARK_LOCAL_IP", "127.0.0.1");
                Ok(python)
            }
        }
    }

    /// Runs the queries of the page on the tables in `tables`. `folder` gets the program of the page.
    pub fn run(self, folder: &Path, tables: &Path) -> Result<Results, String> {
        let (module, functions) = match self {
            Self::DuckDb => ("duckdb", IN_DUCKDB),
            Self::Spark => ("pyspark", IN_SPARK),
        };
        let program = blocks("python")?.into_iter().find(|block| block.contains(module));
        let program = program.ok_or_else(|| format!("{PAGE} has no program with {module}"))?;
        let (script, list) = (folder.join(format!("{module}_page.py")), folder.join("queries"));
        for (path, contents) in [(&script, program), (&list, queries()?.join("\x1e"))] {
            fs::write(path, contents).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        let mut python = self.python()?;
        python.current_dir(folder).args(["-c", &format!("{functions}{DRIVER}")]);
        python.args([text(&script)?, text(tables)?, text(&list)?]);
        let output = python.output().map_err(|e| format!("{python:?}: {e}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let parts: Vec<_> = said.split('\x1e').skip(1).map(|part| part.trim().to_owned()).collect();
        match <[String; 2]>::try_from(parts) {
            Ok([rows, columns]) if output.status.success() => Ok(Results { rows, columns }),
            _ => Err(format!("{module}: {said}{}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

/// Returns the queries of the page.
pub fn queries() -> Result<Vec<String>, String> {
    blocks("sql")
}

/// Returns the code blocks of the page in this language.
fn blocks(language: &str) -> Result<Vec<String>, String> {
    let page = contents(workspace_root().join(PAGE))?;
    let begin = format!("```{language}\n");
    let blocks = page.split(&begin).skip(1);
    Ok(blocks.filter_map(|rest| rest.split("```").next()).map(String::from).collect())
}
