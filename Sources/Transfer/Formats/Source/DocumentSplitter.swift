internal import Compression
internal import LosslessJSON
internal import Revisions

/// Splits the bytes of an export into its documents, one per line, without the framing of an array.
struct DocumentSplitter: ~Copyable {
    private var decompressor: GzipReader?
    private var text: [UInt8] = []
    /// There is no line feed before this offset. A long line is therefore searched only once.
    private var searched = 0
    private var isArrayOpen = false

    init(isCompressed: Bool) { decompressor = isCompressed ? GzipReader() : nil }

    /// Calls `body` with each document whose line is complete, without brackets and commas of the array.
    ///
    /// - Throws: ``TransferError``: `.invalid`, and what `body` throws.
    mutating func read(_ bytes: [UInt8], _ body: (ArraySlice<UInt8>) throws -> Void) throws {
        if decompressor == nil {
            text += bytes
        } else {
            do throws(GzipError) { try decompressor?.read(bytes[...], to: &text) } catch {
                throw TransferError(.invalid, "\(error)")
            }
        }
        var start = 0
        while let end = text[searched...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = document(text[start..<end])
            if !line.isEmpty { try body(line) }
            start = end + 1
            searched = start
        }
        if start > 0 { text.removeSubrange(..<start) }
        searched = text.count
    }

    /// Call at the end, for a last line without a line feed.
    ///
    /// - Returns: What is missing of the array or the gzip data; nil if they are complete.
    @discardableResult
    mutating func finish(_ body: (ArraySlice<UInt8>) throws -> Void) throws -> String? {
        // The rest after truncated gzip data is an incomplete line.
        do throws(GzipError) { try decompressor?.finish() } catch { return error.description }
        let line = document(text[...])
        text = []
        searched = 0
        if !line.isEmpty { try body(line) }
        return isArrayOpen ? "the array has no ] at its end" : nil
    }

    /// The line without an array's brackets and comma.
    private mutating func document(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        if line.count == 1, line.first == UInt8(ascii: "[") || line.first == UInt8(ascii: "]") {
            isArrayOpen = line.first == UInt8(ascii: "[")
            return []
        }
        return line.last == UInt8(ascii: ",") ? line.dropLast() : line
    }
}
