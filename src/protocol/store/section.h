/*
 * update_section.h -- what we say to a Redis server about a key that is the caller's, and exactly
 * what it means: one section of an optimistic update, which needs a connection of its own from its
 * first word to its last.
 *
 *  SECTION_READ    (WATCH, GET, MULTI)   the key is watched from here on
 *                      key is a string         -> its bytes are shown                  YES
 *                      no key                  -> shown to be absent                   YES
 *                      no string, or longer than a frame can hold -> nothing           ALIEN
 *  SECTION_SET     (SET, EXEC)           the key was touched since READ -> nothing     NO
 *                      otherwise         -> set it to value; its expiry is kept, or
 *                                           taken away, or put at lasts_ms from now    YES
 *  SECTION_DELETE  (DEL, EXEC)           the key was touched since READ -> nothing     NO
 *                      otherwise         -> delete it, if it is there                  YES
 *  SECTION_LEAVE   (DISCARD)             nothing; the key is not watched any more      YES
 *
 * "Touched": written, deleted, expired, given another expiry, by anybody: also by us over another
 * connection, and also if it is as before by now.  Each word but READ ends the section.
 *
 * LATER and REFUSED mean that nothing was carried out, and that the state of the connection is not
 * known: it must not be used for another section.
 *
 * MULTI goes out with the READ.  Behind the value it would stand in one packet with the SET, and
 * where a server refuses MULTI to us and not SET, that is carried out at once, watched or not.
 */
#ifndef BWL_PROTOCOL_STORE_SECTION_H
#define BWL_PROTOCOL_STORE_SECTION_H

typedef enum bwl_section_word {
    SECTION_READ = 1,
    SECTION_SET,
    SECTION_DELETE,
    SECTION_LEAVE,
} bwl_section_word;

#endif
