/*
 * bytes.h -- texts, and buffers that grow.
 *
 * A text is borrowed: a pointer and a size, any bytes.  A buffer owns its memory.  There is no
 * error for a lack of memory: the simulator ends then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct model_text {
    const char *at;
    size_t      size;
} model_text;

typedef struct model_bytes {
    char  *at; /* NULL before the first byte */
    size_t size;
    size_t room;
} model_bytes;

/* The caller frees them with free(). */
void *model_allocate(size_t size);
void *model_resize(void *memory, size_t size);
char *model_text_copy(model_text text); /* ends with a NUL */

model_text model_text_of(const char *text);
bool       model_text_equal(model_text a, model_text b);
/* Without regard to the case of ASCII letters. */
bool model_text_is(model_text text, const char *word);
int  model_text_compare(model_text a, model_text b);
/* A pattern of Redis: * ? [a-z] [^a] and a backslash. */
bool model_text_matches(model_text text, model_text pattern);

/* Numbers as Redis reads and writes them. */
bool model_text_integer(model_text text, int64_t *ret_number);
bool model_text_double(model_text text, double *ret_number);
/* Valkey writes the fewest digits that give the same number, Redis 17. */
size_t model_write_double(char *ret_text, size_t room, double number, bool is_short);

/* Room for `size` more bytes, at the end; model_bytes_took says how many of them are used. */
char *model_bytes_reserve(model_bytes *bytes, size_t size);
void  model_bytes_add(model_bytes *bytes, const void *at, size_t size);
void  model_bytes_add_text(model_bytes *bytes, const char *text);
void  model_bytes_add_integer(model_bytes *bytes, int64_t number);
void  model_bytes_print(model_bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Removes the first bytes. */
void       model_bytes_drop(model_bytes *bytes, size_t size);
void       model_bytes_set(model_bytes *bytes, model_text text);
model_text model_bytes_text(const model_bytes *bytes);
void       model_bytes_free(model_bytes *bytes);
