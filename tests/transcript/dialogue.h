/*
 * dialogue.h -- stories in one line each, for protocols that ask one question at a time.
 *
 *      acquires, once; SETNX of 10 -> no; READ of 10 -> +5 shows -3; BUSY; over
 *
 * An arrow joins a question and its answer; +N says that N ms have passed.  After an arrow comes
 * what "server says" (yes, no, later, refused, held 7 ...), "shows 5 mine", "cut", "unsent", or of
 * several servers "2 yes", "2 away".  All else is as in transcript.h, without the words "asks",
 * "caller" and "server".
 */
#ifndef DIALOGUE_H
#define DIALOGUE_H

#include "transcript.h"

typedef struct line_form {
    const char *line; /* how the line of a story begins */
    const char *item; /* how the item does              */
} line_form;

static const line_form answer_forms[] = {
    { "server shows ", "shows " },
    { "link cuts", "cut" },
    { "link sends nothing", "unsent" },
    { "server says ", "" },
};

static const line_form other_forms[] = {
    { "caller acquires", "acquires" }, { "caller releases", "releases" },
    { "caller extends", "extends" },   { "caller cancels", "cancels" },
    { "caller yields", "yields" },     { "caller looks", "looks" },
    { "server pushes ", "pushes " },   { "server gives ", "gives " },
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static inline bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The first form of `forms` whose line or item `text` begins with; NULL: none. */
static inline const line_form *form_of(const line_form *forms, size_t count, const char *text,
                                       bool by_line)
{
    for (size_t i = 0; i < count; i++)
        if (begins(text, by_line ? forms[i].line : forms[i].item))
            return &forms[i];
    return NULL;
}

static inline void write_line(char *to, size_t room, const char *item, bool is_answer)
{
    const line_form *form = is_answer ? form_of(answer_forms, COUNT(answer_forms), item, false)
                                      : form_of(other_forms, COUNT(other_forms), item, false);

    if (is_answer && isdigit((unsigned char)item[0]) && item[1] == ' ')
        (void)snprintf(to, room, "server %c %s%s", item[0],
                       strcmp(item + 2, "away") == 0 ? "goes " : "says ", item + 2);
    else if (form != NULL)
        (void)snprintf(to, room, "%s%s", form->line, item + strlen(form->item));
    else
        (void)snprintf(to, room, "%s", item);
}

/* Of what is left of a dialogue: the end of its first item. */
static inline const char *item_end(const char *rest, bool *ret_answer_follows)
{
    const char *arrow = strstr(rest, " -> ");
    const char *next  = strstr(rest, "; ");

    *ret_answer_follows = arrow != NULL && (next == NULL || arrow < next);
    if (*ret_answer_follows)
        return arrow;
    return next != NULL ? next : rest + strlen(rest);
}

static inline void story_of(const char *dialogue, char *to, size_t room)
{
    long long   at        = 0;
    bool        is_answer = false;
    size_t      size      = 0;
    const char *rest      = dialogue;

    while (*rest != '\0') {
        char        item[STORY_LINE_MAX];
        char        line[STORY_LINE_MAX];
        bool        answer_follows = false;
        const char *end            = item_end(rest, &answer_follows);
        if (*rest == '+') {
            char *after = NULL;
            at += strtoll(rest + 1, &after, 10);
            rest = *after == ' ' ? after + 1 : after;
        }
        (void)snprintf(item, sizeof item, "%.*s", (int)(end - rest), rest);
        write_line(line, sizeof line, item, is_answer);
        size += (size_t)snprintf(to + size, room - size, "[%5lld] %s\n", at, line);
        assert_true(size < room);
        is_answer = answer_follows;
        rest      = *end == '\0' ? end : end + (is_answer ? 4 : 2);
    }
}

static inline void add_item(char *to, size_t room, const char *line, long long passed_ms)
{
    bool             is_numbered = begins(line, "server ") && isdigit((unsigned char)line[7]);
    const line_form *answer      = form_of(answer_forms, COUNT(answer_forms), line, true);
    const line_form *other       = form_of(other_forms, COUNT(other_forms), line, true);
    const line_form *form        = answer != NULL ? answer : other;
    const char      *join        = *to == '\0' ? "" : answer != NULL || is_numbered ? " -> " : "; ";
    char             time[24]    = "";
    size_t           size        = strlen(to);

    if (passed_ms > 0)
        (void)snprintf(time, sizeof time, "+%lld ", passed_ms);
    if (is_numbered)
        (void)snprintf(to + size, room - size, "%s%s%c %s", join, time, line[7],
                       strchr(line + 9, ' ') + 1);
    else if (form != NULL)
        (void)snprintf(to + size, room - size, "%s%s%s%s", join, time, form->item,
                       line + strlen(form->line));
    else
        (void)snprintf(to + size, room - size, "%s%s%s", join, time,
                       line + (begins(line, "asks ") ? 5 : 0));
}

static inline void dialogue_of(char *written, char *to, size_t room)
{
    long long before = 0;

    *to = '\0';
    for (char *line = written; *line != '\0';) {
        char     *rest = NULL;
        char     *end  = strchr(line, '\n');
        long long at   = strtoll(line + 1, &rest, 10);
        *end           = '\0';
        add_item(to, room, rest + 2, at - before);
        before = at;
        line   = end + 1;
    }
}

static inline void hold_dialogue(void **state)
{
    static stage s;
    static char  text[WRITTEN_MAX];
    const story *row  = *state;
    story        told = *row;

    story_of(row->text, text, sizeof text);
    told.text = text;
    perform_row(&s, &told);
    dialogue_of(s.written, text, sizeof text);
    assert_string_equal(text, row->text);
}

static inline int hold_all(const story *rows, size_t count)
{
    struct CMUnitTest tests[STORIES_MAX];

    for (size_t i = add_stories(tests, rows, count); i-- > 0;)
        tests[i].test_func = hold_dialogue;
    return _cmocka_run_group_tests("dialogues", tests, count, NULL, NULL);
}

#define HOLD_ALL(rows) hold_all(rows, COUNT(rows))

#endif
