/*
 * election.c -- which locks have a holder that can announce something (bowline_announce), and why
 * the others have not.  For the calls and for `bowline caps`.
 */
#include "engine/election.h"

const char *bwl_why_no_election(const bwl_engine *engine, const bwl_protocol *protocol)
{
    switch (engine->kind) {
    case BWL_ENGINE_THREAD: return "a lock of thread: is known in its process alone";
    case BWL_ENGINE_FILE: return "a lock of file: has no place for a text";
    case BWL_ENGINE_REDLOCK: return "its servers could show several leaders";
    case BWL_ENGINE_REDIS:
        return protocol->uses_push ? NULL
                                   : "its protocol has neither a place for a text nor pushes";
    }
    bwl_unreachable("an engine outside of its enum");
}
