internal import LosslessJSON

/// The documents of a file or of stdin, read as they are asked for: plain or gzip, in any ``InputFormat``.
///
/// Memory is bounded: one document is held, and a few hundred kilobytes beside it. What comes out does not depend on
/// the pieces in which the input comes. A document that can't be read is handed out as a fault, and reading goes on.
package struct DocumentSource: ~Copyable {
    /// Beyond any document that a gateway stores: 64 MiB.
    package static let documentLimit = 64 << 20

    /// How the documents are written down; nil until the first was asked for, if it was left to the input to tell.
    package private(set) var format: InputFormat?
    /// Bytes of the whole input, packed or not; nil if that can't be known.
    package let size: Int?

    private var window: TextWindow
    private var reader: (any DocumentsReader)?
    private let limit: Int
    private let delimiter: CSVDelimiter
    /// Whether the first document is to tell.
    private var mayBeExtended: Bool
    private var hasEnded = false
    /// Why reading can't go on, once what is left has been handed out.
    private var failure: SourceError?

    /// - Parameters:
    ///   - path: A file, or `-` for stdin.
    ///   - format: Nil: the file's name tells, or its first byte. Documents whose `_id` is one of MongoDB's wrappers
    ///     are taken for Extended JSON then.
    ///   - delimiter: Between the cells of a table.
    ///   - documentLimit: Bytes that a document may have. A longer one is a fault.
    /// - Throws: ``SourceError`` if the file can't be opened.
    package init(
        path: String, format: InputFormat? = nil, delimiter: CSVDelimiter = .comma,
        documentLimit: Int = Self.documentLimit
    ) throws(SourceError) {
        let file = try InputFile(path)
        self.init(
            format: format, delimiter: delimiter, fileName: path, size: file.size, documentLimit: documentLimit
        ) { () throws(SourceError) in try file.read() }
    }

    /// - Parameter nextPiece: The next bytes of the input, as many or few as there are; nil at the end.
    package init(
        format: InputFormat? = nil, delimiter: CSVDelimiter = .comma, fileName: String = "-", size: Int? = nil,
        documentLimit: Int = Self.documentLimit, _ nextPiece: @escaping () throws(SourceError) -> [UInt8]?
    ) {
        self.format = format ?? InputFormat(fileName: fileName)
        self.size = size
        self.delimiter = delimiter
        window = TextWindow(InputBytes(nextPiece))
        limit = max(documentLimit, 1)
        mayBeExtended = format == nil
    }

    /// Bytes of the input that were read, packed or not: with ``size`` they tell how far reading is.
    package var bytesRead: Int { window.bytesRead }

    /// The row that names the columns of a table, without its line break; nil before the first document was asked for,
    /// and in other formats.
    package var header: [UInt8]? { reader?.header }

    /// The next document or fault; nil at the end.
    ///
    /// - Throws: ``SourceError`` if reading can't go on. What comes after it is the end.
    package mutating func next() throws(SourceError) -> SourceItem? {
        if let failure {
            self.failure = nil
            throw failure
        }
        if hasEnded { return nil }
        do throws(SourceError) {
            if let item = try readNext() { return item }
            hasEnded = true
            return nil
        } catch {
            hasEnded = true
            guard let broken = error.broken else { throw error }
            failure = SourceError(error.reason, at: error.place)
            return .fault(broken)
        }
    }

    private mutating func readNext() throws(SourceError) -> SourceItem? {
        if reader == nil { reader = try begin() }
        guard let item = try reader?.next(&window) else { return nil }
        guard case .document(let document) = item else { return item }
        if mayBeExtended, format == .json || format == .ndjson, ExtendedJSON.isTypical(document.text.root) {
            format = .ejson
        }
        mayBeExtended = false
        return format == .ejson ? Self.plain(document) : item
    }

    private static func plain(_ document: SourceDocument) -> SourceItem {
        do throws(ExtendedJSONFault) {
            return .document(
                SourceDocument(
                    text: try ExtendedJSON.plain(document.text), place: document.place, original: document.bytes))
        } catch {
            return .fault(
                SourceFault(
                    document, .extendedJSON(wrapper: error.wrapper, expected: error.expected), at: error.offset))
        }
    }

    /// Chooses who reads, by what was said and by the first byte.
    private mutating func begin() throws(SourceError) -> (any DocumentsReader)? {
        window.skipMark()
        switch format {
        case .ndjson?: return LinesReader(documentLimit: limit)
        case .csv?: return CSVReader(delimiter: delimiter, documentLimit: limit)
        case .json?, .ejson?, nil: return try beginJSON()
        }
    }

    private mutating func beginJSON() throws(SourceError) -> (any DocumentsReader)? {
        guard let first = window.skipWhitespace() else {
            try window.finish()
            return nil
        }
        if first == UInt8(ascii: "[") {
            window.drop(1)
            format = format ?? .json
            return ArrayReader(nil, documentLimit: limit)
        }
        if first == UInt8(ascii: "{"), let frame = AnswerFrame.readHead(&window) {
            format = format ?? .json
            return ArrayReader(frame, documentLimit: limit)
        }
        guard first == UInt8(ascii: "{") || format != nil else { throw SourceError(.unknownFormat, at: window.place) }
        format = format ?? .ndjson
        return LinesReader(documentLimit: limit)
    }
}
