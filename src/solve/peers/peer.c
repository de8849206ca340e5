#include "solve/peers/peer.h"

const struct nest_peer nest_peers[] = {
    {"Manual", "an expert's Megatron-LM recipe: the least model parallelism that fits",
     nest_peer_manual},
    {"Phaze", "dynamic program on a flat network, memory checked afterwards", nest_peer_phaze},
    {NULL, NULL, NULL},
};
