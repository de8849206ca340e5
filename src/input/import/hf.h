/* Hugging Face configurations: what families of models share and how they differ. Private to this
 * folder. */
#ifndef NEST_INPUT_IMPORT_HF_H
#define NEST_INPUT_IMPORT_HF_H

#include "input/import/job.h"

enum nest_hf_bias { NEST_HF_NO_BIAS, NEST_HF_BIAS, NEST_HF_QKV_BIAS };

enum nest_hf_trait {
    NEST_HF_GATED = 1, /* MLP with a gate */
    NEST_HF_TIED = 2,  /* class default of tie_word_embeddings */
    NEST_HF_QK_NORM = 4,
    NEST_HF_ENCODER = 8,      /* no causal mask */
    NEST_HF_ENC_DEC = 16,     /* an encoder and a decoder that attends to it */
    NEST_HF_MULTI_QUERY = 32, /* class default: one key/value head */
    NEST_HF_HALF_FFN = 64,    /* intermediate_size counts gate and up together */
    NEST_HF_MAMBA = 128,      /* state-space layers between attention layers */
    NEST_HF_IMAGE = 256,      /* tokens are patches of an image; no vocabulary */
    NEST_HF_SHARED = 512,     /* one shared expert without a key */
    NEST_HF_ROUTER_BIAS = 1024,
    NEST_HF_WINDOW = 2048,     /* sliding_window holds in every layer */
    NEST_HF_SOME_WINDOW = 4096 /* … in some layers only */
};

/* Class defaults of sizes that a file may leave out; 0 = it may not. */
struct nest_hf_sizes {
    int64_t vocab, hidden, layers, heads, kv_heads, head_dim, ffn, seq;
};

struct nest_hf_family {
    const char *types; /* model_type values, separated by spaces */
    enum nest_norm norm;
    enum nest_position position;
    enum nest_hf_bias bias;
    const char *bias_key; /* a flag that overrides bias, or NULL */
    unsigned traits;
    struct nest_hf_sizes sizes;
};

/* Whether type is one of the space-separated words. */
bool nest_hf_is_one_of(const char *type, const char *words);

/* The family of a model_type, or NULL. */
const struct nest_hf_family *nest_hf_family_find(const char *type);

/* The known model_type with the same letters as a class's name, in arena; or NULL. */
const char *nest_hf_family_like(const char *name, struct nest_arena *arena);

/* Why a model_type cannot be imported, where there is more to say than "unknown"; or NULL. */
const char *nest_hf_refusal(const char *type);

/* A configuration being read. */
struct nest_hf {
    struct nest_job *job;
    const struct nest_node *root;   /* the whole file */
    const struct nest_node *config; /* the part that describes the text trunk */
    const struct nest_hf_family *family;
    const char *type;
    struct nest_model_spec spec;
    int faults;
};

/* The first of several keys that is present and not null. keys is separated by spaces; a dot goes
 * into a nested mapping. */
const struct nest_node *nest_hf_get(const struct nest_node *config, const char *keys);

/* A whole number, the fallback where no key is present. A wrong value is a fault. */
int64_t nest_hf_int(struct nest_hf *hf, const struct nest_node *config, const char *keys,
                    int64_t fallback);
bool nest_hf_flag(struct nest_hf *hf, const struct nest_node *config, const char *keys,
                  bool fallback);
/* A text, or the fallback. */
const char *nest_hf_text(const struct nest_node *config, const char *keys, const char *fallback);

/* A size that must be there: in the file, or by the class's default, which is noted. */
int64_t nest_hf_need(struct nest_hf *hf, const char *keys, int64_t class_default);

bool nest_hf_has(const struct nest_hf *hf, unsigned trait);

/* A fault of the configuration, at node. */
void nest_hf_fault(struct nest_hf *hf, const struct nest_node *node, const char *hint,
                   const char *message);

/* Heads, latent projections, windows; after hidden. */
void nest_hf_read_attention(struct nest_hf *hf);

/* The experts of a mixture. */
void nest_hf_read_experts(struct nest_hf *hf);

/* The image tower of a model that has one. */
void nest_hf_read_vision(struct nest_hf *hf);

/* Notes on parts of a model that our keys leave out; a fault where they weigh too much. */
void nest_hf_note_parts(struct nest_hf *hf);

/* Faults for sizes that our own loader would refuse. */
void nest_hf_check_sizes(struct nest_hf *hf);

/* Prints the notes and the model. */
void nest_hf_write(struct nest_hf *hf);

#endif
