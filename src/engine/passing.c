/*
 * passing.c -- which locks can be passed on to another client (bowline_hold_export), and why the
 * others cannot.  For the calls and for `bowline caps`.
 */
#include "engine/engine.h"

const char *bwl_why_not_passed(const bwl_engine *engine, const bwl_protocol *protocol,
                               const bwl_compat_rules *rules)
{
    switch (engine->kind) {
    case BWL_ENGINE_THREAD: return "a lock of thread: belongs to its process";
    case BWL_ENGINE_FILE: return "a lock of file: belongs to its process";
    case BWL_ENGINE_REDLOCK:
        return "its servers are asked one by one, so two clients could import it";
    case BWL_ENGINE_REDIS: return engine->passing->why_not(protocol, rules);
    }
    bwl_unreachable("an engine outside of its enum");
}
