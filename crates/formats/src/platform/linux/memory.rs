//! The memory that the system can still give, and address space for a buffer. Threads are stopped meanwhile, so nothing here allocates.

use memmap2::{Advice, MmapMut, MmapOptions};
use std::fs::File;
use std::io::Read;
use std::ops::{Deref, DerefMut, Range};
use std::os::fd::FromRawFd;

/// Address space. Its pages become memory when they are written to, and are zero at first.
pub struct Reserved(MmapMut);

impl Reserved {
    /// Reserves this many bytes; None if there is no such space.
    pub fn new(bytes: usize) -> Option<Self> {
        MmapOptions::new().len(bytes).no_reserve_swap().map_anon().ok().map(Self)
    }

    /// Returns the bytes of the address space.
    pub fn size(&self) -> usize {
        self.0.len()
    }

    /// Prepares to use these bytes, in large pages if the buffer `is_large`. Returns true, as pages need nothing else.
    pub fn commit(&mut self, _bytes: Range<usize>, is_large: bool) -> bool {
        if is_large {
            // That the advice is not taken does no harm.
            _ = self.0.advise(Advice::HugePage);
        }
        true
    }
}

impl Deref for Reserved {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Reserved {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Returns the bytes of memory that the system can still give without taking any from programs; None if they are
/// not known. Beyond them it would rather kill a process than refuse.
pub fn available() -> Option<usize> {
    let mut cgroups = Text::<4096>::new();
    cgroups.read(&[b"/proc/self/cgroup"]);
    let in_cgroups = left_in_cgroups(cgroups.bytes(), b"/sys/fs/cgroup");
    [of_the_machine(), in_cgroups].into_iter().flatten().min()
}

fn of_the_machine() -> Option<usize> {
    let mut text = Text::<4096>::new();
    text.read(&[b"/proc/meminfo"]);
    text.number_of(b"MemAvailable:")?.checked_mul(1024)
}

/// The memory files of a version of cgroups.
struct Files {
    /// Below the root of all hierarchies.
    mount: &'static [u8],
    limit: &'static [u8],
    usage: &'static [u8],
    /// The line of `memory.stat` with the page cache that the kernel takes first, which is part of the usage.
    cache: &'static [u8],
}

const V1: Files = Files {
    mount: b"/memory",
    limit: b"/memory.limit_in_bytes",
    usage: b"/memory.usage_in_bytes",
    cache: b"total_inactive_file",
};

const V2: Files =
    Files { mount: b"", limit: b"/memory.max", usage: b"/memory.current", cache: b"inactive_file" };

impl Files {
    /// Returns the bytes that the cgroup at this path may still use, less a reserve for other memory of the process.
    /// None if it has no limit.
    fn left(&self, root: &[u8], path: &[u8]) -> Option<usize> {
        let number = |file| {
            let mut text = Text::<64>::new();
            text.read(&[root, self.mount, path, file]);
            text.number()
        };
        let limit = number(self.limit)?;
        let usage = number(self.usage)?;
        let mut statistics = Text::<8192>::new();
        statistics.read(&[root, self.mount, path, b"/memory.stat"]);
        let cache = statistics.number_of(self.cache).unwrap_or(0);
        Some((limit - limit / 32).saturating_sub(usage.saturating_sub(cache)))
    }
}

/// Returns the smallest number of bytes that is left in the process's cgroups, which `cgroups` lists as
/// `/proc/self/cgroup` does. The limits of parent directories count too. In a container, the path may be one
/// outside of it, and the container's own cgroup is at the root.
fn left_in_cgroups(cgroups: &[u8], root: &[u8]) -> Option<usize> {
    let mut least = None;
    for line in cgroups.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(3, |byte| *byte == b':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let files = match controllers {
            b"" => V2,
            some if some.split(|byte| *byte == b',').any(|name| name == b"memory") => V1,
            _ => continue,
        };
        let mut path = path.strip_suffix(b"/").unwrap_or(path);
        loop {
            least = [least, files.left(root, path)].into_iter().flatten().min();
            let Some(end) = path.iter().rposition(|byte| *byte == b'/') else { break };
            path = &path[..end];
        }
    }
    least
}

/// The beginning of a file.
struct Text<const SIZE: usize> {
    bytes: [u8; SIZE],
    length: usize,
}

impl<const SIZE: usize> Text<SIZE> {
    fn new() -> Self {
        Self { bytes: [0; SIZE], length: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Reads the file with the path that these parts make; nothing if there is none.
    fn read(&mut self, path: &[&[u8]]) {
        let mut name = [0_u8; libc::PATH_MAX as usize];
        let mut length = 0;
        for part in path {
            let Some(place) = name.get_mut(length..length + part.len()) else { return };
            place.copy_from_slice(part);
            length += part.len();
        }
        if length >= name.len() {
            return;
        }
        // SAFETY: the name ends with NUL.
        let file = unsafe { libc::open(name.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if file < 0 {
            return;
        }
        // SAFETY: it was just opened, and no other code knows of it.
        let mut file = unsafe { File::from_raw_fd(file) };
        while let Ok(count @ 1..) = file.read(&mut self.bytes[self.length..]) {
            self.length += count;
        }
    }

    /// Returns the number that is the whole content of the file.
    fn number(&self) -> Option<usize> {
        parse(self.bytes())
    }

    /// Returns the number after this word in the line that begins with the word.
    fn number_of(&self, word: &[u8]) -> Option<usize> {
        let mut lines = self.bytes().split(|byte| *byte == b'\n');
        let rest = lines.find_map(|line| {
            line.strip_prefix(word).filter(|rest| rest.first().is_some_and(u8::is_ascii_whitespace))
        })?;
        parse(rest.trim_ascii().split(u8::is_ascii_whitespace).next()?)
    }
}

/// Parses a number in digits; None if it is a word, such as `max`. A number greater than any address becomes the
/// greatest address.
fn parse(text: &[u8]) -> Option<usize> {
    let number: u64 = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
    Some(usize::try_from(number).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use tempfile::TempDir;

    /// Writes files below a new directory.
    fn tree(files: &[(&str, &str)]) -> TempDir {
        let root = TempDir::new().unwrap();
        for (file, text) in files {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        root
    }

    /// Returns the memory that is left in cgroups below a directory.
    fn left(cgroups: &[u8], root: &TempDir) -> Option<usize> {
        left_in_cgroups(cgroups, root.path().as_os_str().as_bytes())
    }

    #[test]
    fn the_tightest_cgroup_above_counts_in_version_2() {
        let root = tree(&[
            ("a/memory.max", "3200\n"),
            ("a/memory.current", "3000\n"),
            ("a/memory.stat", "anon 1900\ninactive_file 1000\nactive_file 100\n"),
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "10\n"),
            ("memory.max", "320000\n"),
            ("memory.current", "1\n"),
        ]);
        // A 32nd stays for others, and the cache is given back.
        assert_eq!(left(b"0::/a/b\n", &root), Some(3100 - 2000));
        assert_eq!(left(b"0::/\n", &root), Some(310_000 - 1));
        // Outside of the container.
        assert_eq!(left(b"0::/docker/f00\n", &root), Some(310_000 - 1));
        assert_eq!(left(b"", &root), None);
    }

    #[test]
    fn version_1_has_the_memory_controller_beside_others() {
        let root = tree(&[
            ("memory/x/memory.limit_in_bytes", "3200\n"),
            ("memory/x/memory.usage_in_bytes", "3150\n"),
            ("memory/x/memory.stat", "cache 7\ntotal_inactive_file 50\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/memory.usage_in_bytes", "5\n"),
        ]);
        let cgroups = b"12:pids:/x\n5:cpu,memory:/x\n0::/\n";
        assert_eq!(left(cgroups, &root), Some(0));
    }

    #[test]
    fn available_memory_is_known() {
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
