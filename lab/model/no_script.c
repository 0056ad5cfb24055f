/*
 * no_script.c -- script.h in a build without Lua: a file with EVAL is refused.
 */
#include "lab/model/script.h"

const char *bwl_model_script_fault(const bwl_lock_text *script)
{
    (void)script;
    return "this bowline-lab was built without Lua 5.1, and EVAL needs it";
}

bwl_model_reply bwl_model_script(bwl_model_redis *r, const bwl_model_command_args *q,
                                 const bwl_call *eval, const int64_t *values, bwl_model_call *run)
{
    (void)r, (void)q, (void)eval, (void)values, (void)run;
    bwl_unreachable("a file with EVAL was refused");
}
