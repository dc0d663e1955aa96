// Which of the GpSimd engine's cores runs this, and how many run.
#pragma once

#include <stdint.h>

uint32_t get_cpu_id();
uint32_t get_cpu_count();
