/*
 * redis.h -- what we ever say to a Redis server, and exactly what it means.
 *
 * `key` is the lock's key, `token` and `lease` come from the claim.  Every word is carried out by
 * the server as one step, wholly or not at all.  The engine turns a word into a command or a
 * script, the lab's model server carries it out, and a conformance test compares the two.
 *
 *  SET_IF_ABSENT          no key            -> set it to token, to vanish after lease   YES
 *                         any key           -> nothing                                 NO
 *  SET_IF_ABSENT_OR_MINE  key is token      -> nothing: an earlier question had set it  YES
 *                         otherwise as SET_IF_ABSENT
 *  EXTEND_IF_MINE         key is token      -> it vanishes lease from now, or when it
 *                                              would have anyway if that is later       YES
 *                         otherwise         -> nothing                                 NO
 *  DELETE_IF_MINE         key is token      -> delete it                               YES
 *                         otherwise         -> nothing                                 NO
 *
 * "key is token": it exists, is a string, and is byte for byte the token.
 */
#ifndef BWL_STORE_REDIS_H
#define BWL_STORE_REDIS_H

typedef enum bwl_redis_word {
    REDIS_SET_IF_ABSENT = 1,
    REDIS_SET_IF_ABSENT_OR_MINE,
    REDIS_EXTEND_IF_MINE,
    REDIS_DELETE_IF_MINE,
} bwl_redis_word;

#endif
