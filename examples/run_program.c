/* Runs a method of a program file on one array, from the standard input to the standard output.

   Build:  cc -O2 -pthread -I "$C" examples/run_program.c "$C/gnomon_program.c" -o run_program
           where C is the folder gnomon/runtime/c
   Run:    ./run_program model.gnp forward float32 3 24 < input.bin > result.bin */

#include "gnomon_program.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t width(const char *dtype)
{
    for (; *dtype; dtype++)
        if (*dtype >= '1' && *dtype <= '9')
            return atoi(dtype) / 8;
    return 1;
}

int main(int count, char **words)
{
    if (count < 4 || count - 4 > GNOMON_AXES) {
        fprintf(stderr, "usage: %s FILE METHOD DTYPE [SIZE ...]\n", words[0]);
        return 2;
    }
    gnomon_program *program;
    gnomon_array given = {words[3], count - 4, {0}, NULL}, made;
    int64_t bytes = width(words[3]);
    for (int axis = 0; axis < given.rank; axis++)
        bytes *= given.sizes[axis] = atoll(words[4 + axis]);
    given.data = malloc(bytes + 1);
    if (!given.data || (int64_t)fread(given.data, 1, bytes, stdin) != bytes)
        return 2;

    int code = gnomon_open(words[1], NULL, 0, &program);
    if (code == GNOMON_OK) {
        code = gnomon_run(program, words[2], 1, &given, 1, &made);
        if (code == GNOMON_OK) {
            bytes = width(made.dtype);
            for (int axis = 0; axis < made.rank; axis++)
                bytes *= made.sizes[axis];
            fwrite(made.data, 1, bytes, stdout);
        }
        gnomon_close(program);
    }
    if (code)
        fprintf(stderr, "error %d\n", code);
    free(given.data);
    return code;
}
