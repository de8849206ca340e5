/* `nest import`: files of other programs → our YAML on stdout. */
#include "input/import/import.h"

#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "input/doc.h"

enum { MAX_FILES = 2, MAX_GPUS = 1024, OUTPUT_MAX = 64 << 20 };

static int run(struct nest_cli *cli);

static const struct nest_option options[] = {
    {NEST_OPT_FROM, "from", 'f', "FORMAT", "The format of FILE, see below",
     "hf slurm nvidia-smi astra-sim nest nest-args tpu csv ibnetdiscover k8s aws topograph "
     "calculon "
     "nccl hwloc simai"},
    {NEST_OPT_GPUS_PER_NODE, "gpus-per-node", 'g', "N",
     "Devices in every host, where the file knows hosts only", NULL},
    {NEST_OPT_NODE, "node", 0, "CLUSTER",
     "A cluster (a shipped name or a file) whose levels are the inside of every host",
     NEST_COMPLETE_CLUSTER},
    {NEST_OPT_DEVICE, "device", 0, "DEVICE", "The device, where the file does not name it", NULL},
    {NEST_OPT_ROOT, "root", 0, "NAME",
     "Which fabric, topology or slice to take where the file has several", NULL},
    {NEST_OPT_AS_WRITTEN, "as-written", 0, NULL,
     "With --from nest: keep its milliseconds as they are", NULL},
    NEST_OPTIONS_END,
};

const struct nest_command nest_command_import = {
    .name = "import",
    .operands = "--from FORMAT FILE",
    .summary = "Turn a file of another program into a model, cluster or scenario",
    .text =
        "FORMAT is one of\n"
        "  hf             a Hugging Face config.json: a model\n"
        "  slurm          Slurm topology.conf or topology.yaml; as a second FILE slurm.conf, for "
        "the\n"
        "                 devices of its nodes, or what topology.conf includes\n"
        "  nvidia-smi     the output of nvidia-smi topo -m\n"
        "  astra-sim      an ASTRA-sim network: analytical YAML, logical JSON, htsim .topo\n"
        "  nest           NEST's solver input: a scenario\n"
        "  nest-args      command-line arguments of the NEST artifact\n"
        "  tpu            a TPU slice, such as v5p-128 or 4x4x8 (FILE may be the slice itself)\n"
        "  csv            a table of levels, or NetBox cables, interfaces, or both\n"
        "  ibnetdiscover  the output of ibnetdiscover, with or without -p\n"
        "  k8s            Kubernetes nodes with labels of Kueue, GKE, EKS or topograph\n"
        "  aws            EC2 DescribeInstanceTopology JSON\n"
        "  topograph      a topograph model\n"
        "  calculon       a Calculon system JSON\n"
        "  nccl           NCCL topology XML\n"
        "  hwloc          hwloc (lstopo) XML\n"
        "  simai          a SimAI topology\n\n"
        "The YAML goes to standard output, with a comment for everything that was assumed.",
    .options = options,
    .complete = NEST_COMPLETE_FILE,
    .least = 1,
    .most = MAX_FILES,
    .run = run,
};

/* A slice such as v5p-128 may stand in FILE's place. */
static bool is_slice(const char *format, const char *operand)
{
    return strcmp(format, "tpu") == 0 && strcmp(operand, "-") != 0 && access(operand, F_OK) != 0;
}

static enum nest_status read_files(struct nest_cli *cli, const char *format,
                                   struct nest_import_file *file)
{
    for (int i = 0; i < cli->args.operand_count; i++) {
        const char *operand = cli->args.operand[i];
        file[i].name = strcmp(operand, "-") == 0 ? "standard input" : operand;
        if (is_slice(format, operand)) {
            file[i].text = operand;
            file[i].length = strlen(operand);
            continue;
        }
        const enum nest_status status =
            nest_file_read(operand, &cli->arena, &file[i].text, &file[i].length, &cli->errors);
        if (status != NEST_OK) {
            return status;
        }
    }
    return NEST_OK;
}

static enum nest_status read_options(struct nest_cli *cli, struct nest_import_options *out)
{
    *out = (struct nest_import_options){
        .library = &cli->library,
        .gpus_per_node = nest_args_integer(&cli->args, NEST_OPT_GPUS_PER_NODE, "gpus-per-node", 1,
                                           MAX_GPUS, 0, &cli->errors),
        .device = nest_args_value(&cli->args, NEST_OPT_DEVICE),
        .root = nest_args_value(&cli->args, NEST_OPT_ROOT),
        .as_written = nest_args_has(&cli->args, NEST_OPT_AS_WRITTEN),
    };
    const char *node = nest_args_value(&cli->args, NEST_OPT_NODE);
    if (node == NULL) {
        return cli->errors.count > 0 ? NEST_BAD_INPUT : NEST_OK;
    }
    if (out->gpus_per_node > 0) {
        nest_errors_add(&cli->errors, (struct nest_mark){NULL, 0, 0}, NULL, "give one of them",
                        "--node already says how many devices a host has");
        return NEST_BAD_INPUT;
    }
    struct nest_cluster_spec *spec = NEST_NEW(&cli->arena, struct nest_cluster_spec, 1);
    if (spec == NULL) {
        return NEST_NO_MEMORY;
    }
    out->node = spec;
    return nest_load_cluster(&cli->library, node, &cli->arena, spec, &cli->errors);
}

static int run(struct nest_cli *cli)
{
    const char *format = nest_args_value(&cli->args, NEST_OPT_FROM);
    if (format == NULL) {
        return nest_cli_usage(cli, "such as --from slurm", "--from FORMAT is missing");
    }
    struct nest_import_options wishes;
    struct nest_import_file file[MAX_FILES];
    enum nest_status status = read_options(cli, &wishes);
    if (status == NEST_OK) {
        status = read_files(cli, format, file);
    }
    struct nest_strbuf out = NEST_STRBUF_INIT(OUTPUT_MAX);
    if (status == NEST_OK) {
        status = nest_import(format, cli->args.operand_count, file, &wishes, &cli->arena, &out,
                             &cli->errors);
    }
    if (status == NEST_OK) {
        (void)fputs(nest_strbuf_text(&out), cli->out);
    }
    nest_strbuf_free(&out);
    return status == NEST_OK ? NEST_EXIT_DONE : nest_cli_fail(cli, status);
}
