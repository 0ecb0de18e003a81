/**
 *  @file train.h
 *  @brief Training: the mesh that joins processes, and the trainer that steps, reports and saves.
 *
 *  Last of the four headers of the C ABI. One engine trains on CPUs and on GPUs with the same numbers to rounding; a
 *  RAM executor counts as one device. Every random draw is keyed by seed, step and the item's index in the world, so
 *  nothing depends on timing. Paths are the operating system's bytes; one with a NUL byte inside is `invalid_argument`.
 */
#ifndef UFORM_TRAIN_H_
#define UFORM_TRAIN_H_

#include <uform/model.h>
#include <uform/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The process-wide half of a run's transport; trainers borrow it. */
typedef struct uform_mesh_handle_t *uform_mesh_t;

/** What in-network reduction the devices of one NVLink domain offer each other. */
typedef int32_t uform_multimem_tier_t;
enum {
    uform_multimem_tier_none_k = 0,     /**< no shared loads and stores: every byte goes through the transport */
    uform_multimem_tier_peer_k = 1,     /**< devices read each other's memory, summing in a fixed order */
    uform_multimem_tier_multicast_k = 2 /**< the switch itself reduces and broadcasts */
};
UFORM_API char const *uform_multimem_tier_name(uform_multimem_tier_t tier);

/** This process's place in a run. All processes must agree on everything but the index. */
typedef struct uform_mesh_options_t {
    size_t host_domain_index;       /**< of this process, below the count, different in each */
    size_t host_domain_count;       /**< processes of the run, 4,096 at most; zero: 1 */
    size_t multicast_extent;        /**< devices of one NVLink domain; zero: all that are found */
    uform_bytes_view_t directory;   /**< a path every host sees, to find each other in; may be empty for one process */
    uform_bytes_view_t job;         /**< the run's name, UTF-8, at most 128 bytes without control characters; a
                                         directory left by another job is refused */
    size_t deadline_milliseconds;   /**< for peers to appear, and later to answer, so more than a step takes the slowest
                                         of them; zero: 60,000 */
    uform_progress_t progress;      /**< counts processes that joined, and is asked while it waits for more */
} uform_mesh_options_t;

/** Joins this process to a run. Once it succeeds the directory is not read again, and its files are gone; files of a
 *  dead run of the same job are passed over. `config_mismatch` where processes disagree, in count, multicast extent,
 *  job, version or CPU class (the detail names the field and both values), or where two have one index; `io` where a
 *  peer does not come before the deadline, which the detail names. A run of several processes needs UCX (Debian's
 *  libucx0, and libucx-dev to build), else it is `unsupported`; UCX reads its own UCX_* variables, such as UCX_TLS.
 *
 *  Calls over the mesh are the whole run's: every process makes the same trainers and takes the same steps in the same
 *  order. Where one process dies, leaves or stays silent for the deadline, the call of every other one is `io`, its
 *  detail naming the rank (`host_domain_index`). That call changes no weight; the mesh and its trainers then serve for
 *  saving and are freed. */
typedef struct uform_mesh_bootstrap_t {
    uform_mesh_t *mesh;            /**< the new mesh; NULL on failure */
    uform_executor_t executor;     /**< the executor that trainers over this mesh will name */
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_mesh_options_t options;
} uform_mesh_bootstrap_t;
UFORM_API void uform_mesh_bootstrap(uform_mesh_bootstrap_t *arguments);

/** What the processes of a run agreed on. */
typedef struct uform_mesh_description_t {
    size_t host_domain_index;             /**< of this process */
    size_t host_domain_count;             /**< processes of the run */
    size_t devices;                       /**< of the whole run; a process on CPUs counts as one */
    uform_multimem_tier_t multimem_tier;  /**< the least of all domains */
    uform_gpu_class_t gpu_class;          /**< what every GPU dispatches as; `unknown` on CPUs */
} uform_mesh_description_t;

/** Reads a mesh's description. */
typedef struct uform_mesh_describe_t {
    uform_mesh_t mesh;
    uform_outcome_t *outcome; /**< final on return */
    uform_mesh_description_t *description;
} uform_mesh_describe_t;
UFORM_API void uform_mesh_describe(uform_mesh_describe_t *arguments);

/** Leaves the run; waits up to a second for the others to leave too. Trainers over it are freed first. NULL is safe; it
 *  cannot fail. */
UFORM_API void uform_mesh_free(uform_mesh_t mesh);

/** The capacity of one device's step, fixed when the trainer is made. Text always takes part; another modality does
 *  where its shape is not zero. A step without an item of it goes as if it took no part, but that its own weights are
 *  updated by gradients of zero: what their moments still hold, and the decay of matrices. */
typedef struct uform_batch_shape_t {
    size_t max_rows_per_device;     /**< rows that items are packed into, above zero */
    size_t max_segments_per_device; /**< items, over all rows, above zero */
    size_t max_columns_per_row;     /**< tokens of one row, and so of one item, above zero */
    size_t max_bags_per_device;     /**< groups that stay together; zero: every item travels alone */
    size_t max_choices_per_item;    /**< legal bytes of one item; zero: none makes a choice */
    size_t kept_activation_bytes;   /**< memory of a device for what blocks compute on the way forward, so that as many of
                                         them as fit compute nothing again on the way back; zero: all do, from their
                                         input. 40 bytes of each block, token and column keep everything (a little more
                                         for norms and attention). Changes no bit */
    uform_image_shape_t image;
    uform_video_shape_t video;
    uform_audio_shape_t audio;
} uform_batch_shape_t;

/** Which losses are summed. */
typedef int32_t uform_objective_t;
enum {
    uform_objective_unknown_k = -1,
    uform_objective_masked_k = 0,      /**< reconstruct what was hidden, as BERT does (arXiv:1810.04805) */
    uform_objective_contrastive_k = 1, /**< pull related items together and push the others apart */
    uform_objective_joint_k = 2        /**< both, over one corrupted forward */
};
UFORM_API char const *uform_objective_name(uform_objective_t objective);
UFORM_API uform_objective_t uform_objective_from_name(uform_bytes_view_t name);

/** What is hidden from the tower, and how much each modality's reconstruction counts. Text is hidden in spans, as in
 *  SpanBERT (arXiv:1907.10529); clips in columns through all time, as in VideoMAE (arXiv:2203.12602). */
typedef struct uform_masking_t {
    float token_mask_probability; /**< share of a text's bytes that spans cover; zero: 0.15 */
    float token_mean_span;        /**< mean of the geometric span lengths, in bytes; zero: 16 */
    float replace_fraction;       /**< share of covered bytes that show MASK; zero: 0.8 */
    float random_fraction;        /**< share of covered bytes that show a random byte, the rest unchanged; zero: 0.1 */
    float image_mask_ratio;       /**< share of an image's patches; zero: 0.75 */
    float video_mask_ratio;       /**< share of a clip's patch columns; zero: 0.75 */
    float audio_mask_ratio;       /**< share of a recording's chunks; zero: 0.75 */
    float text_weight;            /**< factor of the text loss; zero: 1 */
    float image_weight;           /**< factor of the image loss; zero: 1 */
    float video_weight;           /**< factor of the video loss; zero: 1 */
    float audio_weight;           /**< factor of the audio loss; zero: 1 */
} uform_masking_t;

/** What becomes of pairs that no edge names. */
typedef int32_t uform_negatives_t;
enum {
    uform_negatives_unknown_k = -1,
    uform_negatives_ambient_k = 0, /**< they repel, at `ambient_repulsion_weight` */
    uform_negatives_named_k = 1    /**< nothing: `repel` edges alone push */
};
UFORM_API char const *uform_negatives_name(uform_negatives_t negatives);
UFORM_API uform_negatives_t uform_negatives_from_name(uform_bytes_view_t name);

/** The loss of one anchor's row of logits z = t s + b, with attract cells A, repel cells R, and weights w. */
typedef int32_t uform_pair_loss_form_t;
enum {
    uform_pair_loss_form_unknown_k = -1,
    uform_pair_loss_form_derived_k = 0,  /**< sigmoid for embeddings, ranked for late interaction */
    uform_pair_loss_form_balanced_k = 1, /**< sigmoid's two sums, each divided by its own total weight */
    uform_pair_loss_form_ranked_k = 2,   /**< weighted mean over p in A, n in R of softplus(z_n - z_p) */
    uform_pair_loss_form_sigmoid_k = 3,  /**< sum of w softplus(-z) over A, w softplus(z) over R (arXiv:2303.15343) */
    uform_pair_loss_form_softmax_k = 4   /**< weighted mean over p in A of log(1 + sum over R of w exp(z_n - z_p)), the
                                              InfoNCE of arXiv:1807.03748 with one positive at a time */
};
UFORM_API char const *uform_pair_loss_form_name(uform_pair_loss_form_t form);
UFORM_API uform_pair_loss_form_t uform_pair_loss_form_from_name(uform_bytes_view_t name);

/** How embeddings are scored against each other. The logits' t and b are learned, a pair of them per group. */
typedef struct uform_contrastive_t {
    size_t const *matryoshka_dimensions; /**< prefix widths to score beside each other (arXiv:2205.13147): at most 8,
                                              ascending, multiples of 8; NULL: the full width alone */
    size_t matryoshka_dimensions_count;
    size_t temperature_groups;      /**< (t, b) pairs; zero: 1 */
    float inverse_temperature;      /**< t at the start, at most 100; zero: 10 under sigmoid, else 1 */
    float bias;                     /**< b at the start; zero: -10 under sigmoid, else 0 */
    uform_negatives_t negatives;
    float ambient_repulsion_weight; /**< of a pair without an edge, where ambient; zero: 1 */
    size_t max_edges_per_device;    /**< edges of one set in a step, else `shape_mismatch`; zero: no limit */
    uform_pair_loss_form_t pair_loss;
} uform_contrastive_t;

/** How query items are scored against document items by their token vectors: the mean over query tokens of the largest
 *  inner product (MaxSim, arXiv:2004.12832), hard, its gradient going to the token that won, of equals to the first.
 *  A term beside the contrastive loss: it reads the same `relations`, rows being queries and columns documents, and the
 *  same `negatives`, ambient weight and temperature groups, but learns a (t, b) of its own per group. Memory grows with
 *  tokens and with pairs of a query token and a document, two bytes each, not with pairs of tokens; in each process with
 *  the world's, which it scores by itself. */
typedef struct uform_late_interaction_t {
    float weight;                         /**< of the loss; zero: no token head is trained. `invalid_argument` above
                                               zero where the objective is masked alone, which reads no relations */
    size_t width;                         /**< of a token vector, a multiple of 8; zero: 128 */
    float inverse_temperature;            /**< t at the start, of every group, at most 100; zero: 1 */
    float bias;                           /**< b at the start, of every group */
    size_t max_query_span;                /**< tokens of a query that score, past the prefix; zero: 64 */
    size_t max_query_tokens_per_device;   /**< that score in a step; zero: every segment's span. More than it, or than
                                               the two limits below, is `shape_mismatch`, dropped items counted too */
    size_t max_documents_per_device;      /**< document items of a step; zero: every segment */
    size_t max_document_tokens_per_device; /**< document token rows of a step; zero: the batch's tokens */
    uform_pair_loss_form_t pair_loss;
    size_t prefix_tokens;                 /**< leading query tokens that do not score, such as an instruction's */
} uform_late_interaction_t;

/** The part an item plays in late interaction. */
typedef int32_t uform_late_interaction_side_t;
enum {
    uform_late_interaction_side_unknown_k = -1,
    uform_late_interaction_side_none_k = 0,
    uform_late_interaction_side_query_k = 1,             /**< scores the documents its edges name */
    uform_late_interaction_side_document_k = 2,          /**< is scored by queries */
    uform_late_interaction_side_query_and_document_k = 3 /**< both, as in a symmetric pair */
};
UFORM_API char const *uform_late_interaction_side_name(uform_late_interaction_side_t side);
UFORM_API uform_late_interaction_side_t uform_late_interaction_side_from_name(uform_bytes_view_t name);

/** How answers of one byte are trained: cross-entropy against target probabilities, plus the Brier score (1950), read
 *  where `uform_text_choose` reads them: at a MASK token behind the text, which gives up a byte for it where it fills a
 *  row. The text before it is corrupted where the objective masks; the pool does not see the MASK. Inverse temperatures
 *  scale the logits as they will when served and are not learned: `uform_eval --calibrate` fits them afterwards. */
typedef struct uform_choices_t {
    float weight;              /**< of the term; zero: no decoder is trained by it */
    float brier_weight;        /**< of the Brier score within the term; zero: the cross-entropy alone */
    size_t temperature_groups; /**< question types, each with an inverse temperature; zero: 1 */
} uform_choices_t;

/** Terms over the world's matrix Z [N, d] of unit embeddings, read unless the objective is masked alone. */
typedef struct uform_regularizers_t {
    float coding_rate_weight;          /**< of -1/2 log det(I + d / (N eps^2) Z'Z) (arXiv:2006.08558); zero: off */
    float coding_rate_epsilon_squared; /**< eps^2; zero: 0.5 */
    float lipschitz_weight;            /**< of Z's largest singular value, squared; zero: off */
    size_t lipschitz_iterations;       /**< of the power method that estimates it, at most 64; zero: 4 */
} uform_regularizers_t;

/** The learning rate over the steps: a straight climb, then half a cosine down. */
typedef struct uform_schedule_t {
    float learning_rate;     /**< at the top; zero: 5e-4 */
    float min_learning_rate; /**< at the end, at most the top; zero: 1e-5, or the top where that is lower */
    size_t warmup_steps;     /**< of the climb; zero: a tenth of `steps`, at most 400 */
    size_t steps;            /**< of the whole run, resumes included; zero is `invalid_argument` */
} uform_schedule_t;

/** A training run: weights, gradients, Adafactor moments (arXiv:1804.04235), heads and temperatures. */
typedef struct uform_trainer_handle_t *uform_trainer_t;

/** Makes a trainer on a VRAM executor, with one replica per device. All processes of a run make theirs with the same
 *  geometry, objective and seed, else `config_mismatch`. */
typedef struct uform_trainer_init_vram_t {
    uform_trainer_t *trainer;      /**< the new trainer; NULL on failure */
    uform_executor_t executor;     /**< every later verb on this trainer names the same */
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_bytes_view_t resume;     /**< path of the checkpoint to go on from, at its step, with its optimizer state
                                        where saved; empty: a new run. `config_mismatch` where the seed, the schedule,
                                        the objective, a size or anything else that a draw or a loss reads differs, the
                                        detail naming the field and both values. Free to differ: limits per device,
                                        starting temperatures and biases, prefixes, and what a checkpoint of an older
                                        build does not say */
    uform_bytes_view_t initial;    /**< path of a checkpoint whose tensors, where name and shape match, are the weights
                                        of step zero; empty: drawn from `seed`. Not together with `resume` */
    size_t depth;                  /**< blocks, above zero */
    size_t hidden;                 /**< width, a multiple of 128 */
    uform_batch_shape_t batch;
    uform_objective_t objective;
    uform_masking_t masking;       /**< read unless the objective is contrastive alone */
    uform_contrastive_t contrastive; /**< read unless the objective is masked alone */
    uform_late_interaction_t late_interaction; /**< read where its weight is above zero */
    uform_choices_t choices;       /**< read where its weight is above zero; needs `batch.max_choices_per_item` */
    uform_regularizers_t regularizers;
    uform_schedule_t schedule;
    uform_bytes_view_t query_prefix; /**< bytes that tools put before a query, kept in the checkpoint; empty: none, or
                                          what `resume` holds */
    uform_bytes_view_t document_prefix; /**< the same before a document */
    uform_mesh_t mesh;             /**< borrowed until the trainer is freed; NULL: this process alone */
    uint64_t seed;
    uform_progress_t progress;     /**< counts tensors read from a checkpoint */
} uform_trainer_init_vram_t;
UFORM_API void uform_trainer_init_vram(uform_trainer_init_vram_t *arguments);

/** The same run on a RAM executor, which counts as one device; NULL: the calling thread. */
typedef uform_trainer_init_vram_t uform_trainer_init_ram_t;
UFORM_API void uform_trainer_init_ram(uform_trainer_init_ram_t *arguments);

/** Links from items to items, as compressed sparse rows: item i's are `ids[offsets[i]]` up to `ids[offsets[i + 1]]`. */
typedef struct uform_edges_view_t {
    size_t const *offsets; /**< [count + 1], never decreasing; NULL: no edges */
    uint32_t const *ids;   /**< items of this step's share, ascending within a run */
    float const *weights;  /**< one per id; NULL: all 1 */
} uform_edges_view_t;

/** What each ordered pair (anchor, other) of a step is. The first set that names it decides: ignore, attract, repel;
 *  then the run's `negatives`. An item never meets itself. */
typedef struct uform_relations_view_t {
    uform_edges_view_t attract;
    uform_edges_view_t repel;
    uform_edges_view_t ignore; /**< pairs left out, such as unlabelled matches; weights are not read */
} uform_relations_view_t;

/** What a step did. Losses are means over the world. */
typedef struct uform_trainer_step_stats_t {
    size_t step;                 /**< the one just applied, counted from one over all resumes */
    float learning_rate;         /**< of that step */
    float loss;                  /**< the sum that was minimized */
    float contrastive_loss;      /**< zero where the objective is masked alone */
    float masked_text_loss;      /**< without its weight; zero where absent */
    float masked_image_loss;     /**< mean squared error of hidden patches, each less its mean, over its deviation: zeros
                                      err by one; without its weight; zero where absent */
    float masked_video_loss;     /**< the same of tubes */
    float masked_audio_loss;     /**< the same of chunks of samples */
    float late_interaction_loss; /**< with its weight; zero where absent */
    float choices_loss; /**< without its weight, with its Brier score, over items that chose; zero where absent */
    size_t truncated;            /**< items cut to a row, or to the most that their modality has, over the world */
    size_t dropped;              /**< items that found no room, over the world, since stats were last read */
    float gradient_norm;         /**< Euclidean, over all tensors, after the world's reduction */
    float coding_rate;           /**< 1/2 log det(...) in nats, without its weight; zero where off */
    float lipschitz;             /**< the largest singular value squared, without its weight; zero where off */
    float effective_rank;        /**< directions filled: (tr C)^2 / tr(C^2), C = Z'Z / N; zero where masked alone */
    size_t tokens;               /**< through the tower in this step, over the world */
} uform_trainer_step_stats_t;

/** Takes one optimizer step over the items of all processes: each calls it once per step with its own share. Where one
 *  process's arguments are refused, the step fails on all, the others reporting `config_mismatch` with its rank; an
 *  executor or arena that cannot serve the call is refused in that process alone, which may call again while the others
 *  wait. A loss or gradient that is not finite stops the step before any weight changes. */
typedef struct uform_trainer_step_t {
    uform_trainer_t trainer;
    uform_executor_t executor;     /**< the trainer's own */
    uform_outcome_t *outcome;
    uform_completion_t completion;
    size_t count;                  /**< items of this process, none only where another has some; more than its devices
                                        hold is `shape_mismatch` */
    uform_modality_t const *modalities; /**< [count]; one that the batch shape leaves out, or whose files
                                             this build does not read, is `unsupported`. NULL: all text */
    uform_tape_view_t contents;    /**< u8: a text or a whole file each. A file that is damaged or beyond `limits`
                                        fails the step as it fails encoding, naming the item; nothing has changed then */
    uint32_t const *bags;          /**< [count]; items of one bag share a device. NULL: each alone */
    uint32_t const *temperature_groups; /**< [count], below `contrastive.temperature_groups` where pairs are scored, and
                                             below `choices.temperature_groups` for items that choose. NULL: all zero */
    uform_late_interaction_side_t const *sides; /**< [count], read where `late_interaction` has weight; NULL: none takes
                                            part. A query without a token past the prefix is `invalid_argument` */
    uform_tape_view_t choices; /**< u8: the legal bytes of each item, all different; an item may have none, and one that
                                        is no text must. More than `batch.max_choices_per_item` are `shape_mismatch`.
                                        NULL offsets: none. `unsupported` where the run's `choices.weight` is zero */
    uform_tape_view_t choice_targets; /**< f32: a probability for each of `choices`, with items as long, summing to one
                                           within 1/256 per item that chooses */
    uform_relations_view_t relations; /**< read unless the objective is masked alone; a world without an attract edge is
                                           `invalid_argument` */
    uform_limits_t limits;         /**< of media files */
    uform_rows_t *embeddings;      /**< [count, hidden], as scored before the update, zeros for dropped items;
                                        `unsupported` where the objective is masked alone. NULL: not copied */
    uform_rows_tape_t *token_vectors; /**< of every token, as late interaction scored them before the update but for a
                                           rounding to BFloat16; dropped items have no rows. `unsupported` where no
                                           token head is trained. NULL: not copied */
    uform_arena_t arena;           /**< for `embeddings` and `token_vectors`; it must not hold what the step reads */
    uform_scalar_t outputs_scalar; /**< f32, bf16, f16 or i8; zero: f32 */
    uform_trainer_step_stats_t *stats; /**< NULL: losses are not even read back */
} uform_trainer_step_t;
UFORM_API void uform_trainer_step(uform_trainer_step_t *arguments);

/** Writes the checkpoint that `uform_model_load_ram` serves and `resume` goes on from: whole, then renamed over `path`,
 *  so a crash leaves the old one. What a process that died in a save of this run left beside it goes with the next:
 *  files under construction, and moments of this seed and another step. Process zero writes; the rest succeed at
 *  once. */
typedef struct uform_trainer_save_t {
    uform_trainer_t trainer;
    uform_executor_t executor;     /**< the trainer's own */
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_bytes_view_t path;
    bool optimizer;                /**< write the optimizer's moments beside it, so that a resume repeats every bit */
    uform_progress_t progress;     /**< counts tensors */
} uform_trainer_save_t;
UFORM_API void uform_trainer_save(uform_trainer_save_t *arguments);

/** Frees a trainer whose calls are all final, and hands back its mesh. NULL is safe; it cannot fail. */
UFORM_API void uform_trainer_free(uform_trainer_t trainer);

#ifdef __cplusplus
}
#endif
#endif
