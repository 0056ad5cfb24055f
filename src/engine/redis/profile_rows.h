/*
 * profile_rows.h -- the table of profiles, for profile.c.
 */
#pragma once

#include "engine/redis/profile.h"

extern const bwl_profile bwl_profile_rows[];
extern const size_t      bwl_profile_rows_count;
