/* NetBox's table of interfaces: the speeds of ports, and what their counts alone say about a
 * fabric. Private to this folder. */
#ifndef NEST_INPUT_IMPORT_CSV_INTERFACES_H
#define NEST_INPUT_IMPORT_CSV_INTERFACES_H

#include "input/import/csv_table.h"
#include "input/import/fabric.h"

/* Whether a device is a switch: they are called so, everything else is a host. */
bool nest_csv_is_switch(const char *name);

bool nest_csv_is_interfaces(const struct nest_csv *t);

/* "device\tport" → bytes/s. */
enum nest_status nest_csv_read_interfaces(struct nest_csv *t, struct nest_names *speeds);

/* Interfaces without cables: the even fabric of hosts, leaves and spines whose ports are those of
 * the table, where there is exactly one. */
enum nest_status nest_csv_import_interfaces(struct nest_csv *t);

#endif
