/* Program files of Gnomon from C: open, run, close. Linux, x86-64 or AArch64; no other library.

   gnomon_program *program;
   if (gnomon_open("model.gnp", NULL, 0, &program) == GNOMON_OK) {
       gnomon_array x = {"float32", 2, {4, 8}, input}, y;
       if (gnomon_run(program, "forward", 1, &x, 1, &y) == GNOMON_OK)
           use(y.data, y.sizes);
       gnomon_close(program);
   }

   A file holds machine code: open none that you would not run. docs/program-files.md has more. */

#ifndef GNOMON_PROGRAM_H
#define GNOMON_PROGRAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GNOMON_OK,
    GNOMON_FILE,      /* there is no such file, or it cannot be mapped */
    GNOMON_OWNER,     /* others can write it, and machine code must come from you alone */
    GNOMON_DAMAGED,   /* it is no program file, was cut short or damaged */
    GNOMON_FORMAT,    /* its format or its ABI is another */
    GNOMON_PROCESSOR, /* its code is for other processors */
    GNOMON_DIGEST,    /* its digest is not the one that was asked for */
    GNOMON_MEMORY,    /* no memory, or the system runs no code that is loaded */
    GNOMON_METHOD,    /* the program has no method of that name */
    GNOMON_ARGUMENTS, /* it was exported for other arguments, or has another number of results */
    GNOMON_INDEX      /* a position is outside its axis; what methods write is as it was */
};

enum { GNOMON_AXES = 16 };

/* Rows one after another. dtype: "float32", "int64", "bool", "bfloat16" and so on. */
typedef struct gnomon_array {
    const char *dtype;
    int rank;
    int64_t sizes[GNOMON_AXES];
    void *data;
} gnomon_array;

typedef struct gnomon_program gnomon_program;

/* digest: 64 digits that `save` gave, or NULL. threads: 0 for as many as there are cores. */
int gnomon_open(const char *path, const char *digest, int threads, gnomon_program **program);

/* Arguments and results are the tensors of the export's, in order. Results are memory of the
   program, or an argument's, and last until its next run. Threads take turns. */
int gnomon_run(gnomon_program *program, const char *method, int arguments,
               const gnomon_array *given, int results, gnomon_array *made);

void gnomon_close(gnomon_program *program);

#ifdef __cplusplus
}
#endif

#endif
