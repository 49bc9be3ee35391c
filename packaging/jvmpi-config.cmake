# find_package(jvmpi) gives
#   jvmpi::headers  jvmpi.h, and the jni.h of a JDK; all that an agent needs
#   jvmpi::jvmpi    libjvmpi.so, for a program with a JVM in it
#   jvmpi::static   libjvmpi.a, likewise

if(TARGET jvmpi::headers)
  return()
endif()

get_filename_component(jvmpi_PREFIX "${CMAKE_CURRENT_LIST_DIR}/@PARENTS@/../.." ABSOLUTE)

# CMake looks for a JDK in JAVA_HOME first. A compiler in PATH lies two folders below the JDK.
if(NOT DEFINED ENV{JAVA_HOME})
  find_program(jvmpi_JAVAC javac)
  mark_as_advanced(jvmpi_JAVAC)
  get_filename_component(jvmpi_JDK "${jvmpi_JAVAC}" REALPATH)
  get_filename_component(jvmpi_JDK "${jvmpi_JDK}/../.." ABSOLUTE)
  if(EXISTS "${jvmpi_JDK}/include/jni.h")
    set(ENV{JAVA_HOME} "${jvmpi_JDK}")
  endif()
endif()

# Not found where AWT is not, as in a headless JDK; the folders are set all the same.
find_package(JNI QUIET)
if(NOT EXISTS "${JAVA_INCLUDE_PATH}/jni.h")
  message(FATAL_ERROR "jvmpi: no JDK with its jni.h was found: set JAVA_HOME, or install one with javac")
endif()

add_library(jvmpi::headers INTERFACE IMPORTED)
set_target_properties(jvmpi::headers PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${jvmpi_PREFIX}/include")
foreach(jvmpi_DIRECTORY IN ITEMS "${JAVA_INCLUDE_PATH}" "${JAVA_INCLUDE_PATH2}")
  if(IS_DIRECTORY "${jvmpi_DIRECTORY}")
    set_property(TARGET jvmpi::headers APPEND PROPERTY
      INTERFACE_INCLUDE_DIRECTORIES "${jvmpi_DIRECTORY}")
  endif()
endforeach()

add_library(jvmpi::jvmpi SHARED IMPORTED)
set_target_properties(jvmpi::jvmpi PROPERTIES
  IMPORTED_LOCATION "${jvmpi_PREFIX}/@LIB@/libjvmpi.so.1"
  IMPORTED_SONAME libjvmpi.so.1
  INTERFACE_LINK_LIBRARIES jvmpi::headers)

add_library(jvmpi::static STATIC IMPORTED)
set_target_properties(jvmpi::static PROPERTIES
  IMPORTED_LOCATION "${jvmpi_PREFIX}/@LIB@/libjvmpi.a"
  INTERFACE_LINK_LIBRARIES "jvmpi::headers;gcc_s;util;rt;pthread;m;dl;c")
