/*
 * test_pictures.c -- drawings of a schedule: text, SVG, Mermaid, JSON and the page of a matrix.
 *
 * The schedules were really walked, or are written by hand where a text is needed that the lab
 * itself never writes.  The author of a protocol chooses its names: none may break a drawing.
 */
#include "tests/lib/suite.h"

#include "lab/base/utf8.h"
#include "lab/report/picture.h"
#include "lab/report/json.h"
#include "lab/report/matrix.h"
#include "lab/report/record.h"
#include "lab/scenario/table.h"

#include <stdlib.h>

#define NASTY "</title><script>alert('\"&\")</script>\x01\n;#"

enum { LONG = BWL_RECORD_TRANSITIONS_MAX, LANE_SERVER = 80 };

/* ---- output buffers -------------------------------------------------------------------------- */

static struct {
    FILE  *out;
    char  *text;
    size_t size;
} paper;

static int throw_away(void **state)
{
    if (paper.out != NULL && fclose(paper.out) != 0)
        return -1;
    free(paper.text);
    paper.out  = NULL;
    paper.text = NULL;
    return 0;
}

FIXTURE(NULL, throw_away)

/* An empty output buffer. */
static FILE *fresh(void)
{
    assert_int_equal(throw_away(NULL), 0);
    paper.out = open_memstream(&paper.text, &paper.size);
    assert_non_null(paper.out);
    return paper.out;
}

static const char *printed(void)
{
    assert_int_equal(fflush(paper.out), 0);
    return paper.text;
}

static unsigned count_of(const char *text, const char *what)
{
    unsigned count = 0;

    for (; (text = strstr(text, what)) != NULL; text += strlen(what))
        count++;
    return count;
}

/* Every element ends, there is one root, and there is no control character. */
static void assert_elements_are_closed(const char *text)
{
    unsigned depth = 0;

    for (const char *c = text; *c != '\0'; c++) {
        assert_true((unsigned char)*c >= 32 || *c == '\n');
        if (*c != '<')
            continue;
        const char *end = strchr(c, '>');
        assert_non_null(end);
        assert_null(memchr(c + 1, '<', (size_t)(end - c - 1)));
        if (c[1] == '/') {
            assert_true(depth > 0);
            depth--;
        } else if (end[-1] != '/') {
            depth++;
        }
        c = end;
    }
    assert_int_equal(depth, 0);
}

/* ---- schedules ------------------------------------------------------------------------------- */

static bwl_scenario world_of(unsigned clients)
{
    bwl_scenario s = bwl_scenario_complete((bwl_scenario){ .name = "usual", .clients = clients });

    s.rounds = BWL_ANY;
    return s;
}

/* Always the first possible transition, but time passes only if there is no other. */
static unsigned walk(const bwl_scenario *s, bwl_transition *ret_path, unsigned most)
{
    static bwl_transitions transitions;
    bwl_world              w;
    unsigned               count = 0;

    bwl_world_start(&w, s);
    for (; count < most; count++) {
        bwl_world_transitions(&w, &transitions);
        if (transitions.count == 0)
            break;
        ret_path[count] = transitions.list[count % transitions.count];
        bwl_world_perform(&w, ret_path[count]);
    }
    return count;
}

static bwl_row row_of(bwl_row_kind kind, unsigned client, const char *what)
{
    bwl_row row = { .kind = kind, .client = client, .from = BWL_NO_ROW };

    for (unsigned i = 0; i < BWL_CLIENTS_MAX; i++)
        row.lanes[i] = BWL_LANE_IDLE;
    row.what = bwl_say("%s", what);
    return row;
}

/* ---- empty schedules ------------------------------------------------------------------------- */

TEST(empty_schedule_is_a_head_without_rows)
{
    bwl_scenario s       = world_of(2);
    bwl_picture  picture = bwl_picture_of(&s, NULL, 0, 0);

    assert_int_equal(picture.rows_count, 0);
    bwl_draw_picture(fresh(), "> ", &picture);
    assert_string_equal(printed(),
                        ">    ms   A                       B                       redis\n");

    bwl_mermaid(fresh(), &picture);
    assert_string_equal(printed(), "sequenceDiagram\n    participant A\n"
                                   "    participant B\n    participant redis\n");

    bwl_svg(fresh(), &picture, true);
    assert_elements_are_closed(printed());
    assert_int_equal(count_of(printed(), "<rect"), 0);
    assert_int_equal(count_of(printed(), "<line"), 3);
    bwl_picture_free(&picture);
}

TEST(empty_schedule_is_json_without_a_broken_invariant)
{
    bwl_record record = { .world = world_of(2), .broken = BWL_INVARIANT_ONE_HOLDER };
    bwl_text   why[3];

    bwl_record_write(fresh(), "token", &record);
    assert_non_null(strstr(printed(), "\"transitions\": [\n  ]\n}\n"));
    assert_false(bwl_record_read(&record, printed(), paper.size, NULL, why));
    assert_non_null(strstr(why[1].of, "it was changed since it was written"));
}

TEST(empty_matrix_is_a_page)
{
    bwl_matrix m = { 0 };

    bwl_page(fresh(), &m);
    assert_non_null(strstr(printed(), "<!doctype html>"));
    assert_int_equal(count_of(printed(), "<section"), 0);
    assert_int_equal(count_of(printed(), "<tr>"), 1);
    assert_int_equal(count_of(printed(), "</html>"), 1);
}

/* ---- long schedules -------------------------------------------------------------------------- */

TEST(longest_schedule_is_drawn_completely)
{
    bwl_scenario    s    = world_of(3);
    bwl_transition *path = calloc(LONG, sizeof path[0]);

    assert_non_null(path);
    assert_int_equal(walk(&s, path, LONG), LONG);
    bwl_picture picture = bwl_picture_of(&s, path, LONG, BWL_INVARIANT_ONE_HOLDER);
    assert_int_equal(picture.rows[picture.rows_count - 1].step, LONG);

    bwl_draw_picture(fresh(), "", &picture);
    for (const char *line = printed(); *line != '\0'; line = strchr(line, '\n') + 1)
        assert_true(strcspn(line, "\n") <= LANE_SERVER + 44);
    assert_true(count_of(printed(), "\n") >= picture.rows_count + 2);
    assert_non_null(strstr(printed(), "=> broken in 4096 steps: "));

    bwl_svg(fresh(), &picture, true);
    assert_elements_are_closed(printed());
    assert_true(count_of(printed(), "<text") > picture.rows_count / 2);

    bwl_mermaid(fresh(), &picture);
    assert_true(count_of(printed(), "\n") >= picture.rows_count);
    bwl_picture_free(&picture);
    free(path);
}

/* The schedule breaks nothing, which the reader notices only at its end. */
TEST(longest_schedule_is_read_back)
{
    bwl_scenario    s    = world_of(2);
    bwl_transition *path = calloc(LONG, sizeof path[0]);
    bwl_record      record;
    bwl_text        why[3];

    assert_non_null(path);
    assert_int_equal(walk(&s, path, LONG), LONG);
    record = (bwl_record){
        .world = s, .broken = BWL_INVARIANT_ONE_HOLDER, .path_count = LONG, .path = path
    };
    bwl_record_write(fresh(), "token", &record);
    assert_int_equal(count_of(printed(), "{\"do\": "), LONG);
    assert_true(paper.size < BWL_RECORD_SIZE_MAX);
    assert_false(bwl_record_read(&record, printed(), paper.size, NULL, why));
    assert_non_null(strstr(why[1].of, "does not break \"one holder\""));
    free(path);
}

/* ---- names ----------------------------------------------------------------------------------- */

TEST(name_is_escaped_in_svg)
{
    bwl_scenario s       = world_of(2);
    bwl_picture  picture = bwl_picture_of(&s, NULL, 0, 0);

    picture.title = NASTY;
    for (unsigned is_alone = 0; is_alone < 2; is_alone++) {
        bwl_svg(fresh(), &picture, is_alone == 1);
        assert_elements_are_closed(printed());
        assert_null(strstr(printed(), "<script"));
        assert_non_null(strstr(printed(),
                               "<title>&lt;/title&gt;&lt;script&gt;alert(&#39;&quot;&amp;"
                               "&quot;)&lt;/script&gt;  ;#</title>"));
    }
    bwl_picture_free(&picture);
}

TEST(name_is_escaped_on_the_page)
{
    bwl_scenario   s   = world_of(2);
    bwl_matrix_row row = { .world = s };
    bwl_matrix     m   = { .rows = &row, .rows_count = 1 };

    row.world.name  = NASTY;
    row.world.story = NASTY;
    for (unsigned i = 0; i < BWL_MATRIX_COLUMNS; i++)
        row.cells[i] = (bwl_cell){ .verdict = BWL_EVERY_STATE, .world = row.world };
    row.cells[1].verdict = BWL_BROKEN;
    row.cells[1].broken  = BWL_INVARIANT_ONE_HOLDER;
    bwl_page(fresh(), &m);
    assert_null(strstr(printed(), "<script"));
    assert_int_equal(count_of(printed(), "</title>"), 2); /* of the page, and of its one diagram */
    assert_int_equal(count_of(printed(), "<section"), 1);
    assert_true(count_of(printed(), "&lt;script&gt;") >= 5);
}

/* JSON keeps every byte. */
TEST(name_is_read_back_from_json)
{
    static const char name[] = "a \"b\" \\c\\ \x01\t\n d/\xc3\xa9";
    bwl_record        record = { .world = world_of(2), .broken = BWL_INVARIANT_ONE_HOLDER };
    char              back[sizeof name + 8];

    bwl_record_write(fresh(), name, &record);
    const char *at = strstr(printed(), "\"subject\": ");
    assert_non_null(at);
    at += strlen("\"subject\": ");
    bwl_json r = bwl_json_of(at, paper.size - (size_t)(at - printed()));
    assert_true(bwl_json_string(&r, back, sizeof back));
    assert_string_equal(back, name);
}

/* ; ends a statement of Mermaid, # begins an entity, and a tag would be HTML. */
TEST(text_is_escaped_in_mermaid)
{
    static const char text[] = "<a>; #1\x01";
    bwl_row           rows[BWL_ROW_TIME];
    bwl_picture       picture = { .server = "redis", .title = NASTY, .clients = 2, .rows = rows };

    for (; picture.rows_count < BWL_ROW_TIME; picture.rows_count++) {
        rows[picture.rows_count]       = row_of((bwl_row_kind)(picture.rows_count + 1), 0, text);
        rows[picture.rows_count].cause = rows[picture.rows_count].note = rows[0].what;
        rows[picture.rows_count].effect = rows[picture.rows_count].clock = rows[0].what;
    }
    bwl_mermaid(fresh(), &picture);
    assert_null(strpbrk(printed(), ";#<\x01"));
    assert_int_equal(count_of(printed(), "1"), 23); /* each text of each kind of row */
    for (const char *line = strchr(printed(), '\n'); line[1] != '\0'; line = strchr(line + 1, '\n'))
        assert_memory_equal(line, "\n    ", 5);
    assert_int_equal(count_of(printed(), "script"), 0);
}

/* ---- long and wide texts --------------------------------------------------------------------- */

#define WIDE "\xe9\x94\x81" /* a character of two columns */
#define TEN  WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE

/* In each text of a row, in the head and in the result. */
TEST(wide_text_goes_on_in_the_next_line)
{
    bwl_text    text    = bwl_say("%s", TEN TEN TEN TEN TEN);
    bwl_row     rows[2] = { row_of(BWL_ROW_ASK, 1, text.of), row_of(BWL_ROW_ANSWER, 0, text.of) };
    bwl_picture picture = {
        .server = "redis", .title = "", .clients = 2, .clocks = { text }, .moral = text
    };

    picture.rows       = rows;
    picture.rows_count = 2;
    rows[0].effect = rows[1].clock = rows[1].note = text;
    bwl_svg(fresh(), &picture, true);
    assert_elements_are_closed(printed());
    assert_int_equal(count_of(printed(), WIDE), 7 * 50);
    bwl_draw_picture(fresh(), "", &picture);
    assert_int_equal(count_of(printed(), WIDE), 7 * 50);
    for (char *line = strtok(paper.text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        assert_true(bwl_utf8_columns(line) <= 100);
    text = bwl_say("%s%s%s", text.of, text.of, text.of);
    assert_int_equal(bwl_utf8_columns(text.of), 2 * ((BWL_TEXT_MAX - 4) / 3) + 3);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

TEST(each_lane_names_its_client)
{
    bwl_row     rows[2] = { row_of(BWL_ROW_TIME, 0, "later"), row_of(BWL_ROW_SERVER, 0, "dies") };
    bwl_picture picture = {
        .server = "redis", .title = "lanes", .clients = 3, .rows = rows, .rows_count = 2
    };

    rows[0].at       = 7;
    rows[0].lanes[0] = BWL_LANE_BELIEVES;
    rows[0].lanes[1] = BWL_LANE_BUSY;
    rows[1].at       = 9;
    rows[1].lanes[0] = BWL_LANE_OVERTIME;
    rows[1].lanes[1] = BWL_LANE_BELIEVES;
    bwl_draw_picture(fresh(), "", &picture);
    assert_string_equal(strchr(printed(), '\n'),
                        "\n    7 ..#.......................|......................."
                        ":.......................| later\n    9   !       "
                        "                #                       :       "
                        "                | dies\n");
    bwl_svg(fresh(), &picture, true);
    assert_elements_are_closed(printed());
    assert_int_equal(count_of(printed(), "<rect class=\"A\""), 1);
    assert_int_equal(count_of(printed(), "<rect class=\"A over\""), 1);
    assert_int_equal(count_of(printed(), "<rect class=\"B\""), 1);
    assert_int_equal(count_of(printed(), "<rect class=\"C"), 0);
}
