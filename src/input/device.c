#include <math.h>
#include <string.h>

#include "input/records.h"

#define AT(member) .offset = offsetof(struct nest_device_spec, member)
#define PEAK(word, mode)                                                                           \
    {                                                                                              \
        .key = (word), .type = NEST_FIELD_NUMBER, .unit = NEST_UNIT_FLOPS, AT(peak[(mode)]),       \
        .low = 1e9, .high = 1e18                                                                   \
    }
#define FRACTION(word, member)                                                                     \
    {                                                                                              \
        .key = (word), .type = NEST_FIELD_NUMBER, AT(member), .low = 0.001, .high = 1              \
    }

static const struct nest_field peak_fields[] = {
    PEAK("bf16", NEST_BF16), PEAK("fp16", NEST_FP16), PEAK("fp8", NEST_FP8),
    PEAK("fp32", NEST_FP32), NEST_FIELD_END,
};

static const struct nest_field efficiency_fields[] = {
    {.key = "gemm", .type = NEST_FIELD_CURVE, AT(gemm)},
    {.key = "gemm_fp8", .type = NEST_FIELD_CURVE, AT(gemm_fp8)},
    FRACTION("attention", attention),
    FRACTION("memory", memory_efficiency),
    FRACTION("network", network_efficiency),
    FRACTION("scale_up", scale_up_efficiency),
    NEST_FIELD_END,
};

static const struct nest_field reserve_fields[] = {
    {.key = "base",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BYTES,
     AT(reserve_base),
     .low = 0,
     .high = 1e12},
    {.key = "per_group",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BYTES,
     AT(reserve_per_group),
     .low = 0,
     .high = 1e12},
    NEST_FIELD_END,
};

const struct nest_field nest_device_fields[] = {
    {.key = "name", .type = NEST_FIELD_TEXT, AT(name)},
    {.key = "aliases", .type = NEST_FIELD_IGNORED},
    {.key = "memory",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BYTES,
     AT(memory),
     .low = 1048576,
     .high = 1e15,
     .required = true},
    {.key = "memory_bandwidth",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BANDWIDTH,
     AT(memory_bandwidth),
     .low = 1e6,
     .high = 1e15,
     .required = true},
    {.key = "peak", .type = NEST_FIELD_TABLE, .table = peak_fields, .required = true},
    {.key = "efficiency", .type = NEST_FIELD_TABLE, .table = efficiency_fields},
    {.key = "launch",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_SECONDS,
     AT(launch),
     .low = 0,
     .high = 1},
    {.key = "collective_launch",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_SECONDS,
     AT(collective_launch),
     .low = 0,
     .high = 1},
    {.key = "reserve", .type = NEST_FIELD_TABLE, .table = reserve_fields},
    {.key = "scale_up",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BANDWIDTH,
     AT(scale_up),
     .low = 1e6,
     .high = 1e15},
    {.key = "scale_out",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_BANDWIDTH,
     AT(scale_out),
     .low = 1e6,
     .high = 1e15},
    {.key = "scale_up_latency",
     .type = NEST_FIELD_NUMBER,
     .unit = NEST_UNIT_SECONDS,
     AT(scale_up_latency),
     .low = 0,
     .high = 1},
    {.key = "scale_up_reduction", .type = NEST_FIELD_FLAG, AT(scale_up_reduction)},
    {.key = "source", .type = NEST_FIELD_TEXT, AT(source)},
    NEST_FIELD_END,
};

/* The example curve of the design; a device file states its own. */
void nest_device_defaults(struct nest_device_spec *device, const char *id)
{
    *device = (struct nest_device_spec){
        .id = id,
        .name = id,
        .source = "",
        .gemm = {.count = 2, .x = {1e9, 1e11}, .y = {0.35, 0.75}},
        .attention = 0.5,
        .memory_efficiency = 0.85,
        .network_efficiency = 0.9,
        .launch = 4e-6,
        .reserve_base = 1073741824.0,
        .reserve_per_group = 600.0 * 1048576.0,
    };
}

void nest_device_check(const struct nest_device_spec *device, const struct nest_origin *origin,
                       struct nest_errors *errors)
{
    double most = 0;
    for (int i = 0; i < NEST_PRECISIONS; i++) {
        most = fmax(most, device->peak[i]);
    }
    const struct nest_node *peak = nest_node_get(origin->root, "peak");
    if (most == 0 && (!origin->root || (peak && peak->count == 0))) {
        nest_origin_fault(origin, errors, "peak", "expected at least one of bf16, fp16, fp8, fp32",
                          "the device states no peak rate");
    }
    if (device->memory > 0 && device->reserve_base >= device->memory) {
        char memory[64];
        nest_origin_fault(origin, errors, "reserve", "expected less than the device's memory",
                          "the reserve takes all of the memory, %s",
                          nest_unit_format(device->memory, NEST_UNIT_BYTES, memory, sizeof memory));
    }
}

void nest_device_read(struct nest_field_reader *reader, const struct nest_node *root,
                      const char *id, struct nest_device_spec *out)
{
    nest_device_defaults(out, id);
    nest_fields_read(reader, root, nest_device_fields, "a device", out);
    const struct nest_origin origin = {.root = root};
    nest_device_check(out, &origin, reader->errors);
}
