/* tulle.h in a C99 translation unit: what C sees of the enumerations, for status_test.cpp. */
#include <tulle/tulle.h>

const char* name_of_a_status_that_c_made_up(int number) { return tulle_status_name((tulle_status)number); }
