# Writes OUTPUT, a header that names the commit SOURCE is at, and touches it only where that changed. Run at every build.
execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "unknown")
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND commit ", with changes")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "inline constexpr char const *commit_k = \"${commit}\";\n")
