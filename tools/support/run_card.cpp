/**
 *  @file run_card.cpp
 *  @brief Markdown.
 */
#include <filesystem>
#include <thread>

#include "commit.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/output_file.hpp"
#include "support/run_card.hpp"

namespace uform::tools {

namespace {

constexpr std::string_view mark_k = "<!-- Written by uform_base at every save; edits are lost. -->\n";

/** Text for a cell of a table. */
std::string cell(std::string_view text) {
    std::string escaped;
    for (char const c : on_one_line(text)) escaped += c == '|' ? "\\|" : std::string(1, c);
    return escaped;
}

std::string about_model(run_card_t const &card) {
    plan_t const &plan = card.plan;
    std::string text = "| | |\n| --- | --- |\n";
    auto const row = [&](std::string_view name, std::string_view value) {
        text += fmt::format("| {} | {} |\n", name, cell(value));
    };
    row("step", fmt::format("{} of {}", card.stats.step, plan.steps));
    row("size", fmt::format("{} wide, {} deep, {} parameters", plan.hidden, plan.depth, plan.parameters()));
    row("objective", uform_objective_name(plan.objective));
    row("seed", std::to_string(plan.seed));
    if (!plan.initial.empty()) row("started from", plan.initial);
    if (!plan.resume.empty()) row("went on from", fmt::format("{} at step {}", plan.resume, plan.first_step));
    row("made by", fmt::format("UForm {}, commit {}", uform_version(), commit_k));
    std::string const processor = processor_name();
    row("processor",
        fmt::format("{}, {} threads of it visible", processor.empty() ? "not named by the system" : processor,
                    std::thread::hardware_concurrency()));
    return text;
}

constexpr std::string_view columns_k = "| source | records | weight | temperature group | content |\n";

/** What of a source decides the draws of a run, wherever its file lies. */
std::string about_source(material_t const &material, std::size_t index) {
    source_t const &source = material.source(index);
    return fmt::format("| {} | {} | {} | {:016x} |\n", material.records_of(index), source.weight,
                       source.temperature_group, material.content_of(index));
}

std::string about_data(run_card_t const &card) {
    std::string text = fmt::format("{}| --- | --: | --: | --: | --- |\n", columns_k);
    for (std::size_t i = 0; i < card.material.sources(); ++i)
        text += fmt::format("| {} {}", cell(card.material.source(i).path), about_source(card.material, i));
    return text;
}

std::string about_scores(run_card_t const &card) {
    uform_trainer_step_stats_t const &stats = card.stats;
    std::string text = fmt::format("Loss {:.4f} at step {}.\n", stats.loss, stats.step);
    if (!card.scores) return text + "Not validated in this session of the run.\n";
    retrieval_t const &found = card.scores->retrieval;
    text += fmt::format("Over {} held-out pairs of {} at step {}:\n\n", found.count,
                        on_one_line(card.plan.mixture.validation->path), card.scores->step);
    text += "| | R@1 | R@5 | R@10 | MRR |\n| --- | --: | --: | --: | --: |\n";
    for (auto const &[name, recall] :
         {std::pair("queries find documents", found.forward), std::pair("documents find queries", found.backward)})
        text += fmt::format("| {} | {:.4f} | {:.4f} | {:.4f} | {:.4f} |\n", name, recall.at_1, recall.at_5,
                            recall.at_10, recall.mean_reciprocal_rank);
    return text;
}

} // namespace

std::string card_path(std::string const &checkpoint, bool own_folder) {
    std::filesystem::path const path(checkpoint);
    return (path.parent_path() / (own_folder ? "README.md" : path.stem().string() + ".README.md")).string();
}

void check_card(std::string const &path) {
    std::error_code failed;
    if (!std::filesystem::exists(path, failed)) return;
    if (!std::filesystem::is_regular_file(path, failed) || !read_file(path).starts_with(mark_k))
        fail_at(path, 0, "was not written by a run, and would be written over; move it or name another --output");
}

void write_card(run_card_t const &card) {
    std::string const name = std::filesystem::path(card.options.output).filename().string();
    output_file_t file(card.options.card);
    file.write(fmt::format("{}# {}\n\n{}\n## Command\n\n", mark_k, on_one_line(name), about_model(card)));
    file.write(fmt::format("```bash\n{}\n```\n\n", card.options.command));
    file.write(fmt::format("## Data\n\nMixture {}, {} pairs or texts a step.\n\n{}\n",
                           on_one_line(card.plan.mixture.path), card.plan.mixture.batch_pairs, about_data(card)));
    file.write(fmt::format("## Scores\n\n{}", about_scores(card)));
    file.commit();
}

std::vector<std::string> changed_sources(std::string const &checkpoint, material_t const &material) {
    std::string const heading = fmt::format("{}# {}\n", mark_k, std::filesystem::path(checkpoint).filename().string());
    std::vector<std::string> changed;
    for (bool const own_folder : {false, true}) {
        std::string const path = card_path(checkpoint, own_folder);
        std::error_code failed;
        if (!std::filesystem::is_regular_file(path, failed)) continue;
        std::string const card = read_file(path);
        if (!card.starts_with(heading) || card.find(columns_k) == card.npos) continue; // of another, or an older tool's
        for (std::size_t i = 0; i < material.sources(); ++i)
            if (card.find(about_source(material, i)) == card.npos) changed.push_back(material.source(i).path);
        break;
    }
    return changed;
}

std::string processor_name() {
    std::error_code failed;
    if (!std::filesystem::exists("/proc/cpuinfo", failed)) return {};
    line_reader_t lines("/proc/cpuinfo");
    for (std::string line; lines.next(line);) {
        std::size_t const colon = line.find(": ");
        if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
    }
    return {};
}

std::string shell_quoted(int argc, char const *const *argv) {
    constexpr std::string_view plain_k = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    std::string line;
    for (int i = 0; i < argc; ++i) {
        std::string_view const word = argv[i];
        if (i) line += ' ';
        if (!word.empty() && word.find_first_not_of(plain_k) == word.npos) {
            line += word;
            continue;
        }
        line += '\'';
        for (char const c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += '\'';
    }
    return line;
}

} // namespace uform::tools
