/*
 * robot.c -- see robot.h.
 */
#include "robot.h"

#include "resp_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void answer(fake_connection *to, const char *format,
                                                         ...)
{
    static char line[RESP_TEXT_MAX];
    static char text[RESP_TEXT_MAX];
    static char bytes[RESP_TEXT_MAX];
    va_list     arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    resp_text_expand(text, line);
    fake_send(to, bytes, resp_text_encode(bytes, text));
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void answer_hello(fake_connection *to)
{
    const fake_server *server = to->server;

    answer(to, "%%5 $version $%s $proto :3 $id :%lld $role $%s $mode $%s", server->version,
           (long long)to->id, server->role, server->mode);
}

static void answer_info(fake_connection *to)
{
    const fake_server *server = to->server;

    answer(to,
           "=\"# Server\r\nredis_version:%s\r\nrun_id:%s\r\nuptime_in_seconds:90000\r\nrole:%s"
           "\r\n%s\"",
           server->version, server->run_id, server->role, server->info);
}

/* "SSUBSCRIBE channel": the push that confirms the subscription. */
static void answer_subscribe(fake_connection *to, const char *command)
{
    const char *channel = strchr(command, ' ') + 1;

    answer(to, ">3 $%s $%s :1", command[1] == 'S' ? "ssubscribe" : "subscribe", channel);
}

/* "SPUBLISH channel H": the message to this connection, and the number of receivers. */
static void answer_publish(fake_connection *to, const char *command)
{
    const char *channel = strchr(command, ' ') + 1;
    int         size    = (int)strcspn(channel, " ");

    answer(to, ">3 $%s $%.*s $H", command[0] == 'S' ? "smessage" : "message", size, channel);
    answer(to, ":1");
}

static void answer_exists(fake_connection *to, const char *command)
{
    unsigned count = 0;

    for (const char *at = command; *at != '\0'; at++)
        count += *at == ' ';
    answer(to, "*%u", count - 1);
    for (unsigned i = 1; i < count; i++)
        answer(to, to->server->is_scripts ? ":1" : ":0");
}

static bool is_publish_of_handshake(const char *command)
{
    size_t size = strlen(command);

    return (begins(command, "SPUBLISH ") || begins(command, "PUBLISH ")) &&
           strcmp(command + size - 2, " H") == 0;
}

/* Not of an observer: bowline:i:v: and a key. */
static bool is_subscription_of_handshake(const char *command)
{
    return (begins(command, "SSUBSCRIBE ") || begins(command, "SUBSCRIBE ")) &&
           strstr(command, " bowline:i:v:") == NULL;
}

/* "SENTINEL MASTER service": as the address that the sentinel names, or the error. */
static void answer_master(fake_connection *to)
{
    const fake_server *server   = to->server;
    char               host[64] = "127.0.0.1";
    unsigned           port     = 1;

    (void)sscanf(server->named, "*2 $%63[^ \"] $%u", host, &port);
    if (server->state[0] != '\0')
        answer(to, "%s", server->state);
    else if (server->named[0] == '_')
        answer(to, "-ERR No such master with that name");
    else if (server->named[0] == '-')
        answer(to, "%s", server->named);
    else if (server->named[0] != '\0')
        answer(to, "%%5 $name $m $ip $%s $port $%u $flags $master $config-epoch $%u", host, port,
               server->epoch);
}

/* Commands that the robot answers and the story shows. */
static void answer_shown(fake_connection *to, const char *command)
{
    if (begins(command, "CLIENT KILL "))
        answer(to, ":1");
    else if (strcmp(command, "CLUSTER SLOTS") == 0 && to->server->slots[0] != '\0')
        answer(to, "%s", to->server->slots);
    else if (begins(command, "SENTINEL ") && to->server->named[0] != '\0')
        answer(to, "%s", to->server->named);
}

bool robot_answers(fake_connection *to, const char *command)
{
    if (to->server->no_handshake)
        return false;
    if (begins(command, "HELLO "))
        answer_hello(to);
    else if (strcmp(command, "INFO server") == 0 || strcmp(command, "INFO") == 0)
        answer_info(to);
    else if (begins(command, "SELECT ") || begins(command, "AUTH "))
        answer(to, "+OK");
    else if (strcmp(command, "CLIENT ID") == 0)
        answer(to, ":%lld", (long long)to->id);
    else if (is_subscription_of_handshake(command))
        answer_subscribe(to, command);
    else if (is_publish_of_handshake(command))
        answer_publish(to, command);
    else if (begins(command, "SCRIPT EXISTS "))
        answer_exists(to, command);
    else if (begins(command, "SCRIPT LOAD "))
        answer(to, "$0000000000000000000000000000000000000000");
    else if (begins(command, "EVAL queue_fence_minimum "))
        answer(to, ":1");
    else if (begins(command, "SENTINEL MASTER "))
        answer_master(to);
    else {
        answer_shown(to, command);
        return false;
    }
    return true;
}
