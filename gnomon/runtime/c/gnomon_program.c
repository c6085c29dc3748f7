/* The loader of program files in C: a file is mapped, all that is not code is checked, and its code
   is run as gnomon/runtime/program_file.py runs it, whose words these are. */

#define _GNU_SOURCE
#include "gnomon_program.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Program files are little-endian."
#endif

enum { FORMAT = 2, ABI = 1, HEAD = 64, ROW = 64, PAGE = 4096, LINE = 64 };
enum { DESCRIPTION = 1, WEIGHTS, CODE, PLAN };
enum { AVX2 = 1, AVX512, NEON, TARGETS };
enum { WRITTEN = 1, ZEROS };
enum { CALL, BRANCH, SKIP, SET, BIND };
enum { SCRATCH_START = 6, THREADS = 7, BASES = 13, FIRST_BASE = 2 };
enum { MUTEX = 512, CONDITION = 768, CONTROL_BYTES = 1024, IDLE_LOOKS = 384, YIELD_AFTER = 448 };
static const int64_t MOST = (int64_t)1 << 46;

typedef struct { const int64_t *at, *end; int bad; } reader;
typedef struct { int64_t first, second; } pair;
typedef struct { int64_t count; pair *rows; } pairs;
typedef struct { char name[16]; int64_t width; int rank; int64_t sizes[GNOMON_AXES]; } kind;
typedef struct { kind kind; char *data; int written; } tensor;
typedef struct block { struct block *next; void *start; } block;

typedef struct {
    const char *name;
    int64_t length, arguments, symbols, count, outputs, results, inputs;
    kind *given, *made;
    pairs places, read, held, writes, over; /* places: of sizes that vary */
    int64_t (*bounds)[2], *order;           /* order: of results */
    int64_t registers, fresh, kept, given_bases, steps, slots, *numbers, *where, *calls, *bindings;
    int64_t functions, varying, *function_slots, *varying_slots;
    int64_t lookup, width, rows;
    const int64_t *row_of, *multiples, *table;
    /* of the latest run */
    block *memory;
    int64_t *own, *now, *words, stride;
    char **outs, **panels, *arena;
    int ready, packed;
} method;

struct gnomon_program {
    block *memory;
    const char *content;
    int64_t size, tensors, methods, code_size;
    tensor *held;
    method *all;
    char *code, *control, *scratch;
    int64_t stride;
    int threads, started;
    pthread_t *team;
    pthread_mutex_t turn;
    void (*run)(void *);
    void (*post)(void *, void *);
    void *(*worker)(void *);
};

static const struct { const char *name; void *function; } LIBRARY[] = {
    {"clock_gettime", (void *)clock_gettime}, {"memcpy", (void *)memcpy},
    {"memmove", (void *)memmove}, {"memset", (void *)memset},
    {"pthread_cond_broadcast", (void *)pthread_cond_broadcast},
    {"pthread_cond_wait", (void *)pthread_cond_wait},
    {"pthread_mutex_lock", (void *)pthread_mutex_lock},
    {"pthread_mutex_unlock", (void *)pthread_mutex_unlock}, {"sched_yield", (void *)sched_yield},
};
static const struct { const char *name; int width; } DTYPES[] = {
    {"bool", 1}, {"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8}, {"uint8", 1},
    {"uint16", 2}, {"uint32", 4}, {"uint64", 8}, {"float16", 2}, {"bfloat16", 2}, {"float32", 4},
    {"float64", 8}, {"float8_e4m3fn", 1}, {"float8_e5m2", 1},
};
#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

/* Zeros from a cache line on that go with a list. */

static void *take(block **list, int64_t bytes)
{
    char *start = bytes < 0 || bytes > MOST ? NULL : calloc(1, bytes + 2 * LINE);
    if (!start)
        return NULL;
    char *made = start + 2 * LINE - (uintptr_t)start % LINE;
    block *head = (block *)(made - sizeof(block));
    *head = (block){*list, start};
    *list = head;
    return made;
}

static void drop(block **list)
{
    while (*list) {
        block *next = (*list)->next;
        free((*list)->start);
        *list = next;
    }
}

/* SHA-256. */

static uint32_t turned(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha256_block(uint32_t *state, const unsigned char *text, const uint32_t *k)
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)text[4 * i] << 24 | text[4 * i + 1] << 16 | text[4 * i + 2] << 8 | text[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] + (turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3)
               + (turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t a = s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25))
                     + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
        uint32_t b = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22))
                     + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += a;
        s[0] = a + b;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

/* The fractions of the roots of the first 64 primes: cube roots, and square roots of the first 8. */
static void sha256(const char *text, int64_t size, unsigned char *digest)
{
    uint32_t k[64], state[8];
    unsigned char last[128] = {0};
    for (int found = 0, n = 2; found < 64; n++) {
        int prime = 1;
        for (int d = 2; d * d <= n; d++)
            prime &= n % d != 0;
        if (!prime)
            continue;
        unsigned __int128 low[2] = {0, 0};
        for (int power = 2; power <= 3; power++) /* the largest root that fits, bit by bit */
            for (int bit = 36; bit >= 0; bit--) {
                unsigned __int128 x = low[power - 2] | (unsigned __int128)1 << bit, y = x * x;
                if ((power == 2 ? y : y * x) <= (unsigned __int128)n << 32 * power)
                    low[power - 2] = x;
            }
        k[found] = (uint32_t)low[1];
        if (found < 8)
            state[found] = (uint32_t)low[0];
        found++;
    }
    int64_t whole = size / 64, rest = size % 64, end = rest < 56 ? 64 : 128;
    for (int64_t i = 0; i < whole; i++)
        sha256_block(state, (const unsigned char *)text + 64 * i, k);
    memcpy(last, text + 64 * whole, rest);
    last[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        last[end - 1 - i] = (unsigned char)((uint64_t)size * 8 >> 8 * i);
    for (int64_t i = 0; i < end; i += 64)
        sha256_block(state, last + i, k);
    for (int i = 0; i < 32; i++)
        digest[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
}

/* Deflate (RFC 1951): codes of bits, and bytes that were there before. */

typedef struct { const unsigned char *at, *end; uint64_t bits; int held, bad; } bit_reader;
typedef struct { int counts[16], symbols[288]; } code_table;

static int bits(bit_reader *r, int count)
{
    for (; r->held < count; r->held += 8) {
        r->bad |= r->at == r->end;
        r->bits |= r->bad ? 0 : (uint64_t)*r->at++ << r->held;
    }
    int found = (int)(r->bits & (((uint64_t)1 << count) - 1));
    r->bits >>= count;
    r->held -= count;
    return found;
}

static int tabulate(code_table *table, const unsigned char *lengths, int count) /* 0: no code */
{
    int places[16] = {0}, left = 1;
    memset(table, 0, sizeof *table);
    for (int i = 0; i < count; i++)
        table->counts[lengths[i]]++;
    table->counts[0] = 0;
    for (int n = 1; n < 16; n++) {
        places[n] = places[n - 1] + table->counts[n - 1];
        left = 2 * left - table->counts[n];
        if (left < 0)
            return 0;
    }
    for (int i = 0; i < count; i++)
        if (lengths[i])
            table->symbols[places[lengths[i]]++] = i;
    return 1;
}

static int symbol(bit_reader *r, const code_table *table)
{
    int code = 0, first = 0, place = 0;
    for (int n = 1; n < 16; n++) {
        code |= bits(r, 1);
        if (code - first < table->counts[n])
            return table->symbols[place + code - first];
        place += table->counts[n];
        first = 2 * (first + table->counts[n]);
        code *= 2;
    }
    r->bad = 1;
    return 256;
}

static void read_tables(bit_reader *r, int fixed, code_table *letters, code_table *distances)
{
    static const unsigned char order[19] = {16, 17, 18, 0,  8, 7,  9, 6,  10, 5,
                                            11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned char lengths[288 + 32] = {0};
    int count = 288, more = 30, at = 0;
    if (fixed) {
        for (int i = 0; i < 288; i++)
            lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
        memset(lengths + 288, 5, 30);
    } else {
        count = 257 + bits(r, 5);
        more = 1 + bits(r, 5);
        int known = 4 + bits(r, 4);
        for (int i = 0; i < known; i++)
            lengths[order[i]] = bits(r, 3);
        r->bad |= count > 286 || !tabulate(letters, lengths, 19);
        memset(lengths, 0, sizeof lengths);
        while (at < count + more && !r->bad) {
            int next = symbol(r, letters), again = 1, length = next;
            if (next > 15) {
                r->bad |= next == 16 && !at;
                length = next == 16 && at ? lengths[at - 1] : 0;
                again = next == 16 ? 3 + bits(r, 2) : next == 17 ? 3 + bits(r, 3) : 11 + bits(r, 7);
            }
            r->bad |= again > count + more - at;
            for (; again && !r->bad; again--)
                lengths[at++] = length;
        }
    }
    r->bad |= !tabulate(letters, lengths, count) || !tabulate(distances, lengths + count, more);
}

static int inflated(const char *content, int64_t length, char *made, int64_t size)
{
    const unsigned char *start = (const unsigned char *)content;
    bit_reader r = {start, start + length, 0, 0, 0};
    code_table letters, distances;
    int64_t at = 0;
    for (int last = 0; !last && !r.bad;) {
        last = bits(&r, 1);
        int kind = bits(&r, 2);
        if (!kind) { /* as it is, from the next byte on */
            r.bits = r.held = 0;
            int64_t count = bits(&r, 16);
            bits(&r, 16);
            if (r.bad || count > r.end - r.at || count > size - at)
                return 0;
            memcpy(made + at, r.at, count);
            r.at += count;
            at += count;
            continue;
        }
        r.bad |= kind == 3;
        read_tables(&r, kind == 1, &letters, &distances);
        while (!r.bad) {
            int next = symbol(&r, &letters), k = next - 257;
            if (next == 256)
                break;
            if (next < 256) {
                if (at == size)
                    return 0;
                made[at++] = next;
                continue;
            }
            int more = k < 8 || k == 28 ? 0 : k / 4 - 1;
            int64_t count = k < 8 ? 3 + k : k == 28 ? 258 : 3 + ((4 + k % 4) << more);
            count += bits(&r, more);
            int d = symbol(&r, &distances);
            if (r.bad || k > 28 || d > 29)
                return 0;
            more = d < 4 ? 0 : d / 2 - 1;
            int64_t back = (d < 4 ? 1 + d : 1 + ((2 + d % 2) << more)) + bits(&r, more);
            if (r.bad || back > at || count > size - at)
                return 0;
            for (; count; count--, at++)
                made[at] = made[at - back];
        }
    }
    return !r.bad && at == size;
}

/* Numbers and names of a section, never beyond it. */

static const int64_t *row(reader *r, int64_t count)
{
    if (r->bad || count < 0 || count > r->end - r->at) {
        r->bad = 1;
        return NULL;
    }
    r->at += count;
    return r->at - count;
}

static int64_t number(reader *r, int64_t least, int64_t most)
{
    const int64_t *found = row(r, 1);
    if (!found || *found < least || *found > most) {
        r->bad = 1;
        return least;
    }
    return *found;
}

static int64_t counted(reader *r, int64_t most) /* what follows has a word each at least */
{
    int64_t found = number(r, 0, most);
    if (found > r->end - r->at)
        r->bad = 1;
    return r->bad ? 0 : found;
}

static int64_t *numbers(reader *r, block **list, int64_t count, int64_t least, int64_t most)
{
    int64_t *found = count <= r->end - r->at ? take(list, 8 * count) : NULL;
    r->bad |= !found;
    for (int64_t i = 0; i < count && !r->bad; i++)
        found[i] = number(r, least, most);
    return found;
}

static pairs read_pairs(reader *r, block **list, int64_t first, int64_t second)
{
    pairs found = {counted(r, MOST), NULL};
    found.rows = take(list, (int64_t)sizeof(pair) * found.count);
    r->bad |= !found.rows;
    for (int64_t i = 0; i < found.count && !r->bad; i++)
        found.rows[i] = (pair){number(r, 0, first - 1), number(r, 0, second - 1)};
    return found;
}

static const char *text(reader *r, int64_t *length)
{
    *length = number(r, 0, 1 << 20);
    return (const char *)row(r, (*length + 7) / 8);
}

static kind read_kind(reader *r, int64_t symbols)
{
    kind found = {{0}, 0, 0, {0}};
    int64_t length;
    const char *name = text(r, &length);
    for (int i = 0; !r->bad && i < COUNT(DTYPES); i++)
        if (length == (int64_t)strlen(DTYPES[i].name) && !memcmp(name, DTYPES[i].name, length)) {
            memcpy(found.name, name, length);
            found.width = DTYPES[i].width;
        }
    found.rank = (int)counted(r, GNOMON_AXES);
    for (int i = 0; i < found.rank; i++)
        found.sizes[i] = number(r, -symbols, MOST);
    r->bad |= !found.width;
    return found;
}

static int64_t size_of(const kind *k, int axis, const int64_t *own)
{
    return k->sizes[axis] < 0 ? own[-1 - k->sizes[axis]] : k->sizes[axis];
}

static int64_t bytes_of(const kind *k, const int64_t *own) /* -1: more than a machine has */
{
    int64_t found = k->width;
    for (int i = 0; i < k->rank; i++)
        if (size_of(k, i, own) == 0)
            return 0;
    for (int i = 0; i < k->rank; i++) {
        int64_t n = size_of(k, i, own);
        if (n < 0 || found > MOST / n)
            return -1;
        found *= n;
    }
    return found;
}

static int same_kind(const kind *a, const kind *b)
{
    return !strcmp(a->name, b->name) && a->rank == b->rank
           && !memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes);
}

/* Methods: as callers see them, and their plans. */

static void read_method(reader *r, gnomon_program *p, method *m)
{
    block **list = &p->memory;
    int64_t length;
    m->name = text(r, &m->length);
    m->arguments = counted(r, 1 << 16);
    m->symbols = number(r, 0, 64);
    m->given = take(list, (int64_t)sizeof(kind) * m->arguments);
    r->bad |= !m->given;
    for (int64_t i = 0; i < m->arguments && !r->bad; i++) {
        text(r, &length);
        m->given[i] = read_kind(r, m->symbols);
    }
    m->places = read_pairs(r, list, m->arguments, GNOMON_AXES);
    r->bad |= m->places.count != m->symbols;
    m->bounds = take(list, 16 * m->symbols);
    m->own = take(list, 8 * m->symbols);
    r->bad |= !m->bounds || !m->own;
    for (int64_t i = 0; i < m->symbols && !r->bad; i++) {
        m->bounds[i][0] = number(r, 0, MOST);
        m->bounds[i][1] = number(r, m->bounds[i][0], MOST);
        r->bad |= m->places.rows[i].second >= m->given[m->places.rows[i].first].rank;
    }
    text(r, &length); /* how arguments and results are nested, which C does not say */
    text(r, &length);
    m->count = number(r, 0, 1 << 20);
    m->outputs = counted(r, 1 << 20);
    m->made = take(list, (int64_t)sizeof(kind) * m->outputs);
    r->bad |= !m->made;
    for (int64_t i = 0; i < m->outputs && !r->bad; i++)
        m->made[i] = read_kind(r, m->count);
    m->results = counted(r, MOST);
    m->order = numbers(r, list, m->results, -m->arguments, m->outputs - 1);
    m->inputs = counted(r, 1 << 20);
    m->read = read_pairs(r, list, m->inputs, m->arguments);
    m->held = read_pairs(r, list, m->inputs, p->tensors);
    m->writes = read_pairs(r, list, m->outputs, p->tensors);
    char *there = take(list, m->inputs); /* each input once */
    r->bad |= !there || m->read.count + m->held.count != m->inputs;
    if (there)
        memset(there, 0, m->inputs);
    for (int64_t i = 0; i < m->inputs && !r->bad; i++) {
        pair x = i < m->read.count ? m->read.rows[i] : m->held.rows[i - m->read.count];
        r->bad |= there[x.first];
        there[x.first] = 1;
    }
    for (int64_t i = 0; i < m->writes.count && !r->bad; i++) {
        tensor *x = &p->held[m->writes.rows[i].second];
        r->bad |= !x->written || !same_kind(&x->kind, &m->made[m->writes.rows[i].first]);
    }
}

static void check_steps(reader *r, const gnomon_program *p, const method *m)
{
    int64_t end = 8 * m->slots, bases = 8 * (m->given_bases + m->registers);
    for (int64_t i = 0; i < m->steps && !r->bad; i++) {
        const int64_t *step = m->calls + 5 * i;
        int64_t function = step[0], at = step[1], what = step[3], goal = step[4];
        int64_t first = what == SET ? 8 * m->given_bases : 0;
        int64_t last = what == BIND ? end : what == SET ? bases - 8 : m->steps;
        int reads = what == BRANCH || what == SKIP || what == SET ? 8 : 0;
        r->bad |= what < CALL || what > BIND || at < 0 || at % 8 || at > end - reads;
        r->bad |= what == CALL && (function < 0 || function >= p->code_size);
        r->bad |= what != CALL && (goal < first || goal > last || (what > SKIP && goal % 8));
    }
    for (int64_t i = 0; i < m->slots && !r->bad; i++) {
        int64_t base = m->bindings[2 * i];
        r->bad |= base < 0 || base % 8 || base >= bases;
    }
    for (int64_t i = 0; i < m->functions && !r->bad; i++) {
        const int64_t *slot = m->bindings + 2 * m->function_slots[i];
        r->bad |= slot[0] != 0 || slot[1] < 0 || slot[1] >= p->code_size;
    }
}

static int64_t *copied(reader *r, block **list, int64_t count)
{
    const int64_t *found = row(r, count);
    int64_t *made = found ? take(list, 8 * count) : NULL;
    r->bad |= !made;
    return made ? memcpy(made, found, 8 * count) : NULL;
}

static void read_plan(reader *r, gnomon_program *p, method *m)
{
    block **list = &p->memory;
    int64_t sizes = 1;
    r->bad |= number(r, 0, 1 << 20) != m->inputs;
    int64_t outputs = number(r, 0, 1 << 20), scalars = number(r, 0, 1 << 20);
    m->registers = number(r, 0, 1 << 20);
    m->fresh = number(r, 0, 1 << 20);
    m->kept = number(r, 0, 1 << 20);
    r->bad |= outputs != m->fresh + 1 + m->kept || scalars != m->kept;
    m->numbers = numbers(r, list, 3 + m->fresh + m->kept, 0, MOST);
    m->where = numbers(r, list, m->outputs, 0, m->fresh + m->inputs - 1);
    m->over = read_pairs(r, list, m->fresh, m->inputs);
    m->steps = number(r, 0, 1 << 24);
    m->slots = number(r, 0, 1 << 24);
    m->calls = copied(r, list, 5 * m->steps);
    m->bindings = copied(r, list, 2 * m->slots);
    m->functions = counted(r, MOST);
    m->function_slots = numbers(r, list, m->functions, 0, m->slots - 1);
    m->varying = counted(r, MOST);
    m->varying_slots = numbers(r, list, m->varying, 0, m->slots - 1);
    m->width = m->count + 3 + m->fresh + m->kept + m->varying;
    if (m->symbols) {
        m->lookup = counted(r, MOST);
        m->row_of = row(r, m->lookup);
        m->multiples = row(r, m->symbols * m->width);
        m->rows = number(r, 1, MOST);
        m->table = row(r, m->rows > MOST / m->width ? -1 : m->rows * m->width);
        for (int64_t i = 0; i < m->symbols && !r->bad; i++) {
            int64_t n = m->bounds[i][1] - m->bounds[i][0] + 1;
            r->bad |= n > m->lookup || (sizes *= n) > m->lookup;
        }
        r->bad |= sizes != m->lookup;
        for (int64_t i = 0; i < m->lookup && !r->bad; i++)
            r->bad |= m->row_of[i] < 0 || m->row_of[i] > m->rows;
    } else
        r->bad |= m->count || m->varying;
    m->given_bases = FIRST_BASE + m->inputs + outputs + scalars;
    if (r->bad)
        return;
    check_steps(r, p, m);
    m->now = take(list, 8 * m->width);
    r->bad |= !m->now;
    for (int64_t i = 0; i < m->steps && !r->bad; i++)
        if (m->calls[5 * i + 3] == CALL)
            m->calls[5 * i] += (int64_t)p->code;
    for (int64_t i = 0; i < m->functions && !r->bad; i++)
        m->bindings[2 * m->function_slots[i] + 1] += (int64_t)p->code;
}

/* Opening: sections, the processor, code. */

static int target_here(void)
{
    static const char *needs[TARGETS] = {
        [AVX2] = "avx2 fma f16c bmi1 bmi2 abm movbe",
        [AVX512] = "avx512f avx512cd avx512bw avx512dq avx512vl avx2 fma f16c bmi2 movbe",
        [NEON] = "asimd fphp asimdhp atomics",
    };
#if defined(__x86_64__)
    int first = AVX512, last = AVX2;
#elif defined(__aarch64__)
    int first = NEON, last = NEON;
#else
    int first = 0, last = 1;
#endif
    char line[8192], words[8194] = " ", word[32];
    int best = 0;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "flags", 5) || !strncmp(line, "Featu", 5)) {
            line[strcspn(line, "\n")] = ' ';
            strcpy(words + 1, strchr(line, ':') ? strchr(line, ':') + 1 : "");
            break;
        }
    if (file)
        fclose(file);
    for (int t = first; t >= last; t--) {
        int has = 1;
        for (const char *at = needs[t]; *at; at += strcspn(at, " "), at += *at == ' ') {
            snprintf(word, sizeof word, " %.*s ", (int)strcspn(at, " "), at);
            has &= strstr(words, word) != NULL;
        }
        if (has)
            best |= 1 << t;
    }
    return best;
}

static int read_code(reader *r, gnomon_program *p, const char *code)
{
    int64_t imports = counted(r, 64), length;
    p->code = mmap(NULL, p->code_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->code == MAP_FAILED) {
        p->code = NULL;
        return GNOMON_MEMORY;
    }
    memcpy(p->code, code, p->code_size);
    for (int64_t i = 0; i < imports && !r->bad; i++) {
        const char *name = text(r, &length);
        int64_t at = number(r, 0, p->code_size - 8);
        void *found = NULL;
        for (int k = 0; k < COUNT(LIBRARY) && !r->bad; k++)
            if (length == (int64_t)strlen(LIBRARY[k].name) && !memcmp(name, LIBRARY[k].name, length))
                found = LIBRARY[k].function;
        r->bad |= !found;
        if (!r->bad)
            memcpy(p->code + at, &found, sizeof found);
    }
    p->run = (void (*)(void *))(p->code + number(r, 0, p->code_size - 1));
    p->post = (void (*)(void *, void *))(p->code + number(r, 0, p->code_size - 1));
    p->worker = (void *(*)(void *))(p->code + number(r, 0, p->code_size - 1));
    if (mprotect(p->code, p->code_size, PROT_READ | PROT_EXEC))
        return GNOMON_MEMORY;
    __builtin___clear_cache(p->code, p->code + p->code_size);
    return r->bad ? GNOMON_DAMAGED : GNOMON_OK;
}

static int read_program(gnomon_program *p, const reader *parts, const reader *weights)
{
    reader r = parts[DESCRIPTION], plan = parts[PLAN];
    const char *start = (const char *)weights->at;
    int64_t length, room = (const char *)weights->end - start;
    p->tensors = counted(&r, 1 << 24);
    p->held = take(&p->memory, (int64_t)sizeof(tensor) * p->tensors);
    if (!p->held)
        return GNOMON_MEMORY;
    for (int64_t i = 0; i < p->tensors && !r.bad; i++) {
        tensor *x = &p->held[i];
        text(&r, &length);
        x->kind = read_kind(&r, 0);
        int64_t written = number(&r, 0, ZEROS), at = number(&r, 0, room);
        int64_t n = bytes_of(&x->kind, NULL);
        if (r.bad || at % LINE || n < 0 || (written != ZEROS && n > room - at))
            return GNOMON_DAMAGED;
        x->written = written != 0;
        x->data = written ? take(&p->memory, n) : (char *)start + at;
        if (!x->data)
            return GNOMON_MEMORY;
        if (written == WRITTEN && n)
            memcpy(x->data, start + at, n);
    }
    p->methods = counted(&r, 1 << 16);
    p->all = take(&p->memory, (int64_t)sizeof(method) * p->methods);
    if (!p->all)
        return GNOMON_MEMORY;
    memset(p->all, 0, sizeof(method) * p->methods);
    for (int64_t i = 0; i < p->methods && !r.bad; i++)
        read_method(&r, p, &p->all[i]);
    p->code_size = (const char *)parts[CODE].end - (const char *)parts[CODE].at;
    if (r.bad || !p->methods || p->code_size < 8)
        return GNOMON_DAMAGED;
    int code = read_code(&plan, p, (const char *)parts[CODE].at);
    for (int64_t i = 0; i < p->methods && !code && !plan.bad; i++)
        read_plan(&plan, p, &p->all[i]);
    return code ? code : plan.bad ? GNOMON_DAMAGED : GNOMON_OK;
}

static int unpack(gnomon_program *p, reader *part, int64_t whole) /* 0: it lies as it is */
{
    int64_t length = (const char *)part->end - (const char *)part->at;
    char *made = !whole ? NULL : take(&p->memory, whole / 1040 > length ? -1 : whole);
    if (whole && !made)
        return whole < 0 || whole / 1040 > length ? GNOMON_DAMAGED : GNOMON_MEMORY;
    if (whole && !inflated((const char *)part->at, length, made, whole))
        return GNOMON_DAMAGED;
    if (whole)
        *part = (reader){(const int64_t *)made, (const int64_t *)(made + whole), 0};
    return GNOMON_OK;
}

static int read_sections(gnomon_program *p, const char *digest)
{
    uint32_t versions[2];
    int64_t head[2]; /* bytes, sections */
    unsigned char seal[32];
    char hex[65];
    if (p->size < HEAD || memcmp(p->content, "GNOMONPF", 8))
        return GNOMON_DAMAGED;
    memcpy(versions, p->content + 8, 8);
    memcpy(head, p->content + 16, 16);
    if (versions[0] < 1 || versions[0] > FORMAT || versions[1] != ABI)
        return GNOMON_FORMAT;
    if (head[0] != p->size || head[1] < 0 || head[1] >= 1 << 16 || HEAD + head[1] * ROW > p->size)
        return GNOMON_DAMAGED;
    int64_t end = HEAD + head[1] * ROW;
    char *table = take(&p->memory, end);
    if (!table)
        return GNOMON_MEMORY;
    memcpy(table, p->content, end);
    memset(table + 32, 0, 32);
    sha256(table, end, seal);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)p->content[32 + i]);
    if (memcmp(seal, p->content + 32, 32))
        return GNOMON_DAMAGED;
    if (digest && *digest && strcasecmp(digest, hex))
        return GNOMON_DIGEST;
    reader found[PLAN + 1][TARGETS] = {{{0}}};
    int64_t whole[PLAN + 1][TARGETS] = {{0}};
    for (int64_t i = 0; i < head[1]; i++) {
        uint32_t what[2];
        int64_t place[3]; /* begin, bytes, bytes when unpacked */
        memcpy(what, table + HEAD + i * ROW, 8);
        memcpy(place, table + HEAD + i * ROW + 8, 24);
        if (place[0] < end || place[0] % (what[0] == WEIGHTS ? PAGE : LINE) || place[1] < 0
            || place[0] > p->size || place[1] > p->size - place[0])
            return GNOMON_DAMAGED;
        end = place[0] + place[1];
        sha256(p->content + place[0], what[0] == WEIGHTS ? 0 : place[1], seal);
        if (what[0] != WEIGHTS && memcmp(seal, table + HEAD + i * ROW + 32, 32))
            return GNOMON_DAMAGED;
        if (what[0] > PLAN || what[1] >= TARGETS)
            continue;
        reader *own = &found[what[0]][what[1]];
        if (own->at)
            return GNOMON_DAMAGED;
        whole[what[0]][what[1]] = place[2];
        own->at = (const int64_t *)(p->content + place[0]);
        own->end = (const int64_t *)(p->content + end);
    }
    int here = target_here(), best = 0;
    for (int t = 1; t < TARGETS; t++)
        if (here >> t & 1 && found[CODE][t].at)
            best = t; /* the best has the greatest number */
    if (!best)
        return GNOMON_PROCESSOR;
    if (!found[DESCRIPTION][0].at || !found[PLAN][best].at)
        return GNOMON_DAMAGED;
    reader parts[PLAN + 1] = {{0}};
    for (int k = DESCRIPTION; k <= PLAN; k++) {
        int target = k == CODE || k == PLAN ? best : 0, code = GNOMON_OK;
        parts[k] = found[k][target];
        if (k != WEIGHTS && (code = unpack(p, &parts[k], whole[k][target])))
            return code;
        if ((k == DESCRIPTION || k == PLAN) && ((char *)parts[k].end - (char *)parts[k].at) % 8)
            return GNOMON_DAMAGED;
    }
    return read_program(p, parts, &found[WEIGHTS][0]);
}

int gnomon_open(const char *path, const char *digest, int threads, gnomon_program **program)
{
    struct stat status;
    cpu_set_t cores;
    int count = sched_getaffinity(0, sizeof cores, &cores) ? 1 : CPU_COUNT(&cores);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code = GNOMON_OK;
    gnomon_program *p = calloc(1, sizeof *p);
    *program = NULL;
    if (!p || file < 0 || fstat(file, &status) || !S_ISREG(status.st_mode)) {
        free(p);
        if (file >= 0)
            close(file);
        return p ? GNOMON_FILE : GNOMON_MEMORY;
    }
    pthread_mutex_init(&p->turn, NULL);
    p->size = status.st_size;
    p->threads = threads > 0 ? threads : count;
    p->content = p->size ? mmap(NULL, p->size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    if (p->content == MAP_FAILED) {
        p->content = NULL;
        code = p->size ? GNOMON_FILE : GNOMON_DAMAGED;
    } else if ((status.st_uid && status.st_uid != getuid()) || status.st_mode & 022)
        code = GNOMON_OWNER;
    else
        code = read_sections(p, digest);
    int64_t *control = code ? NULL : take(&p->memory, CONTROL_BYTES);
    if (!code && !control)
        code = GNOMON_MEMORY;
    if (!code) {
        p->control = (char *)control;
        control[IDLE_LOOKS / 8] = p->threads > count ? 0 : 2500;
        control[YIELD_AFTER / 8] = p->threads > count ? 0 : 256;
        pthread_mutex_init((pthread_mutex_t *)(p->control + MUTEX), NULL);
        pthread_cond_init((pthread_cond_t *)(p->control + CONDITION), NULL);
        *program = p;
        return GNOMON_OK;
    }
    gnomon_close(p);
    return code;
}

/* Runs. */

static int start_team(gnomon_program *p)
{
    sigset_t all, before;
    int64_t(*starts)[2] = take(&p->memory, 16 * (int64_t)p->threads);
    p->team = take(&p->memory, (int64_t)sizeof(pthread_t) * p->threads);
    if (!starts || !p->team)
        return GNOMON_MEMORY;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (p->started = 1; p->started < p->threads; p->started++) {
        starts[p->started][0] = (int64_t)p->control;
        starts[p->started][1] = p->started;
        if (pthread_create(&p->team[p->started], NULL, p->worker, starts[p->started]))
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return GNOMON_OK;
}

static int matches(const method *m, int count, const gnomon_array *given, int64_t *own)
{
    if (m->arguments != count)
        return 0;
    for (int64_t i = 0; i < count; i++)
        if (!given[i].dtype || strcmp(given[i].dtype, m->given[i].name)
            || given[i].rank != m->given[i].rank)
            return 0;
    for (int64_t i = 0; i < m->symbols; i++) {
        own[i] = given[m->places.rows[i].first].sizes[m->places.rows[i].second];
        if (own[i] < m->bounds[i][0] || own[i] > m->bounds[i][1])
            return 0;
    }
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < given[i].rank; k++)
            if (given[i].sizes[k] != size_of(&m->given[i], k, own))
                return 0;
    return 1;
}

static int prepare(method *m, const int64_t *own) /* for these sizes */
{
    int64_t place = 0, counts = 3 + m->fresh + m->kept, *now = m->now;
    m->ready = m->packed = 0;
    drop(&m->memory);
    for (int64_t i = 0; i < m->symbols; i++)
        place = place * (m->bounds[i][1] - m->bounds[i][0] + 1) + own[i] - m->bounds[i][0];
    if (m->symbols && !m->row_of[place])
        return GNOMON_ARGUMENTS;
    for (int64_t i = 0; i < m->width; i++) {
        uint64_t found = m->symbols ? (uint64_t)m->table[(m->row_of[place] - 1) * m->width + i]
                                    : (uint64_t)m->numbers[i];
        for (int64_t k = 0; k < m->symbols; k++)
            found += (uint64_t)own[k] * (uint64_t)m->multiples[k * m->width + i];
        now[i] = (int64_t)found;
    }
    int64_t *sizes = now + m->count + 3, arena = now[m->count];
    for (int64_t i = 0; i < counts; i++)
        if (now[m->count + i] < 0 || now[m->count + i] > MOST)
            return GNOMON_DAMAGED;
    for (int64_t i = 0; i < m->outputs; i++) {
        int64_t n = bytes_of(&m->made[i], now);
        if (n < 0 || (m->where[i] < m->fresh && n > sizes[m->where[i]]))
            return GNOMON_DAMAGED;
    }
    int64_t *bound = take(&m->memory, 16 * m->slots);
    int64_t slots_at = 8 * (m->given_bases + m->registers);
    int64_t scratch_at = (slots_at + 8 * m->slots + LINE - 1) / LINE * LINE;
    m->stride = (scratch_at + now[m->count + 1] + LINE - 1) / LINE * LINE;
    m->words = take(&m->memory, 8 * (BASES + m->given_bases));
    m->arena = take(&m->memory, arena);
    m->outs = take(&m->memory, 8 * (m->fresh + 1));
    m->panels = take(&m->memory, 8 * m->kept);
    if (!bound || !m->words || !m->arena || !m->outs || !m->panels)
        return GNOMON_MEMORY;
    memcpy(bound, m->bindings, 16 * m->slots);
    for (int64_t i = 0; i < m->varying; i++)
        bound[2 * m->varying_slots[i] + 1] = now[m->count + counts + i];
    for (int64_t i = 0; i < m->slots; i++)
        if (bound[2 * i] == 8 && (bound[2 * i + 1] < 0 || bound[2 * i + 1] > arena))
            return GNOMON_DAMAGED;
    for (int64_t i = 0; i < m->fresh; i++)
        if (!(m->outs[i] = take(&m->memory, sizes[i])))
            return GNOMON_MEMORY;
    for (int64_t i = 0; i < m->kept; i++)
        if (!(m->panels[i] = take(&m->memory, sizes[m->fresh + i])))
            return GNOMON_MEMORY;
    int64_t words[SCRATCH_START + 1] = {(int64_t)m->calls, m->steps, (int64_t)bound, m->slots,
                                        m->given_bases, slots_at, scratch_at};
    memcpy(m->words, words, sizeof words);
    if (m->symbols)
        memcpy(m->own, own, 8 * m->symbols);
    m->ready = 1;
    return GNOMON_OK;
}

static int start(gnomon_program *p, method *m, char **inputs, char **outs, int64_t *report)
{
    if (!p->team && start_team(p))
        return GNOMON_MEMORY;
    if (m->stride > p->stride) {
        char *scratch = take(&p->memory, m->stride * p->started); /* runs that need more are few */
        if (!scratch)
            return GNOMON_MEMORY;
        p->scratch = scratch;
        p->stride = m->stride;
    }
    int64_t *word = m->words + THREADS, alone = m->now[m->count + 2];
    *word++ = alone ? 1 : p->started;
    *word++ = (int64_t)p->control;
    *word++ = (int64_t)p->scratch;
    *word++ = p->stride;
    *word++ = 0;
    *word++ = 0;
    *word++ = 0;
    *word++ = (int64_t)m->arena;
    for (int64_t i = 0; i < m->inputs; i++)
        *word++ = (int64_t)inputs[i];
    for (int64_t i = 0; i < m->fresh; i++)
        *word++ = (int64_t)outs[i];
    *word++ = (int64_t)report;
    for (int64_t i = 0; i < m->kept; i++)
        *word++ = (int64_t)m->panels[i];
    for (int64_t i = 0; i < m->kept; i++)
        *word++ = !m->packed;
    p->run(m->words);
    m->packed |= !*report;
    return *report ? GNOMON_INDEX : GNOMON_OK;
}

static int run_on(gnomon_program *p, method *m, const gnomon_array *given, gnomon_array *made,
                  block **list)
{
    int64_t *report = take(list, 8);
    char **inputs = take(list, 8 * m->inputs), **outs = take(list, 8 * (m->fresh + 1));
    int code;
    if (!report || !inputs || !outs)
        return GNOMON_MEMORY;
    for (int64_t i = 0; i < m->read.count; i++) { /* from a cache line on */
        pair x = m->read.rows[i];
        int64_t n = bytes_of(&m->given[x.second], m->own);
        if ((int64_t)(inputs[x.first] = given[x.second].data) % LINE || !inputs[x.first]) {
            if (!(inputs[x.first] = take(list, n)))
                return GNOMON_MEMORY;
            if (n)
                memcpy(inputs[x.first], given[x.second].data, n);
        }
    }
    for (int64_t i = 0; i < m->held.count; i++)
        inputs[m->held.rows[i].first] = p->held[m->held.rows[i].second].data;
    memcpy(outs, m->outs, 8 * m->fresh);
    for (int64_t i = 0; i < m->writes.count; i++) { /* in the place of what is read, if it may be */
        pair w = m->writes.rows[i];
        int64_t place = m->where[w.first], n = bytes_of(&p->held[w.second].kind, NULL);
        for (int64_t k = 0; k < m->over.count; k++)
            for (int64_t h = 0; h < m->held.count; h++)
                if (m->over.rows[k].first == place && m->held.rows[h].second == w.second
                    && m->over.rows[k].second == m->held.rows[h].first
                    && m->now[m->count + 3 + place] < n + LINE)
                    outs[place] = p->held[w.second].data;
    }
    if ((code = start(p, m, inputs, outs, report)))
        return code;
    for (int64_t i = 0; i < m->results; i++) {
        int64_t k = m->order[i];
        if (k < 0) {
            made[i] = given[-1 - k];
            continue;
        }
        made[i].dtype = m->made[k].name;
        made[i].rank = m->made[k].rank;
        for (int axis = 0; axis < made[i].rank; axis++)
            made[i].sizes[axis] = size_of(&m->made[k], axis, m->now);
        made[i].data = m->where[k] < m->fresh ? outs[m->where[k]] : inputs[m->where[k] - m->fresh];
        for (int64_t g = 0; g < m->read.count; g++) /* an argument's own memory, not its copy's */
            if (m->where[k] - m->fresh == m->read.rows[g].first)
                made[i].data = given[m->read.rows[g].second].data;
    }
    for (int64_t i = 0; i < m->writes.count; i++) {
        int64_t place = m->where[m->writes.rows[i].first];
        tensor *x = &p->held[m->writes.rows[i].second];
        char *from = place < m->fresh ? outs[place] : inputs[place - m->fresh];
        if (from != x->data)
            memcpy(x->data, from, bytes_of(&x->kind, NULL));
    }
    return GNOMON_OK;
}

int gnomon_run(gnomon_program *program, const char *name, int arguments, const gnomon_array *given,
               int results, gnomon_array *made)
{
    int code = GNOMON_METHOD;
    block *list = NULL;
    pthread_mutex_lock(&program->turn);
    for (int64_t i = 0; i < program->methods; i++) {
        method *m = &program->all[i];
        int64_t own[64] = {0};
        if (m->length != (int64_t)strlen(name) || memcmp(m->name, name, m->length))
            continue;
        code = GNOMON_ARGUMENTS;
        if (m->results != results || !matches(m, arguments, given, own))
            continue;
        int there = m->ready && (!m->symbols || !memcmp(own, m->own, 8 * m->symbols));
        code = there ? GNOMON_OK : prepare(m, own);
        if (code == GNOMON_ARGUMENTS)
            continue;
        if (!code)
            code = run_on(program, m, given, made, &list);
        break;
    }
    drop(&list);
    pthread_mutex_unlock(&program->turn);
    return code;
}

void gnomon_close(gnomon_program *program)
{
    if (!program)
        return;
    if (program->started > 1) {
        program->post(program->control, NULL);
        for (int i = 1; i < program->started; i++)
            pthread_join(program->team[i], NULL);
    }
    for (int64_t i = 0; program->all && i < program->methods; i++)
        drop(&program->all[i].memory);
    if (program->code)
        munmap(program->code, program->code_size);
    if (program->content)
        munmap((void *)program->content, program->size);
    drop(&program->memory);
    pthread_mutex_destroy(&program->turn);
    free(program);
}
