/*
 * json.h -- a streaming reader for JSON (RFC 8259), and how a string is written.
 *
 * After the first fault every function returns false, and `fault` has the reason and the line.  So
 * a caller can read a whole object and check once at its end.
 */
#pragma once

#include "lab/base/say.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct bwl_json {
    const char *at;
    const char *end;
    unsigned    line;
    bwl_text    fault; /* "" while nothing is wrong */
} bwl_json;

bwl_json bwl_json_of(const char *text, size_t size);

/* Reads an object, and calls on_member for each member, after its name; reads an array. */
enum { BWL_JSON_NAME_MAX = 32 };
typedef void bwl_json_on_member(bwl_json *r, const char *name, void *arg);
typedef void bwl_json_on_item(bwl_json *r, void *arg);
void         bwl_json_object(bwl_json *r, bwl_json_on_member *on_member, void *arg);
void         bwl_json_array(bwl_json *r, bwl_json_on_item *on_item, void *arg);

/* Reads a string; a whole number of min .. max, or null (is_null).  A text that does not fit is a
 * fault. */
bool bwl_json_string(bwl_json *r, char *ret_text, size_t capacity);
bool bwl_json_number(bwl_json *r, const int64_t bounds[2], int64_t *ret_number, bool *ret_is_null);
bool bwl_json_bool(bwl_json *r, bool *ret_bool);

bool bwl_json_end(bwl_json *r);

/* Records the first fault.  Always false. */
bool bwl_json_fault(bwl_json *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a string.  `<` is escaped too: the text may stand inside a <script> of a page. */
void bwl_json_put_string(FILE *out, const char *text);
