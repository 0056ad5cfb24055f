/*
 * network.c -- see network.h.
 */
#include "sim/kernel/network.h"

#include "lab/base/dice.h"
#include "lab/base/memory.h"
#include "sim/kernel/listeners.h"
#include "sim/kernel/say.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROCESSES_MAX   = 1024,
    SERVER_PATIENCE = 300, /* seconds until a server gives up a silent client: tcp-keepalive */
};

typedef struct segment {
    struct segment *next;
    int64_t         at;   /* it arrives; 0: it has arrived */
    int64_t         came; /* and when */
    size_t          size;
    size_t          taken; /* bytes that the receiver has read */
    char            bytes[];
} segment;

typedef enum half_end {
    HALF_OPEN = 1,
    HALF_FIN, /* after the bytes under way */
    HALF_RST,
} half_end;

/* One direction of a connection. */
typedef struct half {
    sim_connection *connection;
    segment        *first;
    segment        *last;
    size_t          size;   /* bytes under way, or arrived and not read */
    int64_t         latest; /* arrival of the last one: what follows is not earlier */
    half_end        end;
    bool            end_has_arrived;
    sim_event      *event; /* the next arrival */
} half;

struct sim_connection {
    sim_connection    *next;
    unsigned           number;
    const sim_client  *client; /* NULL: it has closed it */
    void              *client_arg;
    const sim_service *service;
    void              *arg; /* of the service; NULL: it does not know the connection, or no more */
    sim_host           from;
    sim_host           to;
    uint16_t           port;
    int64_t            silence_ns;
    bool               is_connecting;
    bool               is_busy; /* its service runs: it is not freed now */
    half               up;      /* to the server */
    half               down;    /* to the client */
    int64_t            cut_at;
    sim_event         *connects;
    sim_event         *gives_up; /* the client, during a cut */
    sim_event         *server_gives_up;
};

/* To connect, and refused, within a second. */
typedef struct refusals {
    int64_t  since;
    unsigned count;
} refusals;

static struct {
    sim_network_settings settings;
    uint64_t             seed;
    sim_connection      *connections; /* the oldest first */
    unsigned             numbers;
    bool                 is_cut[SIM_HOSTS_MAX][SIM_HOSTS_MAX];
    bool                 is_silent[SIM_HOSTS_MAX];
    bool                 is_paused[SIM_HOSTS_MAX];
    sim_host             host_of[PROCESSES_MAX];
    refusals             refusals[SIM_HOSTS_MAX];
    unsigned             most_refusals;
} net;

void sim_network_begin(const sim_network_settings *settings)
{
    memset(&net, 0, sizeof net);
    sim_listeners_begin();
    net.settings = *settings;
    net.seed     = settings->seed;
}

void sim_network_change(const sim_network_settings *settings)
{
    net.settings = *settings;
}

static uint64_t draw(uint64_t below)
{
    return below == 0 ? 0 : bwl_dice_draw(&net.seed) % below;
}

static bool happens(uint32_t one_in)
{
    return one_in != 0 && draw(one_in) == 0;
}

void sim_process_host(const sim_process *process, sim_host host)
{
    net.host_of[sim_process_number(process) % PROCESSES_MAX] = host;
}

sim_host sim_host_of(const sim_process *process)
{
    return net.host_of[sim_process_number(process) % PROCESSES_MAX];
}

/* ---- connections ----------------------------------------------------------------------------- */

static void free_half(half *h)
{
    while (h->first != NULL) {
        segment *first = h->first;
        h->first       = first->next;
        free(first);
    }
    sim_cancel(&h->event);
}

static void free_connection(sim_connection *c)
{
    sim_connection **link = &net.connections;

    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    free_half(&c->up);
    free_half(&c->down);
    sim_cancel(&c->gives_up);
    sim_cancel(&c->server_gives_up);
    sim_cancel(&c->connects);
    free(c);
}

void sim_network_end(void)
{
    while (net.connections != NULL)
        free_connection(net.connections);
}

unsigned sim_connections_count(void)
{
    unsigned count = 0;

    for (sim_connection *c = net.connections; c != NULL; c = c->next)
        count++;
    return count;
}

sim_connection *sim_connection_at(unsigned nth)
{
    sim_connection *c = net.connections;

    while (nth-- > 0)
        c = c->next;
    return c;
}

sim_host sim_connection_client(const sim_connection *connection)
{
    return connection->from;
}

/* Frees it when neither side uses it and nothing is under way. */
static void drop_if_over(sim_connection *c)
{
    if (c->client == NULL && c->arg == NULL && !c->is_busy)
        free_connection(c);
}

static bool is_cut(const half *h)
{
    const sim_connection *c = h->connection;

    return h == &c->up ? net.is_cut[c->from][c->to] || net.is_silent[c->to]
                       : net.is_cut[c->to][c->from] || net.is_silent[c->to];
}

/* The client's end is over with this error; the server may not know. */
static void fail_client(sim_connection *c, int error)
{
    const sim_client *client = c->client;

    c->client = NULL;
    sim_cancel(&c->gives_up);
    sim_say_of(SIM_SAID_CLIENT, c->from, "#%u host %u: %s", c->number, c->from, strerror(error));
    if (client != NULL)
        client->failed(c->client_arg, error);
}

static void tell_client(sim_connection *c)
{
    if (c->client != NULL && !c->is_connecting)
        c->client->changed(c->client_arg);
}

static void tell_server(sim_connection *c)
{
    void *arg = c->arg;

    c->arg = NULL;
    if (arg != NULL)
        c->service->ended(arg);
}

/* ---- arrivals -------------------------------------------------------------------------------- */

static void arrive(void *arg);

/* Bytes are under way, or their service does not read. */
static bool is_waiting(const half *h)
{
    return h->first != NULL && (h->last->at != 0 || h == &h->connection->up);
}

static void schedule(half *h)
{
    int64_t at = SIM_NEVER;

    if (h->event != NULL || is_cut(h))
        return;
    for (segment *s = h->first; s != NULL; s = s->next) {
        if (s->at != 0) {
            at = s->at;
            break;
        }
    }
    if (at == SIM_NEVER && h->end != HALF_OPEN && !h->end_has_arrived && !is_waiting(h))
        at = h->latest;
    if (at != SIM_NEVER)
        h->event = sim_at(at < sim_now() ? sim_now() : at, arrive, h);
}

static void send_end(half *h, half_end end);

/* The service closes its side too. */
static void end_of_up(sim_connection *c)
{
    tell_server(c);
    if (c->client != NULL && c->up.end == HALF_FIN)
        send_end(&c->down, HALF_FIN);
    drop_if_over(c);
}

/* FIN: reads 0 after what has arrived; RST: an error at once. */
static void end_of_down(sim_connection *c)
{
    if (c->down.end == HALF_RST) {
        fail_client(c, c->is_connecting ? ECONNREFUSED : ECONNRESET);
        drop_if_over(c);
    } else {
        tell_client(c);
    }
}

/* Gives a service everything that has arrived.  Bytes for a service that is gone: RST. */
static void deliver_up(sim_connection *c)
{
    c->is_busy = true;
    while (c->up.first != NULL && c->up.first->at == 0 && !net.is_paused[c->to]) {
        segment *s  = c->up.first;
        c->up.first = s->next;
        if (s->next == NULL)
            c->up.last = NULL;
        c->up.size -= s->size;
        tell_client(c); /* room to write */
        sim_trace_bytes(2, s->bytes, s->size);
        sim_say_bytes(SIM_SAID_ASK, c->number, c->from, c->to, s->bytes, s->size);
        if (c->arg != NULL)
            c->service->received(c->arg, s->bytes, s->size);
        else
            send_end(&c->down, HALF_RST);
        free(s);
    }
    c->is_busy = false;
}

static void show_and_tell(sim_connection *c)
{
    for (segment *s = c->down.first; s != NULL && sim_says(); s = s->next) {
        if (s->at == 0 && s->taken == 0)
            sim_say_bytes(SIM_SAID_ANSWER, c->number, c->from, c->to, s->bytes, s->size);
    }
    tell_client(c);
}

static void arrive(void *arg)
{
    half           *h    = arg;
    sim_connection *c    = h->connection;
    bool            some = false;

    h->event = NULL;
    if (is_cut(h))
        return;
    for (segment *s = h->first; s != NULL && s->at <= sim_now(); s = s->next) {
        some    = some || s->at != 0;
        s->came = s->at != 0 ? sim_now() : s->came;
        s->at   = 0;
    }
    sim_trace(3, c->number, h->size);
    if (h == &c->up)
        deliver_up(c);
    else if (some)
        show_and_tell(c);
    if (h->end != HALF_OPEN && !h->end_has_arrived && !is_waiting(h) && h->latest <= sim_now()) {
        h->end_has_arrived = true;
        if (h == &c->up)
            end_of_up(c);
        else
            end_of_down(c);
        return;
    }
    schedule(h);
    drop_if_over(c);
}

static int64_t arrival(half *h)
{
    const sim_network_settings *s  = &net.settings;
    int64_t                     at = sim_now() + s->delay_min_ns +
                 (int64_t)draw((uint64_t)(s->delay_max_ns - s->delay_min_ns + 1));

    if (happens(s->slow_in))
        at += (int64_t)draw((uint64_t)s->slow_ns + 1);
    if (at < h->latest)
        at = h->latest;
    h->latest = at;
    return at;
}

static void add_segment(half *h, const char *bytes, size_t size)
{
    segment *s = malloc(sizeof *s + size);

    assert(s != NULL);
    *s = (segment){ .at = arrival(h), .size = size };
    memcpy(s->bytes, bytes, size);
    if (h->last != NULL)
        h->last->next = s;
    else
        h->first = s;
    h->last = s;
    h->size += size;
}

static void send_bytes(half *h, const char *bytes, size_t size)
{
    size_t first = size > 1 && happens(net.settings.split_in) ? 1 + draw(size - 1) : size;

    add_segment(h, bytes, first);
    if (first < size)
        add_segment(h, bytes + first, size - first);
    schedule(h);
}

static void send_end(half *h, half_end end)
{
    if (h->end == HALF_RST || (h->end == HALF_FIN && end == HALF_FIN))
        return;
    h->end = end;
    (void)arrival(h);
    schedule(h);
}

/* Of the bytes under way, all but `keep` are lost. */
static void truncate_half(half *h, size_t keep)
{
    segment **link = &h->first;

    h->last = NULL;
    h->size = 0;
    while (*link != NULL) {
        segment *s = *link;
        if (s->at != 0) {
            size_t kept = s->size < keep ? s->size : keep;
            keep -= kept;
            s->size = kept;
        }
        if (s->size == s->taken) {
            *link = s->next;
            free(s);
            continue;
        }
        h->size += s->size - s->taken;
        h->last = s;
        link    = &s->next;
    }
}

void sim_connection_reset(sim_connection *c, size_t keep)
{
    truncate_half(&c->up, keep);
    truncate_half(&c->down, keep);
    send_end(&c->up, HALF_RST);
    send_end(&c->down, HALF_RST);
}

/* ---- silence --------------------------------------------------------------------------------- */

static void client_gives_up(void *arg)
{
    sim_connection *c = arg;

    c->gives_up = NULL;
    fail_client(c, ETIMEDOUT);
    drop_if_over(c);
}

static void server_gives_up(void *arg)
{
    sim_connection *c  = arg;
    c->server_gives_up = NULL;
    tell_server(c);
    drop_if_over(c);
}

/* Bytes that are not acknowledged end a connection after one silence, keepalive after two. */
static void limit_silence(sim_connection *c)
{
    bool cut = is_cut(&c->up) || is_cut(&c->down);

    if (!cut && !c->is_connecting) {
        sim_cancel(&c->gives_up);
        sim_cancel(&c->server_gives_up);
        return;
    }
    if (cut && c->server_gives_up == NULL && c->arg != NULL)
        c->server_gives_up = sim_at(sim_now() + SERVER_PATIENCE * SIM_S, server_gives_up, c);
    if (c->client == NULL || (c->is_connecting && c->gives_up != NULL))
        return;
    if (c->gives_up == NULL)
        c->cut_at = sim_now();
    sim_cancel(&c->gives_up);
    int64_t at  = c->cut_at + c->silence_ns * (c->up.size > 0 || c->is_connecting ? 1 : 2);
    c->gives_up = sim_at(at < sim_now() ? sim_now() : at, client_gives_up, c);
}

/* ---- the client ------------------------------------------------------------------------------ */

static void is_connected(void *arg)
{
    sim_connection *c = arg;

    c->connects = NULL;
    if (is_cut(&c->down))
        return; /* the answer is lost; the client gives up */
    c->is_connecting = false;
    sim_say_of(SIM_SAID_CLIENT, c->from, "#%u host %u is connected to %u", c->number, c->from,
               c->to);
    limit_silence(c);
    if (c->client != NULL)
        c->client->connected(c->client_arg);
    tell_client(c);
}

/* Refused by the host. */
static void count_refused(sim_host from)
{
    refusals *a = &net.refusals[from];

    if (sim_now() - a->since >= SIM_S)
        *a = (refusals){ .since = sim_now() };
    if (++a->count > net.most_refusals)
        net.most_refusals = a->count;
}

/* The first segment of the client has arrived. */
static void reach(void *arg)
{
    sim_connection *c = arg;

    c->connects = NULL;
    if (is_cut(&c->up))
        return;
    const sim_listener *l = sim_listener_find(c->to, c->port);
    c->is_busy            = true;
    if (l != NULL) {
        c->service = l->service;
        c->arg     = l->service->accepted(l->arg, c, c->from);
    }
    c->is_busy = false;
    if (c->arg == NULL) {
        count_refused(c->from);
        send_end(&c->down, HALF_RST);
    } else
        c->connects = sim_at(arrival(&c->down), is_connected, c);
    drop_if_over(c);
}

unsigned sim_connections_most_refused(void)
{
    return net.most_refusals;
}

sim_connection *sim_connection_open(sim_host from, in_addr_t address, uint16_t port,
                                    int64_t silence_ns, const sim_client *client, void *arg)
{
    sim_connection  *c    = bwl_room_for(1, sizeof *c);
    sim_connection **last = &net.connections;

    *c = (sim_connection){
        .number        = ++net.numbers,
        .client        = client,
        .client_arg    = arg,
        .from          = from,
        .to            = (ntohl(address) & 255) - 1,
        .port          = port,
        .silence_ns    = silence_ns,
        .is_connecting = true,
        .up            = { .connection = c, .end = HALF_OPEN },
        .down          = { .connection = c, .end = HALF_OPEN },
    };
    assert(c->to < SIM_HOSTS_MAX);
    while (*last != NULL)
        last = &(*last)->next;
    *last       = c;
    c->connects = sim_at(arrival(&c->up), reach, c);
    c->gives_up = sim_at(sim_now() + silence_ns, client_gives_up, c);
    return c;
}

void sim_connection_leave(sim_connection *c)
{
    bool unread = sim_connection_unread_since(c) != SIM_NEVER;

    c->client = NULL;
    sim_cancel(&c->gives_up);
    if (c->is_connecting)
        sim_cancel(&c->connects);
    send_end(&c->up, unread ? HALF_RST : HALF_FIN);
    drop_if_over(c);
}

void sim_connection_shut(sim_connection *c)
{
    send_end(&c->up, HALF_FIN);
}

size_t sim_connection_room(const sim_connection *c)
{
    return c->up.size < net.settings.send_room ? net.settings.send_room - c->up.size : 0;
}

size_t sim_connection_write(sim_connection *c, const char *bytes, size_t size)
{
    size_t room = sim_connection_room(c);

    if (size > room)
        size = room;
    if (size > 1 && happens(net.settings.short_in))
        size = 1 + draw(size - 1);
    if (size > 0) {
        send_bytes(&c->up, bytes, size);
        limit_silence(c);
    }
    return size;
}

int64_t sim_connection_unread_since(const sim_connection *c)
{
    return c->down.first != NULL && c->down.first->at == 0 ? c->down.first->came : SIM_NEVER;
}

size_t sim_connection_read(sim_connection *c, char *bytes, size_t size, bool peeks)
{
    size_t read = 0;

    if (size > 1 && !peeks && happens(net.settings.short_in))
        size = 1 + draw(size - 1);
    for (segment *s = c->down.first; s != NULL && s->at == 0 && read < size;) {
        size_t part = s->size - s->taken < size - read ? s->size - s->taken : size - read;
        memcpy(bytes + read, s->bytes + s->taken, part);
        read += part;
        if (peeks) {
            s = s->next;
            continue;
        }
        s->taken += part;
        c->down.size -= part;
        if (s->taken < s->size)
            break;
        c->down.first = s->next;
        if (s->next == NULL)
            c->down.last = NULL;
        free(s);
        s = c->down.first;
    }
    return read;
}

bool sim_connection_at_end(const sim_connection *c)
{
    return c->down.end_has_arrived && c->down.first == NULL;
}

/* ---- services -------------------------------------------------------------------------------- */

void sim_connection_send(sim_connection *c, const char *bytes, size_t size)
{
    if (c->down.end == HALF_OPEN && size > 0)
        send_bytes(&c->down, bytes, size);
}

void sim_connection_close(sim_connection *c)
{
    c->arg = NULL;
    send_end(&c->down, HALF_FIN);
    drop_if_over(c);
}

static void ways_changed(void);

void sim_host_kill(sim_host host, bool silent)
{
    sim_connection *next;

    sim_unlisten_all(host);
    net.is_paused[host] = false;
    net.is_silent[host] = silent;
    for (sim_connection *c = net.connections; c != NULL; c = next) {
        next = c->next;
        if (c->to != host)
            continue;
        c->arg = NULL;
        if (silent)
            truncate_half(&c->down, 0);
        else
            send_end(&c->down, c->up.first != NULL ? HALF_RST : HALF_FIN);
        drop_if_over(c);
    }
    ways_changed();
}

void sim_host_start(sim_host host)
{
    net.is_silent[host] = false;
    for (sim_connection *c = net.connections; c != NULL; c = c->next) {
        /* It knows nothing of them; the answer to the next bytes, or to a keepalive, is RST. */
        if (c->to == host && c->arg == NULL)
            send_end(&c->down, HALF_RST);
    }
    ways_changed();
}

void sim_host_pause(sim_host host, bool pauses)
{
    sim_connection *next;

    net.is_paused[host] = pauses;
    for (sim_connection *c = net.connections; c != NULL; c = next) {
        next = c->next;
        if (!pauses && c->to == host && c->arg != NULL && c->up.event == NULL)
            c->up.event = sim_at(sim_now(), arrive, &c->up);
    }
}

/* ---- cuts ------------------------------------------------------------------------------------ */

static void ways_changed(void)
{
    for (sim_connection *c = net.connections; c != NULL; c = c->next) {
        limit_silence(c);
        schedule(&c->up);
        schedule(&c->down);
        /* The first segments are sent again. */
        if (c->is_connecting && c->connects == NULL && c->client != NULL &&
            c->down.end == HALF_OPEN)
            c->connects = sim_at(sim_now() + (int64_t)draw((uint64_t)SIM_S),
                                 c->arg == NULL ? reach : is_connected, c);
    }
}

void sim_way_cut(sim_host from, sim_host to, bool is_cut_now)
{
    net.is_cut[from][to] = is_cut_now;
    ways_changed();
}

bool sim_way_is_open(sim_host from, sim_host to)
{
    return !net.is_cut[from][to];
}
