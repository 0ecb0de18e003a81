/**
 *  @file item_reader.cpp
 *  @brief From names to bytes; content decides what they are.
 */
#include <algorithm>
#include <filesystem>
#include <new>

#include "support/engine.hpp"
#include "support/error.hpp"
#include "support/item_reader.hpp"
#include "support/signature.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t file_limit_k = std::size_t(1) << 32; // as the engine's own, which would refuse more
/** A device may never end, as /dev/zero does not; pipes end with who writes. */
bool is_endless(std::string const &path) {
    std::error_code failed;
    return std::filesystem::is_character_file(path, failed) || std::filesystem::is_block_file(path, failed);
}

constexpr char const *unknown_k =
    "is no picture, clip, recording or shard, nor text in UTF-8; name its --modality if it is one";
constexpr char const *empty_k = "is empty; with --modality text it is a text without words";
constexpr std::string_view mark_k = "\xef\xbb\xbf"; // of UTF-8, as some editors begin a file

} // namespace

item_reader_t::item_reader_t(encoding_options_t const &options)
    : options_(options), format_(format_t(choice("--format", options.format, {"lines", "jsonl", "files"}))),
      written_({options.output, options.names, options.log}) {
    if (!options.modality.empty())
        modality_ = uform_modality_t(choice("--modality", options.modality, {"text", "image", "video", "audio"}));
    if (!options.path_field.empty() && format_ != format_t::jsonl_k)
        fail_usage("--path-field: a column is of JSONL; say --format jsonl");
    if (options.files.empty()) {
        lines_.emplace(options.input);
        return;
    }
    if (options.input != "-") fail_usage("--input: give a list, or name files, not both");
    // Now, so that nothing is found that this run itself is about to write.
    for (std::string const &name : options.files) find(name);
}

bool item_reader_t::reads_files() const noexcept {
    return !lines_ || format_ == format_t::files_k || !options_.path_field.empty();
}

void item_reader_t::find(std::string const &name) {
    for (found_file_t &found : find_files(name, written_)) files_.push_back(std::move(found));
}

/** Queues the paths of a JSONL record, from the list's own folder on; answers true where it has a text instead. */
bool item_reader_t::read_record() {
    simdjson::dom::object record;
    simdjson::dom::element paths;
    simdjson::dom::array several;
    std::string_view one;
    if (parser_.parse(line_).get(record))
        fail_at(lines_->path(), lines_->line_number(), "the line is not a JSON object in UTF-8; correct or remove it");
    if (options_.path_field.empty() || record[options_.path_field].get(paths) || paths.is_null()) {
        if (!record[options_.field].get(one)) return text_ = one, true;
        fail_at(lines_->path(), lines_->line_number(), "the record has no string \"{}\"; name another --field",
                options_.field);
    }
    std::filesystem::path const base =
        options_.input == "-" ? std::filesystem::path() : std::filesystem::path(options_.input).parent_path();
    auto const queue = [&](std::string_view path) {
        check_path(path, fmt::format("{}:{}", lines_->path(), lines_->line_number()));
        files_.push_back({(base / path).string(), {}});
        written_.refuse(files_.back().path);
    };
    if (!paths.get(one)) return queue(one), false;
    if (paths.get(several))
        fail_at(lines_->path(), lines_->line_number(), "\"{}\" must be a path, or an array of them",
                options_.path_field);
    for (simdjson::dom::element const each : several) {
        if (each.get(one))
            fail_at(lines_->path(), lines_->line_number(), "\"{}\" must hold paths alone", options_.path_field);
        queue(one);
    }
    return false;
}

/** A line of JSON or a path as editors leave it: behind a mark of its encoding, before a carriage return. */
void item_reader_t::tidy_line() {
    if (lines_->line_number() == 1 && line_.starts_with(mark_k)) line_.erase(0, mark_k.size());
    std::error_code failed;
    bool const is_name = format_ == format_t::files_k && std::filesystem::exists(line_, failed);
    if (line_.ends_with('\r') && !is_name) line_.pop_back();
}

/** The next line of the list: a text, which is an item, or names, which are queued. */
bool item_reader_t::next_of_list(item_t &item, bool &is_text_item) {
    if (!lines_ || !lines_->next(line_)) return false;
    if (format_ != format_t::lines_k) {
        tidy_line();
        if (line_.find_first_not_of(" \t") == line_.npos) return true; // blank
    }
    std::string place = fmt::format("{}:{}", lines_->path(), lines_->line_number());
    switch (format_) {
    case format_t::lines_k:
        text_.swap(line_), is_text_item = true;
        break;
    case format_t::jsonl_k:
        is_text_item = read_record();
        break;
    case format_t::files_k:
        check_path(line_, place), find(line_);
        break;
    }
    if (is_text_item)
        item.name.swap(place), item.bytes.swap(text_), item.modality = uform_modality_text_k, item.problem.clear();
    return true;
}

bool item_reader_t::next(item_t &item) {
    for (bool is_text_item = false; !is_text_item;) {
        if (shard_ && entry_ < shard_->entries().size()) return read_entry(shard_->entries()[entry_++], item), true;
        shard_.reset(), entry_ = 0;
        if (files_.empty()) {
            if (!next_of_list(item, is_text_item)) return false;
            continue;
        }
        found_file_t const found = std::move(files_.front());
        files_.pop_front();
        if (open(found, item)) return true;
    }
    return true;
}

/** Why a file that begins so need not be read whole. */
char const *item_reader_t::problem_of(std::string_view head) const noexcept {
    if (modality_) return may_be(head, *modality_) ? "" : "is not of the --modality, by its first bytes";
    return modality_of(head) || head.find('\0') == head.npos ? "" : unknown_k; // nor a text
}

void item_reader_t::recognize(item_t &item) const {
    std::optional<uform_modality_t> const found = modality_ ? modality_ : modality_of(item.bytes);
    item.modality = found.value_or(uform_modality_text_k);
    if (!modality_ && item.bytes.empty())
        item.problem = empty_k;
    else if (!found && !is_text(item.bytes))
        item.problem = unknown_k;
    if (!item.problem.empty()) item.bytes = {};
}

/** Answers false where the file is a shard, whose entries are the items. */
bool item_reader_t::open(found_file_t const &found, item_t &item) {
    item = {found.path, {}, uform_modality_text_k, found.problem};
    if (!item.problem.empty()) return true;
    try {
        std::string const head = read_head(item.name, signature_bytes_k);
        if (is_tar(head)) {
            if (!shard_.emplace(item.name).entries().empty()) return false;
            shard_.reset(),
                item.problem = "the shard holds no file with an extension, which is what entries are made of";
            return true;
        }
        item.problem = is_endless(item.name) ? "is a device, not a file" : problem_of(head);
        if (!item.problem.empty()) return true;
        item.bytes = read_file(item.name, file_limit_k);
        recognize(item);
    } catch (tool_error_t const &error) {
        item.problem = without_name(error.what(), item.name);
    }
    return true;
}

/** The member that stands for an entry. */
shard_member_t const *item_reader_t::member_of(shard_entry_t const &entry, std::string &problem) const {
    if (!options_.member.empty()) {
        shard_member_t const *const named = entry.find(options_.member);
        if (!named) problem = fmt::format("the entry has no member .{}", options_.member);
        return named;
    }
    shard_member_t const *medium = nullptr;
    for (shard_member_t const &member : entry.members) {
        if (!modality_of(shard_->read(member, signature_bytes_k))) continue;
        if (medium) {
            problem = fmt::format("the entry has both .{} and .{}; choose with --member", medium->extension,
                                  member.extension);
            return nullptr;
        }
        medium = &member;
    }
    if (!medium) medium = entry.find("txt");
    if (!medium) problem = "the entry has no picture, clip or recording, nor a .txt; choose with --member";
    return medium;
}

void item_reader_t::read_entry(shard_entry_t const &entry, item_t &item) const {
    item = {fmt::format("{}/{}", shard_->path(), entry.stem), {}, uform_modality_text_k, {}};
    shard_member_t const *const member = member_of(entry, item.problem);
    if (!member) return;
    item.name = shard_->name_of(entry, *member);
    if (member->bytes > file_limit_k) {
        item.problem = fmt::format("holds more than {} bytes; such a file is not read", file_limit_k);
        return;
    }
    item.problem = problem_of(shard_->read(*member, signature_bytes_k));
    if (!item.problem.empty()) return;
    try {
        item.bytes = shard_->read(*member);
    } catch (std::bad_alloc const &) {
        item.problem = "does not fit into memory";
        return;
    }
    recognize(item);
}

} // namespace uform::tools
