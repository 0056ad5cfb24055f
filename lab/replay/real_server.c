#include "lab/replay/real_server.h"
#include "lab/replay/line.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMES_UP_WITHIN_MS = 10000, LOOK_EVERY_MS = 10, NOT_STARTED = 127 };

static bool fail(bwl_text reterr[3], bwl_text why, const char *type)
{
    reterr[0] = bwl_say("no redis-server could be started");
    reterr[1] = why;
    reterr[2] = bwl_say("%s", type);
    return false;
}

/* In the child: only what may be called between fork and exec. */
_Noreturn static void become_server(const bwl_real_server *s, pid_t parent)
{
    const char *const words[] = {
        s->program.of,  "--port", "0",     "--unixsocket",  s->socket.of,  "--save", "",
        "--appendonly", "no",     "--dir", s->directory.of, "--daemonize", "no",     "--logfile",
        s->log.of,      NULL,
    };
    int nowhere = open("/dev/null", O_RDWR);

    (void)dup2(nowhere, STDIN_FILENO); /* if it fails, the server has our terminal: no harm */
    (void)dup2(nowhere, STDOUT_FILENO);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it has died before that was set */
        _exit(NOT_STARTED);
    (void)execvp(s->program.of, (char *const *)words);
    _exit(NOT_STARTED);
}

static void look_later(void)
{
    const struct timespec pause = { .tv_nsec = LOOK_EVERY_MS * 1000000 };

    (void)nanosleep(&pause, NULL); /* woken early, we look early */
}

static bool has_ended(bwl_real_server *s, int *ret_status)
{
    if (waitpid(s->pid, ret_status, WNOHANG) != s->pid)
        return false;
    s->pid = 0;
    return true;
}

static bool launch(bwl_real_server *s, bwl_text reterr[3])
{
    pid_t    parent = getpid();
    int      status = 0;
    bwl_text why;

    s->pid = fork();
    if (s->pid == 0)
        become_server(s, parent);
    if (s->pid < 0) {
        s->pid = 0;
        return fail(reterr, bwl_say("%s", strerror(errno)), "");
    }
    for (int waited = 0; waited < COMES_UP_WITHIN_MS; waited += LOOK_EVERY_MS) {
        bwl_line line;
        if (bwl_line_open(&line, s->socket.of, &why)) {
            bwl_line_close(&line);
            return true;
        }
        if (!has_ended(s, &status)) {
            look_later();
            continue;
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED)
            return fail(reterr, bwl_say("%s is not there, or is no program", s->program.of),
                        "type: apt-get install redis-server, or --server FILE");
        return fail(reterr, bwl_say("%s ended at once", s->program.of), "");
    }
    return fail(reterr, bwl_say("%s does not answer", s->program.of), "");
}

static void end(bwl_real_server *s)
{
    int status;

    if (s->pid == 0)
        return;
    (void)kill(s->pid, SIGKILL); /* it may have gone already */
    while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    s->pid = 0;
}

bool bwl_real_server_start(bwl_real_server *ret_server, const char *program, bwl_text reterr[3])
{
    const char     *temporary = getenv("TMPDIR");
    bwl_real_server s         = { .pid = 0 };

    *ret_server = s;
    s.program   = bwl_say("%s", program != NULL ? program : "redis-server");
    s.directory = bwl_say("%s/bowline-lab.XXXXXX", temporary != NULL ? temporary : "/tmp");
    if (strlen(s.directory.of) > 100)
        s.directory = bwl_say("/tmp/bowline-lab.XXXXXX"); /* a socket's path is 107 bytes at most */
    if (mkdtemp(s.directory.of) == NULL)
        return fail(reterr, bwl_say("%s: %s", s.directory.of, strerror(errno)), "");
    s.socket    = bwl_say("%s/redis", s.directory.of);
    s.log       = bwl_say("%s/log", s.directory.of);
    *ret_server = s;
    if (launch(ret_server, reterr))
        return true;
    bwl_real_server_stop(ret_server);
    return false;
}

bool bwl_real_server_restart(bwl_real_server *server, bwl_text reterr[3])
{
    end(server);
    (void)unlink(server->socket.of); /* the new one makes another */
    return launch(server, reterr);
}

void bwl_real_server_stop(bwl_real_server *server)
{
    end(server);
    if (server->directory.of[0] == '\0')
        return;
    (void)unlink(server->socket.of); /* what is not there need not go */
    (void)unlink(server->log.of);
    (void)rmdir(server->directory.of);
    server->directory.of[0] = '\0';
}
