/**
 *  @file mixture.cpp
 *  @brief Reads a mixture file, one handler for each of its objects.
 */
#include <filesystem>
#include <limits>

#include "support/engine.hpp"
#include "support/mixture.hpp"
#include "support/source_reader.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t documents_limit_k = 1024; // of one record, either kind, in one step

constexpr std::pair<std::string_view, float uform_masking_t::*> masking_numbers_k[] = {
    {"token_mask_probability", &uform_masking_t::token_mask_probability},
    {"token_mean_span", &uform_masking_t::token_mean_span},
    {"replace_fraction", &uform_masking_t::replace_fraction},
    {"random_fraction", &uform_masking_t::random_fraction},
    {"image_mask_ratio", &uform_masking_t::image_mask_ratio},
    {"video_mask_ratio", &uform_masking_t::video_mask_ratio},
    {"audio_mask_ratio", &uform_masking_t::audio_mask_ratio},
    {"text_weight", &uform_masking_t::text_weight},
    {"image_weight", &uform_masking_t::image_weight},
    {"video_weight", &uform_masking_t::video_weight},
    {"audio_weight", &uform_masking_t::audio_weight}};

/** The size that a medium's key names; NULL where there is none. */
std::size_t *size_named(geometry_t &geometry, std::string_view medium, std::string_view key) noexcept {
    if (medium == "image")
        return key == "patch_side" ? &geometry.image.patch_side
               : key == "channels" ? &geometry.image.channels
                                   : nullptr;
    if (medium == "audio")
        return key == "chunk_samples" ? &geometry.audio.chunk_samples
               : key == "sample_rate" ? &geometry.audio.sample_rate
                                      : nullptr;
    return key == "patch_side"     ? &geometry.video.patch_side
           : key == "tube_frames"  ? &geometry.video.tube_frames
           : key == "frame_stride" ? &geometry.video.frame_stride
                                   : nullptr;
}

struct reader_t : source_reader_t {
    /** What the engine holds as a float. */
    float real(json_value_t value, double at_least) {
        return float(json.number(value, at_least, std::numeric_limits<float>::max()));
    }

    uform_objective_t objective(json_value_t value) {
        uform_objective_t const found = uform_objective_from_name(view(json.string(value)));
        if (found == uform_objective_unknown_k) json.refuse("must be \"masked\", \"contrastive\" or \"joint\"");
        return found;
    }

    uform_pair_loss_form_t pair_loss(json_value_t value) {
        uform_pair_loss_form_t const found = uform_pair_loss_form_from_name(view(json.string(value)));
        if (found == uform_pair_loss_form_unknown_k)
            json.refuse("must be \"softmax\", \"sigmoid\", \"balanced\" or \"ranked\"");
        return found;
    }

    ambient_t ambient(json_value_t value) {
        std::string const name = json.string(value);
        if (name == "across") return ambient_t::across_k;
        if (name == "all") return ambient_t::all_k;
        if (name != "none") json.refuse("must be \"across\", \"all\" or \"none\"");
        return ambient_t::none_k;
    }

    late_interaction_t late_interaction(json_value_t value) {
        late_interaction_t found;
        found.weight = 1;
        json.object(value, [&](std::string_view key, json_value_t inner) {
            if (key == "weight")
                found.weight = real(inner, 0);
            else if (key == "width")
                found.width = json.count(inner, 8);
            else if (key == "query_span")
                found.query_span = count_up_to(inner, 1, context_limit_k);
            else if (key == "pair_loss")
                found.pair_loss = pair_loss(inner);
            else if (key == "inverse_temperature")
                found.inverse_temperature = real(inner, 1e-6);
            else if (key == "bias")
                found.bias = real(inner, -1e6);
            else
                return false;
            return true;
        });
        return found;
    }

    choices_term_t choices(json_value_t value) {
        choices_term_t found;
        json.object(value, [&](std::string_view key, json_value_t inner) {
            if (key == "sources")
                json.array(inner, [&](json_value_t each) { found.sources.push_back(source(each, false)); });
            else if (key == "weight")
                found.weight = real(inner, 0);
            else if (key == "brier_weight")
                found.brier_weight = real(inner, 0);
            else if (key == "batch_items") found.batch_items = count_up_to(inner, 1, 65536);
            else if (key == "bytes")
                found.bytes = count_up_to(inner, 1, context_limit_k - 1);
            else return false;
            return true;
        });
        if (found.sources.empty()) json.refuse("comes from choices without \"sources\"; name at least one file");
        return found;
    }

    void geometry(std::string_view medium, json_value_t value, geometry_t &geometry) {
        json.object(value, [&](std::string_view key, json_value_t inner) {
            std::size_t *const found = size_named(geometry, medium, key);
            if (found) *found = json.count(inner, 1);
            return found != nullptr;
        });
    }

    uform_masking_t masking(json_value_t value) {
        uform_masking_t found = {};
        json.object(value, [&](std::string_view key, json_value_t inner) {
            for (auto const &[name, number] : masking_numbers_k) {
                if (key != name) continue;
                found.*number =
                    float(json.number(inner, 1e-30, name.ends_with("weight") || name.ends_with("span") ? 1e6 : 1));
                return true;
            }
            return false;
        });
        return found;
    }

    void prefixes(json_value_t value, mixture_t &mixture) {
        json.object(value, [&](std::string_view key, json_value_t prefix) {
            if (key == "query") mixture.query_prefix = json.string(prefix);
            else if (key == "document") mixture.document_prefix = json.string(prefix);
            else return false;
            return true;
        });
    }

    bool data_key(std::string_view key, json_value_t value, mixture_t &mixture) {
        if (key == "name") mixture.name = json.string(value);
        else if (key == "sources")
            json.array(value, [&](json_value_t each) { mixture.sources.push_back(source(each, true)); });
        else if (key == "prefixes") prefixes(value, mixture);
        else if (key == "query_bytes")
            mixture.query_bytes = count_up_to(value, 1, context_limit_k);
        else if (key == "document_bytes")
            mixture.document_bytes = count_up_to(value, 1, context_limit_k);
        else if (key == "batch_pairs") mixture.batch_pairs = json.count(value, 1);
        else if (key == "positives") mixture.positives = count_up_to(value, 1, documents_limit_k);
        else if (key == "negatives") mixture.negatives = count_up_to(value, 0, documents_limit_k);
        else if (key == "context")
            mixture.context = count_up_to(value, 1, context_limit_k);
        else if (key == "validation") mixture.validation = validation(value);
        else return false;
        return true;
    }

    bool loss_key(std::string_view key, json_value_t value, mixture_t &mixture) {
        if (key == "objective") mixture.objective = objective(value);
        else if (key == "pair_loss") mixture.pair_loss = pair_loss(value);
        else if (key == "inverse_temperature")
            mixture.inverse_temperature = real(value, 1e-6);
        else if (key == "bias")
            mixture.bias = real(value, -1e6);
        else if (key == "symmetric") mixture.symmetric = json.boolean(value);
        else if (key == "ignore_same_group") mixture.ignore_same_group = json.boolean(value);
        else if (key == "ambient") mixture.ambient = ambient(value);
        else if (key == "matryoshka")
            json.array(value, [&](json_value_t each) { mixture.matryoshka.push_back(json.count(each, 8)); });
        else if (key == "coding_rate_weight")
            mixture.coding_rate_weight = real(value, 0);
        else if (key == "lipschitz_weight")
            mixture.lipschitz_weight = real(value, 0);
        else if (key == "late_interaction") mixture.late_interaction = late_interaction(value);
        else if (key == "choices") mixture.choices = choices(value);
        else if (key == "image" || key == "video" || key == "audio")
            geometry(key, value, mixture.geometry);
        else if (key == "masking")
            mixture.masking = masking(value);
        else if (key == "learning_rate")
            mixture.learning_rate = real(value, 1e-12);
        else if (key == "min_learning_rate")
            mixture.min_learning_rate = real(value, 0);
        else if (key == "warmup_steps") mixture.warmup_steps = json.count(value, 0);
        else return false;
        return true;
    }
};

/** What no single key can be wrong about alone. */
void check_whole(mixture_t const &mixture) {
    if (mixture.sources.empty()) fail_at(mixture.path, 0, "\"sources\" is missing or empty; name at least one file");
    if (mixture.query_prefix.size() >= mixture.query_bytes || mixture.document_prefix.size() >= mixture.document_bytes)
        fail_at(mixture.path, 0, "a prefix leaves no room for text; raise \"query_bytes\" or \"document_bytes\"");
    if (mixture.context && *mixture.context < std::max(mixture.query_bytes, mixture.document_bytes))
        fail_at(mixture.path, 0, "\"context\" is below \"query_bytes\" or \"document_bytes\"; raise it");
    if (mixture.context && mixture.choices && *mixture.context <= mixture.choices->bytes)
        fail_at(mixture.path, 0, "\"context\" has no room for the \"bytes\" of choices and a MASK; raise it");
}

} // namespace

bool names_medium(mixture_t const &mixture, uform_modality_t modality) noexcept {
    return std::any_of(mixture.sources.begin(), mixture.sources.end(), [&](source_t const &source) {
        return source.fields.query_modality == modality || source.fields.document_modality == modality;
    });
}

mixture_t read_mixture(std::string const &path, std::string const &base) {
    std::filesystem::path const own = std::filesystem::path(path).parent_path();
    reader_t reader {{strict_json_t(path), base.empty() ? own : std::filesystem::path(base)}};
    mixture_t mixture;
    mixture.path = path;
    reader.json.root([&](std::string_view key, json_value_t value) {
        return reader.data_key(key, value, mixture) || reader.loss_key(key, value, mixture);
    });
    check_whole(mixture);
    return mixture;
}

} // namespace uform::tools
