# Command lines that are not right end with 2 and the usage: cmake -DBIN=FOLDER -P usage.cmake
foreach(arguments "tracking;cpu;4e2" "tracking;15" "tracking;400;0" "tracking;400;5;5" "tracking;-400"
    "elasticity;cpu;six" "elasticity;101" "elasticity;4 " "elasticity;99999999999" "elasticity;4;beam.vtk;5" "power_method;12")
  list(POP_FRONT arguments program)
  execute_process(COMMAND ${BIN}/tulle_example_${program} ${arguments} RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE said)
  if(NOT code EQUAL 2 OR NOT said MATCHES "^usage: tulle_example_${program} ")
    message(SEND_ERROR "${program} ${arguments}: exit code ${code}: ${said}")
  endif()
endforeach()
