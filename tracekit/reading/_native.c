/* Reads sound events of a Chrome trace at memory speed.
 *
 * An optional part: where it can't be built, reading/sound.py does the same with msgspec, a few times slower. Either takes only what it is sure
 * of (strict JSON, plain keys, numbers that fit) and stops at anything else; reading/damaged.py then reads that one event and says what was
 * mended. So the result never depends on which of the two was there.
 *
 * The scan of a piece runs without the GIL: pieces are read by several threads, each with a Scanner of its own. Nothing here trusts the layout of
 * the file, and no byte at or beyond `end` is looked at.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define HAVE_SSE2 1
#endif
#if defined(_MSC_VER)
#include <intrin.h>
static inline int lowest_bit(unsigned x) { unsigned long i; _BitScanForward(&i, x); return (int)i; }
#else
#define lowest_bit(x) __builtin_ctz(x)
#endif

typedef const unsigned char *Bytes;

/* One element of the event array; rows.py has the same as a numpy dtype. */
typedef struct {
    int64_t ts, dur, device, stream, correlation, external, at, args_at;
    int32_t args_len, name, category, thread;
    uint32_t repairs;
    uint8_t phase, drop, flags, spare;
} Row;

#define MISSING INT64_MIN
#define REPAIR_NUMBER_AS_TEXT (1u << 0)
#define REPAIR_NO_DURATION (1u << 1)
#define REPAIR_NEGATIVE_DURATION (1u << 2)
#define DEEPEST 100
#define EVENT_BYTES (64 << 20) /* as in damaged.py: an event of more is no event */
#define ID_DIGITS 18
#define TIME_MOST 4000000000000000LL /* microseconds; the year 2096 */

enum { STATUS_END = 0, STATUS_CLOSED = 1, STATUS_FULL = 2, STATUS_ODD = 3, STATUS_MEMORY = 4 };

/* --- a set of byte strings, numbered in order of arrival */

typedef struct {
    uint64_t hash;
    size_t at; /* into the arena */
    uint32_t length;
} Entry;

typedef struct {
    unsigned char *arena;
    size_t used, room;
    Entry *entries;
    size_t count, entry_room;
    int32_t *slots;
    size_t mask;
} Table;

static uint64_t hash_of(Bytes p, size_t n, uint64_t seed) {
    uint64_t h = seed ^ (n * 0x9E3779B97F4A7C15ull), w;
    while (n >= 8) {
        memcpy(&w, p, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdull;
        h ^= h >> 32;
        p += 8;
        n -= 8;
    }
    if (n) {
        w = 0;
        memcpy(&w, p, n);
        h = (h ^ w) * 0xff51afd7ed558ccdull;
        h ^= h >> 32;
    }
    h *= 0xc4ceb9fe1a85ec53ull;
    return h ^ (h >> 29);
}

static int table_init(Table *t) {
    memset(t, 0, sizeof *t);
    t->mask = 1023;
    t->slots = malloc((t->mask + 1) * sizeof *t->slots);
    if (!t->slots) return 0;
    memset(t->slots, 0xff, (t->mask + 1) * sizeof *t->slots);
    return 1;
}

static void table_free(Table *t) {
    free(t->arena);
    free(t->entries);
    free(t->slots);
    memset(t, 0, sizeof *t);
}

static int table_grow(Table *t) {
    size_t mask = t->mask * 2 + 1;
    int32_t *slots = malloc((mask + 1) * sizeof *slots);
    if (!slots) return 0;
    memset(slots, 0xff, (mask + 1) * sizeof *slots);
    for (size_t i = 0; i < t->count; i++) {
        size_t s = t->entries[i].hash & mask;
        while (slots[s] >= 0) s = (s + 1) & mask;
        slots[s] = (int32_t)i;
    }
    free(t->slots);
    t->slots = slots;
    t->mask = mask;
    return 1;
}

/* Returns the number of a string, or -1 when memory ran out. */
static int32_t table_id(Table *t, Bytes p, size_t n, uint64_t seed) {
    uint64_t h = hash_of(p, n, seed);
    size_t s = h & t->mask;
    for (; t->slots[s] >= 0; s = (s + 1) & t->mask) {
        Entry *e = &t->entries[t->slots[s]];
        if (e->hash == h && e->length == n && (!n || !memcmp(t->arena + e->at, p, n))) return t->slots[s];
    }
    if (t->count >= INT32_MAX - 1) return -1;
    if (t->count == t->entry_room) {
        size_t room = t->entry_room ? t->entry_room * 2 : 256;
        Entry *entries = realloc(t->entries, room * sizeof *entries);
        if (!entries) return -1;
        t->entries = entries;
        t->entry_room = room;
    }
    if (t->used + n > t->room || !t->arena) {
        size_t room = t->room ? t->room : 4096;
        while (room < t->used + n) room *= 2;
        unsigned char *arena = realloc(t->arena, room);
        if (!arena) return -1;
        t->arena = arena;
        t->room = room;
    }
    if (n) memcpy(t->arena + t->used, p, n);
    t->entries[t->count] = (Entry){h, t->used, (uint32_t)n};
    t->used += n;
    t->slots[s] = (int32_t)t->count;
    t->count++;
    if (t->count * 2 > t->mask && !table_grow(t)) return -1;
    return (int32_t)(t->count - 1);
}

/* --- JSON. Each function returns the place behind what it read, or NULL where that isn't sound. */

static inline Bytes skip_space(Bytes p, Bytes end) {
    if (p < end && *p > ' ') return p;
#ifdef HAVE_SSE2
    /* Pretty printing indents by long runs of spaces. */
    const __m128i space = _mm_set1_epi8(' ');
    while (end - p >= 16) {
        unsigned other = 0xffffu ^ (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)p), space));
        if (!other) {
            p += 16;
            continue;
        }
        p += lowest_bit(other);
        if (*p != '\n' && *p != '\r' && *p != '\t') return p;
        p++;
    }
#endif
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    return p;
}

static inline Bytes skip_plain(Bytes p, Bytes end) {
#ifdef HAVE_SSE2
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), low = _mm_set1_epi8(0x20);
    while (end - p >= 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)p);
        /* Signed: bytes of 0x80 and more are below 0x20 too, so they stop the run as they should. */
        __m128i stop = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash)), _mm_cmplt_epi8(x, low));
        unsigned bits = (unsigned)_mm_movemask_epi8(stop);
        if (bits) return p + lowest_bit(bits);
        p += 16;
    }
#endif
    while (p < end && *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\') p++;
    return p;
}

static Bytes skip_utf8(Bytes p, Bytes end) {
    unsigned char c = *p;
    ptrdiff_t left = end - p;
#define TAIL(i) ((p[i] & 0xC0) == 0x80)
    if (c >= 0xC2 && c <= 0xDF) return left >= 2 && TAIL(1) ? p + 2 : NULL;
    if (c >= 0xE0 && c <= 0xEF) {
        if (left < 3 || !TAIL(1) || !TAIL(2)) return NULL;
        if ((c == 0xE0 && p[1] < 0xA0) || (c == 0xED && p[1] > 0x9F)) return NULL;
        return p + 3;
    }
    if (c >= 0xF0 && c <= 0xF4) {
        if (left < 4 || !TAIL(1) || !TAIL(2) || !TAIL(3)) return NULL;
        if ((c == 0xF0 && p[1] < 0x90) || (c == 0xF4 && p[1] > 0x8F)) return NULL;
        return p + 4;
    }
#undef TAIL
    return NULL;
}

static int hex4(Bytes p) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int c = p[i], d;
        if (c >= '0' && c <= '9') d = c - '0';
        else if (c >= 'a' && c <= 'f') d = c - 'a' + 10;
        else if (c >= 'A' && c <= 'F') d = c - 'A' + 10;
        else return -1;
        value = value * 16 + d;
    }
    return value;
}

static Bytes skip_escape(Bytes p, Bytes end) {
    if (end - p < 2) return NULL;
    switch (p[1]) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
        return p + 2;
    case 'u': {
        int one, two;
        if (end - p < 6 || (one = hex4(p + 2)) < 0) return NULL;
        if (one < 0xD800 || one > 0xDFFF) return p + 6;
        /* Half a pair is no character. */
        if (one > 0xDBFF || end - p < 12 || p[6] != '\\' || p[7] != 'u') return NULL;
        two = hex4(p + 8);
        return two >= 0xDC00 && two <= 0xDFFF ? p + 12 : NULL;
    }
    default:
        return NULL;
    }
}

/* p stands behind the opening quote; the result behind the closing one. */
static inline Bytes skip_string(Bytes p, Bytes end, int *plain) {
    for (;;) {
        p = skip_plain(p, end);
        if (p >= end) return NULL;
        if (*p == '"') return p + 1;
        if (*p == '\\') {
            *plain = 0;
            p = skip_escape(p, end);
        } else {
            p = *p < 0x20 ? NULL : skip_utf8(p, end);
        }
        if (!p) return NULL;
    }
}

static inline int is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

static Bytes skip_number(Bytes p, Bytes end) {
    if (p < end && *p == '-') p++;
    if (p >= end || !is_digit(*p)) return NULL;
    if (*p == '0') p++;
    else while (p < end && is_digit(*p)) p++;
    if (p < end && *p == '.') {
        p++;
        if (p >= end || !is_digit(*p)) return NULL;
        while (p < end && is_digit(*p)) p++;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        if (p >= end || !is_digit(*p)) return NULL;
        while (p < end && is_digit(*p)) p++;
    }
    /* A number that ends with the piece may go on behind it. */
    return p < end ? p : NULL;
}

static Bytes skip_word(Bytes p, Bytes end, const char *word, ptrdiff_t n) {
    return end - p > n && !memcmp(p, word, (size_t)n) ? p + n : NULL;
}

static Bytes skip_value(Bytes p, Bytes end, int depth) {
    int plain;
    if (p >= end) return NULL;
    switch (*p) {
    case '"': return skip_string(p + 1, end, &plain);
    case 't': return skip_word(p, end, "true", 4);
    case 'f': return skip_word(p, end, "false", 5);
    case 'n': return skip_word(p, end, "null", 4);
    case '[':
        if (depth >= DEEPEST) return NULL;
        p = skip_space(p + 1, end);
        if (p < end && *p == ']') return p + 1;
        for (;;) {
            if (!(p = skip_value(p, end, depth + 1))) return NULL;
            p = skip_space(p, end);
            if (p >= end) return NULL;
            if (*p == ']') return p + 1;
            if (*p != ',') return NULL;
            p = skip_space(p + 1, end);
        }
    case '{':
        if (depth >= DEEPEST) return NULL;
        p = skip_space(p + 1, end);
        if (p < end && *p == '}') return p + 1;
        for (;;) {
            if (p >= end || *p != '"' || !(p = skip_string(p + 1, end, &plain))) return NULL;
            p = skip_space(p, end);
            if (p >= end || *p != ':') return NULL;
            if (!(p = skip_value(skip_space(p + 1, end), end, depth + 1))) return NULL;
            p = skip_space(p, end);
            if (p >= end) return NULL;
            if (*p == '}') return p + 1;
            if (*p != ',') return NULL;
            p = skip_space(p + 1, end);
        }
    default:
        return skip_number(p, end);
    }
}

/* Decimal microseconds to nanoseconds, half to even beyond the third decimal. [p, q) is a sound number, or the text of a string. */
static int time_of(Bytes p, Bytes q, int64_t *out) {
    int negative = 0, digits, odd, rest = 0;
    int64_t value = 0;
    if (p < q && *p == '-') {
        negative = 1;
        p++;
    }
    if (p >= q || !is_digit(*p)) return 0;
    for (; p < q && is_digit(*p); p++) {
        value = value * 10 + (*p - '0');
        if (value > TIME_MOST) return 0;
    }
    digits = 0;
    if (p < q && *p == '.') {
        Bytes first = ++p;
        for (; p < q && is_digit(*p); p++) {
            if (digits < 3) {
                value = value * 10 + (*p - '0');
                digits++;
            } else if (digits == 3) {
                /* rest: 0 nothing, 1 below half, 2 half, 3 above half */
                rest = *p < '5' ? (*p > '0' || rest ? 1 : 0) : (*p == '5' ? 2 : 3);
                digits = 4;
            } else if (*p > '0') {
                rest = rest == 0 ? 1 : (rest == 2 ? 3 : rest);
            }
        }
        if (p == first) return 0;
        if (p - first > 300) return 0;
    }
    if (p != q) return 0; /* an exponent, or text that is no number */
    for (; digits < 3; digits++) value *= 10;
    odd = (int)(value & 1);
    if (rest == 3 || (rest == 2 && odd)) value++;
    *out = negative ? -value : value;
    return 1;
}

/* A whole number, bare or as text, decimal or (as text) hexadecimal. */
static int id_of(Bytes p, Bytes q, int64_t *out) {
    int negative = 0, text = 0;
    int64_t value = 0;
    if (p < q && *p == '"') {
        p++;
        q--;
        text = 1;
    }
    if (text && q - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
        if (q - p > 17) return 0;
        for (p += 2; p < q; p++) {
            int c = *p | 0x20;
            if (is_digit(*p)) value = value * 16 + (*p - '0');
            else if (c >= 'a' && c <= 'f') value = value * 16 + (c - 'a' + 10);
            else return 0;
        }
        *out = value;
        return 1;
    }
    if (p < q && *p == '-') {
        negative = 1;
        p++;
    }
    if (p >= q || q - p > ID_DIGITS) return 0;
    for (; p < q; p++) {
        if (!is_digit(*p)) return 0;
        value = value * 10 + (*p - '0');
    }
    *out = negative ? -value : value;
    return 1;
}

/* --- one event */

typedef struct {
    Bytes from, to;
} Span;

typedef struct {
    PyObject_HEAD
    Table strings, threads;
    unsigned char *scratch;
    size_t scratch_room;
    int busy;
} Scanner;

#define KEY(text) (n == sizeof(text) - 1 && !memcmp(key, text, sizeof(text) - 1))

/* Reads the args object at p; the ids that become columns are picked up on the way. */
static Bytes read_args(Bytes p, Bytes end, Span ids[5]) {
    p = skip_space(p + 1, end);
    if (p < end && *p == '}') return p + 1;
    for (;;) {
        Bytes key, from;
        size_t n;
        Span *into = NULL;
        int plain = 1;
        if (p >= end || *p != '"') return NULL;
        key = p + 1;
        if (!(p = skip_string(key, end, &plain)) || !plain) return NULL;
        n = (size_t)(p - 1 - key);
        if (n >= 6 && n <= 11) {
            if (KEY("device")) into = &ids[0];
            else if (KEY("stream")) into = &ids[1];
            else if (KEY("correlation")) into = &ids[2];
            else if (KEY("External id")) into = &ids[3];
            else if (KEY("external id")) into = &ids[4];
        }
        p = skip_space(p, end);
        if (p >= end || *p != ':') return NULL;
        from = skip_space(p + 1, end);
        if (!(p = skip_value(from, end, 1))) return NULL;
        if (into) {
            into->from = from;
            into->to = p;
        }
        p = skip_space(p, end);
        if (p >= end) return NULL;
        if (*p == '}') return p + 1;
        if (*p != ',') return NULL;
        p = skip_space(p + 1, end);
    }
}

static int read_time(Span s, int64_t *out, uint32_t *repairs) {
    if (!s.from) {
        *out = MISSING;
        return 1;
    }
    if (*s.from == '"') {
        *repairs |= REPAIR_NUMBER_AS_TEXT;
        return time_of(s.from + 1, s.to - 1, out);
    }
    return (is_digit(*s.from) || *s.from == '-') && time_of(s.from, s.to, out);
}

static int read_id(Span s, int64_t *out) {
    if (s.from) return id_of(s.from, s.to, out);
    *out = MISSING;
    return 1;
}

static int is_row_id(Span s) { return !s.from || *s.from == '"' || is_digit(*s.from) || *s.from == '-'; }

/* pid and tid as they stand, with a zero byte between: equal rows have equal text nearly always, and the few that don't are joined later. */
static int32_t thread_id(Scanner *self, Span pid, Span tid) {
    size_t a = pid.from ? (size_t)(pid.to - pid.from) : 0, b = tid.from ? (size_t)(tid.to - tid.from) : 0;
    if (self->scratch_room < a + b + 1) {
        unsigned char *scratch = realloc(self->scratch, (a + b + 1) * 2);
        if (!scratch) return -1;
        self->scratch = scratch;
        self->scratch_room = (a + b + 1) * 2;
    }
    if (a) memcpy(self->scratch, pid.from, a);
    self->scratch[a] = 0;
    if (b) memcpy(self->scratch + a + 1, tid.from, b);
    return table_id(&self->threads, self->scratch, a + b + 1, 0x5bd1e995);
}

enum { SOUND = 1, UNSURE = 0, NO_MEMORY = -1 };

static int read_event(Scanner *self, Bytes start, Bytes p, Bytes end, int64_t base, Row *row, Bytes *behind) {
    Span name = {0}, category = {0}, pid = {0}, tid = {0}, ts = {0}, dur = {0}, id = {0}, args = {0};
    Span ids[5];
    Bytes from = p;
    int phase = 0, timed;
    uint32_t repairs = 0;
    memset(ids, 0, sizeof ids);
    p = skip_space(p + 1, end);
    if (p >= end || *p != '"') return UNSURE;
    for (;;) {
        Bytes key, value;
        size_t n;
        int plain = 1;
        Span *into = NULL;
        if (p >= end || *p != '"') return UNSURE;
        key = p + 1;
        if (!(p = skip_string(key, end, &plain)) || !plain) return UNSURE;
        n = (size_t)(p - 1 - key);
        p = skip_space(p, end);
        if (p >= end || *p != ':') return UNSURE;
        value = p = skip_space(p + 1, end);
        if (p >= end) return UNSURE;
        switch (n) {
        case 2:
            if (KEY("ts")) into = &ts;
            else if (KEY("id")) into = &id;
            else if (KEY("ph")) {
                if (end - p < 3 || p[0] != '"' || p[2] != '"' || p[1] < 0x20 || p[1] >= 0x80 || p[1] == '"' || p[1] == '\\') return UNSURE;
                phase = p[1];
                p += 3;
                goto next;
            }
            break;
        case 3:
            if (KEY("cat")) into = &category;
            else if (KEY("dur")) into = &dur;
            else if (KEY("pid")) into = &pid;
            else if (KEY("tid")) into = &tid;
            break;
        case 4:
            if (KEY("name")) into = &name;
            else if (KEY("args")) {
                memset(ids, 0, sizeof ids);
                if (*p == '{') {
                    args.from = p;
                    if (!(p = read_args(p, end, ids))) return UNSURE;
                    args.to = p;
                } else {
                    args.from = NULL;
                    if (!(p = skip_value(p, end, 1))) return UNSURE;
                }
                goto next;
            }
            break;
        }
        if (!(p = skip_value(p, end, 1))) return UNSURE;
        if (into) {
            into->from = value;
            into->to = p;
        }
    next:
        p = skip_space(p, end);
        if (p >= end) return UNSURE;
        if (*p == '}') break;
        if (*p != ',') return UNSURE;
        p = skip_space(p + 1, end);
    }
    p++;
    if (p - from > EVENT_BYTES) return UNSURE;
    if (!phase || (name.from && *name.from != '"') || (category.from && *category.from != '"')) return UNSURE;
    if (!is_row_id(pid) || !is_row_id(tid)) return UNSURE;
    if (dur.from && *dur.from == 'n') dur.from = NULL;
    timed = strchr("XBEstfiIRCbenSFTp", phase) != NULL;
    row->ts = row->dur = 0;
    row->device = row->stream = row->correlation = row->external = MISSING;
    if (timed) {
        if (!ts.from || !read_time(ts, &row->ts, &repairs)) return UNSURE;
    }
    if (phase == 'X') {
        if (!read_time(dur, &row->dur, &repairs)) return UNSURE;
        if (row->dur == MISSING) {
            repairs |= REPAIR_NO_DURATION;
            row->dur = 0;
        } else if (row->dur < 0) {
            repairs |= REPAIR_NEGATIVE_DURATION;
            row->dur = 0;
        }
    }
    if (phase == 'X' || phase == 'B') {
        if (!read_id(ids[0], &row->device) || !read_id(ids[1], &row->stream) || !read_id(ids[2], &row->correlation)) return UNSURE;
        if (!read_id(ids[3].from ? ids[3] : ids[4], &row->external)) return UNSURE;
    } else if (timed && phase != 'E') {
        if (!read_id(id, &row->correlation)) return UNSURE;
    }
    row->at = base + (from - start);
    row->args_at = -1;
    row->args_len = 0;
    /* An empty object holds nothing that anybody could ask for. */
    if (args.from && args.to - args.from > 2) {
        if (args.to - args.from > INT32_MAX) return UNSURE;
        row->args_at = base + (args.from - start);
        row->args_len = (int32_t)(args.to - args.from);
    }
    if (name.from) name.from++, name.to--;
    if (category.from) category.from++, category.to--;
    row->name = table_id(&self->strings, name.from, name.from ? (size_t)(name.to - name.from) : 0, 0);
    row->category = table_id(&self->strings, category.from, category.from ? (size_t)(category.to - category.from) : 0, 0);
    row->thread = thread_id(self, pid, tid);
    if (row->name < 0 || row->category < 0 || row->thread < 0) return NO_MEMORY;
    row->repairs = repairs;
    row->phase = (uint8_t)phase;
    row->drop = row->flags = row->spare = 0;
    *behind = p;
    return SOUND;
}

/* --- the type */

static PyObject *scanner_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    Scanner *self = (Scanner *)type->tp_alloc(type, 0);
    (void)args;
    (void)kwargs;
    if (!self) return NULL;
    if (!table_init(&self->strings) || !table_init(&self->threads)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void scanner_dealloc(Scanner *self) {
    table_free(&self->strings);
    table_free(&self->threads);
    free(self->scratch);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyDoc_STRVAR(scan_doc,
             "scan(data, at, base, comma, rows) -> (count, at, status, comma)\n\n"
             "Read events of data from offset at on into rows, until the data or the array ends, rows are full, or something isn't sound.\n"
             "base is added to every offset in rows; comma says whether an event may stand at once, without a comma before it.");

static PyObject *scanner_scan(Scanner *self, PyObject *call) {
    Py_buffer data, rows;
    Py_ssize_t at;
    long long base;
    int comma, status = STATUS_END;
    Py_ssize_t count = 0, room;
    Bytes p, start, end;
    Row *out;
    if (!PyArg_ParseTuple(call, "y*nLpw*", &data, &at, &base, &comma, &rows)) return NULL;
    if (at < 0 || at > data.len) {
        PyBuffer_Release(&data);
        PyBuffer_Release(&rows);
        PyErr_SetString(PyExc_ValueError, "at lies outside the data");
        return NULL;
    }
    if (self->busy) {
        PyBuffer_Release(&data);
        PyBuffer_Release(&rows);
        PyErr_SetString(PyExc_RuntimeError, "a scanner serves one thread at a time");
        return NULL;
    }
    self->busy = 1;
    out = rows.buf;
    room = rows.len / (Py_ssize_t)sizeof(Row);
    Py_BEGIN_ALLOW_THREADS
    start = data.buf;
    end = start + data.len;
    p = start + at;
    for (;;) {
        p = skip_space(p, end);
        if (p >= end) break;
        if (*p == '{' && comma) {
            int got;
            if (count == room) {
                status = STATUS_FULL;
                break;
            }
            got = read_event(self, start, p, end, base, &out[count], &p);
            if (got != SOUND) {
                status = got == UNSURE ? STATUS_ODD : STATUS_MEMORY;
                break;
            }
            count++;
            comma = 0;
            continue;
        }
        if (*p == ',' && !comma) {
            p++;
            comma = 1;
            continue;
        }
        if (*p == ']' && !comma) {
            p++;
            status = STATUS_CLOSED;
            break;
        }
        status = STATUS_ODD;
        break;
    }
    at = p - start;
    Py_END_ALLOW_THREADS
    self->busy = 0;
    PyBuffer_Release(&data);
    PyBuffer_Release(&rows);
    if (status == STATUS_MEMORY) return PyErr_NoMemory();
    return Py_BuildValue("nniO", count, at, status, comma ? Py_True : Py_False);
}

static PyObject *listed(const Table *t) {
    PyObject *list = PyList_New((Py_ssize_t)t->count);
    if (!list) return NULL;
    for (size_t i = 0; i < t->count; i++) {
        PyObject *one = PyBytes_FromStringAndSize((const char *)t->arena + t->entries[i].at, (Py_ssize_t)t->entries[i].length);
        if (!one) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

static PyObject *scanner_strings(Scanner *self, PyObject *unused) {
    (void)unused;
    return listed(&self->strings);
}

static PyObject *scanner_threads(Scanner *self, PyObject *unused) {
    (void)unused;
    return listed(&self->threads);
}

static PyMethodDef scanner_methods[] = {
    {"scan", (PyCFunction)scanner_scan, METH_VARARGS, scan_doc},
    {"strings", (PyCFunction)scanner_strings, METH_NOARGS, "strings() -> the text of names and categories as it stands in the file, by number."},
    {"threads", (PyCFunction)scanner_threads, METH_NOARGS, "threads() -> pid, a zero byte and tid as they stand in the file, by number."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject scanner_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tracekit.reading._native.Scanner",
    .tp_doc = "Reads sound events; names and rows get numbers of this scanner's own. Serves one thread at a time.",
    .tp_basicsize = sizeof(Scanner),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = scanner_new,
    .tp_dealloc = (destructor)scanner_dealloc,
    .tp_methods = scanner_methods,
};

static struct PyModuleDef native_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "Reads sound events of a Chrome trace at memory speed.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__native(void) {
    PyObject *module;
    if (PyType_Ready(&scanner_type) < 0) return NULL;
    module = PyModule_Create(&native_module);
    if (!module) return NULL;
    Py_INCREF(&scanner_type);
    if (PyModule_AddObject(module, "Scanner", (PyObject *)&scanner_type) < 0 ||
        PyModule_AddIntConstant(module, "ROW_BYTES", (long)sizeof(Row)) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
