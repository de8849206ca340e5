/* The one file that knows both the command line and the explorer. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return nest_cli_main(argc, argv, NULL);
}
