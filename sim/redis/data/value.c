/*
 * value.c -- see value.h.
 */
#include "sim/redis/data/value.h"

#include <stdlib.h>
#include <string.h>

enum { OVERHEAD = 64, PER_ELEMENT = 32, LIST_MIN = 8, MEMBERS_MIN = 8 };

_Static_assert(sizeof(double) == sizeof(void *), "a score is stored in a pointer");

static void free_bytes(void *value)
{
    model_bytes *bytes = value;

    model_bytes_free(bytes);
    free(bytes);
}

model_value *model_value_new(model_type type)
{
    model_value *value = model_allocate(sizeof *value);

    *value = (model_value){ .type = type, .expires_ms = MODEL_NO_EXPIRY };
    return value;
}

void model_value_free(model_value *value)
{
    if (value == NULL)
        return;
    switch (value->type) {
    case MODEL_STRING: model_bytes_free(&value->as.string); break;
    case MODEL_SET: model_table_clear(&value->as.table, NULL); break;
    case MODEL_HASH: model_table_clear(&value->as.table, free_bytes); break;
    case MODEL_ZSET:
        model_table_clear(&value->as.zset.scores, NULL);
        free(value->as.zset.members);
        break;
    case MODEL_LIST:
        for (size_t i = 0; i < value->as.list.count; i++)
            model_bytes_free(&value->as.list.items[value->as.list.first + i]);
        free(value->as.list.items);
        break;
    }
    free(value);
}

size_t model_value_count(const model_value *value)
{
    switch (value->type) {
    case MODEL_STRING: return value->as.string.size;
    case MODEL_SET:
    case MODEL_HASH: return value->as.table.count;
    case MODEL_ZSET: return value->as.zset.scores.count;
    case MODEL_LIST: return value->as.list.count;
    }
    abort();
}

size_t model_value_memory(const model_value *value)
{
    switch (value->type) {
    case MODEL_STRING: return OVERHEAD + value->as.string.size;
    case MODEL_SET:
    case MODEL_HASH:
        return OVERHEAD + value->as.table.key_bytes + PER_ELEMENT * value->as.table.count * 2;
    case MODEL_ZSET:
        return OVERHEAD + value->as.zset.scores.key_bytes +
               PER_ELEMENT * value->as.zset.scores.count * 2;
    case MODEL_LIST: return OVERHEAD + value->as.list.bytes + PER_ELEMENT * value->as.list.count;
    }
    abort();
}

const char *model_type_name(model_type type)
{
    static const char *const names[] = {
        [MODEL_STRING] = "string", [MODEL_LIST] = "list", [MODEL_SET] = "set",
        [MODEL_ZSET] = "zset",     [MODEL_HASH] = "hash",
    };

    return names[type];
}

bool model_value_has_expired(const model_value *value, int64_t now_ms)
{
    return value->expires_ms != MODEL_NO_EXPIRY && now_ms > value->expires_ms;
}

/* ---- hashes and sets ------------------------------------------------------------------------- */

bool model_hash_set(model_value *hash, model_text field, model_text text)
{
    bool   is_new;
    void **value = model_table_add(&hash->as.table, field, &is_new);

    if (is_new) {
        model_bytes *bytes = model_allocate(sizeof *bytes);
        *bytes             = (model_bytes){ .size = 0 };
        *value             = bytes;
    }
    model_bytes_set(*value, text);
    return is_new;
}

const model_bytes *model_hash_get(const model_value *hash, model_text field)
{
    void **value = model_table_find(&hash->as.table, field);

    return value != NULL ? *value : NULL;
}

bool model_hash_remove(model_value *hash, model_text field)
{
    void *value = NULL;

    if (!model_table_remove(&hash->as.table, field, &value))
        return false;
    free_bytes(value);
    return true;
}

/* ---- sorted sets ----------------------------------------------------------------------------- */

static void *bits_of(double score)
{
    void *bits;

    memcpy(&bits, &score, sizeof bits);
    return bits;
}

static double score_of(void *bits)
{
    double score;

    memcpy(&score, &bits, sizeof score);
    return score;
}

bool model_zset_score(const model_value *zset, model_text member, double *ret_score)
{
    void **bits = model_table_find(&zset->as.zset.scores, member);

    if (bits != NULL)
        *ret_score = score_of(*bits);
    return bits != NULL;
}

static int compare(const model_member *member, double score, model_text name)
{
    if (member->score != score)
        return member->score < score ? -1 : 1;
    return model_text_compare(member->name, name);
}

size_t model_zset_rank(const model_value *zset, model_text member, double score)
{
    const model_member *members = zset->as.zset.members;
    size_t              low     = 0;
    size_t              high    = zset->as.zset.scores.count;

    /* The usual new member is the last. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&members[middle], score, member) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t model_zset_before(const model_value *zset, double score, bool inclusive)
{
    const model_member *members = zset->as.zset.members;
    size_t              low     = 0;
    size_t              high    = zset->as.zset.scores.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (members[middle].score < score || (inclusive && members[middle].score == score))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* count: how many there are beside it. */
static void insert(model_zset *zset, size_t nth, size_t count, model_member member)
{
    if (count == zset->room) {
        zset->room    = count < MEMBERS_MIN ? MEMBERS_MIN : count * 2;
        zset->members = model_resize(zset->members, zset->room * sizeof *zset->members);
    }
    memmove(zset->members + nth + 1, zset->members + nth, (count - nth) * sizeof *zset->members);
    zset->members[nth] = member;
}

static void take_out(model_zset *zset, size_t nth, size_t count)
{
    memmove(zset->members + nth, zset->members + nth + 1,
            (count - nth - 1) * sizeof *zset->members);
}

bool model_zset_set(model_value *value, model_text name, double score)
{
    model_zset *zset  = &value->as.zset;
    size_t      count = zset->scores.count;
    double      before;

    if (model_zset_score(value, name, &before)) {
        if (before == score)
            return false;
        size_t       nth    = model_zset_rank(value, name, before);
        model_member member = zset->members[nth];
        member.score        = score;
        take_out(zset, nth, count);
        /* Searched among the others. */
        zset->scores.count--;
        nth = model_zset_rank(value, name, score);
        zset->scores.count++;
        insert(zset, nth, count - 1, member);
        *model_table_find(&zset->scores, name) = bits_of(score);
        return false;
    }
    size_t nth = model_zset_rank(value, name, score);
    bool   is_new;
    *model_table_add(&zset->scores, name, &is_new) = bits_of(score);
    insert(zset, nth, count, (model_member){ score, model_table_own_key(&zset->scores, name) });
    return true;
}

bool model_zset_remove(model_value *value, model_text name)
{
    model_zset *zset = &value->as.zset;
    double      score;
    void       *bits;

    if (!model_zset_score(value, name, &score))
        return false;
    take_out(zset, model_zset_rank(value, name, score), zset->scores.count);
    return model_table_remove(&zset->scores, name, &bits);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Room at both ends. */
static void widen(model_list *list)
{
    size_t       room  = list->count < LIST_MIN / 2 ? LIST_MIN : list->count * 3;
    size_t       first = (room - list->count) / 2;
    model_bytes *items = model_allocate(room * sizeof *items);

    if (list->count != 0)
        memcpy(items + first, list->items + list->first, list->count * sizeof *items);
    free(list->items);
    list->items = items;
    list->first = first;
    list->room  = room;
}

void model_list_push(model_value *value, model_text item, bool at_left)
{
    model_list *list = &value->as.list;
    model_bytes copy = { .size = 0 };

    if (at_left ? list->first == 0 : list->first + list->count == list->room)
        widen(list);
    model_bytes_add(&copy, item.at, item.size);
    if (at_left)
        list->first--;
    list->items[at_left ? list->first : list->first + list->count] = copy;
    list->count++;
    list->bytes += item.size;
}

model_text model_list_at(const model_value *list, size_t nth)
{
    return model_bytes_text(&list->as.list.items[list->as.list.first + nth]);
}

void model_list_pop(model_value *value, bool at_left)
{
    model_list  *list = &value->as.list;
    model_bytes *item = &list->items[at_left ? list->first : list->first + list->count - 1];

    list->bytes -= item->size;
    model_bytes_free(item);
    list->first += at_left;
    list->count--;
}

/* ---- whole values ---------------------------------------------------------------------------- */

static void copy_table(model_value *copy, const model_value *value)
{
    size_t       at = 0;
    model_entry *entry;
    bool         is_new;

    while ((entry = model_table_next(&value->as.table, &at)) != NULL) {
        model_text key = { entry->key, entry->size };
        if (value->type == MODEL_HASH)
            (void)model_hash_set(copy, key, model_bytes_text(entry->value));
        else
            (void)model_table_add(&copy->as.table, key, &is_new);
    }
}

model_value *model_value_copy(const model_value *value)
{
    model_value *copy = model_value_new(value->type);

    copy->expires_ms = value->expires_ms;
    copy->used_at    = value->used_at;
    switch (value->type) {
    case MODEL_STRING:
        model_bytes_set(&copy->as.string, model_bytes_text(&value->as.string));
        break;
    case MODEL_SET:
    case MODEL_HASH: copy_table(copy, value); break;
    case MODEL_ZSET:
        for (size_t i = 0; i < value->as.zset.scores.count; i++)
            (void)model_zset_set(copy, value->as.zset.members[i].name,
                                 value->as.zset.members[i].score);
        break;
    case MODEL_LIST:
        for (size_t i = 0; i < value->as.list.count; i++)
            model_list_push(copy, model_list_at(value, i), false);
        break;
    }
    return copy;
}

static bool tables_equal(const model_value *a, const model_value *b)
{
    size_t       at = 0;
    model_entry *entry;

    while ((entry = model_table_next(&a->as.table, &at)) != NULL) {
        void **other = model_table_find(&b->as.table, (model_text){ entry->key, entry->size });
        if (other == NULL)
            return false;
        if (a->type == MODEL_HASH &&
            !model_text_equal(model_bytes_text(entry->value), model_bytes_text(*other)))
            return false;
    }
    return true;
}

bool model_value_equal(const model_value *a, const model_value *b)
{
    if (a->type != b->type || a->expires_ms != b->expires_ms ||
        model_value_count(a) != model_value_count(b))
        return false;
    switch (a->type) {
    case MODEL_STRING:
        return model_text_equal(model_bytes_text(&a->as.string), model_bytes_text(&b->as.string));
    case MODEL_SET:
    case MODEL_HASH: return tables_equal(a, b);
    case MODEL_ZSET:
        for (size_t i = 0; i < a->as.zset.scores.count; i++)
            if (compare(&a->as.zset.members[i], b->as.zset.members[i].score,
                        b->as.zset.members[i].name) != 0)
                return false;
        return true;
    case MODEL_LIST:
        for (size_t i = 0; i < a->as.list.count; i++)
            if (!model_text_equal(model_list_at(a, i), model_list_at(b, i)))
                return false;
        return true;
    }
    abort();
}
