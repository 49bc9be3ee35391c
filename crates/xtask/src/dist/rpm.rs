//! Builds the RPM packages for Fedora, RHEL, SUSE and their relatives, with rpmbuild.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::product::{DOCUMENTATION, VERSION, run};

use super::packages::{LICENSES, Layout, Package, Product, maintainer};

/// The release of the packages. It is lower than that of any package that a distribution would have.
const RELEASE: &str = "0.1";
/// The license files of each package.
const OWN_LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Builds the packages in this directory.
pub fn packages(product: &Product<'_>, directory: &Path) -> Result<Vec<PathBuf>, String> {
    let layout = layout(product)?;
    let processor = processor(product)?;
    let top = directory.join("rpm");
    let error = |e: std::io::Error| format!("{}: {e}", top.display());
    let _ = fs::remove_dir_all(&top);
    let tree = top.join("tree");
    let mut lists = Vec::new();
    let packages = product.packages(&layout)?;
    for package in &packages {
        let own = top.join(package.name);
        product.write_files(package, &own)?;
        write_licenses(product, package, &own)?;
        lists.push(list(&own)?);
        fs::create_dir_all(&tree).map_err(error)?;
        run(Command::new("cp").arg("-a").arg(own.join("usr")).arg(&tree))?;
    }
    product.set_times(&tree)?;
    let spec = top.join("jvmpi.spec");
    fs::write(&spec, text(&layout, processor, &packages, &lists)).map_err(error)?;

    let mut rpmbuild = Command::new("rpmbuild");
    rpmbuild.args(["-bb", "--quiet", "--target", &format!("{processor}-linux")]);
    for (name, value) in [
        ("_topdir", top.display().to_string()),
        ("_rpmdir", directory.display().to_string()),
        ("_build_name_fmt", "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm".into()),
        ("tree", tree.display().to_string()),
    ] {
        rpmbuild.args(["--define", &format!("{name} {value}")]);
    }
    run(rpmbuild.arg(&spec).env("SOURCE_DATE_EPOCH", product.time))
        .map_err(|why| format!("{why}\nrpmbuild is in Debian's package rpm"))?;
    fs::remove_dir_all(&top).map_err(error)?;
    let name = |package: &Package| format!("{}-{VERSION}-{RELEASE}.{processor}.rpm", package.name);
    Ok(packages.iter().map(|package| directory.join(name(package))).collect())
}

/// Returns the name of the processor in names of packages. That of i386 is the one that 64-bit distributions have
/// packages for.
fn processor(product: &Product<'_>) -> Result<&'static str, String> {
    Ok(match product.machine.name {
        "amd64" => "x86_64",
        "i386" => "i686",
        "arm64" => "aarch64",
        other => return Err(format!("RPM packages have no name for {other}")),
    })
}

fn layout(product: &Product<'_>) -> Result<Layout, String> {
    let lib = if processor(product)? == "i686" { "lib" } else { "lib64" };
    Ok(Layout {
        names: ["jvmpi-libs", "jvmpi-devel", "jvmpi"],
        lib: lib.into(),
        zsh: "share/zsh/site-functions",
    })
}

/// Writes the licenses of jvmpi to the place where RPM packages have them.
fn write_licenses(product: &Product<'_>, package: &Package, root: &Path) -> Result<(), String> {
    let to = root.join("usr/share/licenses").join(package.name);
    fs::create_dir_all(&to).map_err(|e| format!("{}: {e}", to.display()))?;
    OWN_LICENSES.iter().try_for_each(|name| {
        let from = product.tree.join(DOCUMENTATION).join(name);
        fs::copy(&from, to.join(name)).map(drop).map_err(|e| format!("{}: {e}", from.display()))
    })
}

/// Returns the list of the files in a directory, as a specification has it. The package also owns the directories of
/// its name.
fn list(root: &Path) -> Result<String, String> {
    let found =
        run(Command::new("find").arg(root).args(["-mindepth", "1", "-printf", "%y /%P\\n"]))?;
    let mut lines: Vec<_> = found.lines().filter_map(|line| line.split_once(' ')).collect();
    lines.sort_unstable();
    let mut list = String::new();
    for (kind, path) in lines {
        let is_ours = path.split('/').any(|name| name.starts_with("jvmpi"));
        let mark = match kind {
            "d" if is_ours => "%dir ",
            "d" => continue,
            _ if path.ends_with(LICENSES) || path.starts_with("/usr/share/licenses/") => {
                "%license "
            }
            _ if path.starts_with("/usr/share/doc/") => "%doc ",
            _ => "",
        };
        _ = writeln!(list, "{mark}\"{path}\"");
    }
    Ok(list)
}

/// Returns the specification of the packages.
fn text(layout: &Layout, processor: &str, packages: &[Package; 3], lists: &[String]) -> String {
    let [library, development, command] = packages;
    let bits = match processor {
        "x86_64" => "x86-64",
        "aarch64" => "aarch-64",
        _ => "x86-32",
    };
    let (libs, devel) = (library.name, development.name);
    let same = format!("Requires: {libs}({bits}) = %{{version}}-%{{release}}");
    let mut text = format!(
        "# The files are stripped and complete.
%global debug_package %{{nil}}
%global __os_install_post %{{nil}}
%global __arch_install_post %{{nil}}
%global _build_id_links none
# Agents are not for linking.
%global __provides_exclude_from ^/usr/{lib}/jvmpi/
# The same files and tools yield the same packages. The oldest rpm that reads them is that of glibc 2.17.
%global _buildhost localhost
%global use_source_date_epoch_as_buildtime 1
%global clamp_mtime_to_source_date_epoch 1
%global source_date_epoch_from_changelog 0
%global _binary_payload w6.gzdio

Name: {name}
Version: {VERSION}
Release: {RELEASE}
Summary: {summary}
License: MIT OR Apache-2.0
Packager: {packager}
{same}

%description
{description}
%package -n {libs}
Summary: {library_summary}

%description -n {libs}
{library_description}
%package -n {devel}
Summary: {development_summary}
# What rpmbuild finds here depends on whether the machine has pkg-config.
AutoReqProv: no
Provides: pkgconfig({name}) = %{{version}}
{same}

%description -n {devel}
{development_description}
%install
cp -a %{{tree}}/. %{{buildroot}}

%post -n {libs} -p /sbin/ldconfig
%postun -n {libs} -p /sbin/ldconfig
",
        lib = layout.lib,
        name = command.name,
        packager = maintainer(),
        summary = command.summary,
        description = command.description,
        library_summary = library.summary,
        library_description = library.description,
        development_summary = development.summary,
        development_description = development.description,
    );
    for (package, list) in packages.iter().zip(lists) {
        _ = write!(text, "\n%files -n {}\n%defattr(-,root,root)\n{list}", package.name);
    }
    text
}
