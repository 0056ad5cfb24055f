/*
 * 02-fence.c -- a resource that checks the fence, so that a stale holder does no harm.
 *
 *      02-fence [URL [REPORT]]
 *
 * Two holders write a report.  The first one is too slow: its hold has ended (max_hold), and the
 * second one has acquired the lock and written.  Then the first one writes too, without checking
 * its hold.  No lock can prevent that; the report rejects the write, because it has seen a higher
 * fence.
 *
 * The report is a file.  With -DWITH_SQLITE (and -lsqlite3) it is a database: there the comparison
 * and the write are one statement, in a file they are one step under flock(2).
 */
#include <bowline/bowline.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef WITH_SQLITE
#include <sqlite3.h>

/* True: written.  False: a holder with a higher fence has written before. */
static bool write_report(const char *path, uint64_t fence, const char *body)
{
    static const char schema[] =
        "CREATE TABLE IF NOT EXISTS report (id INTEGER PRIMARY KEY, fence INTEGER, body TEXT);"
        "INSERT OR IGNORE INTO report VALUES (1, 0, '')";
    static const char update[] =
        "UPDATE report SET body = ?1, fence = ?2 WHERE id = 1 AND fence <= ?2";
    sqlite3      *db        = NULL;
    sqlite3_stmt *statement = NULL;

    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, schema, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, update, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_bind_text(statement, 1, body, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)fence) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_DONE) {
        fprintf(stderr, "02-fence: %s: %s\n", path, sqlite3_errmsg(db));
        exit(1);
    }
    bool written = sqlite3_changes(db) == 1; /* no row: the write was rejected */
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return written;
}

#else
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

/* True: written.  False: a holder with a higher fence has written before. */
static bool write_report(const char *path, uint64_t fence, const char *body)
{
    uint64_t highest = 0;
    int      fd      = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    FILE    *file    = fd >= 0 && flock(fd, LOCK_EX) == 0 ? fdopen(fd, "r+") : NULL;

    if (file == NULL) {
        perror(path);
        exit(1);
    }
    if (fscanf(file, "%" SCNu64, &highest) != 1)
        highest = 0; /* no holder has written yet */
    bool written = highest <= fence;
    if (written) {
        rewind(file);
        if (ftruncate(fd, 0) != 0 || fprintf(file, "%" PRIu64 " %s\n", fence, body) < 0)
            written = false;
    }
    if (fclose(file) != 0) { /* this releases the lock of the file */
        perror(path);
        exit(1);
    }
    return written;
}
#endif

static void need(int status, const bowline_error *error)
{
    if (status == BOWLINE_OK)
        return;
    fprintf(stderr, "02-fence: %s\n", error->text);
    exit(1);
}

static void write_as(const char *who, const char *path, const bowline_hold *hold)
{
    bool written = write_report(path, bowline_hold_fence(hold), who);

    printf("%s writes: %s\n", who, written ? "accepted" : "refused");
}

int main(int argc, char **argv)
{
    const char     *url  = argc > 1 ? argv[1] : "file:";
    const char     *path = argc > 2 ? argv[2] : "report";
    bowline_client *client;
    bowline_hold   *first, *second;
    bowline_error   error;

    need(bowline_open(&client, BOWLINE_OPTIONS(.url = url), &error), &error);
    need(bowline_acquire(&first, client, "02-fence", BOWLINE_ACQUIRE(.max_hold_ms = 100), &error),
         &error);
    if (bowline_hold_fence(first) == 0) {
        fprintf(stderr, "02-fence: there is no fence behind %s\n", url);
        bowline_close(client); /* releases what is held */
        return 1;
    }
    write_as("the first", path, first);

    /* The first one is delayed.  The second one waits, and gets the lock. */
    need(bowline_acquire(&second, client, "02-fence", BOWLINE_ACQUIRE(.wait_ms = 60000), &error),
         &error);
    write_as("the second", path, second);

    write_as("the first, which continues,", path, first);
    printf("the hold of the first: %s\n", bowline_hold_left_ms(first) == 0 ? "lost" : "held");
    printf("the release of the first: %s\n", bowline_status_name(bowline_release(first, NULL)));
    need(bowline_release(second, &error), &error);
    bowline_close(client);
    return 0;
}
