/*
 * commands.h -- what the table of commands names, and what the files of commands share.
 */
#pragma once

#include "sim/redis/core/call.h"

/* ---- shared ---------------------------------------------------------------------------------- */

void        model_refuse_expiry(model_call *call); /* strings.c */
void        model_sentinel_role(model_call *call); /* sentinel_command.c */
void        model_sentinel_info(model_bytes *out, const model_server *server);
const char *model_mode_text(const model_server *server);              /* info.c */
const char *model_version_text(model_version version);                /* info.c */
bool        model_is_client_name(model_text name);                    /* connection.c */
bool        model_client_set_name(model_call *call, model_text name); /* client.c */

extern const model_sub model_subs_client[];
extern const model_sub model_subs_pubsub[];
extern const model_sub model_subs_acl[];
extern const model_sub model_subs_script[];
extern const model_sub model_subs_config[];
extern const model_sub model_subs_cluster[];
extern const model_sub model_subs_sentinel[];

/* ---- commands -------------------------------------------------------------------------------- */

void model_cmd_get(model_call *call);
void model_cmd_set(model_call *call);
void model_cmd_setnx(model_call *call);
void model_cmd_setex(model_call *call);
void model_cmd_psetex(model_call *call);
void model_cmd_getset(model_call *call);
void model_cmd_getdel(model_call *call);
void model_cmd_mget(model_call *call);
void model_cmd_mset(model_call *call);
void model_cmd_strlen(model_call *call);
void model_cmd_getrange(model_call *call);
void model_cmd_append(model_call *call);
void model_cmd_incr(model_call *call);
void model_cmd_decr(model_call *call);
void model_cmd_incrby(model_call *call);
void model_cmd_decrby(model_call *call);
void model_cmd_del(model_call *call);
void model_cmd_exists(model_call *call);
void model_cmd_type(model_call *call);
void model_cmd_expire(model_call *call);
void model_cmd_pexpire(model_call *call);
void model_cmd_expireat(model_call *call);
void model_cmd_pexpireat(model_call *call);
void model_cmd_persist(model_call *call);
void model_cmd_ttl(model_call *call);
void model_cmd_pttl(model_call *call);
void model_cmd_expiretime(model_call *call);
void model_cmd_pexpiretime(model_call *call);
void model_cmd_keys(model_call *call);
void model_cmd_dbsize(model_call *call);
void model_cmd_flushdb(model_call *call);
void model_cmd_flushall(model_call *call);
void model_cmd_rename(model_call *call);
void model_cmd_swapdb(model_call *call);
void model_cmd_hset(model_call *call);
void model_cmd_hmset(model_call *call);
void model_cmd_hsetnx(model_call *call);
void model_cmd_hget(model_call *call);
void model_cmd_hmget(model_call *call);
void model_cmd_hgetall(model_call *call);
void model_cmd_hkeys(model_call *call);
void model_cmd_hvals(model_call *call);
void model_cmd_hlen(model_call *call);
void model_cmd_hexists(model_call *call);
void model_cmd_hdel(model_call *call);
void model_cmd_hincrby(model_call *call);
void model_cmd_sadd(model_call *call);
void model_cmd_srem(model_call *call);
void model_cmd_scard(model_call *call);
void model_cmd_sismember(model_call *call);
void model_cmd_smembers(model_call *call);
void model_cmd_zadd(model_call *call);
void model_cmd_zincrby(model_call *call);
void model_cmd_zrem(model_call *call);
void model_cmd_zscore(model_call *call);
void model_cmd_zcard(model_call *call);
void model_cmd_zrank(model_call *call);
void model_cmd_zrevrank(model_call *call);
void model_cmd_zpopmin(model_call *call);
void model_cmd_zpopmax(model_call *call);
void model_cmd_zrange(model_call *call);
void model_cmd_zrevrange(model_call *call);
void model_cmd_zrangebyscore(model_call *call);
void model_cmd_zrevrangebyscore(model_call *call);
void model_cmd_zcount(model_call *call);
void model_cmd_zremrangebyscore(model_call *call);
void model_cmd_zremrangebyrank(model_call *call);
void model_cmd_lpush(model_call *call);
void model_cmd_rpush(model_call *call);
void model_cmd_lpushx(model_call *call);
void model_cmd_rpushx(model_call *call);
void model_cmd_lpop(model_call *call);
void model_cmd_rpop(model_call *call);
void model_cmd_llen(model_call *call);
void model_cmd_lrange(model_call *call);
void model_cmd_ltrim(model_call *call);
void model_cmd_lindex(model_call *call);
void model_cmd_multi(model_call *call);
void model_cmd_exec(model_call *call);
void model_cmd_discard(model_call *call);
void model_cmd_watch(model_call *call);
void model_cmd_unwatch(model_call *call);
void model_cmd_publish(model_call *call);
void model_cmd_spublish(model_call *call);
void model_cmd_subscribe(model_call *call);
void model_cmd_psubscribe(model_call *call);
void model_cmd_ssubscribe(model_call *call);
void model_cmd_unsubscribe(model_call *call);
void model_cmd_punsubscribe(model_call *call);
void model_cmd_sunsubscribe(model_call *call);
void model_cmd_eval(model_call *call);
void model_cmd_evalsha(model_call *call);
void model_cmd_ping(model_call *call);
void model_cmd_echo(model_call *call);
void model_cmd_select(model_call *call);
void model_cmd_auth(model_call *call);
void model_cmd_hello(model_call *call);
void model_cmd_quit(model_call *call);
void model_cmd_reset(model_call *call);
void model_cmd_debug(model_call *call);
void model_cmd_info(model_call *call);
void model_cmd_time(model_call *call);
void model_cmd_role(model_call *call);
void model_cmd_replicaof(model_call *call);
void model_cmd_wait(model_call *call);
void model_cmd_asking(model_call *call);
void model_cmd_readonly(model_call *call);
void model_cmd_readwrite(model_call *call);
void model_cmd_cluster(model_call *call);
