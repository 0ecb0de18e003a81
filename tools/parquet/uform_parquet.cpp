/**
 *  @file uform_parquet.cpp
 *  @brief `uform_parquet FILE COLUMN...`: rows of a Parquet file as lines of JSON, through Arrow C++.
 *
 *  A program of its own, which the other tools start for a source named `.parquet`: Arrow's libraries bring, and show to
 *  a process that links them, a simdjson that is not the tools' own, and whichever is found first serves both. Nothing
 *  that Arrow throws, nor a crash of it, reaches a run but as a failure to read a file.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <nlohmann/json.hpp>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include "support/error.hpp"

namespace {

using namespace uform::tools;
using json_t = nlohmann::ordered_json;

constexpr std::int64_t rows_at_once_k = 256;

template <typename array_>
auto value_at(arrow::Array const &array, std::int64_t row) {
    return static_cast<array_ const &>(array).GetView(row);
}

/** JSON has no word for what is no number, and would say null. */
struct no_number_t {};
double number_at(double value) {
    if (!std::isfinite(value)) throw no_number_t();
    return value;
}

template <typename array_>
std::string text_at(arrow::Array const &array, std::int64_t row) {
    return std::string(value_at<array_>(array, row));
}

template <typename array_>
json_t list_at(arrow::Array const &array, std::int64_t row);

/** A cell; null where it is, or where its type is none that records have. */
json_t cell_at(arrow::Array const &array, std::int64_t row) {
    if (array.IsNull(row)) return nullptr;
    switch (array.type_id()) {
    case arrow::Type::STRING:
        return text_at<arrow::StringArray>(array, row);
    case arrow::Type::LARGE_STRING:
        return text_at<arrow::LargeStringArray>(array, row);
    case arrow::Type::STRING_VIEW:
        return text_at<arrow::StringViewArray>(array, row);
    case arrow::Type::BOOL:
        return bool(value_at<arrow::BooleanArray>(array, row));
    case arrow::Type::INT8:
        return std::int64_t(value_at<arrow::Int8Array>(array, row));
    case arrow::Type::INT16:
        return std::int64_t(value_at<arrow::Int16Array>(array, row));
    case arrow::Type::INT32:
        return std::int64_t(value_at<arrow::Int32Array>(array, row));
    case arrow::Type::INT64:
        return std::int64_t(value_at<arrow::Int64Array>(array, row));
    case arrow::Type::UINT8:
        return std::uint64_t(value_at<arrow::UInt8Array>(array, row));
    case arrow::Type::UINT16:
        return std::uint64_t(value_at<arrow::UInt16Array>(array, row));
    case arrow::Type::UINT32:
        return std::uint64_t(value_at<arrow::UInt32Array>(array, row));
    case arrow::Type::UINT64:
        return std::uint64_t(value_at<arrow::UInt64Array>(array, row));
    case arrow::Type::FLOAT:
        return number_at(double(value_at<arrow::FloatArray>(array, row)));
    case arrow::Type::DOUBLE:
        return number_at(value_at<arrow::DoubleArray>(array, row));
    case arrow::Type::LIST:
        return list_at<arrow::ListArray>(array, row);
    case arrow::Type::LARGE_LIST:
        return list_at<arrow::LargeListArray>(array, row);
    case arrow::Type::FIXED_SIZE_LIST:
        return list_at<arrow::FixedSizeListArray>(array, row);
    case arrow::Type::DICTIONARY: {
        auto const &words = static_cast<arrow::DictionaryArray const &>(array);
        return cell_at(*words.dictionary(), words.GetValueIndex(row));
    }
    default:
        return nullptr;
    }
}

template <typename array_>
json_t list_at(arrow::Array const &array, std::int64_t row) {
    auto const &lists = static_cast<array_ const &>(array);
    json_t list = json_t::array();
    for (auto at = lists.value_offset(row), end = at + lists.value_length(row); at < end; ++at)
        list.push_back(cell_at(*lists.values(), at));
    return list;
}

bool holds_cells(arrow::DataType const &type) {
    switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
        return holds_cells(*type.field(0)->type());
    case arrow::Type::DICTIONARY:
        return holds_cells(*static_cast<arrow::DictionaryType const &>(type).value_type());
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BOOL:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::NA:
        return true;
    default:
        return arrow::is_integer(type.id());
    }
}

/** Arrow's own sentence, which may be of many lines. */
std::string first_line(std::string const &text) { return text.substr(0, text.find('\n')); }

/** Rows of one file, front to back. Of memory a few hundred of them are held and the pages they come from, never a row
 *  group whole. */
struct stream_t {
    std::string const &path;
    std::shared_ptr<arrow::io::ReadableFile> file;
    std::unique_ptr<parquet::arrow::FileReader> reader;
    std::unique_ptr<arrow::RecordBatchReader> batches;
    std::shared_ptr<arrow::RecordBatch> batch;
    std::int64_t row = 0;  // of `batch`, the next
    std::size_t taken = 0; // rows of the file so far

    explicit stream_t(std::string const &name) : path(name) {}

    void require(arrow::Status const &status) const {
        if (status.ok()) return;
        if (status.IsOutOfMemory()) throw std::bad_alloc();
        fail_at(path, 0, "is not sound Parquet, or cannot be read, {}", first_line(status.message()));
    }
    template <typename value_>
    value_ require(arrow::Result<value_> result) const {
        require(result.status());
        return std::move(result).ValueUnsafe();
    }

    /** Pages come through a buffer, not a column of a row group at once, which is what Arrow does unless told. Memory
     *  is the C library's: of Arrow's own pool, which keeps what is returned, a large row group takes twice as much. */
    void open() {
        arrow::MemoryPool *const pool = arrow::system_memory_pool();
        file = require(arrow::io::ReadableFile::Open(path, pool));
        parquet::ReaderProperties properties(pool);
        properties.enable_buffered_stream();
        parquet::arrow::FileReaderBuilder builder;
        require(builder.Open(file, properties));
        parquet::ArrowReaderProperties arrow_properties(false);
        arrow_properties.set_pre_buffer(false), arrow_properties.set_batch_size(rows_at_once_k);
        builder.memory_pool(pool)->properties(arrow_properties);
        require(builder.Build(&reader));
    }

    void refuse_twins(std::span<std::string const> columns, arrow::Schema const &typed) const {
        for (std::string const &name : columns)
            if (typed.GetAllFieldsByName(name).size() > 1)
                fail_at(path, 0, "has several columns named \"{}\"; rename all but one", name);
    }

    /** A column of the schema may be several of the file, a list's items among them. */
    void choose(std::span<std::string const> columns) {
        parquet::SchemaDescriptor const &schema = *reader->parquet_reader()->metadata()->schema();
        std::shared_ptr<arrow::Schema> typed;
        require(reader->GetSchema(&typed));
        refuse_twins(columns, *typed);
        std::vector<int> chosen, groups(std::size_t(reader->num_row_groups()));
        for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
            std::string const &name = schema.GetColumnRoot(leaf)->name();
            if (std::find(columns.begin(), columns.end(), name) == columns.end()) continue;
            if (auto const field = typed->GetFieldByName(name); field && !holds_cells(*field->type()))
                fail_at(path, 0, "column \"{}\" is of type {}; convert it to text, numbers or a list of them", name,
                        field->type()->ToString());
            chosen.push_back(leaf);
        }
        for (std::size_t group = 0; group < groups.size(); ++group) groups[group] = int(group);
        batches = require(reader->GetRecordBatchReader(groups, chosen));
    }

    bool advance() {
        while (!batch || row == batch->num_rows()) {
            require(batches->ReadNext(&batch));
            row = 0;
            if (!batch) return false;
        }
        return true;
    }

    json_t cell(int column) const {
        try {
            return cell_at(*batch->column(column), row);
        } catch (no_number_t const &) {
            fail_at(path, taken,
                    "column \"{}\" holds what is no finite number in this row; correct it or leave it null",
                    batch->column_name(column));
        }
    }

    std::string take() {
        json_t object = json_t::object();
        ++taken;
        for (int column = 0; column < batch->num_columns(); ++column)
            if (json_t found = cell(column); !found.is_null()) object[batch->column_name(column)] = std::move(found);
        ++row;
        return object.dump();
    }
};

/** Whoever reads may leave, which is no failure of ours to report. */
void put(std::string const &text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw quiet_exit_t {exit_broken_pipe_k};
}

int write_rows(std::string const &path, std::span<std::string const> columns) {
    stream_t rows(path);
    std::size_t row = 0;
    try {
        rows.open(), rows.choose(columns);
        while (rows.advance()) ++row, put(rows.take() + "\n");
    } catch (json_t::type_error const &) {
        fail_at(path, row, "the row is not UTF-8; re-encode the file");
    } catch (parquet::ParquetException const &error) {
        fail_at(path, 0, "is not sound Parquet, {}", first_line(error.what()));
    }
    if (std::fflush(stdout) != 0) throw quiet_exit_t {exit_broken_pipe_k};
    return exit_success_k;
}

} // namespace

int main(int argc, char **argv) {
    return guarded("uform_parquet", [&] {
        std::vector<std::string> const words(argv + 1, argv + argc);
        bool const asks = !words.empty() && (words[0] == "--help" || words[0] == "-h");
        if (asks)
            put("uform_parquet FILE COLUMN...: rows of a Parquet file as lines of JSON\n\nColumns that the file lacks "
                "and cells that are null are left out.\nExit codes: 0 done, 1 failed, 2 wrong usage.\n");
        if (asks) return int(exit_success_k);
        if (words.size() < 2) fail_usage("name a file, and the columns to read of it");
        return write_rows(words[0], std::span(words).subspan(1));
    });
}
