internal import Compression
internal import LosslessJSON

/// Takes the bytes of an export apart again: the documents, one for each line, whatever frames them.
struct ExportLines: ~Copyable {
    private var unpacker: GzipReader?
    private var text: [UInt8] = []
    /// Up to where the text has no line feed: a long line is looked through once, in however many pieces it comes.
    private var searched = 0
    private var isArrayOpen = false

    init(isPacked: Bool) { unpacker = isPacked ? GzipReader() : nil }

    /// Calls `body` with each line that is complete by now, without what frames it; not with those that only frame.
    ///
    /// - Throws: ``TransferError``: `.invalid`, and what `body` throws.
    mutating func read(_ bytes: [UInt8], _ body: (ArraySlice<UInt8>) throws -> Void) throws {
        if unpacker == nil {
            text += bytes
        } else {
            do throws(GzipFault) { try unpacker?.read(bytes[...], to: &text) } catch {
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

    /// Call at the end: an array's last element has no line feed behind it as long as it is not closed.
    ///
    /// - Returns: What of the frame is missing at the end; nil if it is whole.
    @discardableResult
    mutating func finish(_ body: (ArraySlice<UInt8>) throws -> Void) throws -> String? {
        // What a cut gzip text leaves is a piece of a line.
        do throws(GzipFault) { try unpacker?.finish() } catch { return error.description }
        let line = document(text[...])
        text = []
        searched = 0
        if !line.isEmpty { try body(line) }
        return isArrayOpen ? "the array has no ] at its end" : nil
    }

    /// Without an array's brackets and comma.
    private mutating func document(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        if line.count == 1, line.first == UInt8(ascii: "[") || line.first == UInt8(ascii: "]") {
            isArrayOpen = line.first == UInt8(ascii: "[")
            return []
        }
        return line.last == UInt8(ascii: ",") ? line.dropLast() : line
    }
}
