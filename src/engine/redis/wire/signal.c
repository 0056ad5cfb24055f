/*
 * signal.c -- see signal.h.
 *
 *  LIST, EVENT    EVALSHA script 2 key list value
 *  CHANNEL        EVALSHA script 1 key value channel [second channel]
 */
#include "engine/redis/wire/signal.h"
#include "engine/redis/wire/scripts.h"

static bwl_script_id script_of(bwl_signal_kind kind)
{
    switch (kind) {
    case BWL_SIGNAL_LIST: return BWL_SCRIPT_DELETE_AND_PUSH;
    case BWL_SIGNAL_EVENT: return BWL_SCRIPT_DELETE_AND_KEEP_ONE;
    case BWL_SIGNAL_CHANNEL: return BWL_SCRIPT_DELETE_AND_PUBLISH;
    case BWL_SIGNAL_NONE: break;
    }
    bwl_unreachable("a release without a signal is DELETE_IF_MINE");
}

void bwl_signal_write(bwl_resp_writer *writer, const bwl_signal *signal, bool use_eval,
                      bwl_bytes key, bwl_bytes value)
{
    bwl_script_id id         = script_of(signal->kind);
    bool          is_channel = signal->kind == BWL_SIGNAL_CHANNEL;
    bool          has_second = signal->second_size != 0;

    assert(is_channel || !has_second);
    bwl_resp_write_array(writer, has_second ? 7 : 6);
    bwl_resp_write_text(writer, use_eval ? "EVAL" : "EVALSHA");
    bwl_resp_write_text(writer, use_eval ? bwl_scripts[id].text : bwl_scripts[id].sha1);
    bwl_resp_write_text(writer, is_channel ? "1" : "2");
    bwl_resp_write_bulk(writer, key.at, key.size);
    if (!is_channel) /* a list is a key: KEYS[2] */
        bwl_resp_write_bulk(writer, signal->name, signal->size);
    bwl_resp_write_bulk(writer, value.at, value.size);
    if (is_channel)
        bwl_resp_write_bulk(writer, signal->name, signal->size);
    if (has_second)
        bwl_resp_write_bulk(writer, signal->second, signal->second_size);
}
