/**
 *  @file step.hpp
 *  @brief One optimizer step over one process's items, phase by phase.
 *
 *  The kept items are cut into chunks of whole items; runs of chunks make up the slabs that gradients are summed in. A
 *  chunk's forward keeps its residuals, states and pool until the losses over all items are known; its backward then
 *  walks the tower back into its slab. Both cuts follow from the batch and the model's size, never from the threads.
 */
#pragma once
#include <uform/train/choices_head.hpp>
#include <uform/train/late_interaction.hpp>
#include <uform/train/reconstruction.hpp>
#include <uform/train/trainer.hpp>

namespace uform {

class step_t {
  public:
    step_t(trainer_t &trainer, step_items_t const &items, executor_t &executor) noexcept
        : trainer_(trainer), items_(items), executor_(executor), lane_(trainer.planner_) {}

    /** The first agreement with the world: on arguments, which `refusal` says are wrong here, and on whose turn it is. */
    failure_t open(failure_t const &refusal) noexcept;
    failure_t run(uform_trainer_step_stats_t *stats) noexcept;

  private:
    /** A chunk's tokens of one medium. */
    struct part_t {
        std::size_t tokens = 0;
        bf16_t *values = nullptr;         // [tokens, token values], in the order of the chunk
        std::uint32_t *covered = nullptr; // [covered_count] tokens of the chunk that are to be reconstructed
        std::uint32_t *rows = nullptr;    // [covered_count] the same, as rows of `values`
        std::size_t covered_count = 0;
        double loss = 0; // summed over covered tokens
    };
    struct chunk_t {
        std::size_t first, last; // kept items
        std::size_t first_read;  // of the step's read tokens
        mixed_batch_t<float> batch {};
        std::uint16_t *ids = nullptr; // [tokens], of texts
        part_t parts[media_k] = {};
        residuals_t<float> residuals {};
        states_t<float> states {};
        pool_stash_t<float> pool {};
        std::uint32_t *covered = nullptr; // [covered_count] tokens of the chunk that are to be reconstructed
        std::uint8_t *targets = nullptr;  // [covered_count] their bytes
        std::size_t covered_count = 0;
        double masked_loss = 0; // summed, in nats
        choosing_t<float> choosing {};
        double choices_loss = 0;       // summed
        items_t read {};               // the batch's items without their MASKs: what heads over whole items read
        bf16_t *read_states = nullptr; // [read tokens, hidden]: the states themselves where no item asks
    };
    /** A run of chunks, in order. */
    struct slab_t {
        std::size_t first, last;
    };

    geometry_t const &geometry() const noexcept { return trainer_.options_.model.geometry; }
    bool asks(std::size_t kept) const noexcept { return items_.asks(kept_[kept]); }
    std::size_t tokens_of(std::size_t kept) const noexcept {
        std::size_t const length = items_.length(kept_[kept]), context = geometry().context;
        return asks(kept) ? question_tokens(length, context) : text_tokens(length, context);
    }
    std::size_t read_tokens_of(std::size_t kept) const noexcept {
        return read_tokens(items_.length(kept_[kept]), asks(kept), geometry().context);
    }
    bool has_values(std::size_t kept) const noexcept { return items_.has_values(kept_[kept]); }
    medium_t medium_of(std::size_t kept) const noexcept { return items_.medium(kept_[kept]); }
    std::size_t token_values(std::size_t medium) const noexcept {
        return trainer_.options_.model.token_values(medium_t(medium));
    }
    std::size_t cells(chunk_t const &chunk) const noexcept { return chunk.batch.items.tokens() * geometry().hidden; }
    /** Calls `body(index, lane)` for every index: dealt to threads, or one by one on all of them. */
    template <typename body_>
    failure_t for_each(std::size_t count, body_ const &body) noexcept {
        if (executor_.threads() <= trainer_.parameters_.slabs()) return executor_.deal(count, body);
        for (std::size_t i = 0; i < count; ++i) {
            lane_t &lane = executor_.wide_lane();
            scratch_scope_t scope(lane);
            body(i, lane);
            if (lane.failed()) return lane.failure();
        }
        return {};
    }

    mesh_t &world() const noexcept { return *trainer_.world_; }
    statement_t state(moment_t moment) const noexcept;
    failure_t claim_rows(failure_t const &planned) noexcept;
    failure_t share_rows(failure_t const &computed) noexcept;
    /** How many words this process's groups and relations take; writes them where `words` is not null. */
    std::size_t write_relations(std::uint32_t *words) const noexcept;
    failure_t gather_shares(std::uint32_t const *words, std::uint32_t *all_words, std::size_t *bytes) noexcept;
    void join_relations(std::uint32_t const *words, std::uint32_t *ids, float *weights) noexcept;
    void claim_world_vectors() noexcept;
    uform_late_interaction_side_t side_of(std::size_t kept) const noexcept {
        return items_.sides.empty() ? uform_late_interaction_side_none_k : items_.sides[kept_[kept]];
    }
    void list_sides() noexcept;
    void join_sides(std::uint32_t const *words) noexcept;
    void list_side(std::size_t row, uform_late_interaction_side_t side, std::size_t first, std::size_t tokens) noexcept;
    failure_t close_losses(failure_t const &computed) noexcept;

    failure_t plan() noexcept;
    failure_t keep_items() noexcept;
    failure_t cut_chunks() noexcept;
    failure_t claim_chunk(chunk_t &chunk) noexcept;
    failure_t claim_residuals(chunk_t &chunk) noexcept;
    failure_t claim_batch(chunk_t &chunk) noexcept;
    failure_t claim_values(chunk_t &chunk) noexcept;
    std::size_t list_runs(chunk_t const &chunk, std::uint32_t const *offsets, run_t<float> *runs) const noexcept;
    void lay_tokens(chunk_t const &chunk, std::uint32_t const *offsets, float *rotary) const noexcept;
    failure_t fill_values() noexcept;
    failure_t mask_chunk(chunk_t &chunk) noexcept;
    failure_t mask_media(chunk_t &chunk) noexcept;
    std::size_t cover_item(std::size_t kept, std::uint32_t *covered) noexcept;
    void cover_runs(chunk_t &chunk) const noexcept;
    failure_t claim_choosing(chunk_t &chunk) noexcept;
    failure_t claim_read(chunk_t &chunk) noexcept;
    void gather_read(chunk_t &chunk) const noexcept;
    void spread_read(chunk_t const &chunk, float const *d_read, float *d_states_sum) const noexcept;
    failure_t claim_token_vectors() noexcept;
    failure_t compact_relations() noexcept;
    failure_t compact_edges(edges_t const &from, std::uint32_t const *kept_of, edges_t &to) noexcept;
    void pack_weights() noexcept;
    failure_t forward() noexcept;
    void project_chunk(chunk_t const &chunk, lane_t &lane) noexcept;
    failure_t score() noexcept;
    void score_token_vectors(lane_t &lane) noexcept;
    failure_t backward() noexcept;
    void backward_chunk(chunk_t &chunk, tower_gradients_t<float> const &gradients, bool continues,
                        lane_t &lane) noexcept;
    void backward_masked(chunk_t &chunk, tower_gradients_t<float> const &gradients, float *d_states_sum,
                         lane_t &lane) noexcept;
    float media_weight(std::size_t medium) const noexcept;
    void backward_media(chunk_t &chunk, tower_gradients_t<float> const &gradients, float *d_states_sum,
                        lane_t &lane) noexcept;
    void backward_choices(chunk_t &chunk, tower_gradients_t<float> const &gradients, float *d_states_sum,
                          lane_t &lane) noexcept;
    void backward_read(chunk_t &chunk, tower_gradients_t<float> const &gradients, float *d_states_sum,
                       lane_t &lane) noexcept;
    void backward_token_vectors(chunk_t const &chunk, tower_gradients_t<float> const &gradients, float *d_read_sum,
                                lane_t &lane) noexcept;
    failure_t claim_update() noexcept;
    failure_t reduce() noexcept;
    failure_t refuse_non_finite() noexcept;
    void update() noexcept;
    void land_embeddings() const noexcept;
    void land_token_vectors() const noexcept;
    void report(uform_trainer_step_stats_t &stats) const noexcept;

    static constexpr std::size_t reduced_together_k = 1 << 14; // elements of the gradient
    trainer_t &trainer_;
    step_items_t const &items_;
    executor_t &executor_;
    lane_t &lane_;

    std::span<std::uint32_t> kept_; // the items that found room, ascending
    bf16_t **values_ = nullptr;     // [kept] where an item's values go, null for texts
    std::span<chunk_t> chunks_;
    slab_t slabs_[parameters_t::slabs_limit_k] = {};
    std::size_t slabs_used_ = 0;
    std::size_t kept_blocks_ = 0;                  // the first, of which nothing is computed twice
    relations_t relations_;                        // over kept items
    std::span<std::uint32_t const> groups_;        // [kept] or empty
    float *embeddings_ = nullptr;                  // [kept, hidden], raw; this process's rows of the world's
    float *d_embeddings_ = nullptr;                // [kept, hidden]
    float *vectors_ = nullptr;                     // [read tokens, token_width], unit rows
    bf16_t *vectors_narrow_ = nullptr;             // [read tokens, token_width], as the loss reads them; of the world's
    float *inverse_norms_ = nullptr;               // [read tokens]
    float *d_vectors_ = nullptr;                   // [read tokens, token_width]
    std::size_t read_tokens_ = 0, first_read_ = 0; // of this process, and where they start among the world's
    // Of this process, then of the world.
    std::size_t tokens_ = 0, truncated_ = 0, dropped_ = 0, covered_ = 0, chosen_ = 0;
    std::size_t covered_media_[media_k] = {}; // tokens to be reconstructed

    std::size_t first_item_ = 0;                   // of this process, counted over the world's items
    std::size_t world_kept_ = 0, first_kept_ = 0;  // rows of the world, and where this process's start
    relations_t world_relations_;                  // over the world's kept items
    std::span<std::uint32_t const> world_groups_;  // [world_kept] or empty
    float *world_embeddings_ = nullptr;            // [world_kept, hidden]
    float *d_world_embeddings_ = nullptr;          // [world_kept, hidden]
    std::span<scored_item_t> queries_, documents_; // the world's kept items in late interaction, ascending
    bf16_t *world_vectors_narrow_ = nullptr;       // [read tokens of the world, token_width]
    double *squares_ = nullptr;                    // of the gradient, a sum for each run of elements
    update_scratch_t update_scratch_;
    float learning_rate_ = 0;
    bool wants_stats_ = false;
    double loss_ = 0, contrastive_loss_ = 0, masked_loss_ = 0, coding_rate_loss_ = 0, lipschitz_loss_ = 0;
    double choices_loss_ = 0, media_losses_[media_k] = {};
    double late_interaction_loss_ = 0; // with its weight
    double gradient_norm_ = 0, effective_rank_ = 0;
};

} // namespace uform
