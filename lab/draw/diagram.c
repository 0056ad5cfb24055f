#include "lab/draw/diagram.h"

#include "lab/base/memory.h"

#include <stdlib.h>

char bwl_client_name(unsigned client)
{
    return (char)('A' + client);
}

bwl_row *bwl_picture_add(bwl_picture *picture, bwl_row row)
{
    picture->rows = bwl_grow(picture->rows, &picture->rows_capacity, picture->rows_count,
                             sizeof picture->rows[0]);
    picture->rows[picture->rows_count] = row;
    return &picture->rows[picture->rows_count++];
}

void bwl_picture_free(bwl_picture *picture)
{
    free(picture->rows);
    *picture = (bwl_picture){ 0 };
}
