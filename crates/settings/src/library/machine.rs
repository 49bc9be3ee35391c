//! The machines that libraries are built for.

use object::elf;
use object::pe;
use object::read::elf::FileHeader;
use object::{Endianness, LittleEndian};
use std::fmt;

/// The ELF file header of this machine's libraries.
#[cfg(target_pointer_width = "64")]
pub type Native = elf::FileHeader64<Endianness>;
#[cfg(target_pointer_width = "32")]
pub type Native = elf::FileHeader32<Endianness>;

/// A machine that a library was built for: the architecture, its word size and its byte order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Machine {
    bits: u8,
    big_endian: bool,
    architecture: elf::Machine,
}

impl Machine {
    /// The machine of this process.
    pub const THIS: Self = Self {
        bits: if cfg!(target_pointer_width = "64") { 64 } else { 32 },
        big_endian: cfg!(target_endian = "big"),
        architecture: if cfg!(target_arch = "x86_64") {
            elf::EM_X86_64
        } else if cfg!(target_arch = "x86") {
            elf::EM_386
        } else if cfg!(target_arch = "aarch64") {
            elf::EM_AARCH64
        } else {
            panic!("name the ELF machine of this architecture here")
        },
    };

    /// The machine of most agents of JVMPI's time.
    pub(super) const I386: Self = Self { bits: 32, big_endian: false, architecture: elf::EM_386 };

    pub(super) fn of_pe(header: &pe::ImageFileHeader, is_64: bool) -> Self {
        let architecture = match header.machine.get(LittleEndian) {
            pe::IMAGE_FILE_MACHINE_I386 => elf::EM_386,
            pe::IMAGE_FILE_MACHINE_AMD64 => elf::EM_X86_64,
            pe::IMAGE_FILE_MACHINE_ARM64 => elf::EM_AARCH64,
            pe::IMAGE_FILE_MACHINE_ARMNT => elf::EM_ARM,
            pe::IMAGE_FILE_MACHINE_IA64 => elf::EM_IA_64,
            pe::Machine(other) => elf::Machine(other),
        };
        Self { bits: if is_64 { 64 } else { 32 }, big_endian: false, architecture }
    }

    pub(super) fn of<Elf: FileHeader<Endian = Endianness>>(header: &Elf) -> object::Result<Self> {
        Ok(Self {
            bits: if header.is_class_64() { 64 } else { 32 },
            big_endian: header.is_big_endian(),
            architecture: header.e_machine(header.endian()?),
        })
    }

    /// Returns the name of the architecture, for example `x86-64`.
    pub fn architecture(self) -> String {
        let name = match self.architecture {
            elf::EM_386 => "i386",
            elf::EM_X86_64 => "x86-64",
            elf::EM_AARCH64 => "AArch64",
            elf::EM_ARM => "ARM",
            elf::EM_SPARC | elf::EM_SPARC32PLUS | elf::EM_SPARCV9 => "SPARC",
            elf::EM_PPC | elf::EM_PPC64 => "PowerPC",
            elf::EM_IA_64 => "Itanium",
            elf::EM_MIPS => "MIPS",
            elf::EM_PARISC => "PA-RISC",
            elf::EM_RISCV => "RISC-V",
            elf::EM_S390 => "z/Architecture",
            elf::EM_LOONGARCH => "LoongArch",
            elf::Machine(other) => return format!("machine {other}"),
        };
        name.into()
    }
}

/// Formats the machine like `32-bit (i386)`.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let big_endian = if self.big_endian { "big-endian " } else { "" };
        write!(f, "{}-bit ({big_endian}{})", self.bits, self.architecture())
    }
}
